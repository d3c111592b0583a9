"""What carries a connection fails: the callers get an answer at once, and the next message works."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from footplate.acp import jsonrpc
from footplate.acp.failures import Failure
from footplate.acp.jsonrpc import Envelope
from footplate.config.acp import AcpAgentSettings
from footplate.errors import StoreBusy
from footplate.events.ids import SessionId
from footplate.runtime.acp.agent import AcpAgent
from footplate.runtime.acp.client import Manner, Send
from footplate.runtime.acp.connection import Answer, Connection
from footplate.runtime.acp.connections import Connections
from footplate.runtime.acp.relay import Relay
from footplate.runtime.audit import SERVICE
from footplate.runtime.hub import Hub
from footplate.runtime.services import Services
from footplate.runtime.surroundings import Bounds
from footplate.store.memory import MemoryStore
from footplate.store.memory_journal import MemoryJournal
from footplate.tasks import spawn
from tests.unit.runtime.acp.client import AcpClient, RpcFailed
from tests.unit.runtime.following import until_idle

DEADLINE_S = 20


async def test_a_prompt_whose_updates_cannot_be_written_is_answered_with_an_error(
    hub: Hub, services: Services, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken = True

    def make(send: Send) -> AcpAgent:
        async def picky(frames: Sequence[bytes]) -> None:
            if broken and any(b"agent_message_chunk" in frame for frame in frames):
                raise ZeroDivisionError("a bug")
            await send(frames)

        return AcpAgent(hub, services, "mock", picky)

    client = AcpClient(make)
    await client.start()
    session = await client.open(tmp_path)
    with pytest.raises(RpcFailed) as failed:
        await client.answer(await client.prompt(session, "hello"))
    assert (failed.value.code, failed.value.data) == (jsonrpc.INTERNAL_ERROR, {"errorKind": "internal"})
    broken = False
    await until_idle(await hub.get(SessionId(session)))
    assert (await client.answer(await client.prompt(session, "again")))["stopReason"] == "end_turn"
    assert f"task 'acp seat {session}' failed: ZeroDivisionError" in caplog.text
    await client.agent.close()


class FullJournal(MemoryJournal):
    """A journal that cannot be written while the test says so."""

    store: FullStore

    async def append(self, bodies: Sequence[bytes], *, durable: bool = False) -> int:
        if self.store.full:
            self.store.refused.set()
            raise StoreBusy("the journal", "the disk is full")
        return await super().append(bodies, durable=durable)


class FullStore(MemoryStore):
    """A store of such journals."""

    def __init__(self) -> None:
        super().__init__()
        self.full = False
        self.refused = asyncio.Event()

    def journal(self, name: str) -> MemoryJournal:
        made = super().journal(name)
        made.__class__ = FullJournal
        made.store = self  # type: ignore[attr-defined]
        return made


async def _call(connection: Connection, number: int, method: str, **params: object) -> Answer:
    raw = jsonrpc.encode_request(number, method, params)
    waiting = await connection.call(jsonrpc.envelope_decoder.decode(raw), SERVICE)
    async with asyncio.timeout(DEADLINE_S):
        return await waiting.answer


async def test_a_connection_whose_journal_fails_ends_and_is_opened_again(services: Services, tmp_path: Path) -> None:
    store = FullStore()
    services.store = store
    services.surroundings.bounds = Bounds(store_retry_s=0.0)
    async with Hub.open(services) as hub:
        connections = Connections("servers", hub, services, Manner())
        connection = await connections.open("one", "mock")
        hello = Envelope(id=1, method="initialize", params=msgspec.Raw(b'{"protocolVersion": 1}'))
        await connections.began(connection, hello)
        assert not (await _call(connection, 1, "initialize", protocolVersion=1)).failed
        made = await _call(connection, 2, "session/new", cwd=str(tmp_path), mcpServers=[])
        session = json.loads(made.body)["result"]["sessionId"]
        reader = connection.tape.reader(connection.tape.last)
        store.full = True
        prompt = [{"type": "text", "text": "hello"}]
        refused = await _call(connection, 3, "session/prompt", sessionId=session, prompt=prompt)
        assert (refused.failed, json.loads(refused.body)["id"]) == (True, 3)
        assert await reader.next() is None
        reader.close()
        store.full = False
        await until_idle(await hub.get(session))
        again = await connections.open("one", "mock")
        assert again is not connection
        told = await _call(again, 4, "session/prompt", sessionId=session, prompt=prompt)
        assert json.loads(told.body)["result"]["stopReason"] == "end_turn"
        await connections.close()
    await store.close()


async def test_a_response_that_the_store_refuses_for_a_moment_is_stored_though_the_connection_closes(
    services: Services, tmp_path: Path
) -> None:
    store = FullStore()
    services.store = store
    async with Hub.open(services) as hub:
        connections = Connections("servers", hub, services, Manner())
        connection = await connections.open("one", "mock")
        await _call(connection, 1, "initialize", protocolVersion=1)
        store.full = True
        raw = jsonrpc.encode_request(2, "session/new", {"cwd": str(tmp_path), "mcpServers": []})
        await connection.call(jsonrpc.envelope_decoder.decode(raw), SERVICE)
        async with asyncio.timeout(DEADLINE_S):
            await store.refused.wait()
        closing = spawn(connections.close(), name="closing")
        await asyncio.sleep(0.05)
        store.full = False
        await closing
        page = await store.journal("acp/servers/one").read(1)
        bodies = [json.loads(each.body.partition(b"\n")[2]) for each in page.entries]
        assert [(each["id"], "sessionId" in each["result"]) for each in bodies if "id" in each] == [(2, True)]
    await store.close()


async def test_a_relayed_agent_whose_messages_cannot_be_handed_on_is_ended_and_its_callers_told(
    services: Services,
) -> None:
    lost: asyncio.Future[Failure] = asyncio.get_running_loop().create_future()

    async def send(frames: Sequence[bytes]) -> None:
        raise ZeroDivisionError("a bug")

    async def lose(failure: Failure) -> None:
        lost.set_result(failure)

    relay = Relay("cat", AcpAgentSettings(command=("cat",)), services, send, lose)
    await relay.receive(b'{"jsonrpc": "2.0", "id": 1, "method": "initialize"}', SERVICE)
    async with asyncio.timeout(DEADLINE_S):
        failure = await lost
    assert "ZeroDivisionError" in str(failure)
    await relay.close()
