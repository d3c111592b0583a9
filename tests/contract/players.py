"""Programs that play recorded output, so that a stream can be driven like the agent that once wrote it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Literal


def write_player(
    path: Path,
    output: bytes,
    *,
    version: str,
    reads_first: bool,
    exit_code: int = 0,
    last_words: str = "",
    lingers: Literal["", "until_told", "forever"] = "",
) -> Path:
    """An executable that prints `version` when asked for it, else plays `output` and ends as it is told.

    `reads_first`: it waits for a line on its standard input, as an agent with a live wire does. `lingers`: whether it
    stays after that, until it is told two more things (a prompt, then an interrupt) or for ever. `last_words` go to
    standard error.
    """
    recorded = path.with_suffix(".recorded")
    recorded.write_bytes(output)
    lines = [
        "#!/bin/sh",
        f'case "$1" in --version) echo {shlex.quote(version)}; exit 0;; esac',
        "read -r line" if reads_first else ":",
        f"cat {shlex.quote(str(recorded))}",
        f"echo {shlex.quote(last_words)} >&2" if last_words else ":",
        {"": ":", "until_told": "read -r line; read -r line", "forever": "exec tail -f /dev/null"}[lingers],
        f"exit {exit_code}",
    ]
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o755)
    return path


SERVER = """
import json, sys
records = [json.loads(line) for line in open({recorded!r})]
at, ids = 0, {{}}
for line in sys.stdin:
    call = json.loads(line)
    while at < len(records) and records[at]["dir"] == "in":
        at += 1
    if at == len(records) or records[at]["msg"].get("method") != call.get("method"):
        if "method" in call and "id" in call:
            print(json.dumps({{"id": call["id"], "result": {{}}}}), flush=True)
            if call["method"] == "turn/interrupt":
                turn = {{"id": call["params"]["turnId"], "status": "interrupted"}}
                params = {{"threadId": call["params"]["threadId"], "turn": turn}}
                print(json.dumps({{"method": "turn/completed", "params": params}}), flush=True)
        if "result" not in call:
            continue
    else:
        ids[records[at]["msg"].get("id")] = call.get("id")
    at += 1
    while at < len(records) and records[at]["dir"] == "in":
        told = records[at]["msg"]
        if "method" not in told:
            told["id"] = ids.get(told["id"], told["id"])
        print(json.dumps(told), flush=True)
        at += 1
    if {exit_code} and at == len(records):
        print({last_words!r}, file=sys.stderr, flush=True)
        sys.exit({exit_code})
"""


def write_server(path: Path, records: bytes, *, version: str, exit_code: int = 0) -> Path:
    """An executable that answers a live client as the recording did: what follows a call of it, it says to that call.

    With an `exit_code` it ends when there is no more; else it stays, and ends a turn that is interrupted.
    """
    recorded = path.with_suffix(".recorded")
    recorded.write_bytes(records)
    program = SERVER.format(recorded=str(recorded), exit_code=exit_code, last_words="last words")
    script = path.with_suffix(".server.py")
    script.write_text(program)
    answer = f'case "$1" in --version) echo {shlex.quote(version)}; exit 0;; esac'
    path.write_text(f"#!/bin/sh\n{answer}\nexec {shlex.quote(sys.executable)} -I {shlex.quote(str(script))}\n")
    path.chmod(0o755)
    return path
