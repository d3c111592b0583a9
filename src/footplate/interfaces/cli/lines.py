"""A run's events as single lines of text. Pure: no terminal, no clock."""

from __future__ import annotations

import unicodedata
from typing import Final

from footplate.events.run_events import TodoNote
from footplate.events.runs import Action, Completed, Started
from footplate.events.visible import name_code_point, show_exact, show_hidden
from footplate.events.wording import format_duration, format_money

MARKS: Final = {"running": "·", "ok": "✓", "failed": "✗", "warning": "!", "note": "-"}
STYLES: Final = {"ok": "32", "failed": "31", "warning": "33", "note": "2", "running": "36", "dim": "2", "bold": "1"}


def paint(text: str, style: str, *, color: bool) -> str:
    """The text in a named style, or as it is where colour is not wanted."""
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if color else text


def visible(text: str) -> str:
    """The text with its line breaks, and with every other character that a terminal does not draw as its code point."""
    shown = show_hidden(text).replace("\r\n", "\n").replace("\t", "    ")
    if shown.isascii() or shown.replace("\n", "").isprintable():
        return shown
    return "".join(char if char == "\n" or char.isprintable() else name_code_point(char) for char in shown)


def one_line(text: str) -> str:
    """The text as one visible line: nothing in it can fool a terminal."""
    return visible(text).replace("\n", " ").strip()


def exact_line(text: str) -> str:
    """A path or a label as one visible line, blanks and line breaks included."""
    return visible(show_exact(text))


def columns_of(text: str) -> int:
    """How many columns the text takes; wide characters take two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def clip(text: str, width: int) -> str:
    """The text cut to so many columns; wide characters count twice."""
    used = 0
    for index, char in enumerate(text):
        used += 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if used > width:
            return text[: max(index - 1, 0)] + "…"
    return text


def header(started: Started) -> str:
    """Who works where: `claude · opus · /path`."""
    mode = started.meta.permission_mode
    parts = [started.engine, started.title if started.title != started.engine else "", mode, started.meta.cwd]
    return " · ".join(one_line(part) for part in parts if part)


def verdict(action: Action) -> str:
    """The style and mark an action gets."""
    if action.kind == "warning" or action.level == "warning":
        return "warning"
    if action.phase != "completed":
        return "running"
    if action.kind == "note":
        return "note"
    return "failed" if action.ok is False else "ok"


def steps_done(steps: int) -> str:
    """`1 step`, `2 steps`."""
    return f"{steps} step{'s' * (steps != 1)}"


def _outcome(action: Action) -> str:
    """What an action came to, in a few words."""
    if isinstance(action.detail, TodoNote) and action.detail.entries:
        entries = action.detail.entries
        done = sum(entry.status == "completed" for entry in entries)
        current = next((entry for entry in entries if entry.status == "in_progress"), None)
        return f"{done} of {len(entries)} done" + (
            f", now: {current.active_form or current.content}" if current else ""
        )
    return action.message if action.message != action.title else ""


def action_line(action: Action, elapsed: float | None = None) -> str:
    """One line for an action: its mark, its title, what it came to and how long it took; a sub-agent's is indented."""
    indent = "  " if getattr(action.detail, "parent_id", None) else ""
    text = f"{indent}{MARKS[verdict(action)]} {one_line(action.title)}"
    if outcome := _outcome(action):
        text += f": {one_line(outcome)}"
    if elapsed is not None and elapsed >= 0.1:
        text += f" ({format_duration(elapsed)})"
    return text


def summary(completed: Completed, *, steps: int, elapsed: float) -> str:
    """The last line: how it went, how long it took, what it cost."""
    verdict = "done" if completed.ok else "failed"
    parts = [verdict, format_duration(elapsed), steps_done(steps), format_money(completed.cost_usd)]
    return " · ".join(part for part in parts if part)
