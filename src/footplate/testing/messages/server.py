"""The socket of the scripted API: many connections at a time, each kept alive, on the loopback only."""

from __future__ import annotations

import asyncio

from footplate.tasks import spawn
from footplate.testing.messages.api import ConnectionCutError, ScriptedApi
from footplate.testing.messages.refusal import refuse
from footplate.testing.messages.wire import HEAD_LIMIT, HttpRequest, MalformedRequestError, read_request

HOST = "127.0.0.1"


class MessagesServer:
    """Listens on 127.0.0.1 and lets a ScriptedApi answer: `async with MessagesServer(port=0) as server:`."""

    def __init__(self, *, port: int = 0) -> None:
        self._api = ScriptedApi()
        self._port = port
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def base_url(self) -> str:
        if self._server is None:
            raise RuntimeError("the server has not been started")
        return f"http://{HOST}:{self._server.sockets[0].getsockname()[1]}"

    async def __aenter__(self) -> MessagesServer:
        self._server = await asyncio.start_server(self._connected, HOST, self._port, limit=HEAD_LIMIT)
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._server is not None:
            self._server.close()
            await _end(*self._connections)
            await self._server.wait_closed()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = spawn(self._converse(reader, writer), name="scripted model", awaited=True)
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read and answer side by side, so that a client that leaves ends the answer it no longer waits for."""
        requests: asyncio.Queue[HttpRequest] = asyncio.Queue()
        reading = spawn(_read_all(reader, writer, requests), name="scripted model: read", awaited=True)
        answering = spawn(self._answer_all(requests, writer), name="scripted model: answer", awaited=True)
        try:
            await asyncio.wait({reading, answering}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            writer.close()
            await _end(reading, answering)

    async def _answer_all(self, requests: asyncio.Queue[HttpRequest], writer: asyncio.StreamWriter) -> None:
        keeps_alive = True
        while keeps_alive:
            request = await requests.get()
            try:
                await self._api.answer(request, writer)
            except ConnectionCutError:
                return
            keeps_alive = request.keeps_alive


async def _read_all(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, requests: asyncio.Queue[HttpRequest]
) -> None:
    try:
        while request := await read_request(reader):
            requests.put_nowait(request)
    except MalformedRequestError as error:
        writer.write(refuse(400, f"malformed request: {error}").encode(for_method="GET"))


async def _end(*tasks: asyncio.Task[None]) -> None:
    """Cancel and await tasks; that a client broke its connection is no news, any other failure is."""
    for task in tasks:
        task.cancel()
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(result, Exception) and not isinstance(result, ConnectionError):
            raise result
