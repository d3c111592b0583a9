"""Tool calls as actions: kind, title and typed detail of a call, and its input cut to a readable size."""

from __future__ import annotations

from typing import TypedDict, assert_never

import msgspec

from footplate.events.base import Level, OptionalRaw
from footplate.events.content import text_of
from footplate.events.ids import MessageId, ToolCallId
from footplate.events.model import ToolEnded, ToolStarted, ToolUpdated
from footplate.events.run_events import (
    Action,
    ActionDetail,
    ActionKind,
    ActionPhase,
    Change,
    CommandAction,
    FileChangeAction,
    PlanNote,
    QuestionNote,
    SubagentAction,
    Summary,
    TodoNote,
    ToolAction,
    WebAction,
)
from footplate.events.tools import (
    CommandDetail,
    FileChange,
    FileChangeDetail,
    McpDetail,
    OtherDetail,
    PlanDetail,
    QuestionDetail,
    ReadDetail,
    SearchDetail,
    SubagentDetail,
    TodoDetail,
    ToolDetail,
    ToolKind,
    ToolOutcome,
    WebDetail,
)

LONGEST_STRING = 400
"""A string in a call's input is cut to this many characters."""

LONGEST_LIST = 40
"""A list in a call's input is cut to this many members."""

DEEPEST = 20
"""What lies deeper than this in a call's input is left out."""

LONGEST_LINE = 200
"""A first line, in a summary or as a title, is cut to this many characters."""

_KINDS: dict[ToolKind, ActionKind] = {
    "command": "command",
    "file_change": "file_change",
    "read": "tool",
    "search": "tool",
    "mcp": "tool",
    "other": "tool",
    "web": "web_search",
    "todo": "note",
    "question": "note",
    "plan": "note",
    "subagent": "subagent",
}

_LEVELS: dict[ToolOutcome, Level] = {
    "completed": "info",
    "denied": "warning",
    "cancelled": "warning",
    "failed": "error",
    "lost": "error",
}

_MESSAGES: dict[ToolOutcome, str] = {
    "completed": "",
    "failed": "failed",
    "denied": "denied",
    "cancelled": "cancelled",
    "lost": "no end of this was reported",
}

_NOTE_TITLES: dict[type[ToolDetail], str] = {
    TodoDetail: "update todos",
    QuestionDetail: "ask user",
    PlanDetail: "present plan",
}

_Json = None | bool | int | float | str | list["_Json"] | dict[str, "_Json"]


class _Facts(TypedDict):
    """The fields that every tool's detail has, as keyword arguments."""

    tool: str
    input: OptionalRaw
    message_id: MessageId | None
    parent_id: ToolCallId | None
    result: Summary | None


def first_line(text: str) -> str:
    """The first line that is not blank, cut to a readable length."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + "…"


def summarize(text: str) -> Summary:
    """A text's length and first line instead of the text."""
    line = first_line(text)
    return Summary(chars=len(text), first_line=line, truncated=text.strip() != line)


def compact(raw: OptionalRaw) -> OptionalRaw:
    """The same JSON with long strings and lists cut, and what lies too deep left out; a short one stays as it is."""
    if raw is None or len(bytes(raw)) <= LONGEST_STRING:
        return raw
    try:
        value: _Json = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = f"… (unreadable input of {len(bytes(raw))} bytes)"
    return msgspec.Raw(msgspec.json.encode(_shorten(value, DEEPEST)))


def cut(text: str) -> str:
    """The text, or its beginning and how much more there is."""
    more = len(text) - LONGEST_STRING
    return text if more <= 0 else f"{text[:LONGEST_STRING]}… ({more} more characters)"


def _shorten(value: _Json, depth: int) -> _Json:
    if isinstance(value, str):
        return cut(value)
    if isinstance(value, list | dict) and depth == 0:
        return "…"
    if isinstance(value, list):
        more = len(value) - LONGEST_LIST
        kept = [_shorten(member, depth - 1) for member in value[:LONGEST_LIST]]
        return kept if more <= 0 else [*kept, f"… ({more} more)"]
    if isinstance(value, dict):
        return {name: _shorten(member, depth - 1) for name, member in value.items()}
    return value


def relative(path: str, folder: str) -> str:
    """The path as seen from the run's folder; one outside of it stays as it is."""
    base = folder.rstrip("/\\")
    if base and path.startswith((base + "/", base + "\\")):
        return path[len(base) + 1 :] or path
    return path


