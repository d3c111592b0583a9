"""A stream of numbered events that outlives its connections: each event once, in order, whatever happens to them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

import httpx
import msgspec

from footplate.errors import CursorLost, ProtocolError, ServiceFailed
from footplate.events.codec import ReadEnvelope, decode_envelope
from footplate.events.ids import SessionId
from footplate.events.model import Unknown, is_ephemeral
from footplate.sdk.sse import SseDecoder, SseEvent
from footplate.sdk.wire import AWAY, Params, Pauses, Wire, describe


class _Reset(msgspec.Struct, frozen=True, kw_only=True):
    epoch: int
    last_seq: int
    asked: int


async def follow_stream(
    wire: Wire,
    path: str,
    *,
    params: Params | None = None,
    after: str = "",
    headers: Mapping[str, str] | None = None,
    lasting: bool = True,
) -> AsyncGenerator[SseEvent]:
    """The events of a stream for as long as the caller reads: a lost connection is opened again behind the last id.

    A service that stops ends its streams in order, so that, too, is followed by another connection, unless the stream
    is not `lasting`. Raises what the service says of the path, and `ServiceUnreachable` when it is away for too long.
    """
    pauses = Pauses(wire.url, wire.patience_s)
    while True:
        sent = {"accept": "text/event-stream", **(headers or {})}
        if after:
            sent["last-event-id"] = after
        try:
            async with wire.open(path, params=params, headers=sent) as response:
                decoder = SseDecoder()
                async for chunk in response.aiter_raw():
                    pauses = Pauses(wire.url, wire.patience_s)
                    for event in decoder.feed(chunk):
                        after = event.id or after
                        yield event
            if not lasting:
                return
            problem: Exception | str = "the service ended the stream"
        except httpx.TransportError as lost:
            problem = lost
        except ServiceFailed as failed:
            if failed.answered not in AWAY:
                raise
            problem = failed
        await pauses.next(describe(problem))


async def follow_session(
    wire: Wire, session: SessionId, after: int = 0, epoch: int | None = None
) -> AsyncGenerator[ReadEnvelope]:
    """A session's events after a number. Lasting ones come once and in order; what is being written may come again.

    Raises `CursorLost` when a power cut has removed what was read: read again from the beginning. `epoch` is that of
    the event numbered `after`; without it only a number beyond the end of the log is noticed.
    """
    path = f"/api/sessions/{session}/events"
    start = "" if not after else str(after) if epoch is None else f"{after}.{epoch}"
    async with aclosing(follow_stream(wire, path, after=start)) as events:
        async for event in events:
            envelope = _read(wire.url, session, event)
            if not isinstance(envelope.event, Unknown) and is_ephemeral(envelope.event):
                yield envelope
            elif envelope.seq > after:
                after = envelope.seq
                yield envelope


def _read(url: str, session: SessionId, event: SseEvent) -> ReadEnvelope:
    if event.event == "reset":
        told = msgspec.json.decode(event.data, type=_Reset)
        raise CursorLost(session, told.asked, told.last_seq, told.epoch)
    try:
        return decode_envelope(event.data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise ProtocolError(url, f"an event that cannot be read: {problem}") from None
