"""Random kills over the lives of a service: what is asked of it, what is killed when, and what must hold after each.

Acknowledged is what the service gave out before it was killed: the events that a reader saw, and the calls that
returned. Every choice comes from one seeded source; the moments are those of the machine.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Literal

import msgspec

from footplate.events import model as m
from footplate.events.codec import ReadEnvelope
from footplate.events.ids import PromptId, RequestId, SessionId
from footplate.events.model import Event, Unknown, is_ephemeral
from footplate.events.requests import Allow, Answer, Deny, Reply, Request
from footplate.host.sweep import read_records
from footplate.host.table import Seen, Table, kill_exactly
from footplate.testing.invariants import check_log
from tests.e2e.restarts import Declined, Died, Life, Lives
from tests.e2e.world import World

Victim = Literal["service", "keeper", "agent"]

COMBINATIONS: Final[tuple[tuple[Victim, ...], ...]] = (
    ("service",),
    ("keeper",),
    ("agent",),
    ("agent",),
    ("service", "keeper"),
    ("service", "agent"),
    ("keeper", "agent"),
    ("service", "keeper", "agent"),
)
MOMENTS: Final = (m.TurnStarted, m.ToolStarted, m.RequestOpened, m.RequestAnswered, m.ToolEnded, m.TurnEnded, m.Message)
ENDS: Final = (m.RequestApplied, m.RequestRejected, m.RequestWithdrawn, m.RequestUnanswered)
SETTLE_S: Final = 60.0
TOLD: Final = 400
"""How many events of a log are shown when it is not as it should be."""

AT_START: Final = 0.15
"""How often a service is killed before it serves."""

EXCUSES: Final = frozenset({"request_closed", "session_closed", "agent_process_exited", "keeper_gone", "spawn_failed"})
"""With what a call may be declined when something was killed just then."""


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What the sessions of a storm are asked, and how fast it all goes."""

    engine: str
    sessions: int
    pace_s: float
    """The longest time between two kills."""

    ask: Callable[[random.Random, str], str]
    """A prompt; the token is one of its own, by which its runs are counted."""

    farewell: str
    """A prompt that is answered at once."""

    forms: tuple[str, ...] = ()
    """Forms of the mock; each life has one."""

    age: int = 6
    """After so many prompts a session is closed and another one takes its place."""


class Tale:
    """What a session's log says so far, as far as the storm needs it."""

    def __init__(self, events: list[Event]) -> None:
        self.requests: dict[RequestId, Request] = {}
        self.open: dict[RequestId, Request] = {}
        self.answers: dict[RequestId, Answer] = {}
        self.ended: Counter[RequestId] = Counter()
        self.prompts: set[PromptId] = set()
        self.queued: set[PromptId] = set()
        self.turn = ""
        self.ends: dict[PromptId, m.TurnEnded] = {}
        self.state = ""
        self.closed = False
        self._begun: tuple[PromptId, ...] = ()
        for event in events:
            self._take(event)

    def _take(self, event: Event) -> None:
        match event:
            case m.RequestOpened():
                self.requests[event.request.id] = self.open[event.request.id] = event.request
            case m.RequestAnswered():
                self.answers[event.request] = event.answer
            case m.PromptQueued():
                self.prompts.add(event.prompt)
                self.queued.add(event.prompt)
            case m.TurnStarted():
                self.turn, self._begun = event.turn, event.prompts
                self.prompts.update(event.prompts)
                self.queued.difference_update(event.prompts)
            case m.PromptWithdrawn() | m.PromptSteered():
                self.queued.discard(event.prompt)
            case m.TurnEnded():
                self.turn = ""
                self.ends.update(dict.fromkeys(self._begun, event))
            case m.StateChanged():
                self.state = event.state
            case m.SessionClosed():
                self.closed = True
            case _ if isinstance(event, ENDS):
                self.ended[event.request] += 1
                self.open.pop(event.request, None)
            case _:
                pass

    @property
    def unanswered(self) -> list[Request]:
        """What waits for an answer."""
        return [request for name, request in self.open.items() if name not in self.answers]