class CallAction:
    """One tool call on its way through a run: what is known of it so far, and the actions that tell it."""

    def __init__(self, event: ToolStarted, *, action: str, cwd: str) -> None:
        self.shown = False
        self._id = action
        self._kind: ActionKind = _KINDS[event.kind]
        self._event = event
        self._cwd = cwd
        self._input = event.input
        self._detail = event.detail
        self._title = event.title
        self._final_title = ""

    @property
    def ready(self) -> bool:
        """Whether enough is known to show it; not while the engine still streams the input."""
        return self._detail is not None or self._input is not None

    def learn(self, event: ToolUpdated | ToolEnded) -> bool:
        """Take in what the event adds; True when the detail of the action changed by it."""
        before = (self._input, self._detail)
        if event.detail is not None:
            self._detail = event.detail
        if isinstance(event, ToolUpdated):
            self._input = event.input if event.input is not None else self._input
            self._title = event.title or self._title
        return before != (self._input, self._detail)

    def start(self) -> Action:
        """The action's first showing. Its title is settled here and never changes."""
        self.shown = True
        self._final_title = _title(self._detail, self._cwd) or self._fallback_title()
        return self._action("started")

    def update(self, note: str) -> Action:
        """More is known of it."""
        return self._action("updated", message=note)

    def end(self, event: ToolEnded) -> Action:
        """The action's end as the engine tells it."""
        text = text_of(event.content)
        result = summarize(text)
        message = event.note
        if not message and not event.ok:
            message = result.first_line or _MESSAGES[event.outcome]
        level: Level = "info" if event.ok else _LEVELS[event.outcome]
        return self._action("completed", ok=event.ok, level=level, message=message, result=result)

    def lose(self) -> Action:
        """The action's end when nothing was told of it any more."""
        return self._action("completed", ok=False, level="error", message=_MESSAGES["lost"])

    def _action(
        self,
        phase: ActionPhase,
        *,
        ok: bool | None = None,
        level: Level = "info",
        message: str = "",
        result: Summary | None = None,
    ) -> Action:
        return Action(
            id=self._id,
            kind=self._kind,
            title=self._final_title,
            phase=phase,
            ok=ok,
            level=level,
            message=message,
            detail=self._facts(result),
        )

    def _facts(self, result: Summary | None) -> ActionDetail:
        facts = _Facts(
            tool=self._event.name,
            input=compact(self._input),
            message_id=self._event.message,
            parent_id=self._event.parent,
            result=result,
        )
        return _describe(self._detail, facts)

    def _fallback_title(self) -> str:
        if self._event.kind in ("mcp", "other"):
            return self._event.name or self._title
        return self._title or self._event.name


def _title(detail: ToolDetail | None, cwd: str) -> str:
    """What a person calls the call; empty when its detail does not tell."""
    match detail:
        case None | McpDetail() | OtherDetail():
            return ""
        case CommandDetail():
            return detail.command
        case FileChangeDetail():
            return _paths(detail.changes, cwd)
        case ReadDetail():
            return f"Read {relative(detail.path, cwd)}"
        case SearchDetail():
            return detail.pattern
        case WebDetail():
            return detail.query or detail.url
        case SubagentDetail():
            return detail.description or detail.prompt
        case TodoDetail() | QuestionDetail() | PlanDetail():
            return _NOTE_TITLES[type(detail)]
        case _:
            assert_never(detail)


def _paths(changes: tuple[FileChange, ...], cwd: str) -> str:
    if not changes:
        return ""
    first = relative(changes[0].path, cwd)
    return first if len(changes) == 1 else f"{first} and {len(changes) - 1} more"


def _describe(detail: ToolDetail | None, facts: _Facts) -> ActionDetail:
    match detail:
        case None | ReadDetail() | SearchDetail() | McpDetail() | OtherDetail():
            return ToolAction(**facts)
        case CommandDetail():
            output = summarize(detail.output) if detail.output else facts["result"]
            return CommandAction(
                **facts, command=detail.command, cwd=detail.cwd, exit_code=detail.exit_code, output=output
            )
        case FileChangeDetail():
            changes = tuple(Change(path=change.path, kind=change.kind) for change in detail.changes)
            return FileChangeAction(**facts, changes=changes)
        case WebDetail():
            return WebAction(**facts, query=detail.query, url=detail.url)
        case SubagentDetail():
            return SubagentAction(
                **facts,
                description=detail.description,
                prompt=cut(detail.prompt),
                agent_type=detail.agent_type,
                background=detail.background,
            )
        case TodoDetail():
            return TodoNote(**facts, entries=detail.entries)
        case QuestionDetail():
            return QuestionNote(**facts, questions=detail.questions, answers=detail.answers)
        case PlanDetail():
            return PlanNote(**facts, plan=detail.plan, plan_file=detail.plan_file)
        case _:
            assert_never(detail)
