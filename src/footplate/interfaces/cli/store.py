"""`footplate store`: back up, check, tidy, shrink, export and import what sessions have left."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import click
import msgspec

from footplate.config.places import data_folder
from footplate.config.settings import load_settings
from footplate.events.ids import SessionId
from footplate.events.wording import format_size
from footplate.interfaces.cli.failing import FAILED, guarded, guarded_run
from footplate.interfaces.cli.working import working
from footplate.runtime.audit import LOCAL, Act, Audit, Principal, account_name
from footplate.runtime.housekeeping import audit_step, policy_of
from footplate.runtime.surroundings import Surroundings
from footplate.store.sqlite import SqliteStore
from footplate.store.sqlite.vacuum import Vacuumed
from footplate.store.sqlite.vacuum import vacuum as write_vacuum
from footplate.store.values import Retained

T = TypeVar("T")


def _with_store(words: str, work: Callable[[SqliteStore], Awaitable[T]], so_far: Callable[[], str] = str) -> T:
    """Open the store of the data folder, do the work, close it; an error is printed in one line.

    On a terminal `words` and `so_far` show the progress.
    """

    async def go() -> T:
        async with await SqliteStore.open(data_folder(os.environ) / "store") as store, working(words, so_far):
            return await work(store)

    return guarded_run(go)


async def _record(store: SqliteStore, act: Act, target: str = "") -> None:
    principal = Principal(by=account_name(), surface="cli", origin=LOCAL)
    await Audit(store.audit, Surroundings()).record(act, principal, target=target)


def _say(facts: dict[str, object], text: str, *, as_json: bool) -> None:
    click.echo(msgspec.json.encode(facts) if as_json else text)


as_json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object.")


@click.group("store", short_help="Look after the store: back up, check, tidy, move.")
def store_group() -> None:
    """Look after the store below the data folder. No other Footplate process may have it open.

    \b
    Example:
      footplate store backup ~/footplate-backup.db
    """


@store_group.command("backup")
@click.argument("path", type=click.Path(dir_okay=False, path_type=Path))
@as_json_option
def backup(path: Path, as_json: bool) -> None:
    """Write a consistent copy of the whole store to PATH, which must not exist yet.

    \b
    Example:
      footplate store backup ~/footplate-backup.db
    """
    size = _with_store(f"backing up to {path}", lambda store: store.backup(path), lambda: _size(path))
    _say({"path": str(path), "bytes": size}, f"{path}: {format_size(size)}", as_json=as_json)


@store_group.command("check")
@as_json_option
def check(as_json: bool) -> None:
    """Look at everything; exit code 1 when something is wrong.

    \b
    Example:
      footplate store check
    """
    problems = _with_store("looking at everything", lambda store: store.check())
    _say({"problems": list(problems)}, "\n".join(problems) or "the store is sound", as_json=as_json)
    sys.exit(FAILED if problems else 0)


@store_group.command("export")
@click.argument("session")
@click.option("--json", is_flag=True, expose_value=False, help="It is JSON anyway.")
def export(session: str) -> None:
    """Write SESSION as JSON lines to standard output.

    \b
    Example:
      footplate store export 01M7... > session.jsonl
    """

    written = 0

    async def write(store: SqliteStore) -> None:
        nonlocal written
        async for line in store.export(SessionId(session)):
            sys.stdout.buffer.write(line)
            written += len(line)
        sys.stdout.buffer.flush()

    _with_store(f"exporting {session}", write, lambda: "" if sys.stdout.isatty() else format_size(written))


@store_group.command("import")
@click.argument("path", type=click.Path(dir_okay=False, exists=True, path_type=Path))
@as_json_option
def import_(path: Path, as_json: bool) -> None:
    """Take in a session that `export` wrote.

    \b
    Example:
      footplate store import session.jsonl
    """
    lines = path.read_bytes().splitlines(keepends=True)

    async def take_in(store: SqliteStore) -> SessionId:
        await _record(store, "store.import", str(path))
        return await store.import_(lines)

    session = _with_store(f"importing {len(lines)} lines", take_in)
    _say({"session": session}, f"imported session {session}", as_json=as_json)


@store_group.command("tidy")
@click.option("--closed-days", type=click.FloatRange(0), metavar="N", help="Delete sessions closed N days ago, too.")
@as_json_option
def tidy(closed_days: float | None, as_json: bool) -> None:
    """Delete expired data (raw lines, replays of old connections) and reclaim disk space.

    What is expired is set in [retention]. A running service does the same by itself, a little at a time.

    \b
    Example:
      footplate store tidy --closed-days 90
    """
    settings = guarded(lambda: load_settings(os.environ)).retention
    if closed_days is not None:
        settings = msgspec.structs.replace(settings, closed_sessions_days=closed_days)
    policy = policy_of(settings)

    async def all_steps(store: SqliteStore) -> Retained:
        await _record(store, "store.tidy")
        audit = Audit(store.audit, Surroundings())
        total = last = await store.retain(policy, record=audit.expired_session)
        while last.more:
            last = await store.retain(policy, record=audit.expired_session)
            total = _sum(total, last)
        expire = audit_step(audit, lambda: settings)
        while await expire():
            pass
        return total

    removed = msgspec.structs.replace(_with_store("removing", all_steps), more=False)
    facts = {name: getattr(removed, name) for name in Retained.__struct_fields__ if name != "more"}
    _say(facts, ", ".join(f"{count} {name}" for name, count in facts.items()) + " removed", as_json=as_json)


@store_group.command("vacuum")
@as_json_option
def vacuum(as_json: bool) -> None:
    """Write the file anew, as small as what it holds. Takes as much free space as it has, for a while.

    \b
    Example:
      footplate store vacuum
    """

    async def write_anew() -> Vacuumed:
        folder = data_folder(os.environ) / "store"
        async with await SqliteStore.open(folder) as store:  # made, or migrated, as for any other command
            await _record(store, "store.vacuum")
        async with working("writing the store anew", lambda: ""):
            return await asyncio.to_thread(write_vacuum, folder)

    done = guarded_run(write_anew)
    text = f"{format_size(done.before)} before, {format_size(done.after)} now"
    _say(msgspec.structs.asdict(done), text, as_json=as_json)


def _size(path: Path) -> str:
    """How much is written so far."""
    try:
        return format_size(path.stat().st_size)
    except OSError:
        return ""


def _sum(one: Retained, two: Retained) -> Retained:
    names = [name for name in Retained.__struct_fields__ if name != "more"]
    return Retained(**{name: getattr(one, name) + getattr(two, name) for name in names})