class Storm:
    """Kills at random moments, and remembers what was acknowledged before each."""

    def __init__(self, lives: Lives, work: Work, seed: int) -> None:
        self.kills: Counter[str] = Counter()
        self.declined: Counter[str] = Counter()
        self.lives_begun = 0
        self._lives = lives
        self._work = work
        self._random = random.Random(seed)
        self._tokens = itertools.count(1)
        self._known: dict[SessionId, dict[int, ReadEnvelope]] = {}
        self._prompts: dict[SessionId, list[PromptId]] = {}
        self._answered: dict[SessionId, set[RequestId]] = {}
        self._places: list[SessionId | None] = [None] * work.sessions

    async def rage(self, kills: int) -> None:
        """So many kills, one after the other; then everything must be able to come to its end."""
        while self.kills.total() < kills:
            life = await self._begin()
            if life is None:
                continue
            await self._compare(life, [session for session in self._places if session is not None])
            async with self._busy(life):
                while not life.over and self.kills.total() < kills:
                    await self._moment(life)
                    await self._strike(life, self._random.choice(COMBINATIONS))
            self._judge(life)
            if not life.over:
                await life.kill()
        await self._end()

    # ------------------------------------------------------------------------------------------- lives

    def _options(self) -> dict[str, object]:
        forms = self._work.forms
        return {"engines": {"mock": {"form": self._random.choice(forms)}}} if forms else {}

    async def _begin(self) -> Life | None:
        """The next life; now and then one that is killed before it serves."""
        self.lives_begun += 1
        life = await self._lives.launch(**self._options())
        if self._random.random() < AT_START:
            await life.news(lambda: False, within=self._random.uniform(0.0, 1.0))
            self.kills["service at its start"] += 1
            await life.kill()
            return None
        await life.ready()
        return life

    async def _compare(self, life: Life, sessions: list[SessionId]) -> None:
        """Everything that was ever acknowledged is there, unchanged."""
        for session in sessions:
            await life.watch(session)
            last = max(self._known[session], default=0)
            assert await life.news(lambda: durable(life, session).keys() >= {last} or not last, within=SETTLE_S), (  # noqa: B023
                f"{session}: number {last} was acknowledged; there is {max(durable(life, session), default=0)}"
            )
        self._judge(life)
        for session in sessions:
            await self._judge_runs(life, session)

    def _judge(self, life: Life) -> None:
        """The logs as this life has shown them: dense, unchanged, one end per request at most."""
        for session, envelopes in life.envelopes.items():
            found = durable(life, session)
            known = self._known.setdefault(session, {})
            for seq in known.keys() & found.keys():
                assert known[seq] == found[seq], f"{session}: number {seq} was {known[seq]}, is {found[seq]}"
            known.update(found)
            broken = check_log(envelopes)
            assert broken == [], f"{session}: {broken}\n{story(envelopes)}"
            if max(found, default=0) == max(known, default=0):
                self._judge_story(life, session)

    def _judge_story(self, life: Life, session: SessionId) -> None:
        tale = Tale(life.events(session))
        shown = story(life.envelopes[session])
        lost = [prompt for prompt in self._prompts.get(session, []) if prompt not in tale.prompts]
        assert not lost, f"{session}: prompts that were accepted and are gone: {lost}\n{shown}"
        gone = self._answered.get(session, set()) - tale.answers.keys()
        assert not gone, f"{session}: answers that were accepted and are gone: {gone}\n{shown}"
        assert max(tale.ended.values(), default=0) <= 1, f"{session}: two ends\n{shown}"
        locked = [end.error for end in tale.ends.values() if end.error_kind == "lock_held"]
        assert not locked, f"{session}: an agent of an earlier life is in the way: {locked}\n{shown}"

    async def _judge_runs(self, life: Life, session: SessionId) -> None:
        """Every run was allowed. A command may have run before its answer, which is stored, is seen here."""
        await life.news(lambda: not self._not_allowed(life, session), within=SETTLE_S)
        found = self._not_allowed(life, session)
        assert not found, f"{session}: {found} ran more often than allowed\n{story(life.envelopes[session])}"

    def _not_allowed(self, life: Life, session: SessionId) -> dict[str, int]:
        """The commands of a session that ran more often than they were allowed, and how often."""
        ran = self._runs()
        tale = Tale(life.events(session))
        found: dict[str, int] = {}
        for name, runs in ran.items():
            asked = [each for each in tale.requests.values() if name.encode() in bytes(each.input or b"")]
            allowed = [each for each in asked if isinstance(tale.answers.get(each.id), Allow)]
            if asked and runs > len(allowed):
                found[name] = runs
        return found

    def _runs(self) -> dict[str, int]:
        """How often each command ran, by the file that it appends to."""
        return {path.name: len(path.read_text().splitlines()) for path in self._lives.world.work.glob("ran-*")}

    async def _end(self) -> None:
        """A life in which nothing is killed: every request is answered, every turn ends, every session goes on."""
        life = await self._lives.begin(**self._options())
        await self._compare(life, list(self._known))
        for session in [session for session in self._places if session is not None]:
            await self._come_to_rest(life, session)
            if Tale(life.events(session)).closed:
                continue
            prompt = await self._prompt(life, session, self._work.farewell)
            await self._come_to_rest(life, session, prompt)
            tale = Tale(life.events(session))
            assert tale.ends[prompt].ok, story(life.envelopes[session])
            assert not tale.queued, f"{session}: what waited is not begun\n{story(life.envelopes[session])}"
            await self._judge_runs(life, session)
        self._judge(life)
        await life.order("drain", patience_s=SETTLE_S)
        await life.terminate()

    async def _come_to_rest(self, life: Life, session: SessionId, prompt: PromptId | None = None) -> None:
        """Whatever is asked is answered, until the turn that runs has ended, and that of the prompt."""

        def rests(tale: Tale) -> bool:
            return not (tale.turn or tale.open) and (prompt is None or prompt in tale.ends)

        while True:
            await self._until(life, session, lambda tale: tale.unanswered or rests(tale))
            tale = Tale(life.events(session))
            if not tale.unanswered:
                return
            await self._answer(life, session, tale.unanswered[0], answer_to(tale.unanswered[0]))
            answered = tale.unanswered[0].id
            await self._until(life, session, lambda tale: answered in tale.answers.keys() | tale.ended.keys())  # noqa: B023

    async def _until(self, life: Life, session: SessionId, wanted: Callable[[Tale], object]) -> None:
        seen = await life.news(lambda: wanted(Tale(life.events(session))), within=SETTLE_S)
        if not seen and not life.over:
            life.process.send_signal(signal.SIGUSR1)
            await life.news(lambda: False, within=1.0)
        assert seen, f"{session} does not come to rest:\n{story(life.envelopes[session])}"

    # -------------------------------------------------------------------------------------------- work

    @asynccontextmanager
    async def _busy(self, life: Life) -> AsyncIterator[None]:
        """Every session at work, until the service is dead or it is enough."""
        tasks = [asyncio.create_task(self._work_at(life, place)) for place in range(self._work.sessions)]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            for problem in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(problem, Exception):
                    raise problem

    async def _work_at(self, life: Life, place: int) -> None:
        try:
            while not life.over:
                session = self._places[place]
                if session is None:
                    session = await life.create(engine=self._work.engine)
                    self._known.setdefault(session, {})
                    self._places[place] = session
                try:
                    await self._step(life, place, session)
                except Declined as problem:
                    self.declined[problem.code] += 1
                    if problem.code not in EXCUSES:
                        raise
        except Died:
            return

    async def _step(self, life: Life, place: int, session: SessionId) -> None:
        tale = Tale(life.events(session))
        waiting = [each for each in tale.unanswered if each.id not in self._answered.get(session, ())]
        if tale.closed:
            self._places[place] = None
        elif waiting and self._random.random() < 0.7:
            request = self._random.choice(waiting)
            await self._answer(life, session, request, answer_to(request, self._random))
        elif tale.state in ("idle", "interrupted") or (len(tale.queued) < 2 and self._random.random() < 0.05):
            if len(self._prompts.get(session, ())) >= self._work.age:
                await life.order("close", session=session)
                await life.news(lambda: Tale(life.events(session)).closed, within=SETTLE_S)
                return
            text = self._work.ask(self._random, f"ran-{next(self._tokens)}-")
            prompt = await self._prompt(life, session, text)
            await life.news(lambda: prompt in Tale(life.events(session)).prompts, within=SETTLE_S)
        else:
            count = len(life.events(session))
            await life.news(lambda: len(life.events(session)) > count, within=self._random.uniform(0.05, 0.5))

    async def _prompt(self, life: Life, session: SessionId, text: str) -> PromptId:
        prompt = PromptId(msgspec.json.decode(await life.order("prompt", session=session, text=text)))
        self._prompts.setdefault(session, []).append(prompt)
        return prompt

    async def _answer(self, life: Life, session: SessionId, request: Request, answer: Answer) -> None:
        await life.answer(session, request, answer)
        self._answered.setdefault(session, set()).add(request.id)

    # ------------------------------------------------------------------------------------------- kills

    async def _moment(self, life: Life) -> None:
        """Some time, or the next event of some kind."""
        if self._random.random() < 0.5:
            await life.news(lambda: False, within=self._random.uniform(0.0, self._work.pace_s))
            return
        kind = self._random.choice(MOMENTS)

        def count() -> int:
            return sum(type(each.event) is kind for envelopes in life.envelopes.values() for each in envelopes)

        before = count()
        await life.news(lambda: count() > before, within=self._work.pace_s)

    async def _strike(self, life: Life, victims: tuple[Victim, ...]) -> None:
        """Kill them at once, in any order; what is not there is not killed, and not counted."""
        if life.over:
            return
        killed = [victim for victim in self._random.sample(victims, len(victims)) if self._kill(life, victim)]
        if killed:
            self.kills["+".join(sorted(killed))] += 1
        if "service" in killed:
            await life.died()

    def _kill(self, life: Life, victim: Victim) -> bool:
        if victim == "service":
            life.process.kill()
            return True
        keepers = keepers_of(self._lives.world.env)
        if victim == "keeper":
            for pid in keepers:
                os.kill(pid, signal.SIGKILL)
            return bool(keepers)
        agents = agents_of(self._lives.world.env)
        return bool(agents) and kill_exactly(self._random.choice(agents), signal.SIGKILL)

    def summary(self) -> str:
        """What was done, in a line."""
        return (
            f"{self.kills.total()} kills {dict(self.kills)}, {self.lives_begun} lives, declined {dict(self.declined)}"
        )


