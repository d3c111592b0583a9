"""What the doors of ACP share: reading an envelope, waiting for its answer, the stream of what was sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from starlette.responses import Response

from footplate.acp import jsonrpc
from footplate.acp.jsonrpc import Envelope
from footplate.errors import InvalidValue, NotAcceptable, PermissionDenied, RequestError, UnsupportedMedia
from footplate.interfaces.http.call import MB, Call, Gone
from footplate.interfaces.http.fan import frame
from footplate.interfaces.http.routing import JSON
from footplate.interfaces.http.sse import MEDIA, WRITE_BYTES, Chunk, join_chunks, read_cursor
from footplate.runtime.acp.connection import Answer, Connection, Waiting
from footplate.runtime.acp.connections import Connections
from footplate.runtime.acp.tape import Batch, TapeReader
from footplate.runtime.audit import Principal

ASYNC: Final = "respond-async"
BATCH: Final = "a batch; send one message at a time"


class Posted(msgspec.Struct, frozen=True):
    """A message as a client sent it."""

    envelope: Envelope
    raw: bytes


async def read_posted(call: Call) -> Posted:
    """The message of a POST. Raises 415, 406, 413, or 400 for what is no JSON-RPC message."""
    check_reach(call)
    given = call.header("content-type")
    if given.partition(";")[0].strip().lower() != JSON:
        raise UnsupportedMedia(given, JSON)
    check_accept(call, JSON)
    raw = await call.read_bytes(call.api.settings.http.json_limit_mb * MB)
    if raw.lstrip()[:1] == b"[":
        raise RequestError(f"the body is {BATCH}")
    try:
        envelope = jsonrpc.decode_message(raw)
    except msgspec.ValidationError as problem:
        raise RequestError(f"the body is no JSON-RPC message: {problem}") from problem
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise RequestError(f"the body is not JSON: {problem}") from problem
    if envelope.kind == "invalid":
        raise RequestError("the body is no JSON-RPC message: it has neither a method nor a result or error")
    return Posted(envelope, raw)


def check_reach(call: Call) -> None:
    """An ACP connection reaches every session, so a token that reaches some only cannot have one."""
    if call.grant.limited:
        raise PermissionDenied(
            f"the token {call.grant.name!r} reaches some sessions only; ACP needs one that reaches all, /api does not"
        )


def sender(call: Call) -> Principal:
    """Who sends a message: several clients, each with its own token, may share a connection."""
    return msgspec.structs.replace(call.principal, surface="acp")


def check_accept(call: Call, media: str) -> None:
    """Raise `NotAcceptable` unless the caller takes the media type."""
    accept = call.header("accept")
    taken = [each.partition(";")[0].strip().lower() for each in accept.split(",")]
    kind = media.partition("/")[0]
    if accept and not {media, f"{kind}/*", "*/*"} & set(taken):
        raise NotAcceptable(f"this answers {media}; {accept!r} does not take it")


def wants_async(call: Call) -> bool:
    """Whether the caller wants its answer on the stream, and none here."""
    return ASYNC in call.header("prefer").lower()


async def exchange(call: Call, door: Connections, connection: Connection, posted: Posted) -> Response:
    """The answer to a message: 200 with the response to a request, 202 to anything else."""
    envelope = posted.envelope
    if envelope.kind != "request":
        await connection.tell(envelope, posted.raw, sender(call))
        return Response(status_code=202)
    apart = wants_async(call)
    if apart and connection.waits_for(jsonrpc.id_of(envelope)):
        raise InvalidValue("id", envelope.id, "another one: a request of that id still waits for its answer")
    if envelope.method == "initialize":
        await door.began(connection, envelope)  # first: who hangs up now still has a connection
    waiting = await connection.call(envelope, sender(call))
    if apart:
        return Response(status_code=202, headers={"preference-applied": ASYNC})
    answer = await wait_for(call, connection, waiting)
    return Response(answer.body, 200, media_type=JSON)


async def wait_for(call: Call, connection: Connection, waiting: Waiting) -> Answer:
    """The answer, unless the caller hangs up: then it stands on the stream. Raises `AnswerLate`, `Gone`."""
    answer = await connection.answer(waiting, idle_s=call.api.acp.idle_s, unless=call.hangup)
    if answer is None:
        raise Gone
    return answer


# ------------------------------------------------------------------------------------------------- streams


def read_stream_cursor(call: Call) -> tuple[int | None, int | None]:
    """The number after which the stream is to begin, and its run; None for what the caller does not name."""
    check_reach(call)
    check_accept(call, MEDIA)
    return read_cursor(call) or (None, None)


class TapeFeed:
    """The chunks of a stream: each message under its number; what is lost is said in so many words."""

    def __init__(self, reader: TapeReader) -> None:
        self._reader = reader
        self._batch: Batch | None = None
        """What is being written: as long as one stream holds it, others at the same place share it."""

    async def next(self) -> Sequence[Chunk]:
        """What is ready."""
        self._batch = found = await self._reader.next()
        if found is None:
            return ()
        if not found.wire:
            found.wire = tuple(join_chunks(_chunks(found)))
        return found.wire

    def close(self) -> None:
        """No more is wanted."""
        self._reader.close()


def _chunks(found: Batch) -> Iterator[bytes]:
    """The messages on the wire; small ones are put together once for all who read them, large ones are not copied."""
    if found.gap is not None:
        yield frame(msgspec.json.encode(found.gap), event="gap")
    for each in found.messages:
        head = b"event: message\nid: %d.%d\ndata: " % (each.number, each.run)
        if len(each.body) < WRITE_BYTES:
            yield b"%b%b\n\n" % (head, each.body)
        else:
            yield from (head, each.body, b"\n\n")
