"""Google's generateContent, which Gemini CLI speaks. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from footplate.testing.messages.asked import Asked, Blocks, Message, Tool
from footplate.testing.messages.chat import Chunk, number, pieces
from footplate.testing.messages.reply import Reply
from footplate.testing.messages.responses import merge_answers
from footplate.testing.messages.step import Step
from footplate.testing.messages.stream import Stream, cut_short
from footplate.testing.messages.wire import HttpRequest

PLAIN = ":generateContent"
STREAM = ":streamGenerateContent"
ACTIONS = (PLAIN, STREAM)
STOPS = {"max_tokens": "MAX_TOKENS", "refusal": "SAFETY"}


class Answered(msgspec.Struct, frozen=True):
    """The result of a call."""

    response: dict[str, object] = {}


class Part(msgspec.Struct, frozen=True, rename="camel"):
    """One part of a message."""

    text: str | None = None
    function_response: Answered | None = None


class Content(msgspec.Struct, frozen=True):
    """One message."""

    role: str = "user"
    parts: list[Part] = []

    def shown(self) -> Message:
        """As scripts see it."""
        if self.role == "model":
            return Message(role="assistant", content="")
        blocks: Blocks = []
        for part in self.parts:
            if part.function_response is not None:
                blocks.append({"type": "tool_result", "content": _text(part.function_response.response)})
            elif part.text is not None:
                blocks.append({"type": "text", "text": part.text})
        return Message(role="user", content=blocks)


class Declared(msgspec.Struct, frozen=True, rename="camel"):
    """Tools that the model may call."""

    function_declarations: list[Tool] = []


class GeminiAsked(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a request."""

    contents: list[Content] = []
    tools: list[Declared] | None = None


class Gemini:
    """The dialect."""

    def read(self, request: HttpRequest) -> Asked:
        """The conversation; the model and whether to stream stand in the path."""
        asked = msgspec.json.decode(request.body, type=GeminiAsked)
        name, _, _ = request.path.rpartition(":")
        return Asked(
            model=name.rpartition("/")[2],
            messages=[*merge_answers(content.shown() for content in asked.contents)],
            tools=[tool for declared in asked.tools or () for tool in declared.function_declarations],
            stream=request.path.endswith(STREAM),
            api="gemini",
        )

    def stream(self, reply: Reply, step: Step) -> Stream:
        """A piece of the answer in each event, the end of it in the last."""
        return cut_short([*_chunks(reply, step.chunk)], step)

    def plain(self, reply: Reply) -> bytes:
        """The whole answer."""
        parts = [part for block in reply.content for part in _parts(block, len(str(block)) + 1)]
        return msgspec.json.encode(_frame(reply, parts, stop=STOPS.get(reply.stop_reason, "STOP")))


def _chunks(reply: Reply, size: int) -> Iterator[Chunk]:
    for block in reply.content:
        for part in _parts(block, size):
            yield Chunk(_frame(reply, [part]), is_delta=True)
    yield Chunk(_frame(reply, [{"text": ""}], stop=STOPS.get(reply.stop_reason, "STOP")))


def _parts(block: dict[str, object], size: int) -> Iterator[dict[str, object]]:
    match block.get("type"):
        case "text":
            for piece in pieces(str(block["text"]), size):
                yield {"text": piece}
        case "thinking":
            for piece in pieces(str(block["thinking"]), size):
                yield {"text": piece, "thought": True}
        case "tool_use":
            yield {"functionCall": {"name": block["name"], "args": block["input"]}}


def _frame(reply: Reply, parts: list[dict[str, object]], *, stop: str = "") -> dict[str, object]:
    candidate: dict[str, object] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if stop:
        candidate["finishReason"] = stop
    read, written = number(reply, "input_tokens"), number(reply, "output_tokens")
    usage = {"promptTokenCount": read, "candidatesTokenCount": written, "totalTokenCount": read + written}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": reply.model, "responseId": reply.id}


def _text(response: dict[str, object]) -> str:
    output = response.get("output", response.get("error"))
    return output if isinstance(output, str) else msgspec.json.encode(response).decode()
