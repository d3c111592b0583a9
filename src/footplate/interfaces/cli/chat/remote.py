"""The sessions of a server at a URL as a chat needs them: each session one WebSocket, events come and commands go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import msgspec

from footplate.errors import FootplateError, LinkLost, UnsupportedOption
from footplate.events.base import OptionalRaw, ResumeToken
from footplate.events.commands import Command
from footplate.events.facts import ContextUsage, Fact, FileSuggestions, QueryName
from footplate.events.ids import SessionId
from footplate.interfaces.cli.client import Client, open_client
from footplate.runtime.backend import Attachment, Standing
from footplate.runtime.spec import SessionSpec
from footplate.store.projection import SessionRow
from footplate.tasks import spawn

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

DONE: Final = '{"done":'
"""How what became of a command begins; anything else is an envelope."""


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a command."""

    done: str
    problem: OptionalRaw = None


class Rows(msgspec.Struct, frozen=True, kw_only=True):
    """Some sessions, as they are listed."""

    sessions: tuple[dict[str, object], ...]


class Detail(msgspec.Struct, frozen=True, kw_only=True):
    """How a session stands, as far as a chat looks."""

    last_seq: int = 0
    modes: tuple[str, ...] = ()
    efforts: tuple[str, ...] = ()
    resume_line: str = ""


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """A session that was made."""

    id: SessionId


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """How full the context is."""

    detail: ContextUsage | None = None


class Line:
    """One session over its WebSocket."""

    def __init__(self, socket: ClientConnection, where: str) -> None:
        self._socket = socket
        self._where = where
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._bodies: asyncio.Queue[bytes | LinkLost] = asyncio.Queue()
        self.closed = False

    async def read(self) -> None:
        """Sort what comes, until the server is gone."""
        from websockets.exceptions import ConnectionClosedError  # noqa: PLC0415

        reason = "it closed the connection"
        try:
            async for message in self._socket:
                text = message if isinstance(message, str) else message.decode()
                if text.startswith(DONE):
                    self._settle(msgspec.json.decode(text, type=Done))
                else:
                    self._bodies.put_nowait(text.encode())
        except ConnectionClosedError as problem:
            reason = str(problem)
        except msgspec.MsgspecError as problem:
            reason = f"it said something that cannot be read ({problem})"
        self._lose(LinkLost(self._where, reason))

    def broke(self, problem: BaseException) -> None:
        """The reading has failed: nothing more will come."""
        self._lose(LinkLost(self._where, f"what it sent cannot be read ({type(problem).__name__}: {problem})"))

    def _lose(self, lost: LinkLost) -> None:
        self.closed = True
        self._bodies.put_nowait(lost)
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(lost)

    def _settle(self, done: Done) -> None:
        waiting = self._waiting.get(done.done)
        if waiting is None or waiting.done():
            return
        if done.problem is None:
            waiting.set_result(None)
        else:
            waiting.set_exception(_error_of(bytes(done.problem)))

    async def bodies(self) -> AsyncGenerator[bytes, None]:
        """Envelopes as JSON; `LinkLost` when the server is gone. The line is closed with them."""
        try:
            while True:
                item = await self._bodies.get()
                if isinstance(item, LinkLost):
                    raise item
                yield item
        finally:
            self.closed = True
            await self._socket.close()

    async def do(self, command: Command) -> None:
        """Send a command and wait until it is accepted."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[command.key] = waiting
        try:
            await self._socket.send(msgspec.json.encode(command).decode())
            await waiting
        finally:
            self._waiting.pop(command.key, None)


def _error_of(problem: bytes) -> FootplateError:
    from footplate.sdk.problems import error_of  # noqa: PLC0415  (only when something is wrong)

    return error_of(0, problem)


class RemoteBackend:
    """The sessions of one server; lines to them are opened as they are needed, and closed with the block."""

    def __init__(self, client: Client, url: str, stack: AsyncExitStack) -> None:
        self._client = client
        self._stack = stack
        self._lines: dict[SessionId, Line] = {}
        self.owner = url

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str, token: str) -> AsyncIterator[RemoteBackend]:
        """The server at that address."""
        async with open_client(url, token) as client, AsyncExitStack() as stack:
            yield cls(client, url, stack)

    async def sessions(self) -> tuple[SessionRow, ...]:
        """The latest sessions, the latest active first."""
        found = (await self._client.get("/api/sessions", Rows)).sessions
        return tuple(msgspec.convert({**row, "session": row["id"]}, SessionRow) for row in found)

    async def find(self, engine_session: str) -> SessionId | None:
        """The session among the latest that has the engine's own id, if one has."""
        rows = await self.sessions()
        return next((row.session for row in rows if row.engine_session_id == engine_session), None)

    async def create(self, spec: SessionSpec, *, resume: ResumeToken | None = None) -> SessionId:
        """Open a new session."""
        body = {name: getattr(spec, name) for name in ("engine", "cwd", "model", "mode", "effort")}
        given = {**body, **({"resume": resume.value} if resume is not None else {})}
        return (await self._client.post("/api/sessions", Made, given)).id

    async def fork(self, session: SessionId) -> SessionId:
        """A session that goes on from where this one stands."""
        return (await self._client.post(f"{_path(session)}/fork", Made, {})).id

    async def attach(self, session: SessionId, after: int = 0) -> Attachment:
        """Read a session from a cursor on."""
        detail = await self._client.get(_path(session), Detail)
        line = await self._dial(session, after)
        self._lines[session] = line
        standing = Standing(
            session=session,
            last_seq=detail.last_seq,
            modes=detail.modes,
            efforts=detail.efforts,
            resume_line=detail.resume_line,
        )
        return Attachment(standing, line.bodies())

    async def do(self, session: SessionId, command: Command) -> None:
        """Have a command carried out."""
        line = self._lines.get(session)
        if line is None or line.closed:
            after = (await self._client.get(_path(session), Detail)).last_seq
            line = self._lines[session] = await self._dial(session, after)
        await line.do(command)

    async def query(self, session: SessionId, name: QueryName, arguments: Mapping[str, str]) -> Fact:
        """Ask about the agent that is running: what the API tells of it."""
        if name == "files":
            query = {"q": arguments.get("query", "")}
            return await self._client.get(f"{_path(session)}/suggest", FileSuggestions, query)
        if name == "context":
            found = (await self._client.get(f"{_path(session)}/context", Context)).detail
            if found is not None:
                return found
        raise UnsupportedOption(self.owner, name, "it is not told from afar")

    async def _dial(self, session: SessionId, after: int) -> Line:
        socket = await self._stack.enter_async_context(self._client.socket(f"{_path(session)}/ws?after={after}"))
        line = Line(socket, self.owner)
        self._stack.push_async_callback(_end, spawn(line.read(), name=f"line to {session}", on_failure=line.broke))
        return line


async def _end(reading: asyncio.Task[None]) -> None:
    reading.cancel()
    await asyncio.wait((reading,))


def _path(session: SessionId) -> str:
    return f"/api/sessions/{quote(session, safe='')}"
