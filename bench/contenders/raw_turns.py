"""Warm turns of the raw CLI: its pipe is written to, and read until the result stands in the bytes."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
import uuid
from pathlib import Path
from typing import Final

from bench.contenders.pipe import CHUNK
from bench.contenders.turns import SETTLED_S, Clock, prompts
from footplate.engines.base import Options, Spawn
from footplate.engines.catalog import make_engine
from footplate.events.ids import EngineSessionId

RESULT: Final = b'"type":"result"'
"""It may stand anywhere in its line; inside of a text the quotes would be escaped."""


def launch() -> Spawn:
    """The CLI with the very flags and the environment that a session of ours gives it."""
    engine = make_engine("claude")
    installed = asyncio.run(engine.locate(os.environ))
    session = EngineSessionId(str(uuid.uuid4()))
    options = Options(cwd=str(Path.cwd()), asks=True, partial=True, session_id=session)
    made = engine.launch(options, installed, os.environ)
    assert isinstance(made, Spawn)
    return made


def turn(child: subprocess.Popen[bytes], prompt: str) -> None:
    """One turn, and what it took."""
    assert child.stdin is not None
    assert child.stdout is not None
    clock = Clock()
    frame = {"type": "user", "message": {"role": "user", "content": prompt}, "parent_tool_use_id": None}
    child.stdin.write(json.dumps(frame).encode() + b"\n")
    until_result(child.stdout.fileno())
    clock.turn_ended()
    time.sleep(SETTLED_S)
    clock.report()


def until_result(descriptor: int) -> None:
    """Read until the line of the result is whole."""
    last = b""
    while chunk := os.read(descriptor, CHUNK):
        last += chunk
        begun = last.find(RESULT)
        if begun >= 0 and last.find(b"\n", begun) >= 0:
            return
        last = last[begun:] if begun >= 0 else last[-len(RESULT) :]
    raise SystemExit("the CLI ended in the middle of a turn")


def main() -> None:
    """Turns for as long as prompts come."""
    spawn = launch()
    pipe = subprocess.PIPE
    with subprocess.Popen(spawn.argv, env=spawn.env, cwd=spawn.cwd, stdin=pipe, stdout=pipe, bufsize=0) as child:
        try:
            for prompt in prompts():
                turn(child, prompt)
        finally:
            child.kill()


if __name__ == "__main__":
    main()
