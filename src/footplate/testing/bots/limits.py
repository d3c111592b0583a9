"""The limits of the Bot API: one message a second and chat (with a little room), twenty a minute and group, thirty a
second in all."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import msgspec


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """How much may be sent."""

    chat_per_s: float = 1.0
    chat_burst: int = 3
    group_per_min: int = 20
    overall_per_s: int = 30


class Limits:
    """Counts what was sent; says how long to wait when it is too much."""

    def __init__(self, rates: Rates, clock: Callable[[], float]) -> None:
        self._rates = rates
        self._clock = clock
        self._levels: dict[int, tuple[float, float]] = {}
        self._groups: dict[int, deque[float]] = {}
        self._all: deque[float] = deque()

    def wait_for(self, chat: int) -> float:
        """Take a place for one message to the chat; 0, or for how long there is none."""
        now = self._clock()
        waits = (self._wait_chat(chat, now), self._wait_group(chat, now), self._wait_all(now))
        if max(waits) > 0:
            return max(waits)
        level, _ = self._levels.get(chat, (float(self._rates.chat_burst), now))
        self._levels[chat] = (min(level, float(self._rates.chat_burst)) - 1, now)
        if chat < 0:
            self._groups.setdefault(chat, deque()).append(now)
        self._all.append(now)
        return 0.0

    def _wait_chat(self, chat: int, now: float) -> float:
        burst = float(self._rates.chat_burst)
        level, at = self._levels.get(chat, (burst, now))
        level = min(burst, level + (now - at) * self._rates.chat_per_s)
        self._levels[chat] = (level, now)
        return 0.0 if level >= 1 else (1 - level) / self._rates.chat_per_s

    def _wait_group(self, chat: int, now: float) -> float:
        if chat > 0:
            return 0.0
        sent = self._groups.setdefault(chat, deque())
        while sent and now - sent[0] >= 60:
            sent.popleft()
        return 60 - (now - sent[0]) if len(sent) >= self._rates.group_per_min else 0.0

    def _wait_all(self, now: float) -> float:
        while self._all and now - self._all[0] >= 1:
            self._all.popleft()
        return 1 - (now - self._all[0]) if len(self._all) >= self._rates.overall_per_s else 0.0
