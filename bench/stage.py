"""The closed place where contenders run: a temporary home, a short environment, fake CLIs made of streams."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from bench.streams import Stream

ROOT: Final = Path(__file__).parents[1]
PASSED: Final = ("PATH", "LANG")
DEADLINE_S: Final = 900
QUIET: Final = {
    "ANTHROPIC_API_KEY": "sk-ant-test-0000-not-a-real-key",
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
}


class NotMeasured(Exception):
    """Why there is no number."""


class Report(msgspec.Struct, frozen=True):
    """What a contender says of itself."""

    cpu_s: float
    events: int
    rss_kb: list[int] = []


class Stage:
    """One temporary folder in which everything happens."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.home = folder / "home"
        self.home.mkdir()
        python_path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
        self.environment: Mapping[str, str] = {
            **{name: os.environ[name] for name in PASSED if name in os.environ},
            **QUIET,
            "HOME": str(self.home),
            "PYTHONPATH": python_path,
        }

    def fake_cli(self, stream: Stream, *, pace: int = 0) -> Path:
        """An executable that plays the stream as the real CLI would: so many lines a second, or as fast as it can."""
        block = self._folder / f"{stream.name}.block"
        block.write_bytes(stream.block)
        player = Path(__file__).with_name("player.py")
        command = shlex.join([sys.executable, "-IS", str(player), str(block), str(stream.repetitions), str(pace)])
        fake = self._folder / f"claude-{stream.name}"
        fake.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        fake.chmod(0o755)
        return fake

    def run(self, argv: Sequence[str]) -> Report:
        """Run a contender to its end and read its report."""
        return msgspec.json.decode(self.output(argv), type=Report)

    def output(self, argv: Sequence[str]) -> bytes:
        """Run a contender to its end; what it printed."""
        with subprocess.Popen(
            argv,
            cwd=self.home,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as child:
            try:
                out, err = child.communicate(timeout=DEADLINE_S)
            except BaseException as error:
                os.killpg(child.pid, signal.SIGKILL)
                if isinstance(error, subprocess.TimeoutExpired):
                    raise NotMeasured(f"took longer than {DEADLINE_S} s") from error
                raise
        if child.returncode:
            raise NotMeasured(_last_line(err) or f"ended with {child.returncode}")
        return out


def _last_line(text: bytes) -> str:
    lines = text.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""
