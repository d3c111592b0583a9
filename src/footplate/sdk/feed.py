"""One session's events for all who listen in this program: read once, folded once, given to each in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import aclosing
from weakref import WeakSet

from footplate.errors import CursorLost, FootplateError, ProtocolError
from footplate.events.codec import ReadEnvelope
from footplate.events.ids import SessionId, TurnId
from footplate.events.model import TurnEnded
from footplate.events.reduce import SessionReducer
from footplate.events.view import SessionView, TurnView
from footplate.sdk.follow import follow_session
from footplate.sdk.shapes import SessionDetail
from footplate.sdk.wire import Wire
from footplate.tasks import spawn

KEPT_TURNS = 64
Listener = Callable[[ReadEnvelope], None]


class Reader:
    """One who reads along at its own pace. `next` raises what ended the feed."""

    def __init__(self, leave: Callable[[Reader], None]) -> None:
        self._waiting: deque[ReadEnvelope] = deque()
        self._bell = asyncio.Event()
        self._ended: FootplateError | None = None
        self._leave = leave

    def give(self, envelope: ReadEnvelope) -> None:
        """Another event."""
        self._waiting.append(envelope)
        self._bell.set()

    def end(self, problem: FootplateError) -> None:
        """No more will come."""
        self._ended = problem
        self._bell.set()

    async def next(self) -> ReadEnvelope:
        """The next event."""
        while not self._waiting:
            if self._ended is not None:
                raise self._ended
            self._bell.clear()
            await self._bell.wait()
        return self._waiting.popleft()

    def close(self) -> None:
        """No more is wanted."""
        self._leave(self)


class Feed:
    """The one stream of a session. It runs from the first who needs it until the session object is closed."""

    def __init__(self, wire: Wire, session: SessionId) -> None:
        self._wire = wire
        self._session = session
        self._reducer = SessionReducer()
        self._readers: WeakSet[Reader] = WeakSet()
        self._listeners: list[Listener] = []
        self._ended: dict[TurnId, TurnView] = {}
        self._task: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()

    @property
    def running(self) -> bool:
        """Whether events come."""
        return self._task is not None and not self._task.done()

    def view(self) -> SessionView:
        """The session as far as it was read."""
        return self._reducer.view()

    def turn(self, turn: TurnId) -> TurnView | None:
        """A turn that has ended while we read."""
        return self._ended.get(turn)

    async def start(self) -> None:
        """Begin to read, where the session stands now. Nothing that comes after this returns is missed."""
        async with self._starting:
            if self.running:
                return
            detail = await self._wire.get(f"/api/sessions/{self._session}", SessionDetail)
            self._reducer = SessionReducer(detail.view())
            self._task = spawn(self._read(), name=f"events of {self._session}", on_failure=self._broke)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call the listener with each event; what is returned ends that."""
        self._listeners.append(listener)

        def stop() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return stop

    def reader(self) -> Reader:
        """One more reader, from the next event on."""
        reader = Reader(self._readers.discard)
        self._readers.add(reader)
        return reader

    async def close(self) -> None:
        """Read no more."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))

    async def _read(self) -> None:
        while True:
            try:
                view = self._reducer.outline()
                async with aclosing(follow_session(self._wire, self._session, view.last_seq, view.epoch)) as events:
                    async for envelope in events:
                        self._take(envelope)
            except CursorLost as lost:
                self._end(lost)  # whoever was in the middle of something cannot go on; the others begin anew
                self._reducer = SessionReducer()
            except FootplateError as problem:
                self._end(problem)
                return

    def _broke(self, problem: BaseException) -> None:
        """The reading has failed, perhaps in a listener: nobody waits for what will not come."""
        self._end(ProtocolError(self._wire.url, f"the events are read no more: {type(problem).__name__}: {problem}"))

    def _take(self, envelope: ReadEnvelope) -> None:
        if not self._reducer.apply(envelope):
            return
        event = envelope.event
        if isinstance(event, TurnEnded):
            self._keep(event.turn)
        for reader in tuple(self._readers):
            reader.give(envelope)
        for listener in tuple(self._listeners):
            listener(envelope)

    def _keep(self, turn: TurnId) -> None:
        for view in self._reducer.outline().turns:
            if view.id == turn:
                self._ended[turn] = view
        while len(self._ended) > KEPT_TURNS:
            del self._ended[next(iter(self._ended))]

    def _end(self, problem: FootplateError) -> None:
        for reader in tuple(self._readers):
            reader.end(problem)
        self._readers.clear()
