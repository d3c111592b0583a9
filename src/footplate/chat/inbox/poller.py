"""The poller: asks for updates, has them kept, confirms them with the next question. One per account."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from footplate.chat.inbox.intake import Intake
from footplate.chat.inbox.letters import Letters
from footplate.chat.model import Update
from footplate.chat.transport import Transport
from footplate.errors import BotTokenWrong, BotUnreachable, PollConflict, RetryAfter

log = logging.getLogger(__name__)
LONGEST_PAUSE_S: Final = 30.0


class Poller:
    """Polls until it is cancelled. Nothing is confirmed before it is on disk."""

    def __init__(self, transport: Transport, letters: Letters, intake: Intake) -> None:
        self._transport = transport
        self._letters = letters
        self._intake = intake
        self._held: list[Update] | None = []
        """Updates received while the bridge starts; None once it has started."""

    def release(self) -> None:
        """The bridge has started: pass on the updates received so far, and later ones as they arrive."""
        held, self._held = self._held, None
        self._intake.give(held or [])

    async def run(self) -> None:
        """Raises `BotTokenWrong`; all other trouble is waited out."""
        trouble = 0
        while True:
            try:
                updates = await self._transport.receive(self._letters.taken)
            except BotTokenWrong:
                raise
            except (BotUnreachable, PollConflict, RetryAfter) as problem:
                pause = problem.seconds if isinstance(problem, RetryAfter) else min(0.5 * 2**trouble, LONGEST_PAUSE_S)
                log.warning("no updates (again in %g s): %s", pause, problem)
                trouble = min(trouble + 1, 10)
                await asyncio.sleep(pause)
                continue
            trouble = 0
            taken = await self._letters.take_in(updates)
            if self._held is None:
                self._intake.give(taken)
            else:
                self._held += taken
