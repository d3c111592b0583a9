"""What an agent says while nobody listens: files in which the keeper keeps it. Standard library only."""

from __future__ import annotations

import errno
import os

from .channel import remove

CHUNK = 64 * 1024
LIMIT = 64 * 1024 * 1024  # of stdout per agent, unless the service says otherwise
TAIL = 64 * 1024  # of stderr per agent


class Spool:
    """A file that takes in a pipe up to a bound; then the pipe is left alone, so that who writes it waits.

    Nothing is dropped: what the disk does not take is held until it does.
    """

    def __init__(self, path: str, limit: int) -> None:
        self.path = path
        self.limit = limit
        self.size = 0
        self.begin = 0  # what stands before is needed no more
        self.given = 0  # where the service began to read
        self.held = b""  # read from the pipe, refused by the disk
        self.problem = ""
        self.ended = False
        self.file = -1

    @property
    def full(self) -> bool:
        """Whether the pipe has to wait."""
        return bool(self.held) or self.size >= self.limit

    def drain(self, fd: int) -> bool:
        """Take in what the pipe has; False when it is to be left alone: at its end, or for want of room."""
        self.write(b"")
        if self.full:
            return False
        try:
            data = os.read(fd, min(CHUNK, self.limit - self.size))
        except BlockingIOError:
            return True
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            data = b""  # a terminal that nobody has is at its end
        if not data:
            self.ended = True
            return False
        self.write(data)
        return not self.full

    def write(self, data: bytes) -> None:
        """Append to the file, as far as the disk takes it."""
        data = self.held + data
        try:
            while data:
                if self.file < 0:
                    self.file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
                written = os.write(self.file, data)
                self.size += written
                data = data[written:]
            self.problem = ""
        except OSError as error:
            self.problem = f"{self.path}: {error.strerror}"
        self.held = data

    def part(self) -> None:
        """Note that others have read the pipe in between: what comes next is not the rest of an unfinished line."""
        if self.size and os.pread(self.file, 1, self.size - 1) != b"\n":
            self.write(b"\n")

    def reader(self) -> int:
        """A descriptor of its own to read it, from where it is still needed."""
        fd = os.open(self.path if self.file >= 0 else os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        os.lseek(fd, self.begin, os.SEEK_SET)
        self.given = self.begin
        return fd

    def drop(self) -> None:
        """Remove the file with all that is in it."""
        if self.file >= 0:
            os.close(self.file)
            remove(self.path)
        self.file, self.size, self.begin, self.held, self.problem = -1, 0, 0, b"", ""


class TailSpool(Spool):
    """A file that takes in all of a pipe, and of which only the end is kept."""

    def __init__(self, path: str) -> None:
        super().__init__(path, 2 * TAIL)

    def drain(self, fd: int) -> bool:
        """Take in what the pipe has; False at its end. What the disk refuses is forgotten."""
        super().drain(fd)
        self.held = b""
        if self.size >= self.limit:
            kept = os.pread(self.file, TAIL, self.size - TAIL)
            os.ftruncate(self.file, 0)
            self.size = 0
            self.write(kept)
        return not self.ended
