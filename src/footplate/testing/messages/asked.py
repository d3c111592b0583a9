"""What a client asked of the Messages API, as far as a script needs to know it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

Blocks = list[dict[str, object]]


class Message(msgspec.Struct, frozen=True):
    """One message of the conversation; roles other than user, assistant and system are let through."""

    role: str
    content: str | Blocks

    def texts(self) -> Iterator[str]:
        """The texts of the message itself: not those inside tool results."""
        if isinstance(self.content, str):
            yield self.content
        else:
            yield from texts_of(self.content)

    def results(self) -> Iterator[dict[str, object]]:
        """The tool results of the message."""
        if not isinstance(self.content, str):
            yield from (block for block in self.content if block.get("type") == "tool_result")


class Tool(msgspec.Struct, frozen=True):
    """A tool that the model may call."""

    name: str = ""


class Metadata(msgspec.Struct, frozen=True):
    """Who is asking, as far as the client tells."""

    user_id: str | None = None


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The body of POST /v1/messages; fields that play no part are ignored.

    Requests of other APIs (`api`) are read into the same form: see `dialect`.
    """

    model: str = ""
    messages: list[Message] = []
    system: str | Blocks = ""
    tools: list[Tool] | None = None
    stream: bool | None = None
    metadata: Metadata | None = None
    api: str = ""

    @property
    def client(self) -> str:
        """What tells one session of an agent from another (Claude puts its session id in here)."""
        return (self.metadata and self.metadata.user_id) or ""

    @property
    def tool_names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.tools or ())

    def last_text(self) -> str:
        """The last words of the user, empty if there are none."""
        texts = [text for message in self.messages if message.role == "user" for text in message.texts()]
        return texts[-1] if texts else ""

    def instructions(self) -> Iterator[str]:
        """Every text that may tell the model about its surroundings, oldest first."""
        yield from [self.system] if isinstance(self.system, str) else texts_of(self.system)
        for message in self.messages:
            if message.role != "assistant":
                yield from message.texts()

    def last_result(self) -> str:
        """The text of the last tool result; a picture in it shows as `[image image/png]`."""
        for message in reversed(self.messages):
            results = list(message.results())
            if results:
                return _text_of_result(results[-1].get("content"))
        return ""


def texts_of(blocks: Blocks) -> Iterator[str]:
    for block in blocks:
        text = block.get("text")
        if block.get("type") == "text" and isinstance(text, str):
            yield text


def _text_of_result(content: object) -> str:
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    return "\n".join(_text_of_part(part) for part in content)


def _text_of_part(part: object) -> str:
    if not isinstance(part, dict):
        return ""
    if part.get("type") == "text":
        return str(part.get("text", ""))
    source = part.get("source")
    media = source.get("media_type", "") if isinstance(source, dict) else ""
    return f"[{part.get('type')} {media}]"
