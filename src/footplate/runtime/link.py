"""The server of the local link: the process that owns the sessions serves them to others of the same person."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Coroutine
from pathlib import Path
from typing import Final, assert_never

import msgspec

from footplate.errors import FootplateError, ProtocolError
from footplate.runtime import link_wire as w
from footplate.runtime.backend import Attachment, OwnerBackend
from footplate.runtime.private_socket import PrivateServer
from footplate.tasks import spawn

SOCKET_NAME: Final = "chat.sock"

log = logging.getLogger(__name__)


def link_server(backend: OwnerBackend, path: Path) -> PrivateServer:
    """A server of the backend on a socket."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visit = _Visit(backend, reader, writer)
        try:
            await visit.serve()
        finally:
            await visit.leave()

    return PrivateServer(path, serve)


class _Visit:
    """One connection: requests are served side by side, each attachment by a task of its own."""

    def __init__(self, backend: OwnerBackend, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._backend = backend
        self._reader = reader
        self._writer = writer
        self._greeted = False
        self._work: set[asyncio.Task[None]] = set()
        self._streams: dict[int, asyncio.Task[None]] = {}

    async def serve(self) -> None:
        """Take requests until the visitor leaves."""
        while raw := await self._reader.readline():
            try:
                request = w.request_decoder.decode(raw)
            except msgspec.DecodeError as problem:
                await self._write(w.line(w.Failed(id=0, error=w.refusal(f"not a request: {problem}"))))
                return
            if isinstance(request, w.Hello):
                await self._answer(request)
            elif not self._greeted:
                await self._write(w.line(w.Failed(id=request.id, error=w.refusal("say hello first"))))
                return
            else:
                self._keep(self._answer(request), f"link {request.id}")

    async def leave(self) -> None:
        """End what runs for the visitor and close the connection."""
        tasks = tuple(self._work)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._writer.close()

    def _keep(self, work: Coroutine[None, None, None], name: str) -> asyncio.Task[None]:
        task = spawn(work, name=name, awaited=True)
        self._work.add(task)
        task.add_done_callback(self._over)
        return task

    def _over(self, task: asyncio.Task[None]) -> None:
        self._work.discard(task)
        problem = None if task.cancelled() else task.exception()
        if problem is not None:
            if not isinstance(problem, ConnectionError):
                log.error("a visitor's request failed", exc_info=problem)
            self._writer.close()

    async def _answer(self, request: w.Request) -> None:
        try:
            if isinstance(request, w.Attach):
                await self._attach(request)
                return
            result = await self._meet(request)
        except FootplateError as problem:
            await self._write(w.line(w.Failed(id=request.id, error=w.describe_error(problem))))
        else:
            await self._write(w.done(request.id, result))

    async def _meet(self, request: w.Request) -> object:
        match request:
            case w.Hello():
                return self._greet(request)
            case w.ListSessions():
                return await self._backend.sessions()
            case w.Find():
                return await self._backend.find(request.engine_session)
            case w.Create():
                return await self._backend.create(request.spec, resume=request.resume)
            case w.Fork():
                return await self._backend.fork(request.session)
            case w.Detach():
                self._detach(request.stream)
            case w.Do():
                await self._backend.do(request.session, request.command)
            case w.Ask():
                return await self._backend.query(request.session, request.name, request.arguments)
            case w.Release():
                return await self._backend.release(request.conversation)
            case w.Attach():  # served by `_attach`
                pass
            case _:
                assert_never(request)
        return None

    def _greet(self, hello: w.Hello) -> w.Welcome:
        if hello.version != w.VERSION:
            raise ProtocolError("chat", f"it speaks version {hello.version} of the link, this process {w.VERSION}")
        self._greeted = True
        return w.Welcome(version=w.VERSION, pid=os.getpid())

    async def _attach(self, request: w.Attach) -> None:
        attachment = await self._backend.attach(request.session, request.after)
        await self._write(w.done(request.id, attachment.standing))
        self._streams[request.id] = self._keep(self._stream(request.id, attachment), f"link stream {request.id}")

    def _detach(self, stream: int) -> None:
        task = self._streams.pop(stream, None)
        if task is not None:
            task.cancel()

    async def _stream(self, number: int, attachment: Attachment) -> None:
        """Hand on what comes. A slow visitor waits here alone: the session's log lets it fall behind."""
        error: w.ErrorWire | None = None
        try:
            async for body in attachment.bodies:
                await self._write(w.event_line(number, body))
        except FootplateError as problem:
            error = w.describe_error(problem)
        finally:
            await attachment.close()
        self._streams.pop(number, None)
        await self._write(w.line(w.Ended(stream=number, error=error)))

    async def _write(self, line: bytes) -> None:
        self._writer.write(line)
        await self._writer.drain()
