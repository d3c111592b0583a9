"""The server that runs on a data folder: where it is, and how others of the same person get in.

The file lies in the data folder, readable by its owner alone. It is written when the server listens and removed when it
ends; one that was killed leaves it, so a reader looks whether the process is still the same.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import msgspec

RECORD: Final = "server.json"
LOG: Final = "server.log"
DEFAULT_PORT: Final = 2468
"""Where a server listens when nobody says otherwise."""


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """A server. `token` is known to this very process and ends with it; `start_time` tells its pid from a later one."""

    pid: int
    start_time: int
    url: str
    version: str
    started_at: float
    token: str = ""
    verify: str = ""
    """The certificate that it shows, where it serves HTTPS."""
    options: tuple[str, ...] = ()
    """What it was started with."""


def read_running(data: Path) -> Running | None:
    """The record, whether its process still runs or not; None when there is none that can be read."""
    try:
        return msgspec.json.decode((data / RECORD).read_bytes(), type=Running)
    except (FileNotFoundError, NotADirectoryError, msgspec.MsgspecError):
        return None


def write_running(data: Path, running: Running) -> None:
    """Put the record in its place, whole."""
    beside = data / f"{RECORD}.{running.pid}"
    beside.unlink(missing_ok=True)
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(msgspec.json.encode(running))
    beside.replace(data / RECORD)


def remove_running(data: Path, pid: int) -> None:
    """Remove the record of that process; another's stays."""
    found = read_running(data)
    if found is not None and found.pid == pid:
        (data / RECORD).unlink(missing_ok=True)
