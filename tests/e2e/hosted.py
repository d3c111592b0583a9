"""Driving a service that runs in a process of its own: orders in, events out, and its death."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from typing import TypeVar

import msgspec

from footplate.events.codec import ReadEnvelope, decode_envelope
from footplate.events.ids import RequestId, SessionId
from footplate.events.model import Event, RequestOpened, TurnEnded, Unknown
from footplate.events.requests import Answer, Request
from footplate.events.view import SessionView
from footplate.host.table import Table
from footplate.runtime.spec import SessionSpec
from footplate.store.projection import RequestRow
from tests.e2e.service_host import DIE
from tests.e2e.world import ROOT, World, cut_power, processes_with

E = TypeVar("E", bound=Event)
PATIENCE_S = 60.0


class Refused(Exception):
    """The service declined; `code` says why."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


class Hosted:
    """One life of a service. Events of a session are kept by its id, each once, from its first on."""

    def __init__(self, world: World, process: asyncio.subprocess.Process) -> None:
        self.world = world
        self.process = process
        self.envelopes: dict[SessionId, list[ReadEnvelope]] = {}
        self._answers: dict[int, asyncio.Future[msgspec.Raw]] = {}
        self._orders = 0
        self._news = asyncio.Condition()
        self._reader = asyncio.create_task(self._read())

    @classmethod
    @asynccontextmanager
    async def start(
        cls, world: World, *, die: str = "", ask_again: float = 60.0, request_timeout: str = ""
    ) -> AsyncIterator[Hosted]:
        """A service on the world's data folder; ended in order afterwards, unless it is dead by then."""
        env = {**world.env, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}", "FOOTPLATE_TEST_ASK_AGAIN": str(ask_again)}
        env["FOOTPLATE_TEST_REQUEST_TIMEOUT"] = request_timeout
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "tests.e2e.service_host"),
            env={**env, DIE: die} if die else env,
            cwd=world.work,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=64 * 1024 * 1024,
        )
        hosted = cls(world, process)
        try:
            await hosted._answer_to(0)
            yield hosted
        finally:
            await hosted.stop()

    async def stop(self) -> None:
        """Let it end in order, and wait until it has."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self.process.wait()
        finally:
            if self.process.returncode is None:
                self.process.kill()
                await self.process.wait()
            await self._reader

    async def died(self, *, spare: Collection[int] = ()) -> None:
        """Wait until it has killed itself, as it was told to; nothing else of the world is left then."""
        async with asyncio.timeout(PATIENCE_S):
            assert await self.process.wait() == -signal.SIGKILL
        await _gone(self.world, spare)

    async def kill_all(self, *, spare: Collection[int] = ()) -> None:
        """Kill the service and everything that it has started, at once: as a machine that loses its power."""

        def doomed() -> set[int]:
            table = Table()
            found = {self.process.pid, *table.below([self.process.pid]), *processes_with(str(self.world.home))}
            return found - {os.getpid(), *spare, *table.below(spare)}

        cut_power(doomed)
        await self.died(spare=spare)

    # ------------------------------------------------------------------------------------------ orders

    async def order(self, do: str, **fields: object) -> msgspec.Raw:
        """Ask it something and wait for its answer. Raises `Refused`."""
        self._orders += 1
        number = self._orders
        assert self.process.stdin is not None
        self.process.stdin.write(msgspec.json.encode({"id": number, "do": do, **fields}) + b"\n")
        return await self._answer_to(number)

    async def begin(self, text: str, *, mode: str = "", engine: str = "claude") -> SessionId:
        """A new session with its first prompt."""
        spec = SessionSpec(engine=engine, cwd=str(self.world.work), mode=mode)
        session = SessionId(msgspec.json.decode(await self.order("create", spec=spec)))
        await self.order("prompt", session=session, text=text)
        return session

    async def view(self, session: SessionId) -> SessionView:
        """The session as it stands."""
        return msgspec.json.decode(await self.order("open", session=session), type=SessionView)

    async def requests(self) -> list[RequestRow]:
        """The requests of all sessions, as a list shows them."""
        return msgspec.json.decode(await self.order("requests"), type=list[RequestRow])

    async def answer(self, session: SessionId, request: RequestId, answer: Answer) -> None:
        """Answer a request."""
        await self.order("answer", session=session, request=request, answer=answer)

    async def _answer_to(self, number: int) -> msgspec.Raw:
        answer = self._answers.setdefault(number, asyncio.get_running_loop().create_future())
        async with asyncio.timeout(PATIENCE_S):
            return await answer

    # ------------------------------------------------------------------------------------------ events

    def events(self, session: SessionId) -> list[Event]:
        """Every event so far."""
        found = [envelope.event for envelope in self.envelopes.get(session, [])]
        return [event for event in found if not isinstance(event, Unknown)]

    async def see(self, session: SessionId, kind: type[E], where: Callable[[E], bool] = lambda _: True) -> E:
        """The first event of a kind, waiting for it where it has not come yet."""
        found = await self.see_any(session, lambda event: isinstance(event, kind) and where(event))
        assert isinstance(found, kind)
        return found

    async def see_any(self, session: SessionId, where: Callable[[Event], bool]) -> Event:
        """The first event that is wanted, waiting for it where it has not come yet."""

        def found() -> list[Event]:
            return [event for event in self.events(session) if where(event)]

        try:
            async with asyncio.timeout(PATIENCE_S), self._news:
                return (await self._news.wait_for(found))[0]
        except TimeoutError:
            shown = "\n".join(str(event)[:300] for event in self.events(session)[-15:])
            raise AssertionError(f"not seen within {PATIENCE_S:g} s; the last events:\n{shown}") from None

    async def asked(self, session: SessionId, *, other_than: tuple[RequestId, ...] = ()) -> Request:
        """What is asked first, or after these."""
        return (await self.see(session, RequestOpened, lambda event: event.request.id not in other_than)).request

    async def ended(self, session: SessionId) -> TurnEnded:
        """The end of the first turn."""
        return await self.see(session, TurnEnded)

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            frame = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
            if "event" in frame:
                await self._take(decode_envelope(bytes(frame["event"])))
                continue
            number = msgspec.json.decode(frame["id"], type=int)
            answer = self._answers.setdefault(number, asyncio.get_running_loop().create_future())
            if "error" in frame:
                code, text = (msgspec.json.decode(frame[name], type=str) for name in ("error", "text"))
                answer.set_exception(Refused(code, text))
            else:
                answer.set_result(frame.get("result", msgspec.Raw(b"null")))
        for waiting in self._answers.values():
            if not waiting.done():
                waiting.cancel()

    async def _take(self, envelope: ReadEnvelope) -> None:
        async with self._news:
            self.envelopes.setdefault(envelope.session, []).append(envelope)
            self._news.notify_all()


async def _gone(world: World, spare: Collection[int]) -> None:
    """Nothing of the world runs; what a dying keeper still had to kill was given its time."""
    deadline = time.monotonic() + PATIENCE_S
    while left := processes_with(str(world.home)).keys() - spare:
        assert time.monotonic() < deadline, f"left behind: {left}"
        await asyncio.sleep(0.02)
