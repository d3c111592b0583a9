"""What stands in the way of a server on this machine: a mistake in the settings, a taken port, locks that were left."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from footplate.config.places import settings_file
from footplate.config.running import RECORD, read_running
from footplate.errors import ConfigError
from footplate.host.locks import Holder
from footplate.host.table import start_time
from footplate.runtime.checkup import Finding, Patient, read_settings

LOOPBACK: Final = "127.0.0.1"
LISTENS: Final = "0A"
"""The state of a listening socket in /proc/net/tcp."""
SHOWN: Final = 5


async def check_settings(patient: Patient) -> list[Finding]:
    """Whether every setting is one, those of each engine too."""
    path = settings_file(patient.environ)
    try:
        read_settings(patient.environ)
    except ConfigError as problem:
        advice = "mend it with `footplate config edit`; `footplate config check` looks at it again"
        return [Finding(name="settings", status="fail", text=str(problem), advice=advice, facts={"path": str(path)})]
    there = str(path) if path.exists() else f"none in {path}: every setting has its default"
    return [Finding(name="settings", status="ok", text=there, facts={"path": str(path)})]


# ------------------------------------------------------------------------------------------------- the port


async def check_port(patient: Patient) -> list[Finding]:
    """Whether a server runs here, or could listen."""
    running = read_running(patient.data)
    if running is not None and start_time(running.pid) == running.start_time:
        facts: dict[str, object] = {"url": running.url, "pid": running.pid}
        text = f"one runs: {running.url} (pid {running.pid}, version {running.version})"
        return [Finding(name="server", status="ok", text=text, facts=facts)]
    if not patient.port:
        return [Finding(name="server", status="ok", text="none runs on this data folder")]
    return [await asyncio.to_thread(_look_at_port, patient.port)]


def _look_at_port(port: int) -> Finding:
    try:
        socket.create_server((LOOPBACK, port)).close()
    except OSError as problem:
        if problem.errno != errno.EADDRINUSE:
            text = f"port {port} cannot be had: {problem.strerror}"
            return Finding(name="server", status="fail", text=text, advice="choose another: `footplate serve --port P`")
        pid = next(_listeners(port), 0)
        whose = f"process {pid} ({_program(pid)})" if pid else "a program that we may not see"
        advice = f"end {'it' if pid else 'that one'}, or choose another port: `footplate serve --port P`"
        text = f"port {port} is taken by {whose}, and no server runs on this data folder"
        return Finding(name="server", status="fail", text=text, advice=advice, facts={"port": port, "pid": pid})
    return Finding(name="server", status="ok", text=f"none runs; port {port} is free", facts={"port": port})


def _listeners(port: int) -> Iterator[int]:
    """The processes that listen on the port, as far as we may see them."""
    sockets = {f"socket:[{inode}]" for inode in _listening(port)}
    for folder in Path("/proc").glob("[0-9]*") if sockets else ():
        try:
            if any(str(each.readlink()) in sockets for each in (folder / "fd").iterdir()):
                yield int(folder.name)
        except OSError:
            continue  # it is another's, or has just ended


def _listening(port: int) -> Iterator[str]:
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue  # there is no such table here
        for row in (each.split() for each in rows):
            if row[3] == LISTENS and int(row[1].rpartition(":")[2], 16) == port:
                yield row[9]


def _program(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "which has just ended"


# ------------------------------------------------------------------------------------------------- locks


async def check_locks(patient: Patient) -> list[Finding]:
    """What says that something is in use although nobody uses it."""
    return [await asyncio.to_thread(_look_at_locks, patient.data)]


def _look_at_locks(data: Path) -> Finding:
    held, left, stale = 0, [], list(_stale_record(data))
    locked = _locked_inodes()
    for path in sorted((data / "locks").glob("*.lock")):
        holder, inode = _read_holder(path)
        if holder is None or (not holder.dead and inode in locked):
            held += inode in locked
        elif inode in locked:
            left.append(path)
        elif holder.dead:
            stale.append((path, f"{path.name} (process {holder.pid})"))
    facts: dict[str, object] = {
        "held": held,
        "left": [str(path) for path in left],
        "stale": [str(path) for path, _ in stale],
    }
    if stale:
        words = ", ".join(what for _, what in stale[:SHOWN]) + (" and more" if len(stale) > SHOWN else "")
        text = f"{len(stale)} left by a process that is gone: {words}"
        advice = f"they hold nothing up and may be deleted: rm {' '.join(str(path) for path, _ in stale[:SHOWN])}"
        return Finding(name="locks", status="warn", text=text, advice=advice, facts=facts)
    if left:
        text = f"{len(left)} held by agents that go on without their service"
        advice = "start the service again: it takes them over; else they end with the keeper's grace"
        return Finding(name="locks", status="warn", text=text, advice=advice, facts=facts)
    return Finding(name="locks", status="ok", text=f"{held} held" if held else "none", facts=facts)


def _stale_record(data: Path) -> Iterator[tuple[Path, str]]:
    running = read_running(data)
    if running is not None and start_time(running.pid) != running.start_time:
        yield data / RECORD, f"{RECORD} (a server at {running.url}, process {running.pid})"


def _read_holder(path: Path) -> tuple[Holder | None, int]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Holder), path.stat().st_ino
    except FileNotFoundError:
        return None, 0  # it was just released
    except msgspec.MsgspecError:
        return None, path.stat().st_ino  # it is just being taken


def _locked_inodes() -> frozenset[int]:
    """The files that somebody has locked: the kernel's list, since to try a lock would be to take it."""
    try:
        rows = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return frozenset()
    return frozenset(int(row.split()[5].rpartition(":")[2]) for row in rows if " FLOCK " in row and "->" not in row)
