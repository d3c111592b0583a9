"""How a call ended: its content, its verdict, and what its result adds to the detail. Pure functions."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from footplate.engines.claude.lenient import present, read, read_struct
from footplate.engines.claude.toolbox import TodoWire, entries_of
from footplate.engines.claude.wire import BLOCK, CONTENT, TEXT, Block, ImageSource, Part, ResultMeta
from footplate.events.base import OptionalRaw
from footplate.events.content import ContentBlock, ImageBlock, OtherBlock, TextBlock, text_of
from footplate.events.tools import (
    CommandDetail,
    FileChange,
    FileChangeDetail,
    Hunk,
    PlanDetail,
    QuestionDetail,
    SubagentDetail,
    TodoDetail,
    ToolDetail,
    ToolOutcome,
)

OUTPUT_LIMIT: Final = 4096
"""How much of a command's output a detail holds; the whole of it is the content of the event."""

EXIT_CODE: Final = re.compile(r"Exit code (\d+)(?:\n|$)")
STOPPED: Final = "User rejected tool use"
"""What the CLI calls the result of a call that an interrupt cut off."""

REFUSED_ANSWER: Final = (
    "Tool permission request failed",
    "The canUseTool callback returned an invalid",
    "The permission handler returned updatedInput",
)
"""How the CLI begins to say that it cannot use an answer: its form, or the input that a person has changed."""

NOBODY_ANSWERED: Final = re.compile(r"stream closed", re.IGNORECASE)
DENIED: Final = re.compile(
    r"Permission (?:to use|for this tool use)|requested permissions to|requires? approval"
    r"|while in plan mode|Tool permission request failed|has been denied"
)
"""How 2.1.197, which does not say so in a field, words a refusal."""


class HunkWire(Part, frozen=True, kw_only=True, rename="camel"):
    """One hunk of a structured patch."""

    old_start: int = 0
    old_lines: int = 0
    new_start: int = 0
    new_lines: int = 0
    lines: tuple[str, ...] = ()


class StatusChange(Part, frozen=True, kw_only=True):
    """How TaskUpdate changed a task."""

    to: str = ""


class Outcome(Part, frozen=True, kw_only=True, rename="camel"):
    """What any tool's structured result may hold, as far as it is used; the bulky parts are not listed."""

    type: str = ""
    file_path: str = ""
    structured_patch: tuple[HunkWire, ...] = ()
    interrupted: bool = False
    background_task_id: str = ""
    is_async: bool = False
    agent_id: str = ""
    persisted_output_path: str = ""
    answers: dict[str, str] | None = None
    plan: str | None = None
    new_todos: tuple[TodoWire, ...] | None = None
    tasks: tuple[TodoWire, ...] | None = None
    task: TodoWire | None = None
    task_id: str = ""
    status_change: StatusChange | None = None
    success: bool = True

    @property
    def background_task(self) -> str:
        """The task that goes on in the background after this result, if one does."""
        return self.background_task_id or (self.agent_id if self.is_async else "")


OUTCOME: Final = msgspec.json.Decoder(Outcome)
METAS: Final = msgspec.json.Decoder(tuple[ResultMeta, ...])
SOURCE: Final = msgspec.json.Decoder(ImageSource)
NOTHING: Final = Outcome()
NO_META: Final = ResultMeta()


class Ending(msgspec.Struct, frozen=True, gc=False):
    """A result of a tool, read."""

    text: str
    content: tuple[ContentBlock, ...]
    is_error: bool
    outcome: Outcome
    meta: ResultMeta
    said: str

    @property
    def refused_answer(self) -> bool:
        """Whether the CLI could not use the answer to its permission request."""
        return self.is_error and self.error_text.startswith(REFUSED_ANSWER)

    @property
    def error_text(self) -> str:
        """The text without the tags that the CLI puts around an error of its own, for the model."""
        return self.text.strip().removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")

    @property
    def nobody_answered(self) -> bool:
        """Whether the CLI gave up waiting because its input was closed."""
        return self.refused_answer and NOBODY_ANSWERED.search(self.text) is not None


def read_ending(block: Block, result: OptionalRaw, metas: OptionalRaw) -> Ending:
    """Everything that one `tool_result` block and its line say of the call's end."""
    content = read_content(block.content)
    text = text_of(content)
    meta = next((meta for meta in read(METAS, metas) or () if meta.id == block.tool_use_id), NO_META)
    is_text = result is not None and bytes(memoryview(result)[:1]) == b'"'
    return Ending(
        text=text,
        content=content,
        is_error=bool(block.is_error),
        outcome=(None if is_text else read_struct(OUTCOME, result)) or NOTHING,
        meta=meta,
        said=(read(TEXT, result) if is_text and block.is_error else None) or "",
    )


