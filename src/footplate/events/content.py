"""Content blocks: what a message, a prompt or a tool's result is made of."""

from __future__ import annotations

from typing import Literal

import msgspec


class ContentBase(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", omit_defaults=True, gc=False):
    """Base of all content blocks; the tag stands in `type`."""


class TextBlock(ContentBase, frozen=True, kw_only=True, tag="text"):
    """Plain or markdown text."""

    text: str


class ImageBlock(ContentBase, frozen=True, kw_only=True, tag="image"):
    """A picture, inline (`data`, base64) or by address (`uri`)."""

    media_type: str
    data: str = ""
    uri: str = ""


class ResourceBlock(ContentBase, frozen=True, kw_only=True, tag="resource"):
    """A file or another addressed thing, with its text when it was embedded."""

    uri: str
    name: str = ""
    media_type: str = ""
    text: str = ""
    data: str = ""


class DiffBlock(ContentBase, frozen=True, kw_only=True, tag="diff"):
    """A change of one file. `old_text` is None for a new file."""

    path: str
    old_text: str | None = None
    new_text: str = ""


class TerminalBlock(ContentBase, frozen=True, kw_only=True, tag="terminal"):
    """Output of a command as a terminal shows it."""

    output: str
    terminal: str = ""
    exit_code: int | None = None


class OtherBlock(ContentBase, frozen=True, kw_only=True, tag="other"):
    """A block of a kind we have no shape for, kept as it came."""

    kind: str
    raw: msgspec.Raw


ContentBlock = TextBlock | ImageBlock | ResourceBlock | DiffBlock | TerminalBlock | OtherBlock

HEADLINE = 80
"""How long the line may be by which a list names a session."""

Role = Literal["user", "assistant"]


def text_of(blocks: tuple[ContentBlock, ...]) -> str:
    """All text in the blocks, one after another; what a reader without pictures sees."""
    parts: list[str] = []
    for block in blocks:
        if isinstance(block, TextBlock):
            parts.append(block.text)
        elif isinstance(block, TerminalBlock):
            parts.append(block.output)
        elif isinstance(block, ResourceBlock) and block.text:
            parts.append(block.text)
    return "\n".join(parts)


def headline(blocks: tuple[ContentBlock, ...]) -> str:
    """The first line of the text, short enough for a list; empty when there is no text."""
    lines = (line.strip() for block in blocks if isinstance(block, TextBlock) for line in block.text.splitlines())
    first = next((line for line in lines if line), "")
    return first if len(first) <= HEADLINE else f"{first[: HEADLINE - 1]}…"
