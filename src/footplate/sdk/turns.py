"""A turn in the making: its events as they come, its text as it is written, and in the end the whole of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import aclosing

from footplate.errors import Conflict, SessionOver
from footplate.events import model as m
from footplate.events.codec import ReadEnvelope
from footplate.events.ids import PromptId, SessionId, TurnId
from footplate.events.view import TurnView
from footplate.sdk.feed import Feed, Reader
from footplate.sdk.shapes import Accepted
from footplate.tasks import spawn


class TurnRun:
    """What became of a prompt. `await` it for the turn as it ended; iterate it for its events; `text()` for its words.

    The prompt is on its way as soon as the object exists. A turn that fails is a turn, with `ok` False and `error`;
    what is raised is what kept the prompt from becoming one.
    """

    def __init__(self, session: SessionId, feed: Feed, send: Callable[[], Awaitable[Accepted]]) -> None:
        self._session = session
        self._feed = feed
        self._send = send
        self._turn: TurnId | None = None
        self._over = False
        self._begun = spawn(self._begin(), name=f"prompt to {session}", awaited=True)

    async def _begin(self) -> tuple[Reader, PromptId]:
        await self._feed.start()
        reader = self._feed.reader()
        try:
            accepted = await self._send()
        except BaseException:
            reader.close()
            raise
        return reader, accepted.prompt

    async def accepted(self) -> PromptId:
        """The prompt's id, once the service has it for good."""
        _, prompt = await asyncio.shield(self._begun)
        return prompt

    def __await__(self) -> Generator[object, None, TurnView]:
        """The turn as it ended. Raises `Conflict` when the prompt was taken back, `SessionOver` when it is too late."""
        return self._finish().__await__()

    async def _finish(self) -> TurnView:
        async for _ in self:
            pass
        return self.result()

    def result(self) -> TurnView:
        """The turn, when it has ended."""
        view = self._feed.turn(self._turn) if self._turn is not None else None
        if view is None:
            raise Conflict("the turn has not ended yet; iterate it to its end, or await it")
        return view

    async def __aiter__(self) -> AsyncGenerator[ReadEnvelope]:
        """Every event of the turn from its first on; ends with its `TurnEnded`."""
        reader, prompt = await asyncio.shield(self._begun)
        try:
            while not self._over:
                envelope = await reader.next()
                if self._turn is None:
                    self._turn = self._find(envelope, prompt)
                if self._turn is None or envelope.turn != self._turn:
                    continue
                self._over = isinstance(envelope.event, m.TurnEnded)
                yield envelope
        finally:
            if self._over:
                reader.close()

    def _find(self, envelope: ReadEnvelope, prompt: PromptId) -> TurnId | None:
        """The turn that takes up the prompt, when this event says so."""
        match envelope.event:
            case m.TurnStarted(turn=turn, prompts=prompts) if prompt in prompts:
                return turn
            case m.PromptSteered(prompt=steered) if steered == prompt:
                return envelope.turn
            case m.PromptWithdrawn(prompt=gone, reason=reason) if gone == prompt:
                raise Conflict(f"the prompt will not run: {reason or 'it was taken back'}")
            case m.SessionClosed():
                raise SessionOver(self._session)
            case _:
                return None

    async def text(self) -> AsyncGenerator[str]:
        """The agent's own words as they are written, each piece once, also when a connection was lost in between."""
        pieces = Words()
        async with aclosing(aiter(self)) as events:
            async for envelope in events:
                if piece := pieces.feed(envelope.event):
                    yield piece


class Words:
    """Pieces of text out of deltas, whole messages and the live tail that is sent again: what is new in each."""

    def __init__(self) -> None:
        self._written: dict[tuple[str, int], str] = {}

    def feed(self, event: m.Event | m.Unknown) -> str:
        """What the event adds to the words of the main conversation."""
        match event:
            case m.MessageDelta(parent=None, reset=False):
                key = (event.message, event.part)
                self._written[key] = self._written.get(key, "") + event.text
                return event.text
            case m.MessageDelta(parent=None) | m.Message(parent=None, synthetic=False):
                key = (event.message, event.part)
                known = self._written.get(key, "")
                self._written[key] = event.text
                return event.text.removeprefix(known) if event.text.startswith(known) else ""
            case _:
                return ""
