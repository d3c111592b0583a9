"""Tool calls as a client sees them: kinds, titles, places, diffs, output. Pure; what was told of open calls is kept."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from footplate.acp.content import wire_block
from footplate.acp.meta import (
    ClaudeCodeMeta,
    FootplateMeta,
    TerminalExit,
    TerminalInfo,
    TerminalOutput,
    ToolMeta,
)
from footplate.acp.profile import Profile
from footplate.acp.reports import clean_report
from footplate.acp.schema.content import Content, Diff, Terminal, TextContent
from footplate.acp.schema.tools import ToolCall, ToolCallLocation, ToolCallUpdate
from footplate.acp.schema.updates import SessionUpdate, ToolCallChange
from footplate.acp.tool_responses import ToolResponses
from footplate.events.base import OptionalRaw
from footplate.events.content import ContentBlock, DiffBlock, ImageBlock, TerminalBlock, text_of
from footplate.events.ids import ToolCallId
from footplate.events.inputs import split_input
from footplate.events.model import ToolEnded, ToolStarted, ToolUpdated
from footplate.events.requests import Request
from footplate.events.tools import (
    ChangeKind,
    CommandDetail,
    FileChange,
    FileChangeDetail,
    PlanDetail,
    Question,
    QuestionDetail,
    ReadDetail,
    SearchDetail,
    SubagentDetail,
    ToolDetail,
    ToolKind,
)
from footplate.events.visible import show_exact, show_hidden, show_line

KINDS: Final[dict[ToolKind, str]] = {
    "command": "execute",
    "file_change": "edit",
    "read": "read",
    "search": "search",
    "web": "fetch",
    "subagent": "think",
    "plan": "switch_mode",
}
FENCED: Final = {"command": "console", "read": ""}
VERBS: Final[dict[ChangeKind, str]] = {"add": "Write", "update": "Edit", "delete": "Delete", "move": "Move"}
APPROVE: Final = "Approve the plan"
RERUN: Final = "This very call was allowed before; whether it ran is not known."
Item = Content | Diff | Terminal


class Shown:
    """What a client knows of an open call."""

    def __init__(self, event: ToolStarted) -> None:
        self.event = event
        self.title = event.title
        self.detail = event.detail
        self.input = event.input
        self.running = not event.pending and event.input is not None
        self.streamed = False

    def learn(self, event: ToolUpdated) -> bool:
        """Take in more of the call; whether it begins to run with this."""
        self.title = event.title or self.title
        self.detail = event.detail or self.detail
        self.input = event.input if event.input is not None else self.input
        begins = not self.running and bool(event.output_delta or event.elapsed_s is not None)
        self.running = self.running or begins
        return begins


class ToolEncoder:
    """The tool calls of one session, for one kind of client."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self.responses: ToolResponses | None = None
        """Where there is one, the end of a call tells what its tool answered in full."""
        self._open: dict[ToolCallId, Shown] = {}

    def started(self, event: ToolStarted) -> list[SessionUpdate]:
        """First sight of a call. A to-do list is no call to a client: the plan tells it."""
        shown = self._open[event.call] = Shown(event)
        if event.kind == "todo":
            return []
        return [
            ToolCall(
                tool_call_id=event.call,
                title=_title(event.title, event.detail) or event.name,
                name=event.name,
                kind=_kind(event.kind, event.detail),
                status="in_progress" if shown.running else "pending",
                content=_raws(self._preview(shown, shown.detail)),
                locations=_locations(event.detail) or None,
                raw_input=event.input,
                meta=self._meta(shown, begins=True),
            )
        ]

    def updated(self, event: ToolUpdated) -> list[SessionUpdate]:
        """More of a call: its input is whole, it runs, it wrote something."""
        shown = self._open.get(event.call)
        if shown is None or shown.event.kind == "todo":
            return []
        begins = shown.learn(event)
        known = event.detail is not None or event.input is not None or bool(event.title)
        output = event.output_delta if self._has_terminal(shown) else ""
        if not (known or begins or output or event.elapsed_s is not None):
            return []
        shown.streamed = shown.streamed or bool(output)
        return [
            ToolCallChange(
                tool_call_id=event.call,
                title=_title(event.title, event.detail) or None,
                status="in_progress" if begins else None,
                content=_raws(self._preview(shown, shown.detail)) if event.detail is not None else None,
                locations=(_locations(event.detail) or None) if event.detail is not None else None,
                raw_input=event.input,
                meta=self._meta(shown, output=output, elapsed_s=event.elapsed_s, begins=event.detail is not None),
            )
        ]

    def ended(self, event: ToolEnded) -> list[SessionUpdate]:
        """A call is over."""
        shown = self._open.pop(event.call, None)
        response = self.responses.take(event.call) if self.responses is not None else None
        if shown is None or shown.event.kind == "todo":
            return []
        shown.detail = event.detail or shown.detail
        output = "" if shown.streamed or not self._has_terminal(shown) else _output(event)
        return [
            ToolCallChange(
                tool_call_id=event.call,
                status="completed" if event.ok else "failed",
                content=_raws(self._result(shown, event)),
                locations=_locations(shown.detail) or None,
                raw_output=_raw_output(shown, event),
                meta=self._meta(shown, output=output, ended=True, note=event.note, response=response),
            )
        ]

    def asked(self, request: Request) -> ToolCallUpdate:
        """The call that a request is about, whole: a client need not have seen it before."""
        shown = self._open.get(request.call) if request.call is not None else None
        detail = request.detail or (shown.detail if shown else None)
        kind: ToolKind = shown.event.kind if shown else _asked_kind(request)
        title = self._asked_title(request, shown, detail)
        paths = _locations(detail)
        if not paths and request.blocked_path:
            paths = (ToolCallLocation(path=request.blocked_path),)
        return ToolCallUpdate(
            tool_call_id=request.call or request.id,
            title=APPROVE if request.kind == "plan" else title,
            name=request.tool or None,
            kind=_kind(kind, detail),
            status="pending",
            content=_raws(self._asked_content(request, shown, detail, title)),
            locations=paths or None,
            raw_input=request.input if request.input is not None else (shown.input if shown else None),
            meta=self._meta(shown) if shown else None,
        )

    def parent_meta(self, parent: ToolCallId) -> OptionalRaw:
        """The `_meta` of what a sub-agent said."""
        return self._owner(None, parent).raw()

    # ------------------------------------------------------------------------------------------- inside

    def _asked_title(self, request: Request, shown: Shown | None, detail: ToolDetail | None) -> str:
        title = request.title or (shown.title if shown else "")
        return _title(title, detail) or show_hidden(request.tool)

    def _asked_content(
        self, request: Request, shown: Shown | None, detail: ToolDetail | None, title: str
    ) -> list[Item]:
        """All that a person must see: clients draw the title and the content, few of them the raw input."""
        if request.kind == "plan":
            return _asked_plan(request)
        if request.kind == "question":
            texts = (show_hidden(request.description), *map(_asked_question, request.questions))
            return [_text(text) for text in texts if text]
        content = self._preview(shown, detail) if shown else _changes(detail)
        if request.description and not any(item == _text(show_hidden(request.description)) for item in content):
            content.append(_text(show_hidden(request.description)))
        content += _undrawn(detail)
        told = [_text(show_hidden(request.reason))] if request.reason else []
        told += [_text(f"outside: {show_exact(request.blocked_path)}")] if request.blocked_path else []
        told += [_text(RERUN)] if request.rerun else []
        pictures = [_item(block) for block in request.content if isinstance(block, ImageBlock) and block.data]
        return [*content, *told, *pictures, *_inputs(request, title)]

    def _has_terminal(self, shown: Shown) -> bool:
        return self._profile.terminals and shown.event.kind == "command"

    def _preview(self, shown: Shown, detail: ToolDetail | None) -> list[Item]:
        """What a call shows before it has a result."""
        if self._has_terminal(shown):
            return [Terminal(terminal_id=shown.event.call)]
        match detail:
            case CommandDetail(description=text) | SubagentDetail(prompt=text) | PlanDetail(plan=text) if text:
                return [_text(show_hidden(text))]
            case QuestionDetail(questions=questions):
                return [_text(show_hidden(question.text)) for question in questions]
            case _:
                return _changes(detail)

    def _result(self, shown: Shown, event: ToolEnded) -> list[Item] | None:
        """What a call shows at its end; None leaves what it showed before."""
        if self._has_terminal(shown):
            return [Terminal(terminal_id=event.call)]
        if event.ok and isinstance(shown.detail, FileChangeDetail):
            diffs = _changes(shown.detail)
            if diffs:
                return diffs
        if event.ok and isinstance(shown.detail, PlanDetail) and shown.detail.plan:
            return [_text(shown.detail.plan)]
        kind = shown.event.kind
        if kind == "subagent":
            return [_text(clean_report(text_of(event.content)))] if event.content else None
        if kind in FENCED and event.content:
            return [_text(_fence(text_of(event.content), FENCED[kind]))]
        items = [_item(block) for block in event.content]
        if not items and event.note:
            items = [_text(event.note)]
        return items or None

    def _meta(
        self,
        shown: Shown,
        *,
        output: str = "",
        elapsed_s: float | None = None,
        begins: bool = False,
        ended: bool = False,
        note: str = "",
        response: OptionalRaw = None,
    ) -> OptionalRaw:
        call = shown.event.call
        terminal = self._has_terminal(shown)
        detail = shown.detail if isinstance(shown.detail, CommandDetail) else None
        owner = self._owner(shown.event.name, shown.event.parent, note=note, elapsed_s=elapsed_s)
        if response is not None and owner.claude_code is not None and shown.event.kind != "subagent":
            told = msgspec.structs.replace(owner.claude_code, tool_response=response)
            owner = msgspec.structs.replace(owner, claude_code=told)
        return msgspec.structs.replace(
            owner,
            terminal_info=TerminalInfo(terminal_id=call, cwd=detail.cwd if detail else "")
            if terminal and begins
            else None,
            terminal_output=TerminalOutput(terminal_id=call, data=output) if output else None,
            terminal_exit=TerminalExit(terminal_id=call, exit_code=detail.exit_code if detail else None)
            if terminal and ended
            else None,
        ).raw()

    def _owner(
        self, name: str | None, parent: ToolCallId | None, *, note: str = "", elapsed_s: float | None = None
    ) -> ToolMeta:
        claude = ClaudeCodeMeta(tool_name=name, parent_tool_use_id=parent) if self._profile.claude_code else None
        ours = FootplateMeta(parent_tool_call_id=parent, message=note or None, elapsed_s=elapsed_s)
        return ToolMeta(claude_code=claude, footplate=ours if ours != FootplateMeta() else None)


