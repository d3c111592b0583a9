"""Content of messages and tool calls. Written by `scripts/acp_types.py` from the published schema."""

from __future__ import annotations

import msgspec

from footplate.acp.wire import Wire
from footplate.events.base import OptionalRaw


class Annotations(Wire, frozen=True, kw_only=True):
    """Optional annotations for the client."""

    audience: tuple[str, ...] | None = None
    last_modified: str | None = None
    priority: float | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class AudioContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="audio"):
    """Audio provided to or from an LLM."""

    annotations: Annotations | None = None
    data: str
    mime_type: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class EmbeddedResourceResource(Wire, frozen=True, kw_only=True):
    """Resource content that can be embedded in a message."""

    mime_type: str | None = None
    text: str | None = None
    uri: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)
    blob: str | None = None


class EmbeddedResource(Wire, frozen=True, kw_only=True, tag_field="type", tag="resource"):
    """The contents of a resource, embedded into a prompt or tool call result."""

    annotations: Annotations | None = None
    resource: EmbeddedResourceResource
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ImageContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="image"):
    """An image provided to or from an LLM."""

    annotations: Annotations | None = None
    data: str
    mime_type: str
    uri: str | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ResourceLink(Wire, frozen=True, kw_only=True, tag_field="type", tag="resource_link"):
    """A resource that the server is capable of reading, included in a prompt or tool call result."""

    annotations: Annotations | None = None
    description: str | None = None
    mime_type: str | None = None
    name: str
    size: int | None = None
    title: str | None = None
    uri: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class TextContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """Text provided to or from an LLM."""

    annotations: Annotations | None = None
    text: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource


class Content(Wire, frozen=True, kw_only=True, tag_field="type", tag="content"):
    """Standard content block (text, images, resources)."""

    content: ContentBlock
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class Diff(Wire, frozen=True, kw_only=True, tag_field="type", tag="diff"):
    """A diff representing file modifications."""

    path: str
    old_text: str | None = None
    new_text: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class Terminal(Wire, frozen=True, kw_only=True, tag_field="type", tag="terminal"):
    """Embed a terminal created with `terminal/create` by its id."""

    terminal_id: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


ToolCallContent = Content | Diff | Terminal
