"""The poller: asks for updates, has them kept, confirms them with the next question. One per bot."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from footplate.errors import BotTokenWrong, BotUnreachable, PollConflict, RetryAfter
from footplate.interfaces.telegram.bot.client import BotClient
from footplate.interfaces.telegram.inbox.intake import Intake
from footplate.interfaces.telegram.inbox.letters import Letters

log = logging.getLogger(__name__)
POLL_S: Final = 50.0
LONGEST_PAUSE_S: Final = 30.0


class Poller:
    """Polls until it is cancelled. Nothing is confirmed before it is on disk."""

    def __init__(self, client: BotClient, letters: Letters, intake: Intake, *, poll_s: float = POLL_S) -> None:
        self._client = client
        self._letters = letters
        self._intake = intake
        self._poll_s = poll_s

    async def run(self) -> None:
        """Raises `BotTokenWrong`; all other trouble is waited out."""
        offset: int | None = None
        trouble = 0
        while True:
            try:
                updates = await self._client.get_updates(offset=offset, timeout_s=self._poll_s)
            except BotTokenWrong:
                raise
            except (BotUnreachable, PollConflict, RetryAfter) as problem:
                pause = problem.seconds if isinstance(problem, RetryAfter) else min(0.5 * 2**trouble, LONGEST_PAUSE_S)
                log.warning("no updates (again in %g s): %s", pause, problem)
                trouble = min(trouble + 1, 10)
                await asyncio.sleep(pause)
                continue
            trouble = 0
            self._intake.give(await self._letters.take_in(updates))
            if updates:
                offset = updates[-1].update_id + 1
