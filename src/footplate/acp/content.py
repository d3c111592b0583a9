"""Content blocks between ACP and the event log, both ways."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

import msgspec

from footplate.acp.reading import UnknownContent, read_content, read_tool_content
from footplate.acp.schema.content import (
    AudioContent,
    Content,
    Diff,
    EmbeddedResource,
    EmbeddedResourceResource,
    ImageContent,
    ResourceLink,
    Terminal,
    TextContent,
)
from footplate.acp.schema.content import ContentBlock as WireBlock
from footplate.events.content import (
    ContentBlock,
    DiffBlock,
    ImageBlock,
    OtherBlock,
    ResourceBlock,
    TerminalBlock,
    TextBlock,
)


def block_of(content: WireBlock | UnknownContent) -> ContentBlock:
    """A content block of the wire as ours."""
    match content:
        case TextContent():
            return TextBlock(text=content.text)
        case ImageContent():
            return ImageBlock(media_type=content.mime_type, data=content.data, uri=content.uri or "")
        case AudioContent():
            return OtherBlock(kind="audio", raw=msgspec.Raw(msgspec.json.encode(content)))
        case ResourceLink():
            return ResourceBlock(uri=content.uri, name=content.name, media_type=content.mime_type or "")
        case EmbeddedResource():
            held = content.resource
            return ResourceBlock(
                uri=held.uri, media_type=held.mime_type or "", text=held.text or "", data=held.blob or ""
            )
        case UnknownContent():
            return OtherBlock(kind=content.kind, raw=content.raw)
        case _:
            assert_never(content)


def tool_blocks(items: Iterable[msgspec.Raw]) -> tuple[ContentBlock, ...]:
    """The content of a tool call as our blocks; what we have no shape for is kept as it came."""
    return tuple(map(_tool_block, items))


def _tool_block(raw: msgspec.Raw) -> ContentBlock:
    item = read_tool_content(raw)
    match item:
        case Content():
            return block_of(item.content)
        case Diff():
            return DiffBlock(path=item.path, old_text=item.old_text, new_text=item.new_text)
        case Terminal():
            return TerminalBlock(output="", terminal=item.terminal_id)
        case UnknownContent():
            return OtherBlock(kind=item.kind, raw=item.raw)
        case _:
            assert_never(item)


def read_prompt(blocks: Iterable[msgspec.Raw]) -> tuple[ContentBlock, ...]:
    """The blocks of a prompt as ours; what we have no shape for is kept as it came."""
    return tuple(block_of(read_content(raw)) for raw in blocks)


def prompt_blocks(blocks: Iterable[ContentBlock]) -> tuple[msgspec.Raw, ...]:
    """A prompt of ours as blocks of the wire."""
    return tuple(msgspec.Raw(msgspec.json.encode(wire_block(block))) for block in blocks)


def wire_block(block: ContentBlock) -> WireBlock:
    """A block of ours on the wire; what ACP has no block for becomes text."""
    match block:
        case TextBlock():
            return TextContent(text=block.text)
        case ImageBlock():
            if not block.data:
                return ResourceLink(uri=block.uri, name=block.uri, mime_type=block.media_type)
            return ImageContent(data=block.data, mime_type=block.media_type, uri=block.uri or None)
        case ResourceBlock():
            return _resource(block)
        case DiffBlock():
            return TextContent(text=f"{block.path}:\n{block.new_text}")
        case TerminalBlock():
            return TextContent(text=block.output)
        case OtherBlock():
            return TextContent(text=bytes(block.raw).decode())
        case _:
            assert_never(block)


def _resource(block: ResourceBlock) -> WireBlock:
    media_type = block.media_type or None
    if block.text:
        held = EmbeddedResourceResource(uri=block.uri, mime_type=media_type, text=block.text)
        return EmbeddedResource(resource=held)
    if block.data:
        held = EmbeddedResourceResource(uri=block.uri, mime_type=media_type, blob=block.data)
        return EmbeddedResource(resource=held)
    return ResourceLink(uri=block.uri, name=block.name or block.uri, mime_type=media_type)


def text_in_message(content: WireBlock) -> str | None:
    """A block of a message as text; None for what text cannot hold (pictures, sounds)."""
    match content:
        case TextContent():
            return content.text
        case ResourceLink():
            return f"[{content.name}]({content.uri})"
        case EmbeddedResource():
            return content.resource.text
        case _:
            return None
