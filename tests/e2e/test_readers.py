"""No reader loses an event, whatever its pace, its surface and the size of the messages.

A few turns and prompts in `make test`; FOOTPLATE_READERS=200 (as in `make test-all`) is the whole of it: two hundred
turns with readers of every kind, two hundred prompts over each ACP transport, twelve readers of messages of 60 MB.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import sys
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import get_args

import httpx
import msgspec
import pytest
from websockets.asyncio.client import connect

from footplate.events.codec import ReadEnvelope, decode_envelope
from footplate.events.model import Message, TurnEnded
from footplate.events.view import NoticeItem
from footplate.interfaces.http.session_events import EventsPage
from footplate.sdk import Client, Session
from footplate.sdk.acp.client import AcpClient, DoorName
from footplate.sdk.sse import SseDecoder
from footplate.tasks import Tasks
from tests.e2e.readers import END, END_ID, KINDS, SURFACES, Reader, Seen, memory_of, read_acp
from tests.e2e.server import RunningServer, running_server

TURNS = int(os.environ.get("FOOTPLATE_READERS", "0"))
WHOLE = TURNS > 0
SEED = int(os.environ.get("FOOTPLATE_READERS_SEED", "1"))
TOKEN = "the-token-of-the-readers"
LINE_LIMIT = 64 * 1024 * 1024
HUGE = 60_000_000 if WHOLE else 20_000_000

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800 if WHOLE else 120)]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    """A service whose mock agent is a program of its own, so that its messages come as lines."""
    env = {"FOOTPLATE__ENGINES__MOCK__FORM": "stdio"}
    with running_server(tmp_path, "--token", TOKEN, env=env) as running:
        yield running


@pytest.fixture
async def client(server: RunningServer) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with httpx.AsyncClient(base_url=server.url, headers=headers, timeout=120, trust_env=False) as made:
        yield made


async def _open(client: httpx.AsyncClient, folder: Path) -> str:
    answer = await client.post("/api/sessions", json={"engine": "mock", "cwd": str(folder)})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


class Driver:
    """Gives a session one prompt after the other."""

    def __init__(self, client: httpx.AsyncClient, session: str) -> None:
        self._client = client
        self._session = session
        self._last = ""

    async def say(self, text: str) -> None:
        """A whole turn."""
        path = f"/api/sessions/{self._session}"
        answer = await self._client.post(f"{path}/prompt", json={"content": text})
        assert answer.status_code == 202, answer.text
        headers = {"last-event-id": self._last} if self._last else {}
        async with self._client.stream("GET", f"{path}/events", headers=headers) as response:
            decoder = SseDecoder()
            async for chunk in response.aiter_raw():
                for event in decoder.feed(chunk):
                    self._last = event.id or self._last
                    if event.event == "TurnEnded":
                        return
        raise AssertionError("the stream has ended")


async def _rpc(client: httpx.AsyncClient, path: str, number: int, method: str, **params: object) -> object:
    body = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    answer = await client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    assert "error" not in answer.json(), answer.text
    return answer.json()["result"]


async def _log(client: httpx.AsyncClient, session: str) -> Seen:
    """What the log has, by pages."""
    found: Seen = []
    after, epoch, more = 0, 1, True
    while more:
        answer = await client.get(
            f"/api/sessions/{session}/events", params={"follow": 0, "after": after, "epoch": epoch}
        )
        page = msgspec.json.decode(answer.content, type=EventsPage)
        found += [(decode_envelope(each).seq, zlib.crc32(each)) for each in page.events]
        after, epoch, more = page.after, page.epoch, page.more
    return found


async def test_readers_of_every_kind_get_every_event_once_and_in_order(
    client: httpx.AsyncClient, server: RunningServer, tmp_path: Path
) -> None:
    """Sixteen readers: of the stream, the socket, the SDK and an ACP connection, each steady, slow, late, cut off."""
    chance = random.Random(SEED)
    session = await _open(client, tmp_path)
    path = "/v1/acp/watching"
    await _rpc(client, f"{path}?agent=mock", 1, "initialize", protocolVersion=1)
    await _rpc(client, path, 2, "session/resume", sessionId=session, cwd=str(tmp_path), mcpServers=[])
    late = asyncio.Event()
    readers = {
        f"{surface} {kind}": Reader(server.url, TOKEN, session, kind, late, chance.randrange(1_000_000))
        for surface in (*SURFACES, "acp")
        for kind in KINDS
    }
    tasks = Tasks()
    reading = {
        name: tasks.spawn(
            read_acp(reader, path) if name.startswith("acp") else SURFACES[name.split()[0]](reader), name=name
        )
        for name, reader in readers.items()
    }
    driver = Driver(client, session)
    turns = TURNS or 8
    for turn in range(turns):
        size = int(10 ** chance.uniform(1, 6.7)) if turn % 4 else (10, 1_100_000, 5_000_000)[turn // 4 % 3]
        await driver.say(f"big {size}" if turn % 2 else "y" * size)
        if turn == turns // 2:
            late.set()
    renamed = await client.post(f"/api/sessions/{session}/title", json={"title": END})
    assert renamed.status_code < 300, renamed.text
    await _rpc(client, path, END_ID, "session/list")
    async with asyncio.timeout(600 if WHOLE else 60):
        seen = dict(zip(reading, await asyncio.gather(*reading.values()), strict=True))
    expected = await _log(client, session)
    assert [number for number, _ in expected] == list(range(1, len(expected) + 1))
    for name, found in seen.items():
        if not name.startswith("acp"):
            assert found == expected, _difference(name, found, expected)
    steady = seen["acp steady"]
    assert [number for number, _ in steady] == list(range(1, len(steady) + 1))
    for kind in KINDS:
        assert seen[f"acp {kind}"] == steady, _difference(kind, seen[f"acp {kind}"], steady)
    cuts = {name: reader.cuts for name, reader in readers.items() if reader.cuts}
    print(f"{turns} turns, {len(expected)} events, {len(steady)} ACP messages, cut off: {cuts}")
    print(f"memory of the service now and at most: {memory_of(server.process.pid)} MB")


def _difference(name: str, found: Seen, expected: Seen) -> str:
    numbers, wanted = [each for each, _ in found], [each for each, _ in expected]
    missing = sorted(set(wanted) - set(numbers))
    return f"{name}: {len(found)} of {len(expected)}, missing {missing[:20]}, in order {numbers == sorted(numbers)}"


@pytest.mark.parametrize("door", get_args(DoorName))
async def test_large_prompts_over_every_acp_transport_all_return(
    server: RunningServer, tmp_path: Path, door: DoorName
) -> None:
    chance = random.Random(SEED)
    async with AcpClient.connect(server.url, agent="mock", token=TOKEN, door=door) as acp:
        await _prompt_all(acp, tmp_path, chance)


async def _prompt_all(acp: AcpClient, folder: Path, chance: random.Random) -> None:
    heard = 0
    news = asyncio.Event()

    def count(method: str, params: object) -> None:
        nonlocal heard
        assert isinstance(params, dict)
        update = params.get("update", {})
        if update.get("sessionUpdate") == "agent_message_chunk":
            heard += len(update["content"]["text"])
            news.set()

    acp.on_notification(count)
    await acp.call("initialize", {"protocolVersion": 1})
    made: object = {}
    for turn in range(TURNS or 4):
        if turn % 10 == 0:  # the mock agent writes its whole session down after each turn
            made = await acp.call("session/new", {"cwd": str(folder), "mcpServers": []})
        assert isinstance(made, dict)
        size = chance.randrange(1_000_000, 5_000_000)
        heard = 0
        prompt = [{"type": "text", "text": "z" * size}]
        async with asyncio.timeout(60):
            answer = await acp.call("session/prompt", {"sessionId": made["sessionId"], "prompt": prompt})
            while heard < size + len("mock: "):  # the answer by POST may overtake what is on the stream
                news.clear()
                await news.wait()
        assert isinstance(answer, dict)
        assert answer["stopReason"] == "end_turn"
        assert heard == size + len("mock: ")


class Editor:
    """`footplate acp` at the other end of pipes, as a door of the SDK's client."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._tasks = Tasks()

    def begin(self, take: object, lost: object) -> None:
        """Hand every line over."""
        assert callable(take)

        async def read() -> None:
            assert self._process.stdout is not None
            while line := await self._process.stdout.readline():
                take(line)

        self._tasks.spawn(read(), name="editor")

    async def send(self, message: bytes, *, method: str, session: str) -> None:
        """Write a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(message.rstrip(b"\n") + b"\n")
        await self._process.stdin.drain()

    async def close(self) -> None:
        """Close its input; it ends."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        async with asyncio.timeout(30):
            await self._process.wait()
            await self._tasks.wait()


