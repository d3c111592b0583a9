"""`footplate run` as a person meets it: on a terminal, in a pipe, by exit code."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from footplate.events.runs import RunEvent
from footplate.testing.closed import MINIMAL_PATH
from footplate.testing.invariants import check_run

RUN = [sys.executable, "-m", "footplate"]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A closed environment without any agent but the built-in one."""
    return {
        "HOME": str(tmp_path),
        "PATH": MINIMAL_PATH,
        "LANG": "C.UTF-8",
        "TERM": "xterm",
        "FOOTPLATE_DATA_DIR": str(tmp_path / "data"),
        "FOOTPLATE_MOCK_PACE_MS": "0",
    }


def _run(env: dict[str, str], *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RUN, *arguments],
        env=env,
        cwd=env["HOME"],
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


class Terminal:
    """A program on a real pseudo-terminal."""

    def __init__(self, env: dict[str, str], *arguments: str, columns: int = 80) -> None:
        self._main, side = pty.openpty()
        columns_env = {"COLUMNS": str(columns), "LINES": "24"}
        self.process = subprocess.Popen(
            [*RUN, *arguments],
            env={**env, **columns_env},
            cwd=env["HOME"],
            stdin=side,
            stdout=side,
            stderr=side,
            start_new_session=True,
        )
        os.close(side)
        self.seen = ""

    def read_until(self, wanted: str, *, within: float = 30.0) -> None:
        """Read the screen until the text is on it."""
        deadline = time.monotonic() + within
        while wanted not in self.seen:
            assert time.monotonic() < deadline, f"{wanted!r} is not in {self.seen!r}"
            if not self._read_some():
                assert wanted in self.seen, f"it ended without {wanted!r}: {self.seen!r}"

    def finish(self) -> int:
        """Read to the end; gives back the exit code."""
        while self._read_some():
            pass
        os.close(self._main)
        return self.process.wait(timeout=30)

    def _read_some(self) -> bool:
        ready, _, _ = select.select([self._main], [], [], 1.0)
        if not ready:
            return True
        try:
            data = os.read(self._main, 65536)
        except OSError:
            return False
        self.seen += data.decode(errors="replace")
        return bool(data)


def test_in_a_pipe_the_answer_and_the_resume_line_stand_alone_on_standard_output(env: dict[str, str]) -> None:
    done = _run(env, "run", "--engine", "mock", "tool")
    assert done.returncode == 0
    assert re.fullmatch(r"tool done\n\nmock --resume \S+\n", done.stdout)
    assert "✓ Read notes.txt" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_json_lines_are_the_run_events(env: dict[str, str]) -> None:
    done = _run(env, "run", "--engine", "mock", "--json", "demo")
    events = [msgspec.json.decode(line, type=RunEvent) for line in done.stdout.splitlines()]
    assert not check_run(events)
    assert done.stderr == ""
    first = msgspec.json.decode(done.stdout.splitlines()[0])
    assert first["type"] == "started"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["run", "--engine", "mock", "hello"], 0),
        (["mock", "hello"], 0),
        (["run", "--engine", "mock", "error"], 1),
        (["run", "--engine", "mock", "crash 3"], 1),
        (["run", "--engine", "nobody", "hello"], 2),
        (["run", "--engine", "mock", "--timeout", "0", "hello"], 2),
        (["run", "--engine", "mock", "--fork", "hello"], 2),
        (["run", "--engine", "mock", "--resume", "two words", "hello"], 2),
        (["run", "--engine", "codex", "--resume", "mock --resume x", "hello"], 2),
        (["run", "--engine", "mock", "--max-turns", "3", "hello"], 2),
        (["run", "--no-such-option"], 2),
        (["run", "--engine", "mock", "--json-schema", "missing.json", "hello"], 2),
        (["run", "--engine", "mock", " "], 2),
    ],
)
def test_the_exit_code_says_how_it_went(env: dict[str, str], arguments: list[str], code: int) -> None:
    done = _run(env, *arguments)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    if code:
        assert done.stderr.strip()


