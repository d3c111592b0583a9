"""Taps: the lines of a session's agent as they come, for those who asked to read along."""

from __future__ import annotations

from collections.abc import Callable

from footplate.events.ids import SessionId

Tap = Callable[[bytes], None]
"""Takes whole lines. It must not wait, and must not raise."""


class Taps:
    """Who reads along with which session."""

    def __init__(self) -> None:
        self._readers: dict[str, list[Tap]] = {}

    def listen(self, session: SessionId, tap: Tap) -> Callable[[], None]:
        """Have it given every line of the session's agent from here on. Returns what ends that."""
        self._readers.setdefault(session, []).append(tap)
        return lambda: self._remove(session, tap)

    def post(self, session: str, lines: bytes) -> None:
        """Give lines to whoever reads along."""
        for tap in self._readers.get(session, ()):
            tap(lines)

    def _remove(self, session: SessionId, tap: Tap) -> None:
        readers = self._readers.get(session, [])
        readers.remove(tap)
        if not readers:
            del self._readers[session]
