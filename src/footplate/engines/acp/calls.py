"""Tool calls of an ACP agent: what is known of each, and how its kind, name and detail read in the event log."""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.acp.content import tool_blocks
from footplate.acp.meta import read_meta
from footplate.acp.reading import ToolFields
from footplate.acp.schema.tools import ToolCallLocation
from footplate.events.base import OptionalRaw
from footplate.events.content import ContentBlock, DiffBlock, text_of
from footplate.events.ids import ToolCallId
from footplate.events.tools import (
    ChangeKind,
    CommandDetail,
    FileChange,
    FileChangeDetail,
    McpDetail,
    OtherDetail,
    PlanDetail,
    Question,
    QuestionDetail,
    ReadDetail,
    SearchDetail,
    SubagentDetail,
    TodoDetail,
    ToolDetail,
    ToolKind,
    WebDetail,
)

OUTPUT_LIMIT: Final = 4096
"""How much of a command's output a detail holds; the whole of it is the content of the event."""

KINDS: Final[dict[str, ToolKind]] = {
    "read": "read",
    "edit": "file_change",
    "delete": "file_change",
    "move": "file_change",
    "search": "search",
    "execute": "command",
    "fetch": "web",
    "switch_mode": "plan",
}
NAMES: Final[dict[str, ToolKind]] = {
    "agent": "subagent",
    "task": "subagent",
    "askuserquestion": "question",
    "todowrite": "todo",
}
"""Tools whose kind on the wire (`think`, `other`) says less than their name."""

CHANGES: Final[dict[str, ChangeKind]] = {"delete": "delete", "move": "move"}


class ToolInput(msgspec.Struct, frozen=True):
    """The fields of a call's raw input that most agents name alike."""

    command: str | list[str] = ""
    cwd: str = ""
    description: str = ""
    file_path: str = ""
    path: str = ""
    offset: int | None = None
    limit: int | None = None
    pattern: str = ""
    query: str = ""
    url: str = ""
    plan: str = ""
    prompt: str = ""
    subagent_type: str = ""


class OutputMeta(msgspec.Struct, frozen=True):
    """Where opencode keeps the exit code."""

    exit: int | None = None


class ToolOutput(msgspec.Struct, frozen=True):
    """The exit code of a command, by the names agents give it."""

    exit_code: int | None = None
    exitCode: int | None = None  # noqa: N815  the wire's own name
    metadata: OutputMeta | None = None

    @property
    def code(self) -> int | None:
        """The exit code, wherever it stands."""
        for code in (self.exit_code, self.exitCode, self.metadata.exit if self.metadata else None):
            if code is not None:
                return code
        return None


_input_decoder: Final = msgspec.json.Decoder(ToolInput)
_output_decoder: Final = msgspec.json.Decoder(ToolOutput)


