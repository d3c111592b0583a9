"""Text with formatting: joined, cut and split so that no span is ever broken. Pure.

Offsets and lengths count UTF-16 units, as the Bot API does; a cut never falls between two halves of a character.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from footplate.chat.model import Entity

TEXT_LIMIT: Final = 4096
MORE: Final = "…"


class Rich(msgspec.Struct, frozen=True):
    """A text and its spans."""

    text: str = ""
    entities: tuple[Entity, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.text)


def units(text: str) -> int:
    """How many UTF-16 units a text has."""
    return len(text) + sum(char > "\uffff" for char in text)


def plain(text: str) -> Rich:
    """Text as it is."""
    return Rich(text)


def span(kind: str, text: str, *, language: str = "") -> Rich:
    """Text of one kind: `bold`, `code`, `pre`."""
    if not text:
        return Rich()
    return Rich(text, (Entity(type=kind, offset=0, length=units(text), language=language),))


def concat(*parts: Rich) -> Rich:
    """One after the other."""
    pieces, entities, at = [], [], 0
    for part in parts:
        pieces.append(part.text)
        entities += [_moved(each, at) for each in part.entities]
        at += units(part.text)
    return Rich("".join(pieces), tuple(entities))


def join(separator: str, parts: Iterable[Rich]) -> Rich:
    """The parts that are not empty, with this between them."""
    found: list[Rich] = []
    for part in parts:
        if part:
            found += [plain(separator), part] if found else [part]
    return concat(*found)


def cut(rich: Rich, at: int) -> tuple[Rich, Rich]:
    """In two, before the character with that index."""
    head, tail = rich.text[:at], rich.text[at:]
    border = units(head)
    before = tuple(each for entity in rich.entities if (each := _clipped(entity, 0, border)) is not None)
    behind = tuple(
        _moved(each, -border)
        for entity in rich.entities
        if (each := _clipped(entity, border, border + units(tail))) is not None
    )
    return Rich(head, before), Rich(tail, behind)


def strip(rich: Rich) -> Rich:
    """Without blank lines at its ends."""
    text = rich.text
    kept = cut(rich, len(text.rstrip()))[0]
    return cut(kept, len(kept.text) - len(kept.text.lstrip("\n")))[1]


def trim(rich: Rich, limit: int) -> Rich:
    """At most so many units; what is left out is told by a mark."""
    if units(rich.text) <= limit:
        return rich
    head = cut(rich, _fitting(rich.text, limit - len(MORE)))[0]
    return concat(_rstrip(head), plain(MORE))


def split(rich: Rich, limit: int) -> list[Rich]:
    """In parts of at most so many units: between paragraphs if it can be, else between lines, words, characters."""
    parts = []
    rest = strip(rich)
    while units(rest.text) > limit:
        head, rest = cut(rest, _place_to_cut(rest.text, limit))
        parts.append(_rstrip(head))
        rest = strip(rest)
    return [*parts, rest]


def _place_to_cut(text: str, limit: int) -> int:
    most = _fitting(text, limit)
    for mark in ("\n\n", "\n", " "):
        at = text.rfind(mark, most // 3, most + len(mark))
        if at > 0:
            return min(at, most)
    return most


def _fitting(text: str, limit: int) -> int:
    """How many characters fit into so many units."""
    if text.isascii():
        return min(limit, len(text))
    used = 0
    for index, char in enumerate(text):
        used += 2 if char > "\uffff" else 1
        if used > limit:
            return index
    return len(text)


def _rstrip(rich: Rich) -> Rich:
    return cut(rich, len(rich.text.rstrip()))[0]


def _moved(entity: Entity, by: int) -> Entity:
    return msgspec.structs.replace(entity, offset=entity.offset + by)


def _clipped(entity: Entity, begin: int, end: int) -> Entity | None:
    first, last = max(entity.offset, begin), min(entity.offset + entity.length, end)
    return msgspec.structs.replace(entity, offset=first, length=last - first) if last > first else None
