"""A service in a process of its own, to be killed: the runtime of a data folder, driven by JSON lines.

    python -m tests.e2e.service_host        in the environment of a world

Each line on stdin is `{"id": 1, "do": "prompt", ...}`; each gets one line `{"id": 1, "result": ...}` or `{"id": 1,
"error": "code", "text": ...}` on stdout. Between them stand the envelopes of every session that was opened, as
`{"event": ...}`. With `FOOTPLATE_TEST_DIE` the process kills all of its world, itself last, at a point of its own code:
see `POINTS`. `tests.e2e.hosted` drives it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, NoReturn

import msgspec

from footplate.config.settings import RuntimeSettings, Settings
from footplate.errors import FootplateError
from footplate.events import model as m
from footplate.events.ids import RequestId, SessionId
from footplate.events.model import Event
from footplate.events.requests import Answer
from footplate.host.table import Table
from footplate.interfaces.cli.chat.stdin import read_lines
from footplate.runtime.log import SessionLog
from footplate.runtime.runner import Runner
from footplate.runtime.service import Service, open_service
from footplate.runtime.session import Session
from footplate.runtime.spec import SessionSpec
from tests.e2e.world import cut_power, processes_with

DIE: Final = "FOOTPLATE_TEST_DIE"
POINTS: Final = {
    "asked": "a request is in the log, at once",
    "decided": "an answer is in the log that is not sent",
    "sent": "an answer is in the log as sent, and no byte of it is written",
    "written": "so many milliseconds (`written:20`) after an answer was written",
    "ended": "the result of a call is in the log, at once",
}


def _line(frame: object) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(frame) + b"\n")
    sys.stdout.buffer.flush()


# --------------------------------------------------------------------------------------------------- dying


def victims() -> list[int]:
    """Every process of this world but this one: below it, or with its home in the environment."""
    found = below() | set(processes_with(os.environ["HOME"]))
    return sorted(found - {os.getpid()})


def below() -> set[int]:
    """What this process started: found in less time than the rest, in which an agent would go on."""
    return Table().below([os.getpid()])


def die(doomed: Sequence[int] | None = None) -> NoReturn:
    """As a machine that loses its power: nothing of it goes on, nobody is told."""
    cut_power(below, victims) if doomed is None else cut_power(lambda: doomed)
    os.kill(os.getpid(), signal.SIGKILL)
    raise SystemExit("not reached")


def arm(point: str) -> None:
    """Die at that point."""
    name, _, figure = point.partition(":")
    assert name in POINTS, point
    append, queue, write = SessionLog.append, Runner._queue, Runner._write_frame
    sent = False

    async def appending(self: SessionLog, events: Sequence[Event], **options: object) -> None:
        nonlocal sent
        await append(self, events, **options)  # type: ignore[arg-type]
        kinds = {type(event) for event in events}
        sent = sent or m.RequestSent in kinds
        asked = name == "asked" and m.RequestOpened in kinds
        decided = name == "decided" and m.RequestAnswered in kinds and m.RequestSent not in kinds
        if asked or decided or (name == "ended" and m.ToolEnded in kinds):
            die()

    def queueing(self: Runner, frames: Iterable[bytes], key: str = "") -> None:
        frames = tuple(frames)
        if frames and sent and name == "sent":
            die()
        doomed = victims() if frames and sent and name == "written" else None
        queue(self, frames, key)
        if doomed is not None and not self._outgoing:  # the pipe took them at once
            time.sleep(float(figure or 0) / 1000)
            die(doomed if float(figure or 0) < 100 else None)

    async def writing(self: Runner, frame: bytes) -> None:
        if sent and name == "sent":
            die()
        doomed = victims() if sent and name == "written" else None
        await write(self, frame)
        if doomed is not None and len(self._outgoing) == 1:  # an answer may be several frames: this is the last one
            time.sleep(float(figure or 0) / 1000)  # noqa: ASYNC251 - nothing else may go on meanwhile
            die(doomed if float(figure or 0) < 100 else None)

    SessionLog.append = appending  # type: ignore[method-assign]
    Runner._queue = queueing  # type: ignore[method-assign]
    Runner._write_frame = writing  # type: ignore[method-assign]


# ------------------------------------------------------------------------------------------------- serving


class Order(msgspec.Struct, kw_only=True):
    """One line of the driver's."""

    id: int
    do: str
    session: SessionId = SessionId("")
    request: RequestId = RequestId("")
    text: str = ""
    answer: Answer | None = None
    spec: SessionSpec | None = None
    by: str = "tester"


