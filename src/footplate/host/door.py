"""The keeper's door: the lock that makes it the one of its folder, and the socket by which services find it.

Standard library only. The folder is for its owner alone, so is the socket, and the kernel says who comes in.
"""
# ruff: noqa: PTH101 (the keeper must not pay for pathlib)

from __future__ import annotations

import fcntl
import os
import socket
import struct

from .channel import Address, close_all, remove

LOCK = "lock"
BACKLOG = 16


class Door:
    """The way to a keeper that outlives its service."""

    def __init__(self, folder: str, name: str) -> None:
        self.folder = folder
        self.name = name
        self.socket: socket.socket | None = None
        self.lock = -1

    def take_lock(self) -> int:
        """Become the one keeper of the folder; gives 0, or the pid of the one that is it already."""
        os.chmod(self.folder, 0o700)
        fd = os.open(f"{self.folder}/{LOCK}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(fd, 32, 0)
            close_all([fd])
            return int(holder) if holder.isdigit() else -1
        os.ftruncate(fd, 0)
        os.pwrite(fd, b"%d" % os.getpid(), 0)
        self.lock = fd
        return 0

    def drop_lock(self) -> None:
        """Make room for another keeper of the folder."""
        close_all([self.lock] if self.lock >= 0 else [])
        self.lock = -1

    def open(self) -> int:
        """Listen; gives the descriptor to watch."""
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            with Address(self.folder, self.name) as short:
                listening.bind(short)
        finally:
            os.umask(before)
        listening.listen(BACKLOG)
        listening.setblocking(False)  # noqa: FBT003  it takes no keyword
        self.socket = listening
        return listening.fileno()

    def accept(self) -> socket.socket | None:
        """Let the next one in; None when it has left again, or is another person."""
        if self.socket is None:
            return None
        try:
            visitor, _ = self.socket.accept()
        except (BlockingIOError, ConnectionError):
            return None
        if owner_of(visitor)[1] not in (os.getuid(), 0):
            visitor.close()
            return None
        return visitor

    def close(self) -> int:
        """Let nobody in any more; gives the descriptor that was watched, or -1."""
        if self.socket is None:
            return -1
        fd = self.socket.fileno()
        remove(f"{self.folder}/{self.name}")
        self.socket.close()
        self.socket = None
        return fd


def owner_of(visitor: socket.socket) -> tuple[int, int]:
    """Who is at the other end, as pid and uid; where the kernel does not say: nobody, and ourselves."""
    if not hasattr(socket, "SO_PEERCRED"):
        return 0, os.getuid()
    pid, uid, _ = struct.unpack("3i", visitor.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return pid, uid
