"""Waiting for an agent that an earlier service left, and that could not be taken over: it has the lock on its session.

It is being ended, which takes a moment: what is asked of the session meanwhile waits, for so long and no longer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

PATIENCE_S: Final = 10.0
"""From the first signal to the last step of the keeper's ladder, on a machine that has much to do."""

LOOK_S: Final = 0.2
WAITS: Final = "An agent of an earlier service still has the conversation; it is being ended, and is waited for."


class Orphan:
    """The one that a session waits for; `look` is called now and then meanwhile."""

    def __init__(self, look: Callable[[], None]) -> None:
        self._look = look
        self._until: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def awaited(self) -> bool:
        """Whether it is waited for."""
        return self._until is not None

    def look_again(self) -> bool:
        """It is still there: look again in a moment. False when that took too long; it is waited for no more then."""
        loop = asyncio.get_running_loop()
        until = loop.time() + PATIENCE_S if self._until is None else self._until
        self.stop()
        if loop.time() >= until:
            return False
        self._until = until
        self._timer = loop.call_later(LOOK_S, self._look)
        return True

    def stop(self) -> None:
        """It is gone, or nobody waits for it any more."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._until = None
