"""The highest message ids that we know of: an uncertain message can only stand above. Pure.

Private chats and basic groups of a bot share one sequence; every supergroup has one of its own.
"""

from __future__ import annotations

from typing import Final

SUPERGROUPS: Final = -1_000_000_000_000
"""Ids of supergroups are at most this."""
SHARED: Final = 0
SLACK: Final = 3
"""How many messages of other chats may have taken an id of which we have not heard yet."""


class Heights:
    """One number per sequence of ids."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}

    def of(self, chat: int) -> int:
        """The highest id known in the chat's sequence; 0 when none is."""
        return self._known.get(_sequence(chat), 0)

    def learn(self, chat: int, message: int) -> None:
        """A message of that id is there."""
        sequence = _sequence(chat)
        self._known[sequence] = max(self._known.get(sequence, 0), message)

    def candidates(self, chat: int, base: int) -> range:
        """The ids that a message may have that was sent when `base` was the highest."""
        return range(base + 1, max(self.of(chat), base) + 1 + SLACK)


def _sequence(chat: int) -> int:
    return chat if chat <= SUPERGROUPS else SHARED