def _kind(kind: ToolKind, detail: ToolDetail | None) -> str:
    """ACP's kind of a call; files that only go or move have kinds of their own."""
    if isinstance(detail, FileChangeDetail) and detail.changes:
        kinds = {change.kind for change in detail.changes}
        if kinds in ({"delete"}, {"move"}):
            return kinds.pop()
    return KINDS.get(kind, "other")


def _asked_kind(request: Request) -> ToolKind:
    match request.detail:
        case CommandDetail():
            return "command"
        case FileChangeDetail():
            return "file_change"
        case _:
            return "plan" if request.kind == "plan" else "other"


def _changes(detail: ToolDetail | None) -> list[Item]:
    """Diffs are exact: clients compare them with files, and mark hidden characters themselves."""
    changes = detail.changes if isinstance(detail, FileChangeDetail) else ()
    return [diff for change in changes for diff in _diffs(change)]


def _undrawn(detail: ToolDetail | None) -> list[Item]:
    """What no diff shows: where a file goes, and a change without its text."""
    changes = detail.changes if isinstance(detail, FileChangeDetail) else ()
    moved = [f"move {show_exact(each.path)} to {show_exact(each.moved_to)}" for each in changes if each.moved_to]
    blind = [f"{each.kind} {show_exact(each.path)}" for each in changes if not each.moved_to and not _diffs(each)]
    return [_text(text) for text in (*moved, *blind)]


