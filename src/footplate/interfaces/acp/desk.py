"""Where an editor's messages go: to our own sessions, or to the process that owns the data folder.

When that process is gone the editor goes on: with the service once it is back, else with sessions of our own.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final, Protocol

import msgspec

from footplate.config.acp import Attach
from footplate.config.places import data_folder
from footplate.config.settings import Settings
from footplate.errors import InvalidValue, LinkLost
from footplate.interfaces.acp.editor import Editor
from footplate.interfaces.acp.ledger import Ledger
from footplate.runtime.acp.client import Send
from footplate.runtime.acp.connection import Backend
from footplate.runtime.acp.guests import EDITOR, SOCKET_NAME, Hello, Role, Welcome, editor_agent, write_line
from footplate.runtime.private_socket import connect
from footplate.runtime.service import open_service
from footplate.runtime.tenancy import LOOK_AGAIN_S, open_doors, own_or_join
from footplate.tasks import spawn

HELLO_S: Final = 10.0
RETURN_S: Final = 30.0
"""How long a service may be away before the editor goes on without it."""

log = logging.getLogger(__name__)


class Desk(Protocol):
    """Takes the editor's messages."""

    @property
    def lost(self) -> asyncio.Future[str]:
        """Done when it takes no more, with the reason."""
        ...

    @property
    def role(self) -> Role | None:
        """What the process is that owns the sessions; None when it is this one."""
        ...

    async def receive(self, message: bytes) -> None:
        """Take one message of the editor."""
        ...


Opener = Callable[[], Awaitable[Desk]]


class OwnDesk:
    """Sessions of this very process."""

    role: Role | None = None

    def __init__(self, agent: Backend) -> None:
        self._agent = agent
        self.lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def receive(self, message: bytes) -> None:
        """Take one message of the editor."""
        await self._agent.receive(message, EDITOR)


class JoinedDesk:
    """The sessions of the process at the other end of a socket."""

    def __init__(self, writer: asyncio.StreamWriter, welcome: Welcome, ledger: Ledger) -> None:
        self._writer = writer
        self._ledger = ledger
        self._owner = f"footplate (pid {welcome.pid})"
        self.role: Role | None = welcome.role
        self.lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def receive(self, message: bytes) -> None:
        """Take one message of the editor."""
        self._ledger.sent(message)
        if not self.lost.done():
            self._writer.write(message if message.endswith(b"\n") else message + b"\n")

    async def relay(self, reader: asyncio.StreamReader, send: Send) -> None:
        """Hand on what the owner says until it is gone."""
        reason = "it closed the connection"
        try:
            while line := await reader.readline():
                if self._ledger.heard(line):
                    await send([line])
        except ConnectionError as problem:
            reason = problem.strerror or str(problem)
        except Exception as problem:
            reason = f"what it sent cannot be handed on ({type(problem).__name__}: {problem})"
            raise
        finally:
            if not self.lost.done():
                self.lost.set_result(str(LinkLost(self._owner, reason)))


class Reception:
    """Opens desks for one editor."""

    def __init__(
        self,
        editor: Editor,
        engine: str,
        environ: Mapping[str, str],
        settings: Settings,
        attach: Attach,
        command: tuple[str, ...] = (),
    ) -> None:
        """`command` is how we were started, up to the name of the engine."""
        self._editor = editor
        self._engine = engine
        self._command = (*command, engine) if command else ()
        self._environ = environ
        self._settings = settings
        self._attach = attach
        self._ledger = Ledger()

    async def serve(self) -> None:
        """Until the editor is gone."""
        before: Role | None = None
        reading = spawn(self._editor.read(), name="editor", awaited=True)
        try:
            while True:
                async with self._open(before) as desk:
                    for frame in self._ledger.again():
                        await desk.receive(frame)
                    while True:
                        await asyncio.wait((reading, desk.lost), return_when=asyncio.FIRST_COMPLETED)
                        if desk.lost.done():
                            break
                        line = reading.result()
                        if not line:
                            return
                        reading = spawn(self._editor.read(), name="editor", awaited=True)
                        await desk.receive(line)
                before = desk.role
                log.warning("%s", desk.lost.result())
                await self._editor.write(self._ledger.lost(desk.lost.result()))
        finally:
            reading.cancel()
            await asyncio.wait((reading,))

    @asynccontextmanager
    async def _open(self, before: Role | None) -> AsyncIterator[Desk]:
        async with AsyncExitStack() as stack:

            async def own() -> Desk:
                return await stack.enter_async_context(self._own())

            async def join() -> Desk:
                return await stack.enter_async_context(self._join())

            yield await self._choose(own, join, before)

    async def _choose(self, own: Opener, join: Opener, before: Role | None) -> Desk:
        if self._attach == "never":
            return await own()
        if before == "service" or (before is not None and self._attach == "always"):
            deadline = time.monotonic() + RETURN_S
            while time.monotonic() < deadline:
                try:
                    return await join()
                except LinkLost:
                    await asyncio.sleep(LOOK_AGAIN_S)
        return await join() if self._attach == "always" else await own_or_join(own, join)

    @asynccontextmanager
    async def _own(self) -> AsyncIterator[Desk]:
        async with AsyncExitStack() as stack:
            service = await stack.enter_async_context(open_service(self._environ, self._settings))
            await stack.enter_async_context(open_doors(service, "editor"))
            agent = editor_agent(service, self._engine, self._send, self._command)
            stack.push_async_callback(agent.close)
            yield OwnDesk(agent)

    async def _send(self, frames: Sequence[bytes]) -> None:
        """What our own agent says; of what we asked it in the editor's name the editor hears nothing."""
        if not self._ledger.quiet:
            frames = [frame for frame in frames if self._ledger.heard(frame)]
        await self._editor.write(frames)

    @asynccontextmanager
    async def _join(self) -> AsyncIterator[Desk]:
        path = data_folder(self._environ) / SOCKET_NAME
        try:
            reader, writer = await connect(path)
        except OSError as problem:
            raise LinkLost("the other Footplate", f"{path}: {problem.strerror}") from problem
        try:
            welcome = await _greet(reader, writer, Hello(engine=self._engine, command=self._command))
            desk = JoinedDesk(writer, welcome, self._ledger)
            relay = spawn(desk.relay(reader, self._editor.write), name="owner")
            try:
                yield desk
            finally:
                relay.cancel()
                await asyncio.wait((relay,))
        finally:
            writer.close()


async def _greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, hello: Hello) -> Welcome:
    """Exchange the first words with the owner. Raises `LinkLost`, or `InvalidValue` for an engine that it has not."""
    writer.write(write_line(hello))
    try:
        async with asyncio.timeout(HELLO_S):
            welcome = msgspec.json.decode(await reader.readline(), type=Welcome)
    except TimeoutError:
        raise LinkLost("the other Footplate", f"it said nothing for {HELLO_S:g} s") from None
    except (ConnectionError, msgspec.DecodeError) as problem:
        raise LinkLost("the other Footplate", f"its first words cannot be read ({problem})") from problem
    if welcome.error:
        raise InvalidValue("engine", hello.engine, f"one that footplate (pid {welcome.pid}) takes: {welcome.error}")
    return welcome
