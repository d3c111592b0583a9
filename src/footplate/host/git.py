"""git as a program: run in one folder, with a closed environment, bounded in bytes and seconds. Blocking.

The repository's own configuration can name programs (hooks, filters) and git runs them: who may call this may run
commands in that folder.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import msgspec

from footplate.errors import GitMissing, GitRefused

from .environment import build_environment

LIMIT: Final = 16 * 1024 * 1024
TIMEOUT_S: Final = 60.0
NOT_OURS: Final = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_TRACE*",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "LC_*",
)
"""Variables that would point git at another repository, or make it speak otherwise."""
ALWAYS: Final = {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "GIT_PAGER": "cat", "LC_ALL": "C.UTF-8"}
BEFORE: Final = ("--no-optional-locks", "-c", "core.quotePath=false", "-c", "color.ui=false", "-c", "core.fsmonitor=")


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What git wrote; `cut`: there was more than the limit."""

    code: int
    output: bytes
    words: str = ""
    cut: bool = False

    @property
    def text(self) -> str:
        """The output as text."""
        return self.output.decode("utf-8", "replace")


class Git:
    """git in one folder."""

    def __init__(self, folder: str, environ: Mapping[str, str]) -> None:
        self.folder = folder
        self.environ = environ

    def at(self, folder: str) -> Git:
        """The same in another folder."""
        return Git(folder, self.environ)

    def run(self, *args: str, given: bytes = b"", limit: int = LIMIT) -> str:
        """What it writes when asked that. Raises `GitRefused` with its own words, `GitMissing`."""
        said = self.ask(*args, given=given, limit=limit)
        if said.code != 0:
            raise GitRefused(
                self.folder, args[0], said.words or said.text.strip()[-500:] or f"it ended with {said.code}"
            )
        return said.text

    def line(self, *args: str) -> str:
        """The one line that it answers; empty where it has no answer."""
        said = self.ask(*args)
        return said.text.strip() if said.code == 0 else ""

    def ask(self, *args: str, given: bytes = b"", limit: int = LIMIT) -> Said:
        """What it says, whatever its exit code. Raises `GitMissing`."""
        program = shutil.which("git", path=self.environ.get("PATH"))
        if program is None:
            raise GitMissing("there is no git on PATH; install it")
        env = build_environment(self.environ, deny=NOT_OURS, extra=ALWAYS)
        with tempfile.TemporaryFile() as words, tempfile.TemporaryFile() as put:
            put.write(given)
            put.seek(0)
            try:
                child = subprocess.Popen(
                    (program, *BEFORE, *args),
                    cwd=self.folder,
                    env=env,
                    stdin=put,
                    stdout=subprocess.PIPE,
                    stderr=words,
                    start_new_session=True,
                )
            except OSError as problem:
                raise GitRefused(self.folder, args[0], problem.strerror or str(problem)) from problem
            output, code, late = _watch(child, limit)
            if late:
                raise GitMissing(f"git {args[0]} in {self.folder} did not end within {TIMEOUT_S:g} s")
            words.seek(0)
            said = words.read(64 * 1024).decode("utf-8", "replace").strip()
        return Said(code=code, output=output[:limit], words=said, cut=len(output) > limit)


def _watch(child: subprocess.Popen[bytes], limit: int) -> tuple[bytes, int, bool]:
    """Read its output up to one byte more than the limit; then, or when it takes too long, it is ended."""
    late = threading.Event()

    def end() -> None:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)

    def give_up() -> None:
        late.set()
        end()

    timer = threading.Timer(TIMEOUT_S, give_up)
    timer.start()
    try:
        with child:
            assert child.stdout is not None
            output = child.stdout.read(limit + 1)
            cut = len(output) > limit
            if cut:
                end()
        return output, 0 if cut else child.returncode, late.is_set()
    finally:
        timer.cancel()
        timer.join()
