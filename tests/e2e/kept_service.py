"""A service in a process of its own whose agents outlive it, driven by JSON lines: `tests.e2e.restarts` drives it.

    python -m tests.e2e.kept_service GRACE_S        in the environment of a world

Each line on stdin is `{"id": 1, "do": "prompt", ...}` and gets a line `{"id": 1, "result": ...}`; between them stand
the envelopes of every session as `{"event": ...}`. SIGTERM and the end of stdin make it leave its agents to the keeper;
`{"do": "drain"}` makes it wait for turns and end with them. With `FOOTPLATE_TEST_DIE=Message` it kills itself when it
has read such an event and has not stored it; `EngineAttached:cleared` is only one of that reason.
`FOOTPLATE_TEST_ENGINES` are settings of engines, as JSON, `FOOTPLATE_TEST_PREWARM` is the setting of that name; `{"do":
"warmed"}` waits until a process that was started ahead has said something.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence

import msgspec

from footplate.config.settings import RuntimeSettings, Settings
from footplate.errors import FootplateError
from footplate.events.ids import RequestId, SessionId
from footplate.events.model import Event
from footplate.events.requests import Answer
from footplate.runtime.log import SessionLog
from footplate.runtime.service import Service, open_service
from footplate.runtime.session import Session
from footplate.runtime.spec import SessionSpec


class Order(msgspec.Struct, kw_only=True):
    """One line of the driver's."""

    id: int
    do: str
    session: SessionId = SessionId("")
    request: RequestId = RequestId("")
    text: str = ""
    key: str = ""
    answer: Answer | None = None
    spec: SessionSpec | None = None
    patience_s: float = 0.0


DIE = "FOOTPLATE_TEST_DIE"
ENGINES = "FOOTPLATE_TEST_ENGINES"
PREWARM = "FOOTPLATE_TEST_PREWARM"


def die_before(kind: str) -> None:
    """Kill ourselves when an event of that kind has been read and is not yet stored."""
    append = SessionLog.append
    name, _, reason = kind.partition(":")

    def is_due(event: Event) -> bool:
        return type(event).__name__ == name and reason in ("", getattr(event, "reason", ""))

    async def appending(self: SessionLog, events: Sequence[Event], **options: object) -> None:
        if any(map(is_due, events)):
            os.kill(os.getpid(), signal.SIGKILL)
        await append(self, events, **options)  # type: ignore[arg-type]

    SessionLog.append = appending  # type: ignore[method-assign]


def show_tasks() -> None:
    """On SIGUSR1: where everything stands, on stderr, for who wonders why nothing goes on."""
    for task in asyncio.all_tasks():
        task.print_stack(limit=6)


def say(frame: object) -> None:
    os.write(1, msgspec.json.encode(frame) + b"\n")


class Host:
    """Carries out orders, and shows the events of every session that it has opened."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._shown: dict[SessionId, asyncio.Task[None]] = {}

    async def carry_out(self, order: Order) -> None:
        """Do it and say what came of it."""
        try:
            say({"id": order.id, "result": await self._do(order)})
        except FootplateError as problem:
            say({"id": order.id, "error": problem.code, "text": str(problem)})

    async def _do(self, order: Order) -> object:
        if order.do == "drain":
            return await self._service.drain(order.patience_s)
        if order.do == "warmed":
            pool = self._service.hub._services.warm
            while not any(each.started.runner._waiting for each in pool._waiting):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            return True
        if order.do == "create":
            assert order.spec is not None
            session = await self._service.hub.create(order.spec)
        elif order.do == "fork":
            session = await self._service.hub.fork(order.session)
        else:
            session = await self._service.hub.get(order.session)
        self._show(session)
        match order.do:
            case "prompt":
                return await session.prompt(order.text, key=order.key)
            case "answer":
                assert order.answer is not None
                await session.answer(order.request, order.answer, by="tester", surface="test")
            case "close":
                await session.close("closed by the test")
            case "view":
                return session.view()
            case _:
                pass
        return session.id

    def _show(self, session: Session) -> None:
        if session.id not in self._shown:
            self._shown[session.id] = asyncio.create_task(self._follow(session))

    async def _follow(self, session: Session) -> None:
        reader = session.subscribe(0)
        async for delivery in reader:
            say({"event": msgspec.Raw(delivery.body)})

    async def stop(self) -> None:
        """Show nothing more."""
        for task in self._shown.values():
            task.cancel()
        if self._shown:
            await asyncio.wait(self._shown.values())


async def lines() -> AsyncIterator[bytes]:
    """Lines of stdin, until its end or SIGTERM."""
    reader = asyncio.StreamReader(limit=1 << 24)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    loop.add_signal_handler(signal.SIGTERM, reader.feed_eof)
    loop.add_signal_handler(signal.SIGUSR1, show_tasks)
    while line := await reader.readline():
        yield line


async def main(grace_s: float) -> None:
    """Serve until told otherwise."""
    engines = msgspec.json.decode(os.environ.get(ENGINES) or "{}", type=dict[str, dict[str, object]])
    runtime = RuntimeSettings(reattach_grace_s=grace_s, prewarm=int(os.environ.get(PREWARM, "0")))
    settings = Settings(runtime=runtime, engines=engines)
    async with open_service(os.environ, settings, keep=True) as service:
        host = Host(service)
        say({"id": 0, "result": {"rejoined": service.rejoined, "reaped": service.reaped.describe()}})
        orders: set[asyncio.Task[None]] = set()
        async for line in lines():
            task = asyncio.create_task(host.carry_out(msgspec.json.decode(line, type=Order)))
            orders.add(task)
            task.add_done_callback(orders.discard)
        if orders:
            await asyncio.wait(orders)
        await host.stop()


if __name__ == "__main__":
    if os.environ.get(DIE):
        die_before(os.environ[DIE])
    asyncio.run(main(float(sys.argv[1])))
