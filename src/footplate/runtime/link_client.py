"""The client of the local link: the sessions of another process as a `ChatBackend`."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar, assert_never

import msgspec

from footplate.errors import FootplateError, LinkLost, ProtocolError
from footplate.events.base import ResumeToken
from footplate.events.commands import Command
from footplate.events.facts import RESULTS, Fact, QueryName
from footplate.events.ids import SessionId
from footplate.runtime import link_wire as w
from footplate.runtime.backend import Attachment, Standing
from footplate.runtime.private_socket import connect
from footplate.runtime.spec import SessionSpec
from footplate.store.projection import SessionRow
from footplate.tasks import spawn

T = TypeVar("T")
HELLO_S = 10.0
"""How long the owner may take to say hello."""

_Item = bytes | FootplateError | None


class LinkBackend:
    """The sessions of the process on the other end of the socket; `LinkLost` when that process is gone."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[msgspec.Raw | None]] = {}
        self._streams: dict[int, asyncio.Queue[_Item]] = {}
        self._pid = 0
        self._lost: LinkLost | None = None
        self._task = spawn(self._read(), name="link", on_failure=self._broke)

    @classmethod
    @asynccontextmanager
    async def open(cls, path: Path) -> AsyncIterator[LinkBackend]:
        """Connect to the owner. Raises `LinkLost` when nobody listens there."""
        try:
            reader, writer = await connect(path)
        except OSError as problem:
            raise LinkLost("the other Footplate", f"{path}: {problem.strerror}") from problem
        backend = cls(reader, writer)
        try:
            await backend.greet()
            yield backend
        finally:
            await backend.close()

    @property
    def owner(self) -> str:
        """Who owns the sessions, in words."""
        return f"footplate (pid {self._pid})" if self._pid else "the other Footplate"

    async def greet(self) -> None:
        """Exchange the first words."""
        try:
            async with asyncio.timeout(HELLO_S):
                welcome = await self._ask(w.Hello(id=self._number()), w.Welcome)
        except TimeoutError:
            raise LinkLost("the other Footplate", f"it said nothing for {HELLO_S:g} s") from None
        self._pid = welcome.pid

    async def close(self) -> None:
        """Hang up."""
        self._task.cancel()
        await asyncio.wait((self._task,))
        self._writer.close()

    # ------------------------------------------------------------------------------------------- asking

    async def sessions(self) -> tuple[SessionRow, ...]:
        """The latest sessions, the latest active first."""
        return await self._ask(w.ListSessions(id=self._number()), tuple[SessionRow, ...])

    async def find(self, engine_session: str) -> SessionId | None:
        """The session that has the engine's own id, if one has."""
        found = await self._call(w.Find(id=self._number(), engine_session=engine_session))
        return None if found is None else SessionId(msgspec.json.decode(found, type=str))

    async def create(self, spec: SessionSpec, *, resume: ResumeToken | None = None) -> SessionId:
        """Open a new session."""
        return SessionId(await self._ask(w.Create(id=self._number(), spec=spec, resume=resume), str))

    async def fork(self, session: SessionId) -> SessionId:
        """A session that goes on from where this one stands."""
        return SessionId(await self._ask(w.Fork(id=self._number(), session=session), str))

    async def attach(self, session: SessionId, after: int = 0) -> Attachment:
        """Read a session from a cursor on."""
        number = self._number()
        self._streams[number] = asyncio.Queue()
        try:
            standing = await self._ask(w.Attach(id=number, session=session, after=after), Standing)
        except FootplateError:
            del self._streams[number]
            raise
        return Attachment(standing, self._bodies(number))

    async def do(self, session: SessionId, command: Command) -> None:
        """Have a command carried out."""
        await self._call(w.Do(id=self._number(), session=session, command=command))

    async def query(self, session: SessionId, name: QueryName, arguments: Mapping[str, str]) -> Fact:
        """Ask about the agent that is running."""
        asked = w.Ask(id=self._number(), session=session, name=name, arguments=dict(arguments))
        return await self._ask(asked, RESULTS[name])

    async def release(self, conversation: ResumeToken) -> bool:
        """End the agent process that has this conversation, if it is idle."""
        return await self._ask(w.Release(id=self._number(), conversation=conversation), bool)

    # ------------------------------------------------------------------------------------------- inside

    def _number(self) -> int:
        return next(self._numbers)

    async def _ask(self, request: w.Request, shape: type[T]) -> T:
        result = await self._call(request)
        if result is None:
            raise ProtocolError(self.owner, f"no result of {type(request).__name__}")
        return msgspec.json.decode(result, type=shape)

    async def _call(self, request: w.Request) -> msgspec.Raw | None:
        if self._lost is not None:
            raise self._lost
        answer: asyncio.Future[msgspec.Raw | None] = asyncio.get_running_loop().create_future()
        self._waiting[request.id] = answer
        self._writer.write(w.line(request))
        try:
            return await answer
        finally:
            self._waiting.pop(request.id, None)

    async def _bodies(self, number: int) -> AsyncGenerator[bytes, None]:
        queue = self._streams[number]
        try:
            while (item := await queue.get()) is not None:
                if isinstance(item, FootplateError):
                    raise item
                yield item
        finally:
            self._streams.pop(number, None)
            if self._lost is None and not self._writer.is_closing():
                self._writer.write(w.line(w.Detach(id=self._number(), stream=number)))

    async def _read(self) -> None:
        reason = "it closed the connection"
        try:
            while raw := await self._reader.readline():
                self._take(w.answer_decoder.decode(raw))
        except ConnectionError as problem:
            reason = problem.strerror or str(problem)
        except msgspec.DecodeError as problem:
            reason = f"it said something that cannot be read ({problem})"
        self._lose(LinkLost(self.owner, reason))

    def _broke(self, problem: BaseException) -> None:
        self._lose(LinkLost(self.owner, f"what it sent cannot be read ({type(problem).__name__}: {problem})"))

    def _take(self, answer: w.Answer) -> None:
        match answer:
            case w.Done():
                self._settle(answer.id, answer.result)
            case w.Failed():
                self._settle(answer.id, w.restore_error(answer.error))
            case w.EventLine():
                self._deliver(answer.stream, bytes(answer.envelope))
            case w.Ended():
                self._deliver(answer.stream, w.restore_error(answer.error) if answer.error is not None else None)
            case _:
                assert_never(answer)

    def _settle(self, number: int, outcome: msgspec.Raw | FootplateError | None) -> None:
        waiting = self._waiting.get(number)
        if waiting is None or waiting.done():
            return
        if isinstance(outcome, FootplateError):
            waiting.set_exception(outcome)
        else:
            waiting.set_result(outcome)

    def _deliver(self, stream: int, item: _Item) -> None:
        queue = self._streams.get(stream)
        if queue is not None:
            queue.put_nowait(item)

    def _lose(self, lost: LinkLost) -> None:
        self._lost = lost
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(lost)
        for queue in self._streams.values():
            queue.put_nowait(lost)