def _asked_plan(request: Request) -> list[Item]:
    """The plan with its file and what it asks to allow: an option grants all of that."""
    file = [f"in {show_exact(request.plan_file)}"] if request.plan_file else []
    prompts = [f"asks to allow: {show_exact(each)}" for each in request.allowed_prompts]
    return [_text(text) for text in (show_hidden(request.plan), *file, *prompts) if text]


def _inputs(request: Request, title: str) -> list[Item]:
    """The command where the title does not tell it all, and every field that no other part shows."""
    parts = split_input(request)
    command = show_hidden(parts.command)
    items = [_text(_fence(command, "console"))] if command and command != title else []
    for field in parts.fields:
        text = show_hidden(field.text)
        items.append(_text(f"{show_hidden(field.name)}: {text}" if _is_short(text) else _titled(field.name, text)))
    return items


def _asked_question(question: Question) -> str:
    """A question with its choices and what the agent says of each: an option on the wire has a name alone."""
    choices = (
        "\n".join(
            (
                f"- {show_exact(choice.label)}{': ' if choice.description else ''}{show_line(choice.description)}",
                *([_fence(show_hidden(choice.preview), "")] if choice.preview else []),
            )
        )
        for choice in question.choices
    )
    return "\n".join((show_hidden(question.text), *choices))


