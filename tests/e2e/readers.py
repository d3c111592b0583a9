"""Readers of one session on every surface: steady, slow, late, and cut off again and again at random moments.

Each returns what it was given: of the session API the lasting events, of ACP the messages, each as its number and a
checksum. The last lasting event is a new title, the last ACP message an answer of a known id.
"""

from __future__ import annotations

import asyncio
import random
import zlib
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Final, Literal

import httpx
import msgspec
from websockets.asyncio.client import connect

from footplate.events.codec import ReadEnvelope, decode_envelope, encode
from footplate.events.model import Envelope, TitleChanged, Unknown, is_ephemeral
from footplate.sdk import Client
from footplate.sdk.sse import SseDecoder, SseEvent
from tests.e2e.cutting_proxy import CuttingProxy

Kind = Literal["steady", "slow", "late", "reconnecting"]
KINDS: Final[tuple[Kind, ...]] = ("steady", "slow", "late", "reconnecting")
END: Final = "the end"
END_ID: Final = 4711
"""The id of the ACP request whose answer is the last message."""

SLOW_S: Final = 0.05
SLOW_BYTES: Final = 1_000_000
"""A slow reader waits for SLOW_S after each so many bytes."""
AFTER_PIECE: Final = 0.01
"""How likely one hangs up after a piece of the stream: an event of 5 MB has 80, and must come through now and then."""
AFTER_EVENT: Final = 0.1

Seen = list[tuple[int, int]]


class Reader:
    """One reader. `late` is done when a late one may begin; `cuts` counts how often one was cut off."""

    def __init__(self, url: str, token: str, session: str, kind: Kind, late: asyncio.Event, seed: int) -> None:
        self.url = url
        self.token = token
        self.session = session
        self.kind = kind
        self.late = late
        self.cuts = 0
        self.seen: Seen = []
        self.ended = False
        self._chance = random.Random(seed)
        self._unpaced = 0

    async def begin(self) -> None:
        """Wait until it is this reader's time."""
        if self.kind == "late":
            await self.late.wait()

    async def pace(self, size: int) -> None:
        """After a piece of that size."""
        self._unpaced += size
        if self.kind == "slow" and self._unpaced >= SLOW_BYTES:
            self._unpaced = 0
            await asyncio.sleep(SLOW_S)

    def leaves(self, chance: float) -> bool:
        """Whether to hang up now."""
        if self.kind == "reconnecting" and self._chance.random() < chance:
            self.cuts += 1
            return True
        return False

    def take(self, envelope: Envelope | ReadEnvelope, body: bytes) -> bool:
        """An event of the session; whether it is the last."""
        if isinstance(envelope.event, Unknown) or not is_ephemeral(envelope.event):
            self.seen.append((envelope.seq, zlib.crc32(body)))
        self.ended = isinstance(envelope.event, TitleChanged) and envelope.event.title == END
        return self.ended


async def read_sse(reader: Reader) -> Seen:
    """By the stream; a connection is given up in the middle of whatever comes, and gone on with from the last id."""
    await reader.begin()
    last = ""

    def take(event: SseEvent) -> None:
        nonlocal last
        last = event.id or last
        assert event.event != "reset"
        reader.take(decode_envelope(event.data), event.data)

    path = f"/api/sessions/{reader.session}/events"
    while not reader.ended:
        await _follow(reader, path, last, take)
    return reader.seen


async def read_acp(reader: Reader, path: str) -> Seen:
    """The stream of an ACP connection."""
    await reader.begin()
    last = "0"

    def take(event: SseEvent) -> None:
        nonlocal last
        assert event.event == "message", event.data
        last = event.id or last
        reader.seen.append((int(last.partition(".")[0]), zlib.crc32(event.data)))
        reader.ended = event.data.startswith(b'{"jsonrpc":"2.0","id":%d,' % END_ID)

    while not reader.ended:
        await _follow(reader, path, last, take)
    return reader.seen


async def _follow(reader: Reader, path: str, last: str, take: Callable[[SseEvent], None]) -> None:
    headers = {"authorization": f"Bearer {reader.token}", **({"last-event-id": last} if last else {})}
    async with (
        httpx.AsyncClient(base_url=reader.url, timeout=60, trust_env=False) as client,
        client.stream("GET", path, headers=headers) as response,
    ):
        assert response.status_code == 200
        decoder = SseDecoder()
        async for chunk in response.aiter_raw():
            for event in decoder.feed(chunk):
                take(event)
                if reader.ended:
                    return
            if reader.leaves(AFTER_PIECE):
                return
            await reader.pace(len(chunk))


async def read_socket(reader: Reader) -> Seen:
    """By WebSocket; gone on with from the number and epoch of whatever envelope came last."""
    await reader.begin()
    cursor = "after=0"
    base = f"{reader.url.replace('http', 'ws')}/api/sessions/{reader.session}/ws?access_token={reader.token}"
    while not reader.ended:
        async with connect(f"{base}&{cursor}", proxy=None, max_size=None, close_timeout=1) as socket:
            async for message in socket:
                body = message.encode() if isinstance(message, str) else message
                assert not body.startswith(b'{"reset"')
                envelope = decode_envelope(body)
                cursor = f"after={envelope.seq}&epoch={envelope.epoch}"
                ended = reader.take(envelope, body)
                if reader.leaves(AFTER_EVENT):
                    socket.transport.abort()
                if ended or socket.transport.is_closing():
                    break
                await reader.pace(len(body))
    return reader.seen


async def read_sdk(reader: Reader) -> Seen:
    """By the SDK; a proxy cuts its connections, of which the reader sees nothing."""
    await reader.begin()
    async with (
        CuttingProxy.open(int(reader.url.rpartition(":")[2])) as proxy,
        Client.connect(proxy.url, token=reader.token) as client,
        (await client.resume_session(reader.session)).events() as events,
    ):
        async for envelope in events:
            body = encode_again(envelope)
            if reader.take(envelope, body):
                break
            if reader.leaves(AFTER_EVENT):
                proxy.cut()
            await reader.pace(len(body))
    return reader.seen


def encode_again(found: ReadEnvelope) -> bytes:
    """The envelope as the log has it."""
    assert not isinstance(found.event, Unknown)
    fields = {each.name: getattr(found, each.name) for each in msgspec.structs.fields(Envelope)}
    return encode(Envelope(**fields))


SURFACES: Final[dict[str, Callable[[Reader], Coroutine[None, None, Seen]]]] = {
    "sse": read_sse,
    "socket": read_socket,
    "sdk": read_sdk,
}


def memory_of(pid: int) -> tuple[int, int]:
    """The memory of a process now and at most, in MB."""
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    fields = dict(line.split(":", 1) for line in text.splitlines())
    return int(fields["VmRSS"].split()[0]) // 1024, int(fields["VmHWM"].split()[0]) // 1024
