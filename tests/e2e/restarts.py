"""Lives of a service whose agents outlive it: started, driven, killed, started again."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from footplate.events import model as m
from footplate.events.codec import ReadEnvelope, decode_envelope
from footplate.events.ids import SessionId
from footplate.events.model import Event, RequestOpened, TurnEnded, Unknown
from footplate.events.requests import Answer, Request
from footplate.host.keepers import Keepers
from footplate.host.sweep import read_records
from footplate.runtime.spec import SessionSpec
from footplate.testing.invariants import check_invariants
from tests.e2e.kept_service import DIE, ENGINES, PREWARM
from tests.e2e.world import ROOT, World

E = TypeVar("E", bound=Event)
PATIENCE_S = 60.0


class Declined(AssertionError):
    """The service declined an order; `code` says why."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


class Died(Exception):
    """The service is dead; what became of the order is not known."""


class Life:
    """One life of a service. Envelopes are kept by session, each once, from the first on."""

    def __init__(self, world: World, process: asyncio.subprocess.Process) -> None:
        self.world = world
        self.process = process
        self.envelopes: dict[SessionId, list[ReadEnvelope]] = {}
        self.rejoined: tuple[SessionId, ...] = ()
        self.over = False
        """Whether it is dead, and everything that it said has been read."""
        self._answers: dict[int, asyncio.Future[msgspec.Raw]] = {}
        self._orders = 0
        self._news = asyncio.Condition()
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def launch(
        cls,
        world: World,
        *,
        grace_s: float = 300.0,
        source: Path = ROOT / "src",
        die_before: str = "",
        engines: Mapping[str, Mapping[str, object]] | None = None,
        prewarm: int = 0,
    ) -> Life:
        """A service on the world's data folder that has only just been started."""
        given = {DIE: die_before, ENGINES: msgspec.json.encode(engines or {}).decode(), PREWARM: str(prewarm)}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.e2e.kept_service", str(grace_s)),
            env={**world.env, "PYTHONPATH": f"{source}:{ROOT}", **given},
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=1 << 26,
        )
        return cls(world, process)

    async def ready(self) -> None:
        """Wait until it serves."""
        found = msgspec.json.decode(await self._answer_to(0))
        self.rejoined = tuple(SessionId(each) for each in found["rejoined"])

    async def kill(self) -> None:
        """As a crash does."""
        self.process.kill()
        await self._ended()

    async def died(self) -> None:
        """Wait until it has killed itself, as it was told to."""
        assert await self._ended() == -signal.SIGKILL

    async def terminate(self) -> int:
        """As an operator does, or an upgrade."""
        self.process.send_signal(signal.SIGTERM)
        return await self._ended()

    async def _ended(self) -> int:
        assert self.process.stdin is not None
        async with asyncio.timeout(PATIENCE_S):
            code = await self.process.wait()
        self.process.stdin.close()
        await self._reader
        return code

    # ------------------------------------------------------------------------------------------ orders

    async def order(self, do: str, **fields: object) -> msgspec.Raw:
        """Ask it something and wait for its answer. Raises `Declined`, or `Died`."""
        self._orders += 1
        number = self._orders
        assert self.process.stdin is not None
        self.process.stdin.write(msgspec.json.encode({"id": number, "do": do, **fields}) + b"\n")
        return await self._answer_to(number)

    async def create(self, *, engine: str = "claude", mode: str = "") -> SessionId:
        """A new session."""
        spec = SessionSpec(engine=engine, cwd=str(self.world.work), mode=mode)
        return SessionId(msgspec.json.decode(await self.order("create", spec=spec)))

    async def prompt(self, text: str, *, engine: str = "claude", mode: str = "") -> SessionId:
        """A new session with its first prompt."""
        session = await self.create(engine=engine, mode=mode)
        await self.order("prompt", session=session, text=text)
        return session

    async def watch(self, session: SessionId) -> None:
        """Have its events shown."""
        await self.order("open", session=session)

    async def answer(self, session: SessionId, request: Request, answer: Answer) -> None:
        """Answer a request."""
        await self.order("answer", session=session, request=request.id, answer=answer)

    async def _answer_to(self, number: int) -> msgspec.Raw:
        if self.over and number not in self._answers:
            raise Died
        answer = self._answers.setdefault(number, asyncio.get_running_loop().create_future())
        async with asyncio.timeout(PATIENCE_S):
            return await answer

    # ------------------------------------------------------------------------------------------ events

    def events(self, session: SessionId) -> list[Event]:
        """Every event so far."""
        found = [envelope.event for envelope in self.envelopes.get(session, [])]
        return [event for event in found if not isinstance(event, Unknown)]

    def of(self, session: SessionId, kind: type[E]) -> list[E]:
        """Every event of a kind so far."""
        return [event for event in self.events(session) if isinstance(event, kind)]

    async def see(self, session: SessionId, kind: type[E], where: Callable[[E], bool] = lambda _: True) -> E:
        """The first event of a kind, waiting for it where it has not come yet."""

        def found() -> list[E]:
            return [event for event in self.of(session, kind) if where(event)]

        try:
            async with asyncio.timeout(PATIENCE_S), self._news:
                await self._news.wait_for(found)
        except TimeoutError:
            shown = "\n".join(str(event)[:300] for event in self.events(session)[-15:])
            raise AssertionError(f"no {kind.__name__} within {PATIENCE_S:g} s; the last events:\n{shown}") from None
        return found()[0]

    async def asked(self, session: SessionId) -> Request:
        """What the agent asks first."""
        return (await self.see(session, RequestOpened)).request

    async def ended(self, session: SessionId) -> TurnEnded:
        """The end of the first turn."""
        return await self.see(session, TurnEnded)

    async def news(self, wanted: Callable[[], object], *, within: float) -> bool:
        """Wait for events until it is so. False when the time is up or the service is dead."""
        try:
            async with asyncio.timeout(within), self._news:
                await self._news.wait_for(lambda: wanted() or self.over)
        except TimeoutError:
            return False
        return bool(wanted())

    def check(self, session: SessionId) -> None:
        """The log is dense, no promise is broken, nothing came that could not be read."""
        durable = [each for each in self.envelopes[session] if not m.is_ephemeral(each.event)]  # type: ignore[arg-type]
        assert [each.seq for each in durable] == list(range(1, len(durable) + 1))
        events = [event for event in self.events(session) if not m.is_ephemeral(event)]
        assert not check_invariants(events, finished=False)
        assert not self.of(session, m.Unparsed)

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            frame = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
            if "event" in frame:
                envelope = decode_envelope(bytes(frame["event"]))
                async with self._news:
                    self.envelopes.setdefault(envelope.session, []).append(envelope)
                    self._news.notify_all()
                continue
            number = msgspec.json.decode(frame["id"], type=int)
            answer = self._answers.setdefault(number, asyncio.get_running_loop().create_future())
            if answer.done():
                continue  # whoever waited for it was cancelled meanwhile
            if "error" in frame:
                code, text = (msgspec.json.decode(frame[name], type=str) for name in ("error", "text"))
                answer.set_exception(Declined(code, text))
            else:
                answer.set_result(frame.get("result", msgspec.Raw(b"null")))
        self.over = True
        for waiting in self._answers.values():
            if not waiting.done():
                waiting.set_exception(Died())
                waiting.exception()  # it may be that nobody waits for it any more
        async with self._news:
            self._news.notify_all()


class Lives:
    """The lives of a world's service, one after the other; at the end nothing of them is left."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._all: list[Life] = []

    async def begin(self, **options: object) -> Life:
        """The next life."""
        life = await self.launch(**options)
        await life.ready()
        return life

    async def launch(self, **options: object) -> Life:
        """The next life, that has only just been started."""
        life = await Life.launch(self.world, **options)  # type: ignore[arg-type]
        self._all.append(life)
        return life

    async def end(self) -> None:
        """Kill what still lives, and have the keepers end what they keep."""
        for life in self._all:
            if life.process.returncode is None:
                await life.kill()
        data = Path(self.world.env["FOOTPLATE_DATA_DIR"])
        if any(record.alive() for record in read_records(data)):
            keepers = await Keepers.open(data, grace_s=1.0)
            await keepers.close()


@asynccontextmanager
async def lives_of(world: World) -> AsyncIterator[Lives]:
    """Lives that are all over at the end."""
    lives = Lives(world)
    try:
        yield lives
    finally:
        await lives.end()
