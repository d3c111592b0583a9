"""The pause of a session until its usage limit ends. The log has the time, so that a later service waits on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from footplate.runtime.surroundings import Surroundings


class UsagePause:
    """One session's pause. `at_end` is called when it is over; `allowed` continuations happen by themselves.

    How many there were is counted in this service only: after a restart there may be as many again.
    """

    def __init__(self, surroundings: Surroundings, at_end: Callable[[], None], *, allowed: int) -> None:
        self._surroundings = surroundings
        self._at_end = at_end
        self._left = allowed
        self._timer: asyncio.TimerHandle | None = None
        self.until: float | None = None
        """When it ends; None while there is none."""

    @property
    def continues(self) -> bool:
        """Whether the session continues by itself at its end, so that everything else waits for it."""
        return self.until is not None and self.may_continue

    @property
    def may_continue(self) -> bool:
        """Whether one more continuation is allowed."""
        return self._left > 0

    def start(self, until: float) -> None:
        """Wait until then."""
        self.stop()
        self.until = until
        delay = max(until - self._surroundings.time(), 0.0)
        self._timer = asyncio.get_running_loop().call_later(delay, self._at_end)

    def take_continuation(self) -> bool:
        """The pause is over: whether the session continues by itself, which is counted."""
        continues = self.continues
        self.stop()
        self._left -= continues
        return continues

    def stop(self) -> None:
        """Wait no longer: there is no pause."""
        self.release()
        self.until = None

    def release(self) -> None:
        """Stop the timer of a session that leaves memory. The pause remains in the log."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
