"""Every connection of every door: opened, found again after a restart, listed, ended.

What is known of a connection is stored, so that its clients go on after a restart of the service as if nothing had
been: sessions are the hub's anyway, and a relayed command is started again.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

import msgspec

from footplate.acp.jsonrpc import Envelope
from footplate.engines.catalog import engine_names, make_engine
from footplate.errors import Conflict, EngineNotFound, NotFound, UnknownEngine, WrongVersion
from footplate.events.base import OptionalRaw
from footplate.runtime.acp.agent import AcpAgent
from footplate.runtime.acp.client import Manner
from footplate.runtime.acp.connection import Backend, Connection
from footplate.runtime.acp.relay import Relay
from footplate.runtime.acp.tape import Tape
from footplate.runtime.audit import SERVICE
from footplate.runtime.hub import Hub
from footplate.runtime.patience import patiently
from footplate.runtime.services import Services
from footplate.store.base import Journal
from footplate.store.values import Document

DOCUMENTS: Final = "acp-connections"
IDLE_S: Final = 3600.0
DAY_S: Final = 86_400.0
FRESH_S: Final = DAY_S / 8
"""The record of a connection in use is written again when it is older than this: its age tells when it was used."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored of a connection. `initialize` are the parameters with which its client began."""

    name: str
    agent: str
    created_at: float
    initialize: OptionalRaw = None


