"""The server in the background: start it, look at it, stop it, read its log, hand it to systemd."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from footplate.config.places import data_folder
from footplate.config.running import LOG, Running, read_running
from footplate.errors import Conflict, ServiceUnreachable
from footplate.host.table import start_time

START_S: Final = 60.0
STOP_S: Final = 90.0
LOOK_S: Final = 0.05
LAST_LINES: Final = 5
UNIT: Final = """\
[Unit]
Description=Footplate: coding agents, driven from anywhere
After=network-online.target

[Service]
ExecStart={command}
{environment}Restart=on-failure
RestartSec=2
# Agents outlive a restart of the server: only the server itself is told to end.
KillMode=process
TimeoutStopSec=60

[Install]
WantedBy=default.target
"""


class Status(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether a server runs on the data folder, and which."""

    running: bool
    data: str
    pid: int | None = None
    url: str = ""
    version: str = ""
    uptime_s: float | None = None
    log: str = ""


def find_running(data: Path) -> Running | None:
    """The server that runs on the folder now."""
    found = read_running(data)
    return found if found is not None and start_time(found.pid) == found.start_time else None


def look(environ: Mapping[str, str]) -> Status:
    """How things stand."""
    data = data_folder(environ)
    found = find_running(data)
    log = str(data / LOG) if (data / LOG).exists() else ""
    if found is None:
        return Status(running=False, data=str(data), log=log)
    return Status(
        running=True,
        data=str(data),
        pid=found.pid,
        url=found.url,
        version=found.version,
        uptime_s=round(time.time() - found.started_at, 1),
        log=log,
    )


def start_detached(environ: Mapping[str, str], options: Sequence[str]) -> Iterator[str]:
    """Start a server that outlives this terminal; what it says at its start, line by line, as it says it.

    Raises `Conflict` when one runs already, `ServiceUnreachable` with its last words when it does not come up.
    """
    data = data_folder(environ)
    if (found := find_running(data)) is not None:
        raise Conflict(f"a server runs already: {found.url} (pid {found.pid}); `footplate serve stop` ends it")
    data.mkdir(parents=True, exist_ok=True)
    log = data / LOG
    with log.open("ab") as output:
        begin = output.tell()
        log.chmod(0o600)
        child = subprocess.Popen(
            [sys.executable, "-m", "footplate", "serve", *options],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    yield from _first_words(child, data, log, begin)


def _first_words(child: subprocess.Popen[bytes], data: Path, log: Path, begin: int) -> Iterator[str]:
    deadline = time.monotonic() + START_S
    shown = 0
    while True:
        ready = (found := read_running(data)) is not None and found.pid == child.pid
        lines = log.read_bytes()[begin:].decode(errors="replace").splitlines()
        yield from lines[shown:]
        shown = len(lines)
        if ready and any(line.startswith("  engines") for line in lines):
            return
        if child.poll() is not None:
            said = "; ".join(line.strip() for line in lines[-LAST_LINES:]) or "it said nothing"
            raise ServiceUnreachable("the server", f"it ended with {child.returncode}: {said}")
        if time.monotonic() > deadline:
            child.terminate()
            raise ServiceUnreachable("the server", f"it did not listen within {START_S:g} s; see {log}")
        time.sleep(LOOK_S)


def stop_running(environ: Mapping[str, str], *, end_agents: bool = False, within: float = STOP_S) -> Running:
    """Stop the server and wait until it is gone. Agents that work go on under the keeper, unless they are to end, too.

    Raises `Conflict` when none runs, or it does not end in time.
    """
    data = data_folder(environ)
    found = find_running(data)
    if found is None:
        raise Conflict(f"no server runs on {data}")
    os.kill(found.pid, signal.SIGINT if end_agents else signal.SIGTERM)
    deadline = time.monotonic() + within
    while start_time(found.pid) == found.start_time:
        if time.monotonic() > deadline:
            raise Conflict(
                f"the server (pid {found.pid}) has not ended within {within:g} s; it may wait for running calls"
            )
        time.sleep(LOOK_S)
    return found


def read_log(environ: Mapping[str, str], lines: int) -> list[str]:
    """The last lines of the log. Raises `Conflict` when there is none."""
    log = data_folder(environ) / LOG
    if not log.exists():
        raise Conflict(f"there is no {log}: only `footplate serve --detach` writes one; under systemd see journalctl")
    return log.read_text(errors="replace").splitlines()[-lines:] if lines else []


def follow_log(environ: Mapping[str, str]) -> Iterator[str]:
    """Lines as they come, until you stop."""
    with (data_folder(environ) / LOG).open(errors="replace") as file:
        file.seek(0, os.SEEK_END)
        while True:
            if line := file.readline():
                yield line.rstrip("\n")
            else:
                time.sleep(LOOK_S)


def render_unit(environ: Mapping[str, str], options: Sequence[str]) -> str:
    """A unit for the person's own systemd."""
    program = shutil.which("footplate", path=environ.get("PATH"))
    command = [program] if program else [sys.executable, "-m", "footplate"]
    known = {name: environ[name] for name in ("FOOTPLATE_DATA_DIR", "FOOTPLATE_CONFIG", "PATH") if name in environ}
    lines = "".join(f'Environment="{name}={_escape(value)}"\n' for name, value in known.items())
    words = " ".join(_word(each) for each in (*command, "serve", *options))
    return UNIT.format(command=words, environment=lines)


def _word(text: str) -> str:
    plain = _escape(text)
    return f'"{plain}"' if plain != text or " " in text else text


def _escape(text: str) -> str:
    """As systemd reads it: a percent sign and a dollar sign mean something there."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")


def write_unit(environ: Mapping[str, str], options: Sequence[str]) -> Path:
    """Put the unit where the person's systemd looks for it."""
    base = environ.get("XDG_CONFIG_HOME") or str(Path(environ.get("HOME", str(Path.home()))) / ".config")
    place = Path(base) / "systemd" / "user" / "footplate.service"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(render_unit(environ, options))
    return place
