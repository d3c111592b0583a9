"""What a run tells in words beside tool calls: notices, limits, compaction, thoughts, denials, tasks left running."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable
from typing import assert_never

import msgspec

from footplate.events.base import Level, ResumeToken
from footplate.events.model import (
    CompactionEnded,
    Denial,
    EngineAttached,
    EngineDetached,
    LimitReached,
    ModelChanged,
    Notice,
    Parked,
    PlanChanged,
    TaskStarted,
    Thought,
    Unparsed,
)
from footplate.events.run_actions import compact, cut, first_line
from footplate.events.run_events import (
    ActionDetail,
    DenialWarning,
    EngineNote,
    SessionNote,
    TasksWarning,
    TextNote,
    ThoughtNote,
    TodoNote,
)
from footplate.events.view import ExitView
from footplate.events.wording import format_tokens

ENDED_EARLY = "the agent ended without a result"

Worded = Notice | Unparsed | LimitReached | CompactionEnded | ModelChanged | Parked | Thought | PlanChanged
"""Events that become one completed note or warning, or nothing."""


class Told(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One note (level debug or info) or warning (level warning or error) in the making."""

    title: str
    detail: ActionDetail
    level: Level = "info"


def word(event: Worded) -> Told | None:
    """The event in words; None when a run has no use for it."""
    match event:
        case Notice():
            return _notice(event)
        case Unparsed():
            title = f"unreadable line from the agent: {event.reason}"
            return Told(title=title, detail=TextNote(text=cut(event.raw), code="unparsed"), level="warning")
        case LimitReached():
            return _limit(event)
        case CompactionEnded():
            return _compaction(event)
        case ModelChanged():
            return _fallback(event)
        case Parked():
            return Told(title=f"parked: {event.reason}", detail=TextNote(text=event.reason, code="parked"))
        case Thought():
            return _thought(event)
        case PlanChanged():
            return Told(title="update todos", detail=TodoNote(tool="", parent_id=event.parent, entries=event.entries))
        case _:
            assert_never(event)


def _notice(event: Notice) -> Told | None:
    if event.level == "debug":
        return None
    detail = TextNote(text=event.detail, code=event.code, call_id=event.call, call_ids=event.calls)
    return Told(title=event.text or event.code or event.level, detail=detail, level=event.level)


def _limit(event: LimitReached) -> Told:
    name = event.name or event.kind
    detail = TextNote(text=event.text, code="limit")
    match event.status:
        case "clear":
            return Told(title=event.text or f"limit is clear again: {name}", detail=detail)
        case "warning":
            return Told(title=event.text or f"limit is near: {name}", detail=detail, level="warning")
        case "reached":
            return Told(title=event.text or f"limit reached: {name}", detail=detail, level="warning")
        case _:
            assert_never(event.status)


def _compaction(event: CompactionEnded) -> Told:
    if not event.ok:
        title = "the context could not be compacted"
        return Told(title=title, detail=TextNote(text=event.error, code="compaction"), level="warning")
    sizes = ""
    if event.tokens_before is not None and event.tokens_after is not None:
        sizes = f"{format_tokens(event.tokens_before)} to {format_tokens(event.tokens_after)} tokens"
    title = f"context compacted: {sizes}" if sizes else "context compacted"
    return Told(title=title, detail=TextNote(text=sizes, code="compaction"))


def _fallback(event: ModelChanged) -> Told | None:
    if not event.fallback_from:
        return None
    title = f"model {event.fallback_from} was replaced by {event.model}"
    return Told(title=title, detail=TextNote(text=event.model, code="model_fallback"), level="warning")


def _thought(event: Thought) -> Told:
    detail = ThoughtNote(text=event.text, message_id=event.message, parent_id=event.parent, redacted=event.redacted)
    return Told(title=first_line(event.text) or "thinking", detail=detail)


def word_denial(denial: Denial) -> Told:
    """A refused call, as the result of a turn lists it."""
    detail = DenialWarning(tool=denial.tool, call_id=denial.call, input=compact(denial.input))
    return Told(title=f"permission denied: {denial.tool}", detail=detail, level="warning")


def word_tasks(tasks: Iterable[TaskStarted]) -> Told:
    """Background work that ends with the run."""
    running = tuple(tasks)
    names = ", ".join(task.title or task.task for task in running)
    detail = TasksWarning(tasks=tuple(task.task for task in running))
    return Told(title=f"still running at the end of the run: {names}", detail=detail, level="warning")


def word_engine(event: EngineAttached) -> Told | None:
    """What the engine has at hand; None when it does not say."""
    if not event.tools and not event.mcp_servers:
        return None
    title = _count(len(event.tools), "tool")
    if event.mcp_servers:
        title += f", {_count(len(event.mcp_servers), 'MCP server')}"
    return Told(title=title, detail=EngineNote(tools=event.tools, mcp_servers=event.mcp_servers), level="debug")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def word_move(token: ResumeToken, reason: str) -> Told:
    """The conversation goes on under another id."""
    return Told(title=f"the session is now {token.value}", detail=SessionNote(resume=token, reason=reason))


def word_wrong_session(wanted: ResumeToken, found: ResumeToken) -> str:
    """The error of a run whose engine opened another conversation than the one asked for."""
    return (
        f"{found.engine} opened session {found.value!r} instead of {wanted.value!r}; "
        "check the id, or start a new session"
    )


def word_exit(gone: EngineDetached | ExitView | None) -> str:
    """The error of a run whose agent ended without a result: the reason, the exit code, the tail of stderr."""
    if gone is None:
        return ENDED_EARLY
    facts = ", ".join(filter(None, (gone.reason, word_exit_status(gone.reason, gone.exit_code, gone.signal))))
    error = f"{ENDED_EARLY} ({facts})" if facts else ENDED_EARLY
    tail = gone.stderr.strip()
    return f"{error}: {tail}" if tail else error


def word_exit_status(reason: str, exit_code: int | None, signum: int | None) -> str:
    """Exit code or signal in words; empty when the reason already contains it."""
    if exit_code is not None:
        return "" if re.search(rf"\bcode {exit_code}\b", reason) else f"exit code {exit_code}"
    if signum is not None:
        number = f"signal {signum}"
        return "" if re.search(rf"\b({signal_name(signum)}|{number})\b", reason) else number
    return ""


def signal_name(signum: int) -> str:
    """The name of a signal; a real-time signal has none and is called by its number."""
    try:
        return signal.Signals(signum).name
    except ValueError:
        return f"signal {signum}"


def word_closing(reason: str) -> str:
    """The error of a run whose session was closed before its result."""
    return f"the session was closed: {reason}" if reason else "the session was closed"
