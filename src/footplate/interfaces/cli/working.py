"""A line that moves while something takes its time: on a terminal, on standard error, and gone when it is done.

What is done in a blink shows nothing, and a pipe or a log gets no such line.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, TextIO

from footplate.events.wording import format_duration
from footplate.interfaces.cli.lines import clip, one_line
from footplate.interfaces.cli.progress import SPINNER, TICK_S
from footplate.tasks import spawn

PATIENCE_S: Final = 0.5
"""What is done sooner needs no line."""
WIPE: Final = "\r\x1b[2K"


class Working:
    """The line. `say` changes its words; `wipe` makes room for a line of text, and it comes back below."""

    def __init__(self, words: str, so_far: Callable[[], str], stream: TextIO) -> None:
        self._words = words
        self._so_far = so_far
        self._stream = stream
        self._begun = time.monotonic()
        self._ticks = 0

    def say(self, words: str) -> None:
        """What is being done now."""
        self._words = words

    def wipe(self) -> None:
        """Take the line away; nothing where none is shown."""
        if self._ticks:
            self._stream.write(WIPE)
            self._stream.flush()

    async def tick(self) -> None:
        """Move, until this is cancelled."""
        await asyncio.sleep(PATIENCE_S)
        while True:
            parts = (one_line(self._words), format_duration(int(time.monotonic() - self._begun)), self._so_far())
            text = f"{SPINNER[self._ticks % len(SPINNER)]} {' · '.join(filter(None, parts))}"
            self._ticks += 1
            self._stream.write(WIPE + clip(text, max(shutil.get_terminal_size().columns - 1, 10)))
            self._stream.flush()
            await asyncio.sleep(TICK_S)


@asynccontextmanager
async def working(words: str, so_far: Callable[[], str] = str, stream: TextIO | None = None) -> AsyncIterator[Working]:
    """Show that it goes on for as long as the block lasts; `so_far` tells how much is done."""
    shown = stream or sys.stderr
    line = Working(words, so_far, shown)
    ticking = spawn(line.tick(), name="working") if shown.isatty() else None
    try:
        yield line
    finally:
        if ticking is not None:
            ticking.cancel()
            await asyncio.wait((ticking,))
            line.wipe()
