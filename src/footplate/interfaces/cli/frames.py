"""`footplate sessions frames`: the raw lines of a session's agents."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Final
from urllib.parse import quote

import click
import msgspec

from footplate.events.wording import format_size
from footplate.interfaces.cli.client import Client, service_options, with_client
from footplate.interfaces.cli.lines import clip, one_line
from footplate.interfaces.cli.tables import screen_width

DIRECTIONS: Final = ("in", "out", "err", "gap")
MARKS: Final = {"in": "<", "out": ">", "err": "!", "gap": "…"}
PAGE: Final = 500
LOOK_S: Final = 1.0
"""How often new lines are looked for."""


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """One raw line, as far as it is shown."""

    number: int
    time: float
    direction: str
    type: str
    size: int
    raw: str


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Some raw lines as they were sent."""

    frames: tuple[msgspec.Raw, ...]
    cursor: int
    more: bool
    first: int
    last: int


def render_frame(frame: Head, width: int = 0) -> str:
    """The line of a frame: its number, time, direction, type, size and content, cut to the terminal."""
    moment = f"{time.strftime('%H:%M:%S', time.localtime(frame.time))}.{int(frame.time % 1 * 1000):03d}"
    facts = f"{frame.number:>6} {moment} {MARKS.get(frame.direction, '?')} {one_line(frame.type)}"
    return clip(f"{facts} · {format_size(frame.size)} · {one_line(frame.raw)}", width or screen_width())


@click.command("frames")
@click.argument("session")
@click.option("--tail", type=click.IntRange(1, 5000), default=50, show_default=True, metavar="N", help="The last N.")
@click.option("--after", type=click.IntRange(0), metavar="N", help="All those after this number instead.")
@click.option("--direction", "directions", type=click.Choice(DIRECTIONS), multiple=True, help="Only those; repeatable.")
@click.option("--follow", is_flag=True, help="Wait for new lines until interrupted.")
@service_options
def frames_command(
    session: str,
    tail: int,
    after: int | None,
    directions: tuple[str, ...],
    follow: bool,
    url: str,
    token: str,
    as_json: bool,
) -> None:
    """Print the raw lines of the agents of SESSION: < stdout, > stdin, ! stderr, … missing lines.

    With --json each line is a JSON object with the whole text, which is cut to the terminal otherwise. Lines that were
    removed for their age or size are counted on stderr.

    \b
    Examples:
      footplate sessions frames 01M7... --direction err
      footplate sessions frames 01M7... --after 0 --json > raw.jsonl
    """
    path = f"/api/sessions/{quote(session, safe='')}/frames"

    async def work(client: Client) -> None:
        lines = Lines(client, path, directions)
        if after is None:
            for frame in await lines.read_tail(tail):
                _print(frame, as_json=as_json)
        else:
            lines.cursor = after
        while True:
            async for frame in lines.read_on():
                _print(frame, as_json=as_json)
            if not follow:
                return
            await asyncio.sleep(LOOK_S)

    with_client(url, token, work)


class Lines:
    """Reads raw lines a page at a time, each once."""

    def __init__(self, client: Client, path: str, directions: tuple[str, ...]) -> None:
        self._client = client
        self._path = path
        self._directions = directions
        self.cursor = 0

    async def read_tail(self, count: int) -> list[msgspec.Raw]:
        """The newest lines, the oldest of them first."""
        frames: list[msgspec.Raw] = []
        before: int | None = None
        while len(frames) < count:
            query = {"order": "newest", "limit": count - len(frames), "before": before}
            page = await self._get(query)
            if before is None:
                self.cursor = page.last
            frames += page.frames
            before = page.cursor
            if not page.more:
                break
        return frames[::-1]

    async def read_on(self) -> AsyncIterator[msgspec.Raw]:
        """The lines that were not read yet."""
        while True:
            page = await self._get({"after": self.cursor, "limit": PAGE})
            if page.first > self.cursor + 1:
                click.echo(f"lines {self.cursor + 1} to {page.first - 1} are no longer stored", err=True)
            self.cursor = max(page.cursor, page.first - 1)
            for frame in page.frames:
                yield frame
            if not page.more:
                return

    async def _get(self, query: dict[str, object]) -> Page:
        return await self._client.get(self._path, Page, {**query, "direction": self._directions})


def _print(frame: msgspec.Raw, *, as_json: bool) -> None:
    click.echo(bytes(frame) if as_json else render_frame(msgspec.json.decode(frame, type=Head)))