@asynccontextmanager
async def _editor(folder: Path, *arguments: str) -> AsyncIterator[AcpClient]:
    env = {
        "HOME": str(folder / "home"),
        "PATH": "/usr/bin:/bin",
        "FOOTPLATE_DATA_DIR": str(folder / "data"),
        "FOOTPLATE_MOCK_PACE_MS": "0",
        "FOOTPLATE__ENGINES__MOCK__FORM": "stdio",
    }
    (folder / "home").mkdir(exist_ok=True)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "footplate", "acp", "mock", *arguments),
        env=env,
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=8 * LINE_LIMIT,
    )
    client = AcpClient(Editor(process))
    try:
        yield client
        await client.dispose()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_large_prompts_on_standard_input_all_return(tmp_path: Path) -> None:
    async with _editor(tmp_path, "--no-attach") as acp:
        await _prompt_all(acp, tmp_path, random.Random(SEED))


async def test_large_prompts_to_a_service_that_the_editor_joined_all_return(
    server: RunningServer, tmp_path: Path
) -> None:
    assert server.url
    async with _editor(tmp_path, "--attach") as acp:
        await _prompt_all(acp, tmp_path, random.Random(SEED))


async def _one_text(acp: AcpClient, folder: Path, size: int) -> str:
    """What the agent answers to `big`, over ACP."""
    return "".join(await _texts(acp, folder, f"big {size}", "agent_message_chunk"))


