"""HTTP for the load on both servers: on bare sockets, so that the one who measures costs as little as can be."""

from __future__ import annotations

import json
import selectors
import socket
import sys
import time
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from bench.stage import NotMeasured

MARK: Final = b"data: "
HEAD_END: Final = b"\r\n\r\n"
RECEIVED: Final = 256 * 1024
DISCARD: Final = socket.MSG_TRUNC if sys.platform == "linux" else 0
ONCE_S: Final = 60.0
"""When nothing at all comes for so long, whoever waits for something gives up."""


def get(path: str) -> bytes:
    """A request for a stream, or for a file."""
    return f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: */*\r\n\r\n".encode()


def prompt(name: str, chunks: int, number: int) -> bytes:
    """A POST that has the external agent say so many chunks."""
    params = {"sessionId": "bench", "prompt": [{"type": "text", "text": str(chunks)}]}
    message = {"jsonrpc": "2.0", "id": number, "method": "session/prompt", "params": params}
    body = json.dumps(message, separators=(",", ":")).encode()
    head = f"POST /v1/acp/{name} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def connect(port: int) -> socket.socket:
    """A connection that sends at once what it is given."""
    made = socket.create_connection(("127.0.0.1", port), timeout=ONCE_S)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


class Reader:
    """One reader of a stream: how many events it was given, which numbers the first and the last had."""

    def __init__(self, port: int, path: str) -> None:
        self.socket = connect(port)
        self.socket.sendall(get(path))
        self.seen = 0
        self.at = time.monotonic()
        """When the last event came."""
        self._rest = b""
        self._tail = b""

    def take(self) -> int:
        """Read once; how many events that were."""
        data = self.socket.recv(RECEIVED)
        if not data:
            raise NotMeasured("a stream has ended")
        text = self._rest + data
        found = text.count(MARK)
        self._rest = text[1 - len(MARK) :]
        self._tail = (self._tail + data)[-4096:]
        if found:
            self.seen += found
            self.at = time.monotonic()
        return found

    @property
    def last(self) -> int:
        """The number of the event that came last."""
        return int(self._tail.rpartition(b"\nid: ")[2].partition(b"\n")[0].partition(b".")[0])

    def close(self) -> None:
        """Hang up."""
        self.socket.close()


class Answers:
    """One connection that asks again and again, each time when it has its answer."""

    def __init__(self, port: int) -> None:
        self.socket = connect(port)
        self._got = b""

    def ask(self, request: bytes) -> None:
        """Send a request."""
        self.socket.sendall(request)

    def take(self) -> bool:
        """Read once; whether the answer is complete. Raises `NotMeasured` for any but 200."""
        self._got += self.socket.recv(RECEIVED)
        head, found, body = self._got.partition(HEAD_END)
        if not found:
            return False
        if b" 200 " not in head[:16]:
            raise NotMeasured(f"a prompt was answered {head[:60]!r}")
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(body) < length:
            return False
        self._got = b""
        return True

    def close(self) -> None:
        """Hang up."""
        self.socket.close()


class Watch:
    """Waits for many sockets at once and calls what belongs to each that has something to read."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def add(self, found: socket.socket, take: Callable[[], object]) -> None:
        """Call it when there is something to read."""
        self._selector.register(found, selectors.EVENT_READ, take)

    def until(self, done: Callable[[], bool], *, quiet_s: float = ONCE_S) -> bool:
        """Go on until it is so; False when nothing came for too long."""
        while not done():
            ready = self._selector.select(quiet_s)
            if not ready:
                return False
            for key, _ in ready:
                key.data()
        return True

    def close(self) -> None:
        """Watch nothing any more."""
        self._selector.close()


class Transfer(msgspec.Struct, frozen=True):
    """A file that went through: bytes, seconds, and the status of the answer."""

    size: int
    seconds: float
    status: int

    @property
    def mb_s(self) -> float:
        """Megabytes a second."""
        return self.size / self.seconds / 1e6


def download(port: int, path: str) -> Transfer:
    """Take a file to its end; what has come is thrown away by the system, which need not copy it to us."""
    buffer = bytearray(1024 * 1024)
    with connect(port) as found:
        began = time.monotonic()
        found.sendall(get(path))
        head, _, body = _head(found)
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        size = len(body)
        while size < length and (more := found.recv_into(buffer, len(buffer), DISCARD)):
            size += more
        return Transfer(size, time.monotonic() - began, int(head[9:12]))


def upload(port: int, path: str, size: int) -> Transfer:
    """Send a file of that size; a server that refuses it need not read it."""
    piece = bytes(range(256)) * 4096
    with connect(port) as found:
        began = time.monotonic()
        head = f"PUT {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/octet-stream\r\n"
        found.sendall(f"{head}content-length: {size}\r\n\r\n".encode())
        sent = 0
        try:
            while sent < size:
                found.sendall(piece[: size - sent])
                sent += min(len(piece), size - sent)
            answer = _head(found)[0]
        except (BrokenPipeError, ConnectionResetError):
            answer = b"HTTP/1.1 413"
        return Transfer(sent, time.monotonic() - began, int(answer[9:12]))


def _head(found: socket.socket) -> tuple[bytes, bytes, bytes]:
    got = b""
    while HEAD_END not in got:
        if not (more := found.recv(RECEIVED)):
            raise ConnectionResetError("the other end has hung up")
        got += more
    return got.partition(HEAD_END)


def quantile(samples: Sequence[float], part: float) -> float:
    """The sample below which that part of them lies."""
    return sorted(samples)[min(len(samples) - 1, int(len(samples) * part))]
