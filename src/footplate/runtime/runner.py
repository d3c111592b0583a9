"""The one runner: starts an agent, feeds its lines to the conversation, writes what the conversation answers.

It knows no engine. The reading side is a task of its own, so that an agent that talks while a large prompt is written
cannot lock up with us; what waits to be read is bounded, so a slow reader slows the agent and not the memory.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping

from footplate.engines.base import Conversation, Engine, Installed, Options, Reaction, Spawn
from footplate.errors import EngineGone
from footplate.events.commands import Command
from footplate.events.model import Event
from footplate.host.process import Keeper
from footplate.runtime.wires import CLOSE_WAIT_S, Wire, open_wire

BACKLOG = 64
"""How many batches of events may wait before the agent's pipe is left alone."""


class Runner:
    """One agent process and the conversation with it. `notes` is what the launch says of itself: who pays, ..."""

    def __init__(self, wire: Wire, conversation: Conversation, *, notes: Mapping[str, str] | None = None) -> None:
        self.notes = dict(notes or {})
        self._wire = wire
        self._conversation = conversation
        self._waiting: deque[list[Event]] = deque()
        self._more = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._over = False
        self._ending = False
        self._reader = asyncio.create_task(self._read(), name="runner")

    @classmethod
    async def start(
        cls, engine: Engine, installed: Installed, options: Options, *, keeper: Keeper, environ: Mapping[str, str]
    ) -> Runner:
        """Launch the agent. Raises what `launch` and the operating system raise; then nothing was started."""
        launch = engine.launch(options, installed, environ)
        conversation = engine.converse(options, installed)
        notes = launch.notes if isinstance(launch, Spawn) else {}
        return cls(await open_wire(launch, keeper), conversation, notes=notes)

    async def batches(self) -> AsyncIterator[list[Event]]:
        """Events as they come, in batches; ends after the agent is gone and everything it had open was closed."""
        while True:
            while self._waiting:
                batch = self._waiting.popleft()
                if len(self._waiting) < BACKLOG:
                    self._room.set()
                yield batch
            if self._over:
                await self._reader
                return
            self._more.clear()
            await self._more.wait()

    async def command(self, command: Command) -> None:
        """Ask something of the agent. Raises `EngineGone` when it is not there to hear it."""
        await self.write(self.prepare(command))

    def prepare(self, command: Command) -> tuple[bytes, ...]:
        """The frames that ask it, not yet written: whoever must store something first does so in between."""
        reaction = self._conversation.command(command)
        self._publish(reaction.events)
        return reaction.frames

    async def write(self, frames: tuple[bytes, ...]) -> None:
        """Write prepared frames. Raises `EngineGone`."""
        for frame in frames:
            await self._wire.write(frame)

    def close_stdin(self) -> None:
        """Tell the agent that nothing more will come; it ends by itself when it is done."""
        self._wire.close_stdin()

    async def end(self, *, close_wait: float = CLOSE_WAIT_S) -> None:
        """See the agent out and wait until it and all it started are gone. Safe to call twice."""
        self._ending = True
        self._room.set()
        await self._wire.end(close_wait=close_wait)
        await self._reader

    async def _read(self) -> None:
        try:
            await self._answer(self._conversation.begin())
            while (block := await self._wire.read()) is not None:
                await self._answer(self._conversation.feed(block))
                if len(self._waiting) >= BACKLOG and not self._ending:
                    self._room.clear()
                    await self._room.wait()
            ending = await self._wire.end()
            self._publish(self._conversation.finish(ending).events)
        finally:
            self._over = True
            self._more.set()

    async def _answer(self, reaction: Reaction) -> None:
        self._publish(reaction.events)
        for frame in reaction.frames:
            try:
                await self._wire.write(frame)
            except EngineGone:
                return  # the end of its output, which is about to be read, tells why

    def _publish(self, events: list[Event]) -> None:
        if events:
            self._waiting.append(events)
            self._more.set()