async def _texts(acp: AcpClient, folder: Path, text: str, kind: str) -> list[str]:
    """The texts of one kind of update in a turn, at least one."""
    texts: list[str] = []
    news = asyncio.Event()

    def take(method: str, params: object) -> None:
        assert isinstance(params, dict)
        update = params.get("update", {})
        if update.get("sessionUpdate") == kind:
            texts.append(update["content"]["text"])
            news.set()

    acp.on_notification(take)
    await acp.call("initialize", {"protocolVersion": 1})
    made = await acp.call("session/new", {"cwd": str(folder), "mcpServers": []})
    assert isinstance(made, dict)
    prompt = [{"type": "text", "text": text}]
    answer = await acp.call("session/prompt", {"sessionId": made["sessionId"], "prompt": prompt})
    assert isinstance(answer, dict)
    assert answer["stopReason"] == "end_turn"
    await news.wait()
    return texts


@pytest.mark.parametrize("door", get_args(DoorName))
async def test_a_huge_message_reaches_every_acp_transport_whole(
    server: RunningServer, tmp_path: Path, door: DoorName
) -> None:
    async with AcpClient.connect(server.url, agent="mock", token=TOKEN, door=door) as acp:
        assert await _one_text(acp, tmp_path, HUGE) == "x" * HUGE


async def test_a_huge_message_reaches_an_editor_whole(server: RunningServer, tmp_path: Path) -> None:
    assert server.url
    async with _editor(tmp_path, "--attach") as acp:
        assert await _one_text(acp, tmp_path, HUGE) == "x" * HUGE
    alone = tmp_path / "alone"
    alone.mkdir()
    async with _editor(alone, "--no-attach") as acp:
        assert await _one_text(acp, alone, HUGE) == "x" * HUGE


async def _until_ended(session: Session) -> AsyncIterator[ReadEnvelope]:
    async with session.events() as events:
        async for envelope in events:
            yield envelope
            if isinstance(envelope.event, TurnEnded):
                return


