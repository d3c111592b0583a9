"""Turns for the streams: lines recorded from the real CLI, with the partial messages it would have sent. Pure.

The recordings are the fixtures of the tests. Most were made without partial messages, so the stream events are put
around each assistant line in the order and shape of the recordings that have them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Final

import msgspec

FIXTURES: Final = Path(__file__).parents[1] / "tests" / "fixtures" / "claude" / "2.1.325"
MARK: Final = b"@@turn@@"
"""Eight characters inside every id of a block; the player puts the number of the repetition there."""
SESSION: Final = "63df5f93-ca07-484f-81fe-59849728a9e5"
PIECE: Final = 12
"""Characters per delta, as recorded."""

PROSE: Final = (
    "The reader hands over whole blocks, so a burst of small lines costs one call and not hundreds. What remains is "
    "the decoding itself, and that is done once per block by the typed decoder. I looked at the three places where a "
    "line can be held up: the pipe, the splitter and the queue behind it. Only the queue ever grew, and only while a "
    "reader was slow; with a limit in bytes it stays flat. Next I run the tests again, then change the default and "
    "write down the numbers beside the old ones, so that the next person can see what was won and what it cost.\n"
)
CODE: Final = (
    'def total(rows: list[int]) -> int:\n\t"""Add the rows."""\n\treturn sum(row for row in rows if row)\n\n\n' * 6
)

_IDS: Final = re.compile(rb"[0-9a-f]{8}(-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})")
_API_IDS: Final = re.compile(rb"\b(msg|toolu|req)_[0-9a-f]{8}([0-9a-f]{12})\b")
_TASK_IDS: Final = re.compile(rb'"task_id":"([0-9a-z]+)"')


class _Block(msgspec.Struct, frozen=True):
    type: str
    text: str = ""
    thinking: str = ""
    signature: str = ""
    id: str = ""
    name: str = ""
    input: msgspec.Raw = msgspec.Raw(b"{}")


class _Message(msgspec.Struct, frozen=True):
    id: str
    content: list[_Block]


class _Assistant(msgspec.Struct, frozen=True):
    message: _Message


class _Line(msgspec.Struct, frozen=True):
    type: str
    subtype: str = ""
    parent_tool_use_id: str | None = None


def read_recording(name: str) -> list[bytes]:
    """The lines of a fixture, without the traffic of the control protocol and what partial messages bring anyway."""
    lines = (FIXTURES / f"{name}.jsonl").read_bytes().splitlines()
    return [line for line in lines if not _is_extra(msgspec.json.decode(line, type=_Line))]


def _is_extra(line: _Line) -> bool:
    return line.type in {"control_response", "stream_event"} or line.subtype in {"status", "thinking_tokens"}


class Turns:
    """Writes lines in the shape of the CLI, each with an id of its own."""

    def __init__(self) -> None:
        self._numbers = count()

    def replay(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """The recorded lines with the stream events that go around each message of the main agent."""
        open_message = ""
        index = 0
        for line in lines:
            message = _own_message(line)
            if open_message and (message is None or message.id != open_message):
                yield from self._close(open_message)
                open_message = ""
            if message is None:
                yield line
                continue
            if not open_message:
                open_message, index = message.id, 0
                yield from self._open(open_message)
            yield from self.part(message.id, index, message.content[0], line)
            index += 1

    def part(self, message: str, index: int, block: _Block, line: bytes) -> Iterator[bytes]:
        """One content block: start, deltas, the whole of it as an assistant line, stop."""
        yield self._event(
            message, {"type": "content_block_start", "index": index, "content_block": _empty_block(block)}
        )
        for delta in _deltas(block):
            yield self._event(message, {"type": "content_block_delta", "index": index, "delta": delta})
            if delta["type"] == "thinking_delta":
                yield self._system("thinking_tokens", estimated_tokens=3, estimated_tokens_delta=3)
        yield line
        yield self._event(message, {"type": "content_block_stop", "index": index})

    def _open(self, message: str) -> Iterator[bytes]:
        yield self._system("status", status="requesting")
        start: dict[str, object] = {
            "id": message,
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-5-5",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _usage(1),
        }
        yield self._event(message, {"type": "message_start", "message": start}, ttft_ms=12)

    def _close(self, message: str) -> Iterator[bytes]:
        stop = {"stop_reason": "end_turn", "stop_sequence": None}
        yield self._event(message, {"type": "message_delta", "delta": stop, "usage": _usage(5)})
        yield self._event(message, {"type": "message_stop"})

    def _event(self, message: str, event: dict[str, object], **more: object) -> bytes:
        line = {"type": "stream_event", "event": event, "session_id": SESSION, "parent_tool_use_id": None}
        return msgspec.json.encode(line | {"uuid": self._uuid()} | more | {"api_message_id": message})

    def _system(self, subtype: str, **fields: object) -> bytes:
        line: dict[str, object] = {"type": "system", "subtype": subtype, **fields}
        return msgspec.json.encode(line | {"session_id": SESSION, "uuid": self._uuid()})

    def _uuid(self) -> str:
        return f"00000000-ca07-484f-81fe-{next(self._numbers):012x}"


def mark_ids(block: bytes) -> bytes:
    """The lines as one session in which every other id carries the mark, so that no two repetitions share one."""
    for task in set(_TASK_IDS.findall(block)):
        block = block.replace(task, task[:1] + MARK)
    block = re.sub(rb'"session_id":"[^"]*"', b'"session_id":"%s"' % _shield(SESSION), block)
    block = _API_IDS.sub(rb"\1_" + MARK + rb"\2", block)
    return _IDS.sub(MARK + rb"\1", block).replace(_shield(SESSION), SESSION.encode())


def substitute(lines: Iterable[bytes], texts: dict[str, str]) -> list[bytes]:
    """The lines with longer texts in the place of the short ones that were recorded."""
    changed = []
    for line in lines:
        for old, new in texts.items():
            line = line.replace(msgspec.json.encode(old)[1:-1], msgspec.json.encode(new)[1:-1])  # noqa: PLW2901
        changed.append(line)
    return changed


def _shield(session: str) -> bytes:
    return session.upper().encode()


def _own_message(line: bytes) -> _Message | None:
    """The message of an assistant line of the main agent; sub-agents send no stream events."""
    head = msgspec.json.decode(line, type=_Line)
    if head.type != "assistant" or head.parent_tool_use_id is not None:
        return None
    return msgspec.json.decode(line, type=_Assistant).message


def _empty_block(block: _Block) -> dict[str, object]:
    if block.type == "tool_use":
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": {}}
    if block.type == "thinking":
        return {"type": "thinking", "thinking": "", "signature": ""}
    return {"type": "text", "text": ""}


def _deltas(block: _Block) -> Iterator[dict[str, object]]:
    if block.type == "tool_use":
        for piece in ("", *_pieces(bytes(block.input).decode())):
            yield {"type": "input_json_delta", "partial_json": piece}
    elif block.type == "thinking":
        for piece in _pieces(block.thinking):
            yield {"type": "thinking_delta", "thinking": piece}
        yield {"type": "signature_delta", "signature": block.signature}
    else:
        for piece in _pieces(block.text):
            yield {"type": "text_delta", "text": piece}


def _pieces(text: str) -> Iterator[str]:
    return (text[at : at + PIECE] for at in range(0, len(text), PIECE))


def _usage(output: int) -> dict[str, object]:
    cached = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    return {"input_tokens": 11619, **cached, "output_tokens": output, "service_tier": "standard"}
