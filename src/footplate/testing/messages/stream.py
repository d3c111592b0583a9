"""A reply as it goes over the wire: the events of a stream, or one plain message. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, Protocol

import msgspec

from footplate.testing.messages.reply import Reply
from footplate.testing.messages.step import Step

Ending = Literal["answered", "hang", "cut"]
_WITH_INPUT = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


class Sent(Protocol):
    """One server-sent event, of whatever API; the pauses of a step lie before its deltas."""

    @property
    def is_delta(self) -> bool: ...

    def encode(self) -> bytes: ...


class Event(msgspec.Struct, frozen=True):
    """One server-sent event; its name is the `type` of its data."""

    data: dict[str, object]

    @property
    def name(self) -> str:
        return str(self.data["type"])

    @property
    def is_delta(self) -> bool:
        return self.name == "content_block_delta"

    def encode(self) -> bytes:
        return b"event: %b\ndata: %b\n\n" % (self.name.encode(), msgspec.json.encode(self.data))


class Stream(msgspec.Struct, frozen=True, kw_only=True):
    """The events to send and what comes after the last of them."""

    events: Sequence[Sent]
    ending: Ending


def plan_stream(reply: Reply, step: Step) -> Stream:
    """The stream of a reply, with the faults that the step asks for."""
    events = list(events_of(reply, chunk=step.chunk))
    fault = step.sse_error
    if fault is not None:
        error = {"type": fault.type, "message": fault.message}
        events = [*events[: fault.after], Event({"type": "error", "error": error})]
    return cut_short(events, step)


def cut_short(events: Sequence[Sent], step: Step) -> Stream:
    """The events up to where the step has the connection closed or fall silent, if it does."""
    if step.cut is not None:
        return Stream(events=events[: step.cut], ending="cut")
    if step.hang is not False:
        return Stream(events=events[: step.hang], ending="hang")
    return Stream(events=events, ending="answered")


def events_of(reply: Reply, *, chunk: int) -> Iterator[Event]:
    """The events of a whole message, with `chunk` characters in each delta."""
    opening = _message(reply, content=[], stop_reason=None, usage=reply.usage | {"output_tokens": 1})
    yield Event({"type": "message_start", "message": opening})
    yield Event({"type": "ping"})
    for index, block in enumerate(reply.content):
        empty, deltas = _taken_apart(block, chunk)
        yield Event({"type": "content_block_start", "index": index, "content_block": empty})
        for delta in deltas:
            yield Event({"type": "content_block_delta", "index": index, "delta": delta})
        yield Event({"type": "content_block_stop", "index": index})
    ended = {"stop_reason": reply.stop_reason, "stop_sequence": None}
    yield Event({"type": "message_delta", "delta": ended, "usage": reply.usage})
    yield Event({"type": "message_stop"})


def plain_message(reply: Reply) -> bytes:
    """The whole message as one JSON document."""
    message = _message(reply, content=reply.content, stop_reason=reply.stop_reason, usage=reply.usage)
    return msgspec.json.encode(message)


def _message(
    reply: Reply, *, content: list[dict[str, object]], stop_reason: str | None, usage: dict[str, object]
) -> dict[str, object]:
    return {
        "id": reply.id,
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": usage,
    }


def _taken_apart(block: dict[str, object], chunk: int) -> tuple[dict[str, object], Iterator[dict[str, object]]]:
    """A block as its start shows it, and the deltas that fill it. Unknown kinds come whole at the start."""
    kind = block.get("type")
    if kind == "text":
        return block | {"text": ""}, _deltas("text_delta", "text", str(block.get("text", "")), chunk)
    if kind == "thinking":
        return block | {"thinking": "", "signature": ""}, _thinking_deltas(block, chunk)
    if kind in _WITH_INPUT:
        text = msgspec.json.encode(block.get("input", {})).decode()
        return block | {"input": {}}, _deltas("input_json_delta", "partial_json", text, chunk)
    return block, iter(())


def _thinking_deltas(block: dict[str, object], chunk: int) -> Iterator[dict[str, object]]:
    yield from _deltas("thinking_delta", "thinking", str(block.get("thinking", "")), chunk)
    yield {"type": "signature_delta", "signature": block.get("signature", "")}


def _deltas(kind: str, field: str, text: str, chunk: int) -> Iterator[dict[str, object]]:
    for start in range(0, len(text), chunk):
        yield {"type": kind, field: text[start : start + chunk]}
