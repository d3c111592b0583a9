"""OpenAI's Responses API, which Codex speaks. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from footplate.testing.messages.asked import Asked, Blocks, Message, Tool
from footplate.testing.messages.chat import number, pieces
from footplate.testing.messages.reply import Reply
from footplate.testing.messages.step import Step
from footplate.testing.messages.stream import Stream, cut_short
from footplate.testing.messages.wire import HttpRequest

SAID_BY_MODEL = frozenset({"reasoning", "function_call", "custom_tool_call", "local_shell_call"})
RESULTS = frozenset({"function_call_output", "custom_tool_call_output", "local_shell_call_output"})


class Item(msgspec.Struct, frozen=True):
    """One item of the input: a message, a call, its output, ..."""

    type: str = "message"
    role: str = ""
    content: str | Blocks | None = None
    output: object = None

    def shown(self) -> Message:
        """As scripts see it."""
        if self.type in RESULTS:
            return Message(role="user", content=[{"type": "tool_result", "content": _text(self.output)}])
        if self.type in SAID_BY_MODEL or self.role == "assistant":
            return Message(role="assistant", content="")
        content = self.content or ""
        if isinstance(content, str):
            return Message(role=self.role, content=content)
        return Message(
            role=self.role, content=[{"type": "text", "text": str(each.get("text", ""))} for each in content]
        )


class ResponsesAsked(msgspec.Struct, frozen=True, kw_only=True):
    """The body of POST /v1/responses."""

    model: str = ""
    input: list[Item] = []
    instructions: str | None = None
    tools: list[Tool] | None = None
    stream: bool | None = None


class Told(msgspec.Struct, frozen=True):
    """One event of the stream."""

    data: dict[str, object]
    is_delta: bool = False

    def encode(self) -> bytes:
        return b"event: %b\ndata: %b\n\n" % (str(self.data["type"]).encode(), msgspec.json.encode(self.data))


class Responses:
    """The dialect."""

    def read(self, request: HttpRequest) -> Asked:
        """The conversation; what the model said in one answer stands there as several items."""
        asked = msgspec.json.decode(request.body, type=ResponsesAsked)
        return Asked(
            model=asked.model,
            messages=[*merge_answers(item.shown() for item in asked.input)],
            system=asked.instructions or "",
            tools=asked.tools,
            stream=asked.stream,
            api="responses",
        )

    def stream(self, reply: Reply, step: Step) -> Stream:
        """Each item as it begins, its deltas, its end; then the whole."""
        return cut_short([*_events(reply, step.chunk)], step)

    def plain(self, reply: Reply) -> bytes:
        """The whole response."""
        return msgspec.json.encode(_response(reply, "completed"))


def merge_answers(messages: Iterator[Message]) -> Iterator[Message]:
    """One message of the model for what it said at one time."""
    before = ""
    for message in messages:
        if not (message.role == before == "assistant"):
            yield message
        before = message.role


def _events(reply: Reply, size: int) -> Iterator[Told]:
    yield Told({"type": "response.created", "response": _response(reply, "in_progress") | {"output": []}})
    for index, item in enumerate(_items(reply)):
        at = {"output_index": index, "item_id": item["id"]}
        yield Told({"type": "response.output_item.added", "output_index": index, "item": item | _unwritten(item)})
        if item["type"] == "message":
            for piece in pieces(_said(item), size):
                delta = {"type": "response.output_text.delta", "content_index": 0, "delta": piece}
                yield Told(at | delta, is_delta=True)
        yield Told({"type": "response.output_item.done", "output_index": index, "item": item})
    yield Told({"type": "response.completed", "response": _response(reply, "completed")})


def _unwritten(item: dict[str, object]) -> dict[str, object]:
    return {"content": [], "status": "in_progress"} if item["type"] == "message" else {}


def _said(item: dict[str, object]) -> str:
    content = item["content"]
    return str(content[0]["text"]) if isinstance(content, list) else ""


def _items(reply: Reply) -> Iterator[dict[str, object]]:
    for index, block in enumerate(reply.content):
        own = f"{reply.id}_{index}"
        match block.get("type"):
            case "text":
                part = {"type": "output_text", "text": block["text"], "annotations": []}
                yield {"type": "message", "id": own, "role": "assistant", "status": "completed", "content": [part]}
            case "thinking":
                summary = {"type": "summary_text", "text": block["thinking"]}
                yield {"type": "reasoning", "id": own, "summary": [summary], "encrypted_content": None}
            case "tool_use":
                yield _call(own, block)


def _call(own: str, block: dict[str, object]) -> dict[str, object]:
    """A call; a tool that takes free text has it in `input` alone, one of a namespace is named `namespace.tool`."""
    given = block["input"]
    namespace, _, name = str(block["name"]).rpartition(".")
    base: dict[str, object] = {"id": own, "call_id": block["id"], "name": name, "status": "completed"}
    if namespace:
        base["namespace"] = namespace
    if isinstance(given, dict) and given.keys() == {"input"}:
        return base | {"type": "custom_tool_call", "input": given["input"]}
    return base | {"type": "function_call", "arguments": msgspec.json.encode(given).decode()}


def _response(reply: Reply, status: str) -> dict[str, object]:
    read, written = number(reply, "input_tokens"), number(reply, "output_tokens")
    usage = {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": number(reply, "cache_read_input_tokens")},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": read + written,
    }
    return {
        "id": f"resp_{reply.id}",
        "object": "response",
        "created_at": 0,
        "model": reply.model,
        "status": status,
        "output": [*_items(reply)],
        "usage": usage if status == "completed" else None,
    }


def _text(output: object) -> str:
    if isinstance(output, str):
        return output
    if isinstance(output, list):
        return "\n".join(str(part.get("text", "")) for part in output if isinstance(part, dict))
    return msgspec.json.encode(output).decode()
