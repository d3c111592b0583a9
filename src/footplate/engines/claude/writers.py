"""Who writes a session's file right now: no other process may, before we append to it or continue it.

The CLI opens its file for every write and closes it again, so that there is no open descriptor (which is looked for
too) proves little. But every CLI with a session, in a terminal or not, writes down who it is in `sessions/<pid>.json`
beside its projects, with the start of its process: seen on 2.1.325 and 2.1.197. The third trace is an argument
(`--resume ID`, `--session-id ID`) of a living process.

What cannot be seen: processes of another machine on a shared home, of another process namespace (a container; our own
agents in a sandbox are covered by our locks), of another user unless we are root, and a CLI that is about to start.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final, Literal

import msgspec

from footplate.engines.claude.lenient import read_struct
from footplate.engines.claude.wire import Part
from footplate.host.table import LINUX, Table, look

How = Literal["registered", "open file", "argument"]
NAMES: Final = ("--resume", "-r", "--session-id")
VANISHED: Final = (FileNotFoundError, ProcessLookupError, PermissionError)


class Registered(Part, frozen=True, kw_only=True, rename="camel"):
    """What a CLI writes down of itself."""

    pid: int = 0
    session_id: str = ""
    proc_start: str = ""


REGISTERED: Final = msgspec.json.Decoder(Registered)


class Writer(msgspec.Struct, frozen=True, kw_only=True):
    """A living process that has the session, and how we know."""

    pid: int
    how: How

    def describe(self) -> str:
        """Say it in a few words."""
        return f"process {self.pid} ({self.how})"


def find_writer(config: Path, session: str, path: Path | None = None) -> Writer | None:
    """A process that has the session; neither this one nor those that it was started by."""
    table = Table()
    ours = table.untouchable()
    traces: tuple[tuple[How, Iterator[int]], ...] = (
        ("registered", _registered(config, session)),
        ("open file", _with_file(table, path)),
        ("argument", _with_argument(table, session)),
    )
    for how, pids in traces:
        for pid in pids:
            if pid not in ours:
                return Writer(pid=pid, how=how)
    return None


def _registered(config: Path, session: str) -> Iterator[int]:
    for path in sorted((config / "sessions").glob("[0-9]*.json")):
        try:
            found = read_struct(REGISTERED, path.read_bytes())
        except VANISHED:
            continue
        if found is not None and found.session_id == session and _lives(found):
            yield found.pid


def _lives(found: Registered) -> bool:
    """Whether that very process lives, and not another one that got its number."""
    if LINUX:
        seen = look(found.pid)
        return seen is not None and found.proc_start in ("", str(seen.start))
    try:
        os.kill(found.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _with_file(table: Table, path: Path | None) -> Iterator[int]:
    if path is None:
        return
    wanted = os.path.realpath(path)
    for pid in table.seen:
        folder = Path(f"/proc/{pid}/fd")
        try:
            if any(_target(link) == wanted for link in folder.iterdir()):
                yield pid
        except VANISHED:
            continue


def _target(link: Path) -> str:
    try:
        return os.readlink(link)  # noqa: PTH115 - a path would not do for "socket:[1]"
    except VANISHED:
        return ""


def _with_argument(table: Table, session: str) -> Iterator[int]:
    wanted = session.encode()
    for pid in table.seen:
        try:
            arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except VANISHED:
            continue
        if any(_names(before, argument, wanted) for before, argument in pairwise(arguments)):
            yield pid


def _names(before: bytes, argument: bytes, wanted: bytes) -> bool:
    """Whether an argument, with the one before it, says that this process has the session."""
    if argument == wanted:
        return before in tuple(name.encode() for name in NAMES)
    return argument in tuple(name.encode() + b"=" + wanted for name in NAMES)
