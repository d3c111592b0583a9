"""The wire between service and keeper: frames with descriptors over a Unix stream socket.

Standard library only, no loop of its own: the keeper polls it, the service hangs it on asyncio.
"""

from __future__ import annotations

import array
import json
import os
import socket
import sys

TYPE_CHECKING = False  # the keeper must not pay for `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

VERSION = 2  # of what service and keeper say to each other
OLDEST = 1  # the oldest that we still understand
FRAME_LIMIT = 64 * 1024 * 1024
ADDRESS_LIMIT = 100  # bytes; the kernel takes a few more, on every system


class Channel:
    """Frames with descriptors over a Unix stream socket, never blocking; both sides use it."""

    def __init__(self, sock: socket.socket) -> None:
        sock.settimeout(0)
        self.sock = sock
        self.open = True  # as long as the other side may say more
        self.writable = True  # as long as it may hear us
        self._out: list[tuple[bytes, list[int]]] = []
        self._in = bytearray()
        self._sets: list[list[int]] = []

    def send(self, message: dict[str, Any], fds: Iterable[int] = ()) -> bool:
        """Queue a message and flush; the descriptors are ours to close from here on."""
        payload, handed = json.dumps(message).encode(), list(fds)
        self._out.append((len(payload).to_bytes(4, "big") + bytes([len(handed)]) + payload, handed))
        return self.flush()

    def flush(self) -> bool:
        """Write what the socket takes; True when nothing is left to write."""
        while self._out and self.writable:
            data, fds = self._out[0]
            try:
                sent = socket.send_fds(self.sock, [data], fds) if fds else self.sock.send(data)
            except BlockingIOError:
                return False
            except (BrokenPipeError, ConnectionResetError):
                self.writable = False
                break
            close_all(fds)
            self._out[:1] = [(data[sent:], [])] if sent < len(data) else []
        if not self.writable:
            self._forget_out()
        return True

    def receive(self) -> Iterator[tuple[bytes, list[int]]]:
        """Read all there is: whole frames, each with its descriptors; then `open` tells whether more can come.

        Frames are yielded between reads: a service that stops gives back megabytes, which the keeper must not hold at
        once.
        """
        while self.open and self._read_once():
            while len(self._in) >= 5 and len(self._in) >= (end := 5 + int.from_bytes(self._in[:4], "big")):
                payload, fds = bytes(self._in[5:end]), self._sets.pop(0) if self._in[4] else []
                del self._in[:end]
                yield payload, fds
            if len(self._in) > FRAME_LIMIT:
                self.open = False

    def close(self) -> None:
        """Close the socket and every descriptor that nobody took."""
        self.open = self.writable = False
        self._forget_out()
        for fds in self._sets:
            close_all(fds)
        self._sets, self._in = [], bytearray()
        self.sock.close()

    def _read_once(self) -> bool:
        try:
            data, extra, flags, _ = self.sock.recvmsg(
                65536, socket.CMSG_SPACE(64), getattr(socket, "MSG_CMSG_CLOEXEC", 0)
            )
        except BlockingIOError:
            return False
        except ConnectionResetError:
            data, extra, flags = b"", [], 0
        fds = array.array("i")
        for level, kind, content in extra:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                fds.frombytes(content[: len(content) // fds.itemsize * fds.itemsize])
        if fds or flags & socket.MSG_CTRUNC:  # cut short: whoever reads the frame sees that some are missing
            self._sets.append(list(fds))
        self._in += data
        self.open = bool(data)
        return self.open

    def _forget_out(self) -> None:
        for _, fds in self._out:
            close_all(fds)
        self._out = []


def close_all(fds: Iterable[int]) -> None:
    """Close descriptors."""
    for fd in fds:
        os.close(fd)


def remove(path: str, how: Callable[[str], None] = os.unlink) -> None:
    """Remove a file, or what else `how` removes; it may be gone already, with the folder that it was in."""
    try:
        how(path)
    except FileNotFoundError:
        return


class Address:
    """An address that the kernel takes for a socket in a folder, however long the folder's path is."""

    def __init__(self, folder: str, name: str) -> None:
        self.folder = folder
        self.name = name
        self.fd = -1

    def __enter__(self) -> str:
        path = f"{self.folder}/{self.name}"
        size = len(os.fsencode(path))
        if size <= ADDRESS_LIMIT:
            return path
        if sys.platform != "linux":
            raise OSError(f"{path} is too long for a socket ({size} bytes): set FOOTPLATE_DATA_DIR to a shorter folder")
        self.fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        return f"/proc/self/fd/{self.fd}/{self.name}"

    def __exit__(self, *_: object) -> None:
        close_all([self.fd] if self.fd >= 0 else [])
        self.fd = -1


def common_version(theirs: int, oldest: int) -> int:
    """The newest version that both sides speak; raises `ValueError` when there is none."""
    common = min(theirs, VERSION)
    if common < max(oldest, OLDEST):
        raise ValueError(f"versions {OLDEST} to {VERSION} are spoken here, not {oldest} to {theirs}")
    return common
