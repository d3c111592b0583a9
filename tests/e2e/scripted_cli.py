"""A scripted `claude`: the wire of the CLI with an id of its own, a gate in each turn, and conversations that move.

CLAUDE_CODE_SCRIPTED_ID       the session id that it announces, whatever it was given
CLAUDE_CODE_SCRIPTED_MOVES    the kinds of line (init, assistant, result) that name another session, in one turn
CLAUDE_CODE_SCRIPTED_LATE     it waits at the gate before it announces its session, not in the middle of the turn
CLAUDE_CODE_SCRIPTED_LINGERS  it does not end with its input, nor by SIGTERM
CLAUDE_CODE_SCRIPTED_FOLDER   where it writes `starts` (its arguments, a line each) and waits for the file `gate`
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
OTHER = "00000000-0000-4000-8000-000000000002"


class ScriptedCli:
    """Where the script is installed, and what it did."""

    def __init__(
        self, folder: Path, *, own_id: str = "", moves: str = "", late: bool = False, lingers: bool = False
    ) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True)
        program = self.bin / "claude"
        call = f"exec {shlex.quote(sys.executable)} -m tests.e2e.scripted_cli"
        program.write_text(f'#!/bin/sh\ncd {shlex.quote(str(ROOT))} && {call} "$@"\n')
        program.chmod(0o755)
        self.env = {
            "CLAUDE_CODE_SCRIPTED_ID": own_id,
            "CLAUDE_CODE_SCRIPTED_MOVES": moves,
            "CLAUDE_CODE_SCRIPTED_LATE": "1" if late else "",
            "CLAUDE_CODE_SCRIPTED_LINGERS": "1" if lingers else "",
            "CLAUDE_CODE_SCRIPTED_FOLDER": str(folder),
        }

    @property
    def starts(self) -> list[list[str]]:
        """The arguments of every process that was started, in order."""
        file = self.folder / "starts"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def open_gate(self) -> None:
        """Let every turn end."""
        (self.folder / "gate").touch()

    def close_gate(self) -> None:
        """Let no turn end from here on."""
        (self.folder / "gate").unlink()


def _write(frame: dict[str, Any]) -> None:
    print(json.dumps(frame), flush=True)


def _wait(gate: Path) -> None:
    while not gate.exists():
        time.sleep(0.01)


def _session(arguments: list[str]) -> str:
    for option in ("--session-id", "--resume"):
        if option in arguments:
            return arguments[arguments.index(option) + 1]
    return "00000000-0000-4000-8000-000000000009"


def _replay(frame: dict[str, Any], session: str) -> None:
    """Say that a turn has begun with the message, or that it is known already."""
    _write({**frame, "session_id": session, "isReplay": True})


def _turn(session: str, folder: Path, prompt: dict[str, Any] | None = None) -> None:
    moves, flag = os.environ["CLAUDE_CODE_SCRIPTED_MOVES"], folder / "moved"
    moving = bool(moves) and not flag.exists() and (folder / "turns").exists()
    (folder / "turns").touch()
    if moving:
        flag.touch()

    def name(line: str) -> str:
        return OTHER if moving and line in moves.split() else session

    if os.environ["CLAUDE_CODE_SCRIPTED_LATE"]:
        _wait(folder / "gate")
    init = {"type": "system", "subtype": "init", "cwd": str(Path.cwd()), "model": "opus", "permissionMode": "default"}
    _write({**init, "session_id": name("init")})
    _wait(folder / "gate")
    if prompt is not None:
        _replay(prompt, name("init"))
    content = [{"type": "text", "text": f"answered in {session}"}]
    message = {"id": f"m{time.time_ns()}", "model": "opus", "content": content}
    _write({"type": "assistant", "session_id": name("assistant"), "message": message})
    result = {"type": "result", "subtype": "success", "is_error": False, "result": f"answered in {session}"}
    _write({**result, "session_id": name("result")})


def main(arguments: list[str]) -> None:
    """Be the CLI."""
    if arguments[:1] == ["--version"]:
        print("2.1.325 (Claude Code)")
        return
    if os.environ["CLAUDE_CODE_SCRIPTED_LINGERS"]:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    folder = Path(os.environ["CLAUDE_CODE_SCRIPTED_FOLDER"])
    with (folder / "starts").open("a") as starts:
        starts.write(json.dumps(arguments) + "\n")
    session = os.environ["CLAUDE_CODE_SCRIPTED_ID"] or _session(arguments)
    if "--input-format" not in arguments:
        _turn(session, folder)
        return
    known: set[str] = set()
    for line in sys.stdin:
        frame = json.loads(line)
        if frame["type"] == "control_request":
            answer = {"subtype": "success", "request_id": frame["request_id"], "response": {}}
            _write({"type": "control_response", "response": answer})
        elif frame["type"] == "user" and frame["uuid"] in known:  # as the CLI does: no second turn
            _replay(frame, session)
        elif frame["type"] == "user":
            known.add(frame["uuid"])
            _turn(session, folder, frame)
    if os.environ["CLAUDE_CODE_SCRIPTED_LINGERS"]:
        _wait(folder / "never")


if __name__ == "__main__":
    main(sys.argv[1:])