class Call:
    """One tool call, as far as the agent has told of it."""

    def __init__(self, call: ToolCallId, fields: ToolFields, parent: ToolCallId | None) -> None:
        self.id = call
        self.parent = parent
        self.name = name_of(fields)
        self.wire_kind = fields.kind or "other"
        self.kind = kind_of(self.wire_kind, self.name)
        self.title = fields.title or self.name
        self.input: OptionalRaw = None
        self.output: OptionalRaw = None
        self.content: tuple[ContentBlock, ...] = ()
        self.locations: tuple[ToolCallLocation, ...] = ()
        self.status = ""
        self.denied = False
        self.questions: tuple[Question, ...] = ()
        self.answers: dict[str, str] = {}
        self._cwd = ""
        self.learn(fields)

    def learn(self, fields: ToolFields) -> None:
        """Take over what an update tells; what is absent, null or an empty list did not change."""
        self.title = fields.title or self.title
        self.input = _present(fields.raw_input) or self.input
        self._cwd = _read_input(self.input).cwd or self._cwd
        self.output = _present(fields.raw_output) or self.output
        self.status = fields.status or self.status
        if fields.content:
            self.content = tool_blocks(fields.content)
        if fields.locations is not None:
            self.locations = fields.locations

    def detail(self, *, ended: bool) -> ToolDetail:
        """The typed detail of its kind, from all that is known."""
        given = _read_input(self.input)
        path = given.file_path or given.path or (self.locations[0].path if self.locations else "")
        match self.kind:
            case "command":
                return self._command(given, ended=ended)
            case "file_change":
                return FileChangeDetail(changes=self._changes(path))
            case "read":
                return ReadDetail(path=path or self.title, offset=given.offset, limit=given.limit)
            case "search":
                return SearchDetail(pattern=given.pattern or given.query or self.title, path=given.path)
            case "web":
                query = given.query or ("" if given.url else self.title)
                return WebDetail(query=query, url=given.url)
            case "subagent":
                return SubagentDetail(
                    description=given.description or self.title, prompt=given.prompt, agent_type=given.subagent_type
                )
            case "plan":
                return PlanDetail(plan=self.plan)
            case _:
                return self._rarer()

    def asked_detail(self, shown: tuple[ContentBlock, ...]) -> ToolDetail:
        """What a person is asked to allow: the change of files where the agent shows one, whatever the call's kind."""
        diffs = [block for block in shown if isinstance(block, DiffBlock)]
        if diffs:
            return FileChangeDetail(changes=self._described(diffs))
        return self.detail(ended=False)

    @property
    def plan(self) -> str:
        """The plan that is put up for approval; empty for any other call."""
        return (_read_input(self.input).plan or text_of(self.content)) if self.kind == "plan" else ""

    def _rarer(self) -> ToolDetail:
        if self.kind == "question":
            return QuestionDetail(questions=self.questions, answers=self.answers)
        if self.kind == "todo":
            return TodoDetail()
        if self.kind == "mcp":
            _, server, tool = self.name.split("__", 2)
            return McpDetail(server=server, tool=tool)
        return OtherDetail()

    def _command(self, given: ToolInput, *, ended: bool) -> CommandDetail:
        command = given.command if isinstance(given.command, str) else " ".join(given.command)
        output = text_of(self.content) if ended else ""
        return CommandDetail(
            command=command or self.title,
            cwd=self._cwd,
            description=given.description,
            exit_code=_exit_code(self.output) if ended else None,
            output=output[:OUTPUT_LIMIT],
            truncated=len(output) > OUTPUT_LIMIT,
        )

    def _changes(self, path: str) -> tuple[FileChange, ...]:
        diffs = [block for block in self.content if isinstance(block, DiffBlock)]
        if diffs:
            return self._described(diffs)
        paths = [location.path for location in self.locations] or ([path] if path else [])
        return tuple(FileChange(path=each, kind=CHANGES.get(self.wire_kind, "update")) for each in paths)

    def _described(self, diffs: list[DiffBlock]) -> tuple[FileChange, ...]:
        return tuple(
            FileChange(
                path=diff.path,
                kind=CHANGES.get(self.wire_kind, "add" if diff.old_text is None else "update"),
                old_text=diff.old_text,
                new_text=diff.new_text,
            )
            for diff in diffs
        )


def name_of(fields: ToolFields) -> str:
    """The tool's name: its own, else what the adapter says of it, else its kind."""
    known = read_meta(fields.meta).claude_code
    told = known.tool_name if known else None
    return fields.name or told or fields.kind or "tool"


def kind_of(wire_kind: str, name: str) -> ToolKind:
    """Our kind of a call."""
    if name.startswith("mcp__") and name.count("__") > 1:
        return "mcp"
    return NAMES.get(name.lower()) or KINDS.get(wire_kind, "other")


def parent_of(raw: OptionalRaw) -> str | None:
    """The call of the sub-agent that this came from, as its wire id."""
    meta = read_meta(raw)
    ours = meta.footplate.parent_tool_call_id if meta.footplate else None
    return ours or (meta.claude_code.parent_tool_use_id if meta.claude_code else None)


def is_streaming(fields: ToolFields) -> bool:
    """Whether the agent announces a call whose input is yet to come; that of a command has at least the command."""
    if fields.status != "pending" or fields.raw_input is None:
        return False
    return bytes(fields.raw_input) == b"{}" or (fields.kind == "execute" and not _read_input(fields.raw_input).command)


def _present(raw: OptionalRaw) -> OptionalRaw:
    return None if raw is None or bytes(raw) in (b"null", b"{}") else raw.copy()


def _read_input(raw: OptionalRaw) -> ToolInput:
    try:
        return ToolInput() if raw is None else _input_decoder.decode(raw)
    except msgspec.ValidationError:
        return ToolInput()


def _exit_code(raw: OptionalRaw) -> int | None:
    try:
        return None if raw is None else _output_decoder.decode(raw).code
    except msgspec.ValidationError:
        return None
