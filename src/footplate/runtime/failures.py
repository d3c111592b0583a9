"""How often sessions fail, so that one that fails again and again is refused instead of opened for ever."""

from __future__ import annotations

import math
from typing import Final

from footplate.errors import SessionFailed
from footplate.events.ids import SessionId
from footplate.events.wording import format_duration
from footplate.runtime.surroundings import Surroundings

MOST: Final = 3
"""So many failures within `WINDOW_S`, and the session takes no commands until the oldest of them is past."""

WINDOW_S: Final = 60.0


class Failures:
    """The recent failures of the sessions of one hub."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._monotonic = surroundings.monotonic
        self._times: dict[SessionId, list[float]] = {}
        self._reasons: dict[SessionId, str] = {}

    def note(self, session: SessionId, problem: BaseException) -> None:
        """Count a failure."""
        self._times[session] = [*self._recent(session), self._monotonic()][-MOST:]
        self._reasons[session] = f"{type(problem).__name__}: {problem}"

    def check(self, session: SessionId) -> None:
        """Raise `SessionFailed` when the session has failed too often to be tried again now."""
        recent = self._recent(session)
        if len(recent) >= MOST:
            left = WINDOW_S - (self._monotonic() - recent[0])
            reason = f"it failed {MOST} times within {format_duration(WINDOW_S)} ({self._reasons[session]})"
            wait = format_duration(math.ceil(left))
            raise SessionFailed(session, reason, f"it can be read; try again in {wait}, or restart the service")

    def forget_old(self) -> None:
        """Drop what no longer counts."""
        for session in tuple(self._times):
            if not self._recent(session):
                del self._times[session], self._reasons[session]

    def _recent(self, session: SessionId) -> list[float]:
        since = self._monotonic() - WINDOW_S
        return [time for time in self._times.get(session, ()) if time > since]