def _is_short(text: str) -> bool:
    return len(text) <= 80 and "\n" not in text and "`" not in text


def _titled(name: str, text: str) -> str:
    return f"{show_hidden(name)}:\n{_fence(text, '')}"


def _title(title: str, detail: ToolDetail | None) -> str:
    """What the call is about, visible; of files also what is done to them, of questions the first."""
    title = show_hidden(title)
    match detail:
        case FileChangeDetail(changes=(change, *_)) if title:
            whole = change.kind == "update" and change.old_text is None and change.new_text is not None
            return f"{VERBS['add' if whole else change.kind]} {title}"
        case QuestionDetail(questions=(question, *_)):
            return show_hidden(question.text)
        case _:
            return title


def _locations(detail: ToolDetail | None) -> tuple[ToolCallLocation, ...]:
    match detail:
        case ReadDetail():
            return (ToolCallLocation(path=detail.path, line=max(detail.offset or 1, 1)),)
        case FileChangeDetail():
            return tuple(
                ToolCallLocation(path=change.path, line=max(change.hunks[0].new_start, 1) if change.hunks else None)
                for change in detail.changes
            )
        case SearchDetail(path=path) if path:
            return (ToolCallLocation(path=path),)
        case _:
            return ()


def _diffs(change: FileChange) -> list[Diff]:
    """A change as diffs: one for each hunk of what was done, else what the call intends."""
    path = change.moved_to or change.path
    done = change.kind == "update" and bool(change.hunks)
    if not done and (change.new_text is not None or change.kind == "delete"):
        return [Diff(path=path, old_text=change.old_text, new_text=change.new_text or "")]
    return [
        Diff(
            path=path,
            old_text="\n".join(line[1:] for line in hunk.lines if line[:1] in (" ", "-")),
            new_text="\n".join(line[1:] for line in hunk.lines if line[:1] in (" ", "+")),
        )
        for hunk in change.hunks
    ]


def _item(block: ContentBlock) -> Item:
    if isinstance(block, DiffBlock):
        return Diff(path=block.path, old_text=block.old_text, new_text=block.new_text)
    if isinstance(block, TerminalBlock):
        return _text(_fence(block.output, "console"))
    return Content(content=wire_block(block))


def _text(text: str) -> Item:
    return Content(content=TextContent(text=text))


def _fence(text: str, language: str) -> str:
    """Text as it is, whatever marks stand in it."""
    longest = max((len(found) for found in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _output(event: ToolEnded) -> str:
    return text_of(event.content) or (event.detail.output if isinstance(event.detail, CommandDetail) else "")


def _raw_output(shown: Shown, event: ToolEnded) -> OptionalRaw:
    if not event.content or shown.event.kind == "subagent":
        return None
    return msgspec.Raw(msgspec.json.encode(text_of(event.content)))


def _raws(items: list[Item] | None) -> tuple[msgspec.Raw, ...] | None:
    return tuple(msgspec.Raw(msgspec.json.encode(item)) for item in items) if items else None
