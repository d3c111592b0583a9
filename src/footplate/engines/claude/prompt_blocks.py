"""The content of a prompt as the CLI takes it: files are linked where they stand, their text is at the end. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from pathlib import PurePosixPath
from typing import Final

from footplate.events.content import ContentBlock, ImageBlock, ResourceBlock, TextBlock, text_of

Json = dict[str, object]
PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What the model's API takes as a picture."""

PDF: Final = "application/pdf"
TEXTS: Final = re.compile(
    r"text/.*|.*\+(json|xml)|application/(json|xml|javascript|typescript|(x-)?yaml|toml|x-sh|sql|graphql)"
)
LINKED: Final = ("file://", "zed://")


def prompt_body(content: tuple[ContentBlock, ...]) -> str | list[Json]:
    """One plain text is a string, so that slash commands are seen as such; all else is blocks."""
    if len(content) == 1 and isinstance(content[0], TextBlock):
        return content[0].text
    shown = [block for each in content for block in _blocks(each)]
    return [*shown, *(context for each in content if (context := _context(each)) is not None)]


def _blocks(block: ContentBlock) -> list[Json]:
    if isinstance(block, ImageBlock):
        return [_picture(block)]
    if isinstance(block, ResourceBlock):
        return [_text(_link(block.uri)), *_attachment(block)]
    text = text_of((block,))
    return [_text(text)] if text else []  # a sound is nothing that it could hear


def _picture(block: ImageBlock) -> Json:
    if not block.data:
        return {"type": "image", "source": {"type": "url", "url": block.uri}}
    return {"type": "image", "source": {"type": "base64", "media_type": block.media_type, "data": block.data}}


def _attachment(block: ResourceBlock) -> list[Json]:
    """The bytes of a file, where the model can look at them."""
    media = _media(block)
    if not block.data or (media not in PICTURES and media != PDF):
        return []
    source = {"type": "base64", "media_type": media, "data": block.data}
    return [{"type": "document" if media == PDF else "image", "source": source}]


def _context(block: ContentBlock) -> Json | None:
    if not isinstance(block, ResourceBlock):
        return None
    text = block.text or _decoded(block)
    return _text(f'\n<context ref="{block.uri}">\n{text}\n</context>') if text else None


def _decoded(block: ResourceBlock) -> str:
    """The text in the bytes of a file of text."""
    if not block.data or TEXTS.fullmatch(_media(block)) is None:
        return ""
    try:
        return base64.b64decode(block.data, validate=True).decode(errors="replace")
    except binascii.Error:
        return ""


def _media(block: ResourceBlock) -> str:
    media = block.media_type.partition(";")[0].strip().lower()
    return "image/jpeg" if media == "image/jpg" else media


def _link(uri: str) -> str:
    """A file of the machine by its name; any other address as it is."""
    return f"[@{PurePosixPath(uri).name or uri}]({uri})" if uri.startswith(LINKED) else uri


def _text(text: str) -> Json:
    return {"type": "text", "text": text}
