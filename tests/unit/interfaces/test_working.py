"""The line that moves while something takes its time: shown when it does, gone afterwards, never in a pipe."""

from __future__ import annotations

import asyncio
import io
import re

import pytest

from footplate.interfaces.cli import working as module
from footplate.interfaces.cli.working import WIPE, working


class Screen(io.StringIO):
    """A terminal that remembers, and says when something is on it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = asyncio.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.written.set()
        return super().write(text)


async def test_it_says_what_is_done_and_how_far_it_is_and_is_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.0)
    monkeypatch.setenv("COLUMNS", "40")
    screen = Screen()
    async with working("backing up to /a/place/with/a/long/name.db", lambda: "12 MB", screen) as line:
        line.say("backing up")
        await screen.written.wait()
    assert re.fullmatch(rf"({re.escape(WIPE)}. backing up · \ds · 12 MB)+{re.escape(WIPE)}", screen.getvalue())


async def test_what_is_done_at_once_and_what_is_no_terminal_shows_nothing() -> None:
    screen = Screen()
    async with working("quick", stream=screen):
        pass
    pipe = io.StringIO()
    async with working("in a pipe", stream=pipe) as line:
        line.wipe()
    assert (screen.getvalue(), pipe.getvalue()) == ("", "")
