"""`footplate history`: sessions that were started in a plain terminal: list them, read them, go on with them here."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from datetime import datetime

import click
import msgspec

from footplate.config.places import data_folder
from footplate.config.settings import load_settings
from footplate.engines.claude.history import LIMIT, History, HistoryEntry, HistoryPage
from footplate.engines.claude.resume import RESUME
from footplate.errors import LockHeld
from footplate.events import model as m
from footplate.events.content import text_of
from footplate.events.ids import SessionId
from footplate.events.model import Event
from footplate.events.wording import format_size
from footplate.interfaces.cli.client import SOCKET_NAME as LOCAL_SOCKET
from footplate.interfaces.cli.client import answers, open_client
from footplate.interfaces.cli.failing import guarded
from footplate.interfaces.cli.lines import MARKS, clip, one_line
from footplate.interfaces.cli.tables import render_table
from footplate.runtime.adoption import adopt_past
from footplate.store.sqlite import SqliteStore

TITLE_WIDTH = 60
LINE_WIDTH = 200


def _history() -> History:
    return History.of(os.environ, load_settings(os.environ).engines)


def _find(history: History, session: str) -> HistoryEntry:
    token = RESUME.extract(session)
    return history.find(token.value if token is not None else session)


as_json_option = click.option("--json", "as_json", is_flag=True, help="JSON, one object per line.")


@click.group("history", short_help="Sessions from elsewhere: list, read, go on with them.")
def history_group() -> None:
    """Sessions that Claude Code has on this machine, also those that were started in a plain terminal.

    \b
    Examples:
      footplate history list --all
      footplate history adopt 0d5b...
    """


@history_group.command("list")
@click.option("--cwd", default=".", metavar="D", help="Those that were started in this folder; default: this one.")
@click.option("--all", "everywhere", is_flag=True, help="Those of every folder.")
@click.option("--limit", type=click.IntRange(1), default=LIMIT, show_default=True, metavar="N", help="How many.")
@click.option("--after", default=None, metavar="C", help="Go on where a list before stopped.")
@as_json_option
def list_command(cwd: str, everywhere: bool, limit: int, after: str | None, as_json: bool) -> None:
    """List sessions, the latest first. No file is read whole.

    \b
    Example:
      footplate history list --all --limit 20
    """
    folder = None if everywhere else cwd
    page = guarded(lambda: _history().list(cwd=folder, limit=limit, after=after))
    for entry in page.entries if as_json else ():
        click.echo(msgspec.json.encode(entry))
    if page.entries and not as_json:
        head = ("SESSION", "CHANGED", "SIZE", "TITLE", *(("FOLDER",) if everywhere else ()))
        click.echo(render_table(head, [_row(entry, everywhere=everywhere) for entry in page.entries]))
    _tell_rest(page, everywhere=everywhere)


def _tell_rest(page: HistoryPage, *, everywhere: bool) -> None:
    if page.after is not None:
        click.echo(f"there are more: add --after {page.after}", err=True)
    elif not page.entries:
        click.echo("no sessions" if everywhere else "no sessions of this folder; --all looks everywhere", err=True)


def _row(entry: HistoryEntry, *, everywhere: bool) -> tuple[str, ...]:
    when = datetime.fromtimestamp(entry.modified).astimezone().strftime("%Y-%m-%d %H:%M")
    row = (entry.session, when, format_size(entry.size), clip(one_line(entry.title), TITLE_WIDTH))
    return (*row, entry.cwd) if everywhere else row


@history_group.command("show")
@click.argument("session")
@as_json_option
def show_command(session: str, as_json: bool) -> None:
    """Show the past of SESSION: its id, the beginning of its id, or its resume line.

    \b
    Example:
      footplate history show 0d5b...
    """

    def show() -> None:
        history = _history()
        for told in history.tell(_find(history, session)):
            if as_json:
                click.echo(msgspec.json.encode(told))
            else:
                for line in _lines(told.event):
                    click.echo(line)

    guarded(show)


def _lines(event: Event) -> Iterator[str]:
    """An event of the past for a person; nothing for most."""
    match event:
        case m.UserMessage(synthetic=False):
            yield ""
            yield from (f"> {line}" for line in _safe(text_of(event.content)))
        case m.Message():
            yield from _safe(event.text)
        case m.ToolStarted():
            yield clip(f"{MARKS['running']} {one_line(f'{event.name}: {event.title}')}", LINE_WIDTH)
        case m.ToolEnded(ok=False):
            said = one_line(text_of(event.content) or event.note)
            yield clip(f"{MARKS['failed']} {event.outcome}: {said}", LINE_WIDTH)
        case m.CompactionEnded():
            yield f"{MARKS['note']} the context was shortened here"
        case m.TurnEnded(ok=False):
            yield f"{MARKS['failed']} {one_line(event.error)}"
        case m.Notice(level="info" | "warning" | "error"):
            yield clip(f"{MARKS['note']} {one_line(event.text)}", LINE_WIDTH)
        case _:
            return


def _safe(text: str) -> list[str]:
    """The lines of a text, none of which can fool a terminal."""
    return ["".join(char if char.isprintable() or char == "\t" else " " for char in line) for line in text.splitlines()]


@history_group.command("adopt")
@click.argument("session")
@as_json_option
def adopt_command(session: str, as_json: bool) -> None:
    """Make SESSION one of ours, with its past, and go on with it by `footplate chat`.

    Refused while another process has it. Its file stays where it is: `claude --resume` takes it back.

    \b
    Example:
      footplate history adopt 0d5b...
    """
    entry, ours = guarded(lambda: asyncio.run(_adopt(session)))
    resume = RESUME.format(entry.token)
    if as_json:
        click.echo(msgspec.json.encode({"session": ours, "cwd": entry.cwd, "resume": resume}))
        return
    click.echo(f"session {ours}: `footplate chat {ours}` goes on with it")
    click.echo(f"to take it back, leave it here and run in {entry.cwd}:\n{resume}")


async def _adopt(session: str) -> tuple[HistoryEntry, SessionId]:
    history = _history()
    entry = _find(history, session)
    data = data_folder(os.environ)
    try:
        async with await SqliteStore.open(data / "store") as store:
            return entry, await adopt_past(store, history, entry, data / "locks")
    except LockHeld:
        if not await answers(data / LOCAL_SOCKET):
            raise
    async with open_client() as client:
        return entry, (await client.post("/api/history/adopt", _Adopted, {"session": entry.session})).id


class _Adopted(msgspec.Struct, frozen=True, kw_only=True):
    """The session that a service has made of it, as far as we look."""

    id: SessionId
