"""Interrupting an agent: it stops its turn itself, and one that does not read the interrupt in time is ended."""

from __future__ import annotations

import asyncio

import msgspec

from footplate.errors import EngineGone, EngineSilent
from footplate.events import commands as c
from footplate.events import model as m
from footplate.events.model import Event
from footplate.runtime.agent import Agent
from footplate.tasks import Tasks

UNREAD = "interrupted: the agent did not read its input, so its process was ended"


class Interrupting:
    """The interrupts of one session. `patience_s` is how long an agent may take to read one."""

    def __init__(self, endings: Tasks, *, patience_s: float) -> None:
        self._endings = endings
        self._patience_s = patience_s
        self._timer: asyncio.TimerHandle | None = None
        self._ended: Agent | None = None

    def interrupt(self, agent: Agent, key: str) -> None:
        """Have it stop its turn. What it says then, or its end, ends the turn in the log."""
        try:
            agent.send(c.Interrupt(key=key))
        except EngineGone:
            return  # its end, which is about to be read, ends the turn
        except EngineSilent:
            self._end(agent)
            return
        if agent.deaf:
            self._end(agent)
        elif key in agent.undelivered:
            self.stop()
            self._timer = asyncio.get_running_loop().call_later(self._patience_s, self._check, agent, key)

    def stop(self) -> None:
        """Stop waiting: the turn has ended, or the session is released."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None

    def word_end(self, event: Event) -> Event:
        """The end of a turn: one whose agent was ended because it read nothing was interrupted, not lost."""
        if self._ended is None or not isinstance(event, m.TurnEnded) or event.stop_reason != "lost":
            return event
        return msgspec.structs.replace(event, stop_reason="interrupted", error=UNREAD, error_kind="interrupted")

    def take_ended(self, agent: Agent | None) -> bool:
        """Whether this process, which is gone, was ended for an interrupt that it did not read; True once."""
        ended = agent is not None and self._ended is agent
        self._ended = None
        return ended

    def _check(self, agent: Agent, key: str) -> None:
        self._timer = None
        if key in agent.undelivered:
            self._end(agent)

    def _end(self, agent: Agent) -> None:
        """Not awaited: its last events come through the mailbox, in which this may run."""
        if self._ended is not agent:
            self._ended = agent
            self._endings.spawn(agent.end(close_wait=0.0), name="end of an agent that reads nothing")