class Connections:
    """The connections of one door, under names that are unique within it."""

    def __init__(self, door: str, hub: Hub, services: Services, manner: Manner) -> None:
        self._door = door
        self._hub = hub
        self._services = services
        self._manner = manner
        self._documents = services.store.documents(f"{DOCUMENTS}-{door}")
        self.idle_s = IDLE_S
        self._live: dict[str, Connection] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._swept: str | None = None

    def agents(self) -> tuple[str, ...]:
        """Everything that can stand behind a connection."""
        return engine_names(self._services.settings)

    async def open(self, name: str, agent: str, *, new: bool = True) -> Connection:
        """The connection of that name, new or known. Raises `UnknownEngine`, or `Conflict` for another agent.

        Without `new` one that is not known raises `NotFound`: the answer of a client that has deleted its connection
        meanwhile must not open it again, for nobody would ever delete that one.
        """
        async with self._lock(name):
            found = await self._find(name)
            if found is not None:
                if agent and found.agent != agent:
                    raise Conflict(f"connection {name!r} is to {found.agent}, not to {agent}; use another name for it")
                return found
            if not new:
                raise NotFound("acp_server", name)
            if agent not in self.agents():
                raise UnknownEngine(agent, self.agents())
            await self._rest()
            created_at = self._services.surroundings.time()
            record = Record(name=name, agent=agent, created_at=created_at)
            await self._provide(agent)
            made = await self._make(record)
            await self._documents.put(name, msgspec.json.encode(record))
            return made

    async def _provide(self, agent: str) -> None:
        """See that the agent is there, installed now if need be. Raises `EngineNotFound`, `InstallFailed`."""
        engine = make_engine(agent, self._services.settings)
        try:
            await engine.locate(self._services.environ)
        except EngineNotFound:
            if self._services.provide is None or not await self._services.provide(engine):
                raise

    async def find(self, name: str) -> Connection | None:
        """The connection of that name, live or of before a restart."""
        async with self._lock(name):
            return await self._find(name)

    async def began(self, connection: Connection, envelope: Envelope) -> None:
        """The client has begun the connection: what it said is kept."""
        record = Record(
            name=connection.name,
            agent=connection.agent,
            created_at=connection.created_at,
            initialize=envelope.params,
        )
        body, limit_s = msgspec.json.encode(record), self._services.surroundings.bounds.store_retry_s
        await patiently(lambda: self._documents.put(connection.name, body, durable=False), limit_s=limit_s)

    async def list(self) -> tuple[Record, ...]:
        """Every connection, the oldest first."""
        found: list[Record] = []
        after: str | None = None
        while True:
            page = await self._documents.list(after=after)
            found += [_read(each) for each in page.items if not self._is_forgotten(each)]
            after = page.after
            if after is None:
                return tuple(sorted(found, key=lambda record: record.created_at))

    async def end(self, name: str) -> bool:
        """End a connection: a relayed agent's process with it, our sessions not. False when there is none."""
        async with self._lock(name):
            connection = await self._find(name)
            if connection is None:
                return False
            del self._live[name]
            await connection.close()
            # The document goes last and durably: until then the journal can be found, and deleted, once more.
            await connection.tape.erase()
            await self._documents.delete(name)
        self._locks.pop(name, None)
        return True

    async def sweep(self) -> bool:
        """Delete connections that were not used for long, a page at a time. True when there are more.

        A connection in memory was used within `idle_s`, or has an agent process: it stays, and its record is renewed.
        """
        await self._rest()
        page = await self._documents.list(after=self._swept)
        for document in page.items:
            if document.key in self._live:
                await self._renew(document)
            elif self._is_forgotten(document):
                await self._delete(document.key)
        self._swept = page.after
        if page.after is None:
            self._locks = {name: lock for name, lock in self._locks.items() if lock.locked() or name in self._live}
        return page.after is not None

    async def _renew(self, document: Document) -> None:
        if self._age(document) > FRESH_S:
            # Only if nobody has changed or deleted it meanwhile: else it is fresh, or must not come back.
            with suppress(WrongVersion):
                await self._documents.put(document.key, document.body, expect=document.version, durable=False)

    async def _delete(self, name: str) -> None:
        async with self._lock(name):
            document = await self._documents.get(name)
            if document is None or name in self._live or not self._is_forgotten(document):
                return  # it was used meanwhile
            await self._journal(name).delete()
            await self._documents.delete(name)

    def since(self, agent: str) -> float | None:
        """When the oldest live connection to the agent was opened, on the monotonic clock."""
        return min((each.opened_at for each in self._live.values() if each.agent == agent), default=None)

    async def close(self) -> None:
        """The service stops: every agent's side ends, what is stored stays."""
        live, self._live = self._live, {}
        await asyncio.gather(*(connection.close() for connection in live.values()))

    # ---------------------------------------------------------------------------------------------- inside

    def _lock(self, name: str) -> asyncio.Lock:
        return self._locks.setdefault(name, asyncio.Lock())

    async def _rest(self) -> None:
        """Let go of connections to our sessions that nobody has used for long; the next message takes them up again."""
        moment = asyncio.get_running_loop().time() - self.idle_s
        for name, connection in tuple(self._live.items()):
            if isinstance(connection.backend, AcpAgent) and connection.idle_since(moment):
                del self._live[name]
                await connection.close()

    async def _find(self, name: str) -> Connection | None:
        live = self._live.get(name)
        if live is not None and not live.broken:
            return live
        if live is not None:
            del self._live[name]
            await live.close()
        document = await self._documents.get(name)
        if document is None or self._is_forgotten(document):
            return None
        record = _read(document)
        if record.agent not in self.agents():
            return None
        made = await self._make(record)
        if record.initialize is not None:
            await made.call(Envelope(id=0, method="initialize", params=record.initialize), SERVICE, quiet=True)
        return made

    def _is_forgotten(self, document: Document) -> bool:
        """Whether the connection was not used for so long that it is deleted, or as good as."""
        return self._age(document) > self._services.live.retention.connection_days * DAY_S

    def _age(self, document: Document) -> float:
        return self._services.surroundings.time() - document.time

    def _journal(self, name: str) -> Journal:
        return self._services.store.journal(f"acp/{self._door}/{name}")

    async def _make(self, record: Record) -> Connection:
        tape = await Tape.open(self._journal(record.name), retry_s=self._services.surroundings.bounds.store_retry_s)
        connection = Connection(record.name, record.agent, tape, created_at=record.created_at)
        connection.backend = self._backend(connection)
        self._live[record.name] = connection
        return connection

    def _backend(self, connection: Connection) -> Backend:
        settings = self._services.settings.acp_agents.get(connection.agent)
        if settings is not None:
            return Relay(connection.agent, settings, self._services, connection.send, connection.lose)
        return AcpAgent(self._hub, self._services, connection.agent, connection.send, self._manner)


def _read(document: Document) -> Record:
    return msgspec.json.decode(document.body, type=Record)
