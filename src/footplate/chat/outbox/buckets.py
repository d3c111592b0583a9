"""Buckets: how many messages may go out, per chat and in all. Pure: the time is given."""

from __future__ import annotations

from typing import Final

import msgspec

RESERVE: Final = 1.0
"""What edits leave in a chat's bucket for a message that somebody waits for."""


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How fast a service is written to. The defaults are below what Telegram's Bot API allows."""

    private_per_s: float = 0.95
    private_burst: float = 2.0
    group_per_s: float = 0.28
    group_burst: float = 2.0
    overall_per_s: float = 25.0
    settle_s: float = 1.0
    """How long after a call without an answer its effect is looked for."""
    retry_s: float = 1.0
    longest_retry_s: float = 60.0
    draft_s: float = 0.8


class Bucket:
    """Fills by `rate` a second up to `burst`; each message takes one."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._level = burst
        self._at = 0.0

    def wait(self, now: float, *, reserve: float = 0.0) -> float:
        """How long until one may be taken, and so much is left."""
        self._fill(now)
        missing = min(1.0 + reserve, self._burst) - self._level
        return max(0.0, missing / self._rate)

    def take(self, now: float) -> None:
        """Take one."""
        self._fill(now)
        self._level -= 1.0

    def _fill(self, now: float) -> None:
        if self._at:
            self._level = min(self._burst, self._level + (now - self._at) * self._rate)
        self._at = now


def chat_bucket(pace: Pace, *, private: bool) -> Bucket:
    """The bucket of a chat with one person, or with many."""
    if private:
        return Bucket(pace.private_per_s, pace.private_burst)
    return Bucket(pace.group_per_s, pace.group_burst)
