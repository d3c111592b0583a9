"""What other packages bring to the chat, by their entry points."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@cache
def entries(group: str) -> Mapping[str, EntryPoint]:
    """The entry points of a group: looked up once, imported when they are asked for."""
    from importlib.metadata import entry_points  # noqa: PLC0415  (dear, and only who has plugins needs it)

    return {point.name: point for point in entry_points(group=group)}
