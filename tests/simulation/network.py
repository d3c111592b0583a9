"""Between clients and the service: calls, and the streams of readers.

A call is a task of the service's node and a future of the client's: a crash ends the task without a word and fails the
future with `Lost`. A caller that hangs up cancels the task, as a server does whose connection breaks.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from footplate.errors import FootplateError
from footplate.events.ids import SessionId
from footplate.interfaces.http.session_events import SessionFeed
from footplate.runtime.hub import Hub

if TYPE_CHECKING:
    from tests.simulation.life import Life
    from tests.simulation.world import World

T = TypeVar("T")
END = b"\n\n"
CALL_S = 100.0
"""A call that takes longer than this, whatever it waits for, hangs."""


class Lost(Exception):
    """The connection broke, or nobody listens: whether the call was carried out is not known."""


class Network:
    """The doors of the service that runs, if one does."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._open: dict[int, asyncio.Future[Any]] = {}
        self._serial = 0

    def break_all(self) -> None:
        """Every connection breaks."""
        broken, self._open = self._open, {}
        for future in broken.values():
            if not future.done():
                future.set_exception(Lost("the service is gone"))
                future.exception()

    def register(self, future: asyncio.Future[Any]) -> int:
        """Have it failed when the service goes."""
        self._serial += 1
        self._open[self._serial] = future
        return self._serial

    def forget(self, serial: int) -> None:
        """It is over."""
        self._open.pop(serial, None)

    async def call(
        self, what: str, work: Callable[[Hub], Awaitable[T]], *, hang_up: float | None = None, session: str = ""
    ) -> T:
        """Have it done by the service. Raises `Lost` and what the service refuses with."""
        world = self._world
        await world.pause("slow_calls", "call")
        life = world.life
        if life is None or not life.up:
            raise Lost("nobody listens")
        answer: asyncio.Future[T] = world.loop.create_future()
        serial = self.register(answer)
        task = life.spawn(self._serve(life, what, work, answer, session), name=f"call {what}")
        life.calls[serial] = task
        task.add_done_callback(lambda _: life.calls.pop(serial, None))
        try:
            async with asyncio.timeout(CALL_S if hang_up is None else hang_up):
                return await answer
        except TimeoutError:
            if hang_up is None:
                world.fail("call_hangs", f"{what} has no answer after {CALL_S:g} s")
            task.cancel()
            raise Lost("the caller hung up") from None
        finally:
            self._open.pop(serial, None)
            if not answer.done():
                answer.cancel()

    async def _serve(
        self, life: Life, what: str, work: Callable[[Hub], Awaitable[T]], answer: asyncio.Future[T], session: str
    ) -> None:
        world = self._world
        problem: Exception | None = None
        result: Any = None
        assert life.hub is not None
        try:
            result = await work(life.hub)
        except FootplateError as refusal:
            problem = refusal
            if refusal.code in ("wrong_epoch", "wrong_sequence") and not world.is_deleted(session):
                world.fail("fenced", f"{what}: {refusal}")
        except Exception as error:  # noqa: BLE001 - judged, whatever it is
            problem = error
            world.fail("call_fails", f"{what}: {type(error).__name__}: {error}", error)
        await world.pause("slow_calls", "answer")
        if answer.done():
            return
        if problem is not None:
            answer.set_exception(problem)
            answer.exception()
        else:
            answer.set_result(result)


class Stream:
    """A reader's connection: the service writes chunks into a bounded pipe, the client takes them out."""

    def __init__(self, world: World, size: int) -> None:
        self._world = world
        self._size = size
        self._chunks: deque[bytes] = deque()
        self._room: asyncio.Future[None] | None = None
        self._news: asyncio.Future[None] | None = None
        self._ended = False
        self._broken: asyncio.Future[Any] = world.loop.create_future()
        self._broken.add_done_callback(lambda _: _wake(self._news))
        self._task: asyncio.Task[None] | None = None
        self._serial = 0

    async def open(self, session: SessionId, after: int, *, epoch: int | None) -> None:
        """Begin to read. Raises what `Network.call` raises."""
        world = self._world

        async def begin(hub: Hub) -> None:
            live = await hub.get(session)
            feed = SessionFeed(live, after, epoch)
            assert world.life is not None
            self._task = world.life.spawn(self._write(feed), name="stream")
            self._serial = world.network.register(self._broken)

        await world.network.call("stream", begin, session=session)

    async def _write(self, feed: Any) -> None:
        try:
            while chunks := await feed.next():
                for chunk in b"".join(chunks).removesuffix(END).split(END):
                    while len(self._chunks) >= self._size:
                        self._room = self._world.loop.create_future()
                        await self._room
                    self._chunks.append(chunk)
                    _wake(self._news)
        finally:
            feed.close()
            self._ended = True
            _wake(self._news)

    async def next(self) -> bytes | None:
        """The next chunk; None when the service ended the stream. Raises `Lost`."""
        while not self._chunks:
            if self._broken.done():
                raise Lost("the stream broke")
            if self._ended:
                return None
            self._news = self._world.loop.create_future()
            await self._news
        chunk = self._chunks.popleft()
        _wake(self._room)
        return chunk

    def close(self) -> None:
        """The client goes away: the service notices, as its task is cancelled."""
        self._world.network.forget(self._serial)
        if not self._broken.done():
            self._broken.cancel()
        if self._task is not None:
            self._task.cancel()


def _wake(waiting: asyncio.Future[None] | None) -> None:
    if waiting is not None and not waiting.done():
        waiting.set_result(None)
