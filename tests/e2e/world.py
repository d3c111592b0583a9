"""The world of an end-to-end test: a home, a folder, a CLI and a scripted model, and what a run in it showed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

import pytest

from footplate.events.runs import Action, Completed, RunEvent, Started
from footplate.runtime.run import Run, RunRequest
from footplate.testing.agents import ClaudeVersion, claude_binary
from footplate.testing.closed import MINIMAL_PATH, closed_environment, prepare_home
from footplate.testing.messages import LoggedRequest, ScriptedMessages

ROOT = Path(__file__).resolve().parent.parent.parent
VERSIONS: dict[ClaudeVersion, str] = {"new": "2.1.325", "old": "2.1.197"}


def processes_with(word: str) -> dict[int, str]:
    """Every process whose environment holds the word: whatever an agent of this test has left behind."""
    found: dict[int, str] = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            command, environ = _read_process(folder)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue  # it ended while we looked
        if word.encode() in environ:
            found[int(folder.name)] = command.replace(b"\0", b" ").decode()
    return found


def _read_process(folder: Path) -> tuple[bytes, bytes]:
    """The command line and the environment of a process. While it executes a program both are empty: read again."""
    deadline = time.monotonic() + 1.0
    while True:
        (folder / "exe").readlink()  # fails for what has no program: a zombie, a thread of the kernel
        command = (folder / "cmdline").read_bytes()
        environ = (folder / "environ").read_bytes()
        if (command and command == (folder / "cmdline").read_bytes()) or time.monotonic() > deadline:
            return command, environ


def cut_power(*finds: Callable[[], Collection[int]]) -> None:
    """Kill what each of these finds as a machine that loses its power does: none sees another end, or starts more.

    All are stopped before the first is killed. The youngest are killed first: where a parent ended before its child,
    the kernel could wake the child's process group for a moment.
    """
    stopped: set[int] = set()
    for find in finds:
        while fresh := set(find()) - stopped:
            _signal_each(sorted(fresh), signal.SIGSTOP)
            stopped |= fresh
    _signal_each(sorted(stopped, reverse=True), signal.SIGKILL)


def _signal_each(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def wait_until_gone(word: str, *, within: float = 10.0) -> None:
    """Fail unless every process that carries the word is gone within so many seconds; those that are not are killed."""
    deadline = time.monotonic() + within
    while left := processes_with(word):
        if time.monotonic() > deadline:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            pytest.fail(f"left behind after {within:g} s: {left}")
        time.sleep(0.05)


class World:
    """A home, a folder to work in, a CLI and a model: everything an agent sees."""

    def __init__(self, folder: Path, api: ScriptedMessages, key: str, version: ClaudeVersion) -> None:
        self.home = prepare_home(folder / "home")
        self.work = folder / "work"
        self.work.mkdir()
        self.version = version
        self.key = key
        self._api = api
        tools = self.home / "bin"
        tools.mkdir()
        (tools / "claude").symlink_to(claude_binary(ROOT / "tests" / "agents", version))
        self.env = closed_environment(self.home, base_url=api.url_for(key), path=f"{tools}:{MINIMAL_PATH}")
        self.env["FOOTPLATE_DATA_DIR"] = str(folder / "data")

    def requests(self) -> tuple[LoggedRequest, ...]:
        """What the model was asked so far."""
        return self._api.log(self.key)

    def bodies(self) -> tuple[dict[str, object], ...]:
        """The whole requests that the model was asked so far."""
        return self._api.bodies(self.key)

    def start(self, request: RunRequest) -> Run:
        """A run in this world, not yet begun."""
        return Run(request, environ=self.env)

    async def run(self, prompt: str, **options: object) -> Watched:
        """Run a prompt on the real CLI to its end."""
        given = {"engine": "claude", "cwd": str(self.work), **options}
        request = RunRequest(prompt=prompt, **given)  # type: ignore[arg-type]
        return Watched([event async for event in self.start(request).events()])

    def command(self, *arguments: str) -> list[str]:
        """`footplate ...` as this world starts it."""
        return [sys.executable, "-m", "footplate", *arguments]

    def footplate(
        self, *arguments: str, stdin: str | None = None, timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """Run `footplate ...` as a person would, to its end."""
        return subprocess.run(
            self.command(*arguments),
            env=self.env,
            cwd=self.work,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )


class Watched:
    """What a run showed, sorted for reading."""

    def __init__(self, events: list[RunEvent]) -> None:
        self.events = events
        self.started = next((event for event in events if isinstance(event, Started)), None)
        self.actions = [event for event in events if isinstance(event, Action)]
        ends = [event for event in events if isinstance(event, Completed)]
        assert len(ends) == 1, f"exactly one Completed, not {ends}"
        assert events[-1] is ends[0], "Completed is last"
        self.completed = ends[0]

    def done(self, kind: str) -> list[Action]:
        """The finished actions of a kind."""
        return [action for action in self.actions if action.kind == kind and action.phase == "completed"]

    def warnings(self) -> list[str]:
        """What was warned of, as text."""
        return [f"{action.title} {action.message}" for action in self.actions if action.level == "warning"]
