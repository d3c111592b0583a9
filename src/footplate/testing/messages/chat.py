"""OpenAI's chat completions, as most providers and most agents speak them. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from footplate.testing.messages.asked import Asked, Blocks, Message, Tool
from footplate.testing.messages.reply import Reply
from footplate.testing.messages.step import Step
from footplate.testing.messages.stream import Stream, cut_short
from footplate.testing.messages.wire import HttpRequest

STOPS = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refusal": "content_filter"}


class ChatMessage(msgspec.Struct, frozen=True):
    """One message; a result of a tool is one of the role `tool`."""

    role: str
    content: str | Blocks | None = None

    def shown(self) -> Message:
        """As scripts see it."""
        content = self.content if self.content is not None else ""
        if self.role == "tool":
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            return Message(role="user", content=[{"type": "tool_result", "content": parts}])
        return Message(role=self.role, content=content)


class Function(msgspec.Struct, frozen=True):
    """What a tool is called."""

    name: str = ""


class ChatTool(msgspec.Struct, frozen=True):
    """A tool that the model may call."""

    function: Function = Function()


class ChatAsked(msgspec.Struct, frozen=True, kw_only=True):
    """The body of POST /v1/chat/completions."""

    model: str = ""
    messages: list[ChatMessage] = []
    tools: list[ChatTool] | None = None
    stream: bool | None = None


class Chunk(msgspec.Struct, frozen=True):
    """One event of the stream."""

    data: dict[str, object]
    is_delta: bool = False

    def encode(self) -> bytes:
        return b"data: %b\n\n" % msgspec.json.encode(self.data)


class Done(msgspec.Struct, frozen=True):
    """The last event."""

    is_delta: bool = False

    def encode(self) -> bytes:
        return b"data: [DONE]\n\n"


class ChatCompletions:
    """The dialect."""

    def read(self, request: HttpRequest) -> Asked:
        """The conversation."""
        asked = msgspec.json.decode(request.body, type=ChatAsked)
        return Asked(
            model=asked.model,
            messages=[message.shown() for message in asked.messages],
            tools=[Tool(name=tool.function.name) for tool in asked.tools or ()],
            stream=asked.stream,
            api="chat",
        )

    def stream(self, reply: Reply, step: Step) -> Stream:
        """Its deltas, then the usage, then `[DONE]`."""
        return cut_short([*_chunks(reply, step.chunk), Done()], step)

    def plain(self, reply: Reply) -> bytes:
        """One choice with everything."""
        calls = [_call(index, block) for index, block in enumerate(_of(reply, "tool_use"))]
        text = "".join(str(block["text"]) for block in _of(reply, "text"))
        message = {"role": "assistant", "content": text or None} | ({"tool_calls": calls} if calls else {})
        choice = {"index": 0, "message": message, "finish_reason": STOPS.get(reply.stop_reason, "stop")}
        return msgspec.json.encode(_frame(reply, "chat.completion") | {"choices": [choice], "usage": _usage(reply)})


def _chunks(reply: Reply, size: int) -> Iterator[Chunk]:
    yield _delta(reply, {"role": "assistant", "content": ""})
    for block in _of(reply, "thinking"):
        for piece in pieces(str(block["thinking"]), size):
            yield _delta(reply, {"reasoning_content": piece}, is_delta=True)
    for block in _of(reply, "text"):
        for piece in pieces(str(block["text"]), size):
            yield _delta(reply, {"content": piece}, is_delta=True)
    for index, block in enumerate(_of(reply, "tool_use")):
        yield _delta(reply, {"tool_calls": [_call(index, block)]}, is_delta=True)
    yield _delta(reply, {}, finish=STOPS.get(reply.stop_reason, "stop"))
    yield Chunk(_frame(reply, "chat.completion.chunk") | {"choices": [], "usage": _usage(reply)})


def pieces(text: str, size: int) -> Iterator[str]:
    """A text in pieces of that size."""
    for start in range(0, len(text), size):
        yield text[start : start + size]


def _delta(reply: Reply, delta: dict[str, object], *, finish: str | None = None, is_delta: bool = False) -> Chunk:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return Chunk(_frame(reply, "chat.completion.chunk") | {"choices": [choice]}, is_delta=is_delta)


def _call(index: int, block: dict[str, object]) -> dict[str, object]:
    arguments = msgspec.json.encode(block["input"]).decode()
    function = {"name": block["name"], "arguments": arguments}
    return {"index": index, "id": block["id"], "type": "function", "function": function}


def _of(reply: Reply, kind: str) -> list[dict[str, object]]:
    return [block for block in reply.content if block.get("type") == kind]


def _frame(reply: Reply, kind: str) -> dict[str, object]:
    return {"id": reply.id, "object": kind, "created": 0, "model": reply.model}


def _usage(reply: Reply) -> dict[str, object]:
    read, written = number(reply, "input_tokens"), number(reply, "output_tokens")
    cached = number(reply, "cache_read_input_tokens")
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def number(reply: Reply, name: str) -> int:
    """A count of the reply's usage."""
    given = reply.usage.get(name, 0)
    return given if isinstance(given, int) else 0
