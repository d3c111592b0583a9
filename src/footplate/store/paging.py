"""Where a page ends, as a text that callers hand back and do not look into."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from footplate.errors import InvalidValue
from footplate.store.values import Page

T = TypeVar("T")
Mark = tuple[float, str, str]
"""A time, and two names that tell apart what has the same one."""

_decoder: msgspec.json.Decoder[Mark] = msgspec.json.Decoder(Mark)


def write_mark(mark: Mark) -> str:
    """The mark as a text."""
    return msgspec.json.encode(mark).decode()


def read_mark(text: str) -> Mark:
    """The mark that the text stands for."""
    try:
        return _decoder.decode(text)
    except msgspec.DecodeError:
        raise InvalidValue("after", text, "what the page before gave as `after`") from None


def make_page(items: Sequence[T], limit: int, mark: Callable[[T], str]) -> Page[T]:
    """A page of at most `limit` of the items; one more than that tells that there is a next page."""
    shown = tuple(items[:limit])
    return Page(shown, mark(shown[-1]) if len(items) > limit else None)