def keepers_of(env: dict[str, str]) -> list[int]:
    """The keepers of a world that run."""
    return [record.pid for record in read_records(Path(env["FOOTPLATE_DATA_DIR"])) if record.alive()]


def agents_of(env: dict[str, str]) -> list[Seen]:
    """The agents of a world that run."""
    table = Table()
    return [table.seen[pid] for keeper in keepers_of(env) for pid in table.children.get(keeper, [])]


def signal_agents(world: World, number: signal.Signals) -> None:
    """To every agent that runs."""
    for agent in agents_of(world.env):
        assert kill_exactly(agent, number)


def durable(life: Life, session: SessionId) -> dict[int, ReadEnvelope]:
    """What is in the log of a session, as this life has shown it, by number."""
    shown = life.envelopes.get(session, [])
    return {each.seq: each for each in shown if isinstance(each.event, Unknown) or not is_ephemeral(each.event)}


def answer_to(request: Request, chance: random.Random | None = None) -> Answer:
    """Yes, mostly; a question is answered."""
    if request.questions:
        return Reply(answers={each.text: each.choices[0].label for each in request.questions})
    return Deny(message="not now") if chance is not None and chance.random() < 0.2 else Allow()


def story(envelopes: list[ReadEnvelope]) -> str:
    """A log, for a person to read."""
    return "\n".join(f"{each.seq} e{each.epoch} {str(each.event)[:300]}" for each in envelopes[-TOLD:])