def read_content(raw: msgspec.Raw | None) -> tuple[ContentBlock, ...]:
    """Content as blocks: a string, or a list of blocks of any kind."""
    parts = read(CONTENT, raw)
    if isinstance(parts, str):
        return (TextBlock(text=parts),)
    if parts is not None:
        return tuple(map(read_block, parts))
    odd = present(raw)
    return () if odd is None else (OtherBlock(kind="", raw=odd.copy()),)


def read_block(raw: msgspec.Raw) -> ContentBlock:
    """One block of content, of whatever kind."""
    block = read_struct(BLOCK, raw)
    if block is not None and block.type == "text":
        return TextBlock(text=block.text)
    if block is not None and block.type == "image":
        source = read_struct(SOURCE, block.source)
        if source is not None and (source.data or source.url):
            return ImageBlock(media_type=source.media_type, data=source.data, uri=source.url)
    return OtherBlock(kind=block.type if block is not None else "", raw=raw.copy())


def judge(ending: Ending, *, denied: bool, asked: bool) -> ToolOutcome:
    """How the call ended. `denied` is what is known from elsewhere: a denial told before, an answer given."""
    if not ending.is_error:
        return "cancelled" if ending.outcome.interrupted else "completed"
    if denied:
        return "denied"
    if ending.said == STOPPED:
        return "cancelled"
    decision = ending.meta.permission_decision
    if ending.meta.non_execution_kind or (decision is not None and decision.decision == "reject"):
        return "denied"
    refused = ending.refused_answer if asked else DENIED.search(ending.text[:OUTPUT_LIMIT]) is not None
    return "denied" if refused else "failed"


def complete_detail(detail: ToolDetail | None, ending: Ending) -> ToolDetail | None:
    """The detail with what the result adds; None when it adds nothing to say again."""
    if isinstance(detail, CommandDetail):
        return _command(detail, ending)
    if isinstance(detail, FileChangeDetail):
        return detail if ending.is_error else _changes(detail, ending.outcome)
    if isinstance(detail, QuestionDetail):
        return msgspec.structs.replace(detail, answers=ending.outcome.answers or {})
    if isinstance(detail, PlanDetail) and ending.outcome.plan:
        return PlanDetail(plan=ending.outcome.plan, plan_file=ending.outcome.file_path or detail.plan_file)
    if isinstance(detail, TodoDetail) and ending.outcome.new_todos is not None:
        return TodoDetail(entries=entries_of(ending.outcome.new_todos))
    if isinstance(detail, SubagentDetail) and ending.outcome.is_async:
        return msgspec.structs.replace(detail, background=True)
    return detail


def clip(text: str, limit: int = OUTPUT_LIMIT) -> tuple[str, bool]:
    """Head and tail of a long text, and whether something was left out."""
    if len(text) <= limit:
        return text, False
    half = limit // 2
    return f"{text[:half]}\n…\n{text[-half:]}", True


def _command(detail: CommandDetail, ending: Ending) -> CommandDetail:
    match = EXIT_CODE.match(ending.text) if ending.is_error else None
    background = bool(ending.outcome.background_task_id)
    code = int(match[1][:9]) if match else (None if ending.is_error or background else 0)
    output, cut = clip(ending.text[match.end() :] if match else ending.text)
    return msgspec.structs.replace(
        detail,
        exit_code=code,
        output=output,
        truncated=cut or bool(ending.outcome.persisted_output_path),
        background=detail.background or background,
    )


def _changes(detail: FileChangeDetail, outcome: Outcome) -> FileChangeDetail:
    hunks = tuple(map(_hunk, outcome.structured_patch))
    if not hunks and outcome.type != "create":
        return detail
    single = detail.changes[0] if len(detail.changes) == 1 else FileChange(path=outcome.file_path)
    change = FileChange(
        path=outcome.file_path or single.path,
        kind="add" if outcome.type == "create" else "update",
        old_text=single.old_text,
        new_text=single.new_text,
        hunks=hunks,
    )
    return FileChangeDetail(changes=(change,))


def _hunk(hunk: HunkWire) -> Hunk:
    return Hunk(
        old_start=hunk.old_start,
        old_lines=hunk.old_lines,
        new_start=hunk.new_start,
        new_lines=hunk.new_lines,
        lines=hunk.lines,
    )
