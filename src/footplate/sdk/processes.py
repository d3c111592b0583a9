"""Processes and terminals where the service runs."""

from __future__ import annotations

import base64
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Literal

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from footplate.errors import ServiceUnreachable
from footplate.sdk.follow import follow_stream
from footplate.sdk.problems import error_of
from footplate.sdk.shapes import LogPiece, ProcessInfo, ProcessRun
from footplate.sdk.stream import Stream
from footplate.sdk.wire import Wire

Output = Literal["stdout", "stderr", "combined", "pty"]


class _Listed(msgspec.Struct):
    processes: tuple[ProcessInfo, ...]


class _Logs(msgspec.Struct):
    entries: tuple[LogPiece, ...]


class _Frame(msgspec.Struct, rename="camel"):
    type: str
    exit_code: int | None = None
    message: str = ""


class Processes:
    """The processes of the service."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def run(
        self,
        command: str,
        *args: str,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
    ) -> ProcessRun:
        """Run a program to its end."""
        body: dict[str, object] = {"command": command, "args": args, "cwd": cwd, "env": dict(env or {})}
        if timeout_s is not None:
            body["timeoutMs"] = int(timeout_s * 1000)
        return await self._wire.post("/v1/processes/run", ProcessRun, body, slow=True)

    async def start(
        self,
        command: str,
        *args: str,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        tty: bool = False,
        interactive: bool = False,
        size: tuple[int, int] = (24, 80),
    ) -> Process:
        """Start a program and leave it running; with `tty` it has a terminal of that many rows and columns."""
        body = {
            "command": command,
            "args": args,
            "cwd": cwd,
            "env": dict(env or {}),
            "tty": tty,
            "interactive": interactive,
            "rows": size[0],
            "cols": size[1],
        }
        return Process(self._wire, await self._wire.post("/v1/processes", ProcessInfo, body))

    async def all(self) -> tuple[ProcessInfo, ...]:
        """Those that run, and those that have ended and were not removed."""
        return (await self._wire.get("/v1/processes", _Listed)).processes

    async def get(self, process: str) -> Process:
        """One that is known."""
        return Process(self._wire, await self._wire.get(f"/v1/processes/{process}", ProcessInfo))


class Process:
    """A process of the service."""

    def __init__(self, wire: Wire, info: ProcessInfo) -> None:
        self._wire = wire
        self._path = f"/v1/processes/{info.id}"
        self.info = info

    @property
    def id(self) -> str:
        """Its id; `client.processes.get(id)` brings it back."""
        return self.info.id

    async def refresh(self) -> ProcessInfo:
        """What is known of it now."""
        self.info = await self._wire.get(self._path, ProcessInfo)
        return self.info

    async def write(self, data: bytes | str) -> None:
        """Give it input."""
        raw = data.encode() if isinstance(data, str) else data
        body = {"data": base64.b64encode(raw).decode(), "encoding": "base64"}
        await self._wire.exchange("POST", f"{self._path}/input", body=body)

    async def logs(self, *, stream: Output = "combined", since: int = 0) -> tuple[LogPiece, ...]:
        """Its output so far, behind a number."""
        return (await self._wire.get(f"{self._path}/logs", _Logs, {"stream": stream, "since": since})).entries

    def follow(self, *, stream: Output = "combined", since: int = 0) -> Stream[LogPiece]:
        """Its output behind a number and as it comes, until it has ended; a lost connection is not noticed."""
        return self._wire.streams.make(self._follow(stream, since))

    async def _follow(self, stream: Output, since: int) -> AsyncGenerator[LogPiece]:
        path = f"{self._path}/logs"
        while True:
            params = {"stream": stream, "since": since, "follow": True}
            async with aclosing(follow_stream(self._wire, path, params=params, lasting=False)) as events:
                async for event in events:
                    if event.event == "log":
                        piece = msgspec.json.decode(event.data, type=LogPiece)
                        since = piece.sequence
                        yield piece
            if (await self.refresh()).status == "exited":
                return

    async def wait(self) -> ProcessInfo:
        """Until it has ended."""
        async for _ in self.follow(since=2**62):
            pass
        return await self.refresh()

    async def stop(self, *, wait_s: float = 0) -> ProcessInfo:
        """Ask it to end; with `wait_s` give it so long."""
        return await self._end("stop", wait_s)

    async def kill(self, *, wait_s: float = 5) -> ProcessInfo:
        """End it, with all that it started."""
        return await self._end("kill", wait_s)

    async def _end(self, how: Literal["stop", "kill"], wait_s: float) -> ProcessInfo:
        path = f"{self._path}/{how}"
        answer = await self._wire.exchange("POST", path, params={"waitMs": int(wait_s * 1000)}, again=True, slow=True)
        self.info = msgspec.json.decode(answer.content, type=ProcessInfo)
        return self.info

    async def resize(self, rows: int, cols: int) -> None:
        """Give its terminal another size."""
        await self._wire.tell("POST", f"{self._path}/terminal/resize", {"rows": rows, "cols": cols})

    async def forget(self) -> None:
        """Remove it from the table, when it has ended."""
        await self._wire.exchange("DELETE", self._path)

    @asynccontextmanager
    async def terminal(self) -> AsyncIterator[Terminal]:
        """Its terminal, for one that has one: the screen as it stands, then what comes. Leaving it ends nothing."""
        url = self._wire.socket_url(f"{self._path}/terminal/ws")
        try:
            async with connect(url, additional_headers=self._wire.socket_headers(), max_size=None) as socket:
                yield Terminal(socket)
        except InvalidStatus as refused:
            raise error_of(refused.response.status_code, bytes(refused.response.body or b"")) from None
        except OSError as problem:
            raise ServiceUnreachable(self._wire.url, str(problem)) from problem


class Terminal:
    """A terminal that somebody looks at: iterate it for what it shows; `exit_code` is set when it has ended."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self.exit_code: int | None = None
        self.ended = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """What it shows, until the process has ended or the service is gone."""
        try:
            async for message in self._socket:
                if isinstance(message, bytes):
                    yield message
                    continue
                frame = msgspec.json.decode(message, type=_Frame)
                if frame.type == "exit":
                    self.exit_code, self.ended = frame.exit_code, True
        except ConnectionClosed:
            return

    async def write(self, keys: str) -> None:
        """Type."""
        await self._send({"type": "input", "data": keys})

    async def resize(self, rows: int, cols: int) -> None:
        """Another size of the window."""
        await self._send({"type": "resize", "rows": rows, "cols": cols})

    async def _send(self, frame: Mapping[str, object]) -> None:
        await self._socket.send(msgspec.json.encode(frame).decode())