class Host:
    """Carries out orders, and shows the events of every session that it has opened."""

    def __init__(self, service: Service) -> None:
        self._hub = service.hub
        self._shown: dict[SessionId, asyncio.Task[None]] = {}
        self._orders: dict[str, Callable[[Order], Awaitable[object]]] = {
            "create": self._create,
            "open": self._open,
            "prompt": self._prompt,
            "answer": self._answer,
            "interrupt": self._interrupt,
            "close": self._close,
            "mode": self._mode,
            "requests": self._requests,
            "sessions": self._sessions,
        }

    async def carry_out(self, order: Order) -> None:
        """Do it and say what came of it."""
        try:
            result = await self._orders[order.do](order)
        except FootplateError as problem:
            _line({"id": order.id, "error": problem.code, "text": str(problem)})
        else:
            _line({"id": order.id, "result": result})

    async def stop(self) -> None:
        """Show nothing more."""
        for task in self._shown.values():
            task.cancel()
        if self._shown:
            await asyncio.wait(self._shown.values())

    def _show(self, session: Session) -> None:
        if session.id not in self._shown:
            self._shown[session.id] = asyncio.create_task(self._follow(session))

    async def _follow(self, session: Session) -> None:
        reader = session.subscribe(0)
        try:
            async for delivery in reader:
                _line({"event": msgspec.Raw(delivery.body)})
        finally:
            reader.close()

    async def _get(self, order: Order) -> Session:
        session = await self._hub.get(order.session)
        self._show(session)
        return session

    async def _create(self, order: Order) -> object:
        assert order.spec is not None
        session = await self._hub.create(order.spec)
        self._show(session)
        return session.id

    async def _open(self, order: Order) -> object:
        return (await self._get(order)).view()

    async def _prompt(self, order: Order) -> object:
        return await (await self._get(order)).prompt(order.text)

    async def _answer(self, order: Order) -> object:
        assert order.answer is not None
        session = await self._get(order)
        return await session.answer(order.request, order.answer, by=order.by, surface="host")

    async def _interrupt(self, order: Order) -> object:
        await (await self._get(order)).interrupt()
        return None

    async def _close(self, order: Order) -> object:
        await (await self._get(order)).close("closed by the test")
        return None

    async def _mode(self, order: Order) -> object:
        await (await self._get(order)).set_mode(order.text)
        return None

    async def _requests(self, order: Order) -> object:
        return (await self._hub.requests()).items

    async def _sessions(self, order: Order) -> object:
        return (await self._hub.sessions()).items


async def serve() -> None:
    """Until stdin ends; then in order."""
    timeout = os.environ.get("FOOTPLATE_TEST_REQUEST_TIMEOUT")
    runtime = RuntimeSettings(
        ask_again_s=float(os.environ.get("FOOTPLATE_TEST_ASK_AGAIN", "60")),
        request_timeout_s=float(timeout) if timeout else None,
    )
    settings = Settings(runtime=runtime)
    point = os.environ.pop(DIE, "")
    if point:
        arm(point)
    async with open_service(os.environ, settings) as service:
        host = Host(service)
        _line({"id": 0, "result": "ready"})
        tasks: set[asyncio.Task[None]] = set()
        async for line in read_lines(0):
            task = asyncio.create_task(host.carry_out(msgspec.json.decode(line, type=Order)))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        if tasks:
            await asyncio.wait(tasks)
        await host.stop()


if __name__ == "__main__":
    asyncio.run(serve())