def test_a_schema_that_is_not_utf_8_is_named(env: dict[str, str], tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_bytes(b'{"type":"caf\xe9"}')
    done = _run(env, "run", "--engine", "mock", "--json-schema", str(schema), "hello")
    assert (done.returncode, "Traceback" in done.stderr, str(schema) in done.stderr) == (2, False, True)


def test_bad_usage_names_the_value_and_what_to_do(env: dict[str, str]) -> None:
    assert "known engines: claude, codex" in _run(env, "run", "--engine", "nobody", "hi").stderr
    assert "'two words'" in _run(env, "run", "--engine", "mock", "--resume", "two words", "hi").stderr


def test_the_prompt_may_come_from_standard_input(env: dict[str, str]) -> None:
    assert _run(env, "run", "--engine", "mock", stdin="from a pipe").stdout.startswith("mock: from a pipe\n")
    assert _run(env, "run", "--engine", "mock", "-", stdin="by dash").stdout.startswith("mock: by dash\n")
    assert _run(env, "run", "--engine", "mock", "--", "-x starts with a dash").stdout.startswith("mock: -x starts")


def test_a_session_goes_on_by_its_resume_line(env: dict[str, str]) -> None:
    first = _run(env, "run", "--engine", "mock", "remember me").stdout
    second = _run(env, "run", "--resume", first, "history")
    assert second.returncode == 0, second.stderr
    assert "remember me" in second.stdout
    assert second.stdout.splitlines()[-1] == first.splitlines()[-1]


def test_on_a_terminal_a_clock_ticks_while_the_agent_is_silent(env: dict[str, str]) -> None:
    terminal = Terminal(env, "run", "--engine", "mock", "hang")
    terminal.read_until("0 steps · thinking")
    terminal.read_until("⠴ ")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.finish() == 130
    assert "interrupting (Ctrl-C again to kill)" in terminal.seen
    assert "error: interrupted" in terminal.seen
    assert "mock --resume" in terminal.seen


def test_no_color_is_honoured_on_a_terminal(env: dict[str, str]) -> None:
    terminal = Terminal({**env, "NO_COLOR": "1"}, "run", "--engine", "mock", "tool")
    assert terminal.finish() == 0
    assert "✓ Read notes.txt" in terminal.seen
    assert not re.search(r"\x1b\[\d+m", terminal.seen)


def test_the_moving_line_fits_a_narrow_terminal(env: dict[str, str]) -> None:
    terminal = Terminal(env, "run", "--engine", "mock", "slow 600", columns=20)
    assert terminal.finish() == 0
    moving = re.findall(r"\x1b\[36m([^\x1b]*)\x1b\[0m", terminal.seen)
    assert moving
    assert all(len(line) <= 19 for line in moving)


def test_sigterm_ends_the_run_with_143(env: dict[str, str]) -> None:
    terminal = Terminal(env, "run", "--engine", "mock", "hang")
    terminal.read_until("mock ·")
    terminal.process.terminate()
    assert terminal.finish() == 143


def test_help_and_version_answer(env: dict[str, str]) -> None:
    assert "Give an agent one prompt" in _run(env, "--help").stdout
    assert "--wait-background" in _run(env, "run", "--help").stdout
    assert "version" in msgspec.json.decode(_run(env, "version", "--json").stdout)
    assert _run(env, "--version").stdout.startswith("footplate, version")


def test_a_closed_output_pipe_is_no_crash(env: dict[str, str]) -> None:
    command = f"{sys.executable} -m footplate run --engine mock --json 'stream 2000' | head -n 1"
    done = subprocess.run(
        ["/bin/sh", "-c", command], env=env, cwd=env["HOME"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.startswith('{"type":"started"')
    assert "Traceback" not in done.stderr
