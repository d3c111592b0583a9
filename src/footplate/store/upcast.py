"""Bring events of an older schema up to date as they are read; the log itself is never rewritten."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from footplate.events.model import SCHEMA_VERSION

Upcaster = Callable[[bytes], bytes]
"""The JSON of an envelope in one schema version, as the next version writes it. Pure."""

UPCASTERS: Mapping[int, Upcaster] = {}
"""Version n -> what makes n + 1 of it; one for each version below `SCHEMA_VERSION`."""


def upcast(
    body: bytes, version: int, *, table: Mapping[int, Upcaster] = UPCASTERS, to: int = SCHEMA_VERSION
) -> tuple[bytes, int]:
    """The body and its version, brought up to `to`; one of a later version stays as it is."""
    while version < to:
        body = table[version](body)
        version += 1
    return body, version