async def test_a_huge_message_reaches_stream_socket_and_sdk_whole(
    client: httpx.AsyncClient, server: RunningServer, tmp_path: Path
) -> None:
    session = await _open(client, tmp_path)
    async with Client.connect(server.url, token=TOKEN) as sdk:
        turn = await (await sdk.resume_session(session)).prompt(f"big {HUGE}")
        assert turn.answer == "x" * HUGE
        found = [
            envelope.event.text
            async for envelope in _until_ended(await sdk.resume_session(session))
            if isinstance(envelope.event, Message)
        ]
    assert found == ["x" * HUGE]
    async with client.stream("GET", f"/api/sessions/{session}/events") as response:
        decoder = SseDecoder()
        texts: list[str] = []
        async for chunk in response.aiter_raw():
            texts += [json.loads(each.data)["event"]["text"] for each in decoder.feed(chunk) if each.event == "Message"]
            if texts:
                break
    assert texts == ["x" * HUGE]
    url = f"{server.url.replace('http', 'ws')}/api/sessions/{session}/ws?access_token={TOKEN}"
    async with connect(url, proxy=None, max_size=None) as socket:
        async for message in socket:
            event = json.loads(message)["event"]
            if event["type"] == "Message":
                texts.append(event["text"])
            elif event["type"] == "TurnEnded":
                break
    assert texts == ["x" * HUGE] * 2


async def test_a_message_above_the_line_limit_is_the_same_notice_everywhere(
    client: httpx.AsyncClient, server: RunningServer, tmp_path: Path
) -> None:
    session = await _open(client, tmp_path)
    prompt = f"big {LINE_LIMIT}"
    await Driver(client, session).say(prompt)
    page = (await client.get(f"/api/sessions/{session}/events", params={"follow": 0})).json()
    [notice] = [each["event"] for each in page["events"] if each["event"]["type"] == "Notice"]
    words: str = notice["text"]
    assert (
        notice["code"],
        notice["level"],
        words.endswith(f"is above the limit of {LINE_LIMIT} and was left out"),
    ) == (
        "oversize_line",
        "warning",
        True,
    )
    async with Client.connect(server.url, token=TOKEN) as sdk:
        view = await (await sdk.resume_session(session)).view()
    assert [each.text for each in view.items if isinstance(each, NoticeItem)] == [words]
    for door in get_args(DoorName):
        async with AcpClient.connect(server.url, agent="mock", token=TOKEN, door=door) as acp:
            thoughts = await _texts(acp, tmp_path, prompt, "agent_thought_chunk")
            assert [re.sub(r"\d+", "", each.strip()) for each in thoughts] == [re.sub(r"\d+", "", words)]


@pytest.mark.skipif(not WHOLE, reason="twelve readers of 60 MB: FOOTPLATE_READERS=200")
async def test_twelve_slow_readers_of_huge_messages_cost_bounded_memory(
    client: httpx.AsyncClient, server: RunningServer, tmp_path: Path
) -> None:
    session = await _open(client, tmp_path)
    late = asyncio.Event()
    readers = [Reader(server.url, TOKEN, session, "slow", late, SEED) for _ in range(12)]
    tasks = Tasks()
    before = memory_of(server.process.pid)
    driver = Driver(client, session)
    await driver.say(f"big {HUGE}")
    alone = memory_of(server.process.pid)
    reading = [
        tasks.spawn(SURFACES["sse" if place % 2 else "socket"](reader), name=f"reader {place}")
        for place, reader in enumerate(readers)
    ]
    for _ in range(2):
        await driver.say(f"big {HUGE}")
    await client.post(f"/api/sessions/{session}/title", json={"title": END})
    async with asyncio.timeout(900):
        await asyncio.gather(*reading)
    after = memory_of(server.process.pid)
    print(f"three messages of {HUGE} bytes; memory now and at most in MB: at first {before}, one turn without readers")
    print(f"{alone}, with twelve slow readers {after}")
    expected = await _log(client, session)
    assert [reader.seen == expected for reader in readers] == [True] * 12
    assert after[1] - alone[1] < 12 * HUGE // 1_000_000, "each reader has a copy of its own"
