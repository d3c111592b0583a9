"""Events that are told in a line or two, whatever came before them. Pure."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar, cast

from footplate.events import model as m
from footplate.events.tools import PlanEntry
from footplate.events.wording import describe_ending, format_tokens
from footplate.interfaces.cli.chat.text import Line, Style, fit, flat, lines_of, output_lines, shorten

MOST_OUTPUT: Final = 40
LEVELS: Final[dict[str, Style]] = {"info": "dim", "warning": "warning", "error": "failed"}
MARKS: Final = {"info": "-", "warning": "!", "error": "✗"}
E = TypeVar("E")
BOXES: Final = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}


def note_lines(event: m.Event) -> list[Line]:
    """The event as lines; nothing for one that is told elsewhere or not at all."""
    teller = _TELLERS.get(type(event))
    return teller(event) if teller is not None else []


def _dim(text: str) -> list[Line]:
    return [Line(text, "dim")]


def _opened(event: m.SessionOpened) -> list[Line]:
    return [Line(f"{flat(event.engine)} · {flat(event.cwd)}", "bold")]


def _model(event: m.ModelChanged) -> list[Line]:
    fallback = f" (instead of {flat(event.fallback_from)})" if event.fallback_from else ""
    return _dim(f"- model: {flat(event.model)}{fallback}")


def _detached(event: m.EngineDetached) -> list[Line]:
    if event.exit_code in (None, 0) and event.signal is None:
        return []
    return [Line(f"! the agent's process has ended: {flat(event.reason)}", "warning"), *_stderr(event)]


def _task_started(event: m.TaskStarted) -> list[Line]:
    return [Line(f"· in the background: {flat(event.title)}", "running")] if event.background else []


def _notice(event: m.Notice) -> list[Line]:
    return [Line(f"{MARKS[event.level]} {flat(event.text)}", LEVELS[event.level])] if event.level in MARKS else []


def _unparsed(event: m.Unparsed) -> list[Line]:
    return _dim(f"! a line that cannot be read ({flat(event.reason)}): {fit(flat(event.raw), 100)}")


def _stderr(event: m.EngineDetached) -> list[Line]:
    return shorten(lines_of(event.stderr, "dim", indent=1), 8) if event.stderr else []


def _task(event: m.TaskEnded) -> list[Line]:
    good = event.status == "completed"
    summary = f": {flat(event.summary)}" if event.summary else ""
    return [Line(f"{'✓' if good else '✗'} background work {event.status}{summary}", "ok" if good else "warning")]


def _compaction(event: m.CompactionEnded) -> list[Line]:
    if not event.ok:
        return [Line(f"✗ the context could not be shortened: {flat(event.error)}", "failed")]
    size = f" from {format_tokens(event.tokens_before)} tokens" if event.tokens_before is not None else ""
    size += f" to {format_tokens(event.tokens_after)}" if event.tokens_after is not None else ""
    return [Line(f"✓ the context is shortened{size}", "ok")]


def _limit(event: m.LimitReached) -> list[Line]:
    if event.status == "clear":
        return _dim(f"- {flat(event.text)}") if event.text else []
    words = "reached" if event.status == "reached" else "near"
    text = f": {flat(event.text)}" if event.text else ""
    return [Line(f"! limit {flat(event.name) or event.kind} {words}{text}{_until(event.resets_at)}", "warning")]


def _until(at: float | None) -> str:
    return f", until {time.strftime('%H:%M', time.localtime(at))}" if at else ""


def _command(event: m.CommandRan) -> list[Line]:
    code = f" (exit code {event.exit_code})" if event.exit_code else ""
    found = [Line(f"$ {flat(event.command)}{code}", "failed" if event.exit_code else "bold")]
    found += shorten(output_lines(event.output, indent=1), MOST_OUTPUT) if event.output.strip() else []
    return [*found, Line("… the rest is cut off", "dim", 1)] if event.truncated else found


def plan_lines(entries: tuple[PlanEntry, ...], before: tuple[PlanEntry, ...], *, indent: int = 0) -> list[Line]:
    """A to-do list: in full when it is new, else how far it is."""
    done = sum(entry.status == "completed" for entry in entries)
    current = next((entry for entry in entries if entry.status == "in_progress"), None)
    doing = f", now: {flat(current.active_form or current.content)}" if current else ""
    if [entry.content for entry in entries] == [entry.content for entry in before]:
        return [Line(f"- plan: {done} of {len(entries)} done{doing}", "dim", indent)] if entries != before else []
    return [Line(f"{BOXES[entry.status]} {flat(entry.content)}", "", indent) for entry in entries]


def _on(kind: type[E], teller: Callable[[E], list[Line]]) -> tuple[type, Callable[..., list[Line]]]:
    return kind, cast("Callable[..., list[Line]]", teller)


_TELLERS: Final[dict[type, Callable[..., list[Line]]]] = dict(
    (
        _on(m.SessionOpened, _opened),
        _on(m.ModeChanged, lambda event: _dim(f"- mode: {flat(event.mode)}")),
        _on(m.ModelChanged, _model),
        _on(m.EffortChanged, lambda event: _dim(f"- effort: {flat(event.effort)}")),
        _on(m.TitleChanged, lambda event: _dim(f"- title: {flat(event.title)}")),
        _on(m.EngineDetached, _detached),
        _on(m.SessionClosed, lambda event: _dim(f"- the session is closed {flat(event.reason)}".rstrip())),
        _on(m.TaskStarted, _task_started),
        _on(m.TaskEnded, _task),
        _on(m.CompactionStarted, lambda _: [Line("· shortening the context", "running")]),
        _on(m.CompactionEnded, _compaction),
        _on(m.LimitReached, _limit),
        _on(m.Parked, lambda event: [Line(f"! parked: {flat(event.reason)}{_until(event.until)}", "warning")]),
        _on(m.CommandRan, _command),
        _on(m.FilesRewound, lambda event: _dim(f"- files put back: {flat(', '.join(event.files)) or 'none'}")),
        _on(m.Notice, _notice),
        _on(m.Unparsed, _unparsed),
        _on(m.RequestWithdrawn, lambda event: _dim(f"- request {describe_ending('withdrawn', event.reason)}")),
        _on(m.RequestRejected, lambda event: [Line(f"✗ {describe_ending('rejected', event.reason)}", "failed")]),
        _on(m.RuleAdded, lambda event: _dim(f"- from now on: {flat(event.rule.label)} (/rules, /revoke)")),
        _on(m.RuleRevoked, lambda _: _dim("- a rule of the session is revoked")),
        _on(m.RequestUnanswered, lambda event: _dim(f"- request {describe_ending('unanswered', event.reason)}")),
    )
)
