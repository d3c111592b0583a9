"""Files and processes of the service's machine, without `await`."""

from __future__ import annotations

from collections.abc import Iterator

from footplate.sdk import client as later
from footplate.sdk.loop import Loop
from footplate.sdk.processes import Process as LaterProcess
from footplate.sdk.shapes import FileEntry, LogPiece, ProcessInfo, ProcessRun


class Files:
    """The files that the token reaches."""

    def __init__(self, loop: Loop, client: later.Client) -> None:
        self._loop = loop
        self._files = client.files

    def entries(self, path: str = "") -> list[FileEntry]:
        """What lies in a folder."""
        return self._loop.wait(self._files.entries(path))

    def stat(self, path: str) -> FileEntry:
        """What is known of a path."""
        return self._loop.wait(self._files.stat(path))

    def read(self, path: str) -> bytes:
        """A file."""
        return self._loop.wait(self._files.read(path))

    def write(self, path: str, data: bytes) -> int:
        """Write a file; how many bytes it has."""
        return self._loop.wait(self._files.write(path, data))

    def delete(self, path: str, *, recursive: bool = False) -> None:
        """Remove a file, or a folder with what is in it."""
        self._loop.wait(self._files.delete(path, recursive=recursive))


class Processes:
    """The processes of the service."""

    def __init__(self, loop: Loop, client: later.Client) -> None:
        self._loop = loop
        self._processes = client.processes

    def run(self, command: str, *args: str, cwd: str | None = None, timeout_s: float | None = None) -> ProcessRun:
        """Run a program to its end."""
        return self._loop.wait(self._processes.run(command, *args, cwd=cwd, timeout_s=timeout_s))

    def start(self, command: str, *args: str, cwd: str | None = None) -> Process:
        """Start a program and leave it running."""
        return Process(self._loop, self._loop.wait(self._processes.start(command, *args, cwd=cwd)))

    def all(self) -> tuple[ProcessInfo, ...]:
        """Those that run, and those that have ended and were not removed."""
        return self._loop.wait(self._processes.all())


class Process:
    """A process of the service."""

    def __init__(self, loop: Loop, process: LaterProcess) -> None:
        self._loop = loop
        self._process = process

    @property
    def info(self) -> ProcessInfo:
        """What was known of it last."""
        return self._process.info

    def write(self, data: bytes | str) -> None:
        """Give it input."""
        self._loop.wait(self._process.write(data))

    def follow(self, *, since: int = 0) -> Iterator[LogPiece]:
        """Its output behind a number and as it comes, until it has ended."""
        return self._loop.read(self._process.follow(since=since))

    def wait(self) -> ProcessInfo:
        """Until it has ended."""
        return self._loop.wait(self._process.wait())

    def kill(self) -> ProcessInfo:
        """End it, with all that it started."""
        return self._loop.wait(self._process.kill())
