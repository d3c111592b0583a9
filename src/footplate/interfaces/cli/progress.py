"""How a run shows itself: painted on a terminal, as plain lines in a pipe, or as JSON lines."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from types import TracebackType
from typing import Protocol, TextIO

import msgspec

from footplate.engines.base import Engine
from footplate.events.runs import Action, Completed, RunEvent, Started
from footplate.events.wording import format_duration
from footplate.interfaces.cli.chat.text import prose
from footplate.interfaces.cli.lines import (
    action_line,
    clip,
    header,
    one_line,
    paint,
    steps_done,
    summary,
    verdict,
    visible,
)
from footplate.tasks import spawn

TICK_S = 0.2
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class Progress(Protocol):
    """A way to show a run. Entered before the first event, left after the last."""

    def show(self, event: RunEvent) -> None:
        """Show one event of the run."""
        ...

    def note(self, text: str) -> None:
        """Say something of our own."""
        ...

    async def __aenter__(self) -> object: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class JsonLines:
    """One JSON object per line on standard output; what we say ourselves is left out."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._encoder = msgspec.json.Encoder()

    def show(self, event: RunEvent) -> None:
        self._out.write(self._encoder.encode(event).decode() + "\n")
        self._out.flush()

    def note(self, text: str) -> None:
        """Programs get events only."""

    async def __aenter__(self) -> JsonLines:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


class PlainLines:
    """A line per finished action on standard error; the answer and the resume line on standard output."""

    def __init__(self, out: TextIO, err: TextIO, engine: Engine, *, color: bool = False) -> None:
        self._out = out
        self._err = err
        self._engine = engine
        self._color = color
        self._begun = time.monotonic()
        self._starts: dict[str, float] = {}
        self._steps = 0

    def show(self, event: RunEvent) -> None:
        match event:
            case Started():
                self._say(self._fit(header(event)), "bold")
            case Action():
                self._show_action(event)
            case Completed():
                self._show_end(event)

    def note(self, text: str) -> None:
        self._say(text, "dim")

    async def __aenter__(self) -> PlainLines:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def _fit(self, line: str) -> str:
        """In a pipe lines are whole."""
        return line

    def _show_action(self, action: Action) -> None:
        if action.phase == "started":
            self._starts[action.id] = time.monotonic()
            self._steps += 1
        if action.phase == "completed" and action.level != "debug":
            begun = self._starts.pop(action.id, None)
            elapsed = None if begun is None else time.monotonic() - begun
            self._say(self._fit(action_line(action, elapsed)), verdict(action))

    def _show_end(self, completed: Completed) -> None:
        elapsed = time.monotonic() - self._begun
        if completed.error:
            self._say(f"error: {visible(completed.error)}", "failed")
        self._say(
            summary(completed, steps=self._steps, elapsed=elapsed),
            "ok" if completed.ok else "failed",
        )
        self._err.flush()
        if completed.answer:
            self._out.write(prose(completed.answer, terminal=self._out.isatty()).rstrip("\n") + "\n")
        if completed.resume is not None:
            self._out.write(f"\n{self._engine.format_resume(completed.resume)}\n")
        self._out.flush()

    def _say(self, text: str, style: str) -> None:
        self._err.write(paint(text, style, color=self._color) + "\n")
        self._err.flush()


class Painter(PlainLines):
    """The same lines, and below them one that ticks: a clock, the steps so far, what is being done."""

    def __init__(self, out: TextIO, err: TextIO, engine: Engine) -> None:
        super().__init__(out, err, engine, color="NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb")
        self._doing: dict[str, str] = {}
        self._ticks = 0
        self._over = False
        self._ticker: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Painter:
        self._ticker = spawn(self._tick(), name="clock")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over = True
        self._wipe()
        if self._ticker is not None:
            self._ticker.cancel()
            await asyncio.wait((self._ticker,))

    def show(self, event: RunEvent) -> None:
        self._wipe()
        if isinstance(event, Action):
            self._follow(event)
        self._over = self._over or isinstance(event, Completed)
        super().show(event)
        self._draw()

    def note(self, text: str) -> None:
        self._wipe()
        super().note(text)
        self._draw()

    def _fit(self, line: str) -> str:
        return clip(line, self._columns())

    @staticmethod
    def _columns() -> int:
        return max(shutil.get_terminal_size().columns - 1, 10)

    def _follow(self, action: Action) -> None:
        if action.phase == "completed":
            self._doing.pop(action.id, None)
        else:
            self._doing[action.id] = one_line(action.title)

    async def _tick(self) -> None:
        while True:
            self._draw()
            await asyncio.sleep(TICK_S)
            self._ticks += 1

    def _draw(self) -> None:
        if self._over:
            return
        doing = next(reversed(self._doing.values()), "thinking")
        parts = [format_duration(int(time.monotonic() - self._begun)), steps_done(self._steps), doing]
        text = f"{SPINNER[self._ticks % len(SPINNER)]} {' · '.join(parts)}"
        self._err.write("\r\x1b[2K" + paint(self._fit(text), "running", color=self._color))
        self._err.flush()

    def _wipe(self) -> None:
        self._err.write("\r\x1b[2K")
        self._err.flush()
