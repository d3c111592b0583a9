"""A session when something goes wrong around it: a store that refuses, an agent that does not read, a late rule."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from footplate.config.acp import AcpAgentSettings
from footplate.config.rules import Rule
from footplate.config.settings import RuntimeSettings, Settings
from footplate.engines.base import InProcess
from footplate.errors import InvalidValue, SpawnFailed, StoreBusy, StoreFull
from footplate.events import model as m
from footplate.events.ids import PromptId, RequestId, SessionId, TurnId
from footplate.events.model import Envelope
from footplate.events.requests import Allow, Choose, Reply, Request
from footplate.host import process as host_process
from footplate.host.process import Keeper
from footplate.host.spawn import Spawn
from footplate.runtime.hub import Hub
from footplate.runtime.limits import Limits, told
from footplate.runtime.paused_queue import PERHAPS_BEGUN
from footplate.runtime.services import Services
from footplate.runtime.session import Session
from footplate.runtime.spec import SessionSpec
from footplate.runtime.surroundings import Bounds, Surroundings
from footplate.runtime.wires import TaskWire
from footplate.store.memory import MemoryStore
from footplate.store.values import Encoded
from footplate.testing.invariants import check_log
from tests.unit.runtime.following import until, until_asked, until_ended, until_idle, until_state, whole_log

ALLOW_ALL = (Rule(tool="*", decision="allow"),)


class Unreliable(MemoryStore):
    """A memory store that refuses appends with an event of the names in `refused`, as often as that says."""

    def __init__(self) -> None:
        super().__init__()
        self.refused: dict[str, int] = {}
        self.appends: list[list[str]] = []
        self.before: Callable[[list[str]], Awaitable[None]] | None = None

    async def append(
        self,
        session: SessionId,
        epoch: int,
        expected_seq: int,
        events: Sequence[Envelope | Encoded],
        *,
        durable: bool = False,
        audit: Sequence[bytes] = (),
    ) -> int:
        names = [type((each.envelope if isinstance(each, Encoded) else each).event).__name__ for each in events]
        for name in names:
            if self.refused.get(name, 0) > 0:
                self.refused[name] -= 1
                raise StoreBusy("in memory", "the test says so")
        if self.before is not None:
            await self.before(names)
        self.appends.append(names)
        return await super().append(session, epoch, expected_seq, events, durable=durable, audit=audit)


class Machine:
    """A store and a keeper, on which one service after another can be opened.

    Each has a folder of its own for its locks: a service that a test leaves as if it had been killed lives on in this
    process, and the kernel would have freed the locks of a dead one.
    """

    def __init__(self, folder: Path, keeper: Keeper, store: Unreliable) -> None:
        self.folder = folder
        self.keeper = keeper
        self.store = store
        self._services = 0

    @asynccontextmanager
    async def hub(
        self,
        *,
        form: str = "",
        rules: tuple[Rule, ...] = (),
        bounds: Bounds | None = None,
        runtime: RuntimeSettings | None = None,
        command: tuple[str, ...] = (),
    ) -> AsyncIterator[Hub]:
        self._services += 1
        environ = {
            "HOME": str(self.folder),
            "PATH": os.environ["PATH"],
            "FOOTPLATE_MOCK_PACE_MS": "0",
            "FOOTPLATE_DATA_DIR": str(self.folder / "data"),
        }
        engines: dict[str, dict[str, object]] = {"mock": {"form": form}} if form else {}
        agents = {"broken": AcpAgentSettings(command=command)} if command else {}
        settings = Settings(engines=engines, runtime=runtime or RuntimeSettings(), acp_agents=agents)
        services = Services(
            self.store,
            self.keeper,
            settings=settings,
            environ=environ,
            data=self.folder / f"data-{self._services}",
            rules=rules,
            surroundings=Surroundings(bounds),
        )
        async with Hub.open(services) as hub:
            yield hub

    def spec(self, limits: Limits | None = None) -> SessionSpec:
        return SessionSpec(engine="mock", cwd=str(self.folder), limits=limits or Limits())


@pytest.fixture
async def machine(tmp_path: Path) -> AsyncIterator[Machine]:
    store = Unreliable()
    async with Keeper.start() as keeper:
        yield Machine(tmp_path, keeper, store)
    await store.close()


async def _sound(session: Session) -> None:
    assert check_log(await whole_log(session)) == []


async def _pid(keeper: Keeper) -> int:
    (agent,) = await keeper.agents()
    return agent.pid


# --------------------------------------------------------------------------------------------------- the store refuses


async def test_a_prompt_that_was_refused_is_accepted_when_it_is_sent_again(machine: Machine) -> None:
    async with machine.hub() as hub:
        session = await hub.create(machine.spec())
        machine.store.refused = {"PromptQueued": 1}
        with pytest.raises(StoreBusy):
            await session.prompt("hello", key="key-1")
        assert await session.prompt("hello", key="key-1") == "key-1"
        assert (await until_ended(session)).answer == "mock: hello"
        await session.prompt("hello", key="key-1")
        await until_idle(session)
        assert [turn.prompts for turn in session.view().turns] == [("key-1",)]


async def test_an_answer_that_was_refused_is_accepted_when_it_is_given_again(machine: Machine) -> None:
    async with machine.hub() as hub:
        session = await hub.create(machine.spec())
        await session.prompt("permission")
        request = await until_asked(session)
        machine.store.refused = {"RequestAnswered": 1}
        with pytest.raises(StoreBusy):
            await session.answer(request, Allow(), by="ada", surface="test")
        await session.answer(request, Allow(), by="ada", surface="test")
        assert "permission: allow" in (await until_ended(session)).answer
        await _sound(session)


async def test_an_answer_that_does_not_fit_changes_nothing(machine: Machine) -> None:
    async with machine.hub() as hub:
        session = await hub.create(machine.spec())
        await session.prompt("permission")
        request = await until_asked(session)
        with pytest.raises(InvalidValue, match="option"):
            await session.answer(request, Choose(option="no such option"), by="ada", surface="test")
        await session.answer(request, Allow(), by="ada", surface="test")
        assert "permission: allow" in (await until_ended(session)).answer


async def test_events_that_the_store_refuses_for_a_while_are_stored_after_it(machine: Machine) -> None:
    async with machine.hub() as hub:
        session = await hub.create(machine.spec())
        machine.store.refused = {"TurnStarted": 3, "Message": 2, "TurnEnded": 2, "StateChanged": 2}
        await session.prompt("hello")
        assert (await until_ended(session)).answer == "mock: hello"
        await until_idle(session)
        await _sound(session)


async def test_a_failed_append_leaves_the_turn_as_it_was(machine: Machine) -> None:
    async with machine.hub(bounds=Bounds(store_retry_s=0.0)) as hub:
        session = await hub.create(machine.spec())
        machine.store.refused = {"TurnStarted": 1}
        with pytest.raises(StoreBusy):
            await session._take_batch([m.TurnStarted(turn=TurnId("turn-1"))])
        assert not session.busy
        await session._log.append([m.Notice(level="info", text="after it")])
        assert [envelope.turn for envelope in await whole_log(session)] == [None] * session.view().last_seq


# ---------------------------------------------------------------------------------------------------------------- rules


async def test_a_rule_that_comes_too_late_leaves_the_session_working(machine: Machine) -> None:
    async with machine.hub(rules=ALLOW_ALL) as hub:
        session = await hub.create(machine.spec())
        await session.prompt("permission")
        await until_ended(session)
        opened = next(e.event for e in await whole_log(session) if isinstance(e.event, m.RequestOpened))
        late = m.RequestOpened(request=_renamed(opened, "late"))
        # As an interrupt does: the conversation knows no such request any more when its opening is read.
        await session._take_batch([m.TurnStarted(turn=TurnId("turn-9")), late])
        await session._take_batch([m.RequestWithdrawn(request=RequestId("late"), reason="interrupted")])
        both = m.RequestOpened(request=_renamed(opened, "both"))
        await session._take_batch([both, m.RequestWithdrawn(request=RequestId("both"), reason="interrupted")])
        await session._take_batch([m.TurnEnded(turn=TurnId("turn-9"), ok=True)])
        before = session.view().last_seq
        await session.prompt("still there?")
        assert (await until_ended(session, after=before)).answer == "mock: still there?"


def _renamed(opened: m.RequestOpened, name: str) -> Request:
    return msgspec.structs.replace(opened.request, id=RequestId(name))


async def test_interrupts_while_a_rule_answers_never_hang_the_session(machine: Machine) -> None:
    async with machine.hub(rules=ALLOW_ALL) as hub:
        session = await hub.create(machine.spec())
        for _ in range(25):
            before = session.view().last_seq
            await session.prompt("permission")
            await until(session, lambda event: isinstance(event, m.TurnStarted), after=before)
            await session.interrupt()
            await until_ended(session, after=before)
        await until_idle(session)


# ------------------------------------------------------------------------------------------ an agent that reads nothing


async def test_an_agent_that_does_not_read_blocks_nobody_and_an_interrupt_ends_its_turn(machine: Machine) -> None:
    bounds = Bounds(write_s=0.2, interrupt_s=0.2)
    async with machine.hub(form="stdio", bounds=bounds) as hub:
        session = await hub.create(machine.spec())
        await session.prompt("hello")
        await until_ended(session)
        await until_idle(session)
        pid, before = await _pid(machine.keeper), session.view().last_seq
        os.kill(pid, signal.SIGSTOP)
        async with asyncio.timeout(20):
            await session.prompt("x" * 2_000_000)
            await session.rename("a title")
            await until(session, lambda event: isinstance(event, m.Notice), after=before)
            await session.interrupt()
            events = await until(session, lambda event: isinstance(event, m.EngineDetached), after=before)
        notices = [event.code for event in events if isinstance(event, m.Notice)]
        assert notices == ["agent_not_reading"]
        assert "a title" in [event.title for event in events if isinstance(event, m.TitleChanged)]
        await until_idle(session)
        before = session.view().last_seq
        await session.prompt("and now?")
        assert (await until_ended(session, after=before)).ok
        await _sound(session)


async def test_closing_a_session_ends_an_agent_that_does_not_read(machine: Machine) -> None:
    async with machine.hub(form="stdio") as hub:
        session = await hub.create(machine.spec())
        await session.prompt("hello")
        await until_ended(session)
        os.kill(await _pid(machine.keeper), signal.SIGSTOP)
        async with asyncio.timeout(20):
            await session.prompt("x" * 2_000_000)
            await session.close()
        assert await machine.keeper.agents() == ()


async def test_a_prompt_that_cannot_join_the_running_turn_is_accepted_and_waits(machine: Machine) -> None:
    async with machine.hub(form="stdio", bounds=Bounds(stdin_bytes=1_000)) as hub:
        session = await hub.create(machine.spec())
        await session.prompt("hello")
        await until_ended(session)
        before, pid = session.view().last_seq, await _pid(machine.keeper)
        os.kill(pid, signal.SIGSTOP)
        await session.prompt("x" * 2_000_000)
        await until(session, lambda event: isinstance(event, m.TurnStarted), after=before)
        prompt = await session.prompt("next", when="now")  # too much waits to be read already
        os.kill(pid, signal.SIGCONT)
        events = await until(session, lambda event: isinstance(event, m.TurnEnded) and event.answer == "mock: next")
        assert sum(isinstance(event, m.PromptQueued) and event.prompt == prompt for event in events) == 1


async def test_a_keeper_that_does_not_answer_fails_the_start(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(host_process, "BIRTH_WAIT", 0.3)
    os.kill(machine.keeper.pid, signal.SIGSTOP)
    try:
        with pytest.raises(SpawnFailed, match="the keeper did not answer"):
            await machine.keeper.spawn(Spawn(argv=("/bin/true",), env={}, cwd=str(tmp_path)))
    finally:
        os.kill(machine.keeper.pid, signal.SIGCONT)


# ------------------------------------------------------------------------------------------------------------- restarts


async def _leave_prompts(machine: Machine, stack: AsyncExitStack) -> Session:
    """A session whose first turn runs and behind whose two prompts wait, as a service that is killed leaves it."""
    hub = await stack.enter_async_context(machine.hub())
    session = await hub.create(machine.spec())
    await session.prompt("hello")
    await until_ended(session)
    await session.prompt("hang")
    await until(session, lambda event: isinstance(event, m.TurnStarted) and event.turn == "turn-2")
    for text in ("one", "two"):
        await session.prompt(text, key=text)
    return session


def _answers(session: Session) -> list[str]:
    return [turn.answer for turn in session.view().turns if turn.ok]


async def test_prompts_that_wait_behind_a_lost_turn_are_paused_until_somebody_continues(machine: Machine) -> None:
    async with AsyncExitStack() as stack:
        left = await _leave_prompts(machine, stack)
        async with machine.hub() as hub:  # the first one is as good as killed: its epoch is over
            session = await hub.get(left.id)
            await session.rename("somebody is here")
            await until_state(session, "interrupted")
            assert [each.id for each in session.view().queue] == ["one", "two"]
            events = [envelope.event for envelope in await whole_log(session)]
            (notice,) = [event for event in events if isinstance(event, m.Notice)]
            assert notice.code == "prompts_paused"
            assert notice.text.startswith("2 prompts wait: the turn before was lost.")
            await session.continue_queue()
            await until(session, lambda event: isinstance(event, m.TurnEnded) and event.answer == "mock: two")
            assert _answers(session) == ["mock: hello", "mock: one", "mock: two"]
            await _sound(session)


@pytest.mark.parametrize("how", ["a new prompt", "the same key again"])
async def test_a_prompt_starts_those_that_are_paused(machine: Machine, how: str) -> None:
    async with AsyncExitStack() as stack:
        left = await _leave_prompts(machine, stack)
        async with machine.hub() as hub:
            session = await hub.get(left.id)
            await session.prompt(
                "three" if how == "a new prompt" else "two", key="two" if how != "a new prompt" else ""
            )
            await until(session, lambda event: isinstance(event, m.TurnEnded) and event.answer == "mock: two")
            if how == "a new prompt":
                await until(session, lambda event: isinstance(event, m.TurnEnded) and event.answer == "mock: three")


async def test_prompts_that_wait_behind_a_turn_that_ended_well_begin_after_a_restart(machine: Machine) -> None:
    async with AsyncExitStack() as stack:
        hub = await stack.enter_async_context(machine.hub())
        left = await hub.create(machine.spec())
        await left.prompt("hello")
        await until_ended(left)
        left.hold()
        await left.prompt("one")
        async with machine.hub() as second:
            await second.take_up_left()
            session = await second.get(left.id)
            await until(session, lambda event: isinstance(event, m.TurnEnded) and event.answer == "mock: one")


async def test_a_parked_session_knows_until_when_also_after_a_restart(machine: Machine) -> None:
    runtime = RuntimeSettings(resume_at_reset=1)
    until_time = time.time() + 1.0
    async with AsyncExitStack() as stack:
        hub = await stack.enter_async_context(machine.hub(runtime=runtime))
        left = await hub.create(machine.spec())
        await left.prompt("hello")
        await until_ended(left)
        await left._take_batch(
            [
                m.TurnStarted(turn=TurnId("limited")),
                m.LimitReached(kind="usage", status="reached", resets_at=until_time, name="five_hour"),
                m.TurnEnded(turn=TurnId("limited"), ok=False, error="limit", stop_reason="error"),
            ]
        )
        await until_state(left, "parked", "limit")
        assert left.view().until == until_time
        async with machine.hub(runtime=runtime) as second:
            await second.take_up_left()
            session = await second.get(left.id)
            assert (session.view().state, session.view().until) == ("parked", until_time)
            await until(session, lambda event: isinstance(event, m.TurnEnded) and event.answer.startswith("mock: The"))
            assert time.time() >= until_time
            assert session.view().until is None


async def test_an_answer_that_raises_a_limit_and_its_continuation_are_one_append(machine: Machine) -> None:
    async with machine.hub() as hub:
        session = await hub.create(machine.spec(Limits(tool_calls=1, on_reached="ask")))
        await session.prompt("subagent")
        request = await until_asked(session)
        machine.store.appends.clear()
        await session.answer(request, Choose(option="go_on"), by="ada", surface="test")
        (answering,) = [names for names in machine.store.appends if "RequestAnswered" in names]
        assert answering[:5] == ["RequestAnswered", "RequestApplied", "LimitReached", "PromptQueued", "PromptQueued"]
        await until_ended(session, after=session.view().last_seq)


async def test_a_limit_whose_record_cannot_be_written_is_not_raised(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with machine.hub() as hub:
        session = await hub.create(machine.spec(Limits(turns=1, on_reached="ask")))
        await session.prompt("one")
        await until_ended(session)
        await session.prompt("two")
        request = await until_asked(session)
        with monkeypatch.context() as full:

            async def refuse(*_: object) -> None:
                raise StoreFull("in memory", "the test says so")

            full.setattr(hub._services.audit.trail, "append", refuse)
            with pytest.raises(StoreFull):
                await session.answer(request, Choose(option="go_on"), by="ada", surface="test")
        assert session.spec.limits.turns == 1
        assert [each.state for each in session.view().requests] == ["open"]


async def test_a_withdrawn_prompt_is_not_queued_again_by_its_key_after_a_restart(machine: Machine) -> None:
    async with AsyncExitStack() as stack:
        left = await _leave_prompts(machine, stack)
        await left.withdraw(PromptId("one"))
        async with machine.hub() as hub:
            session = await hub.get(left.id)
            assert await session.prompt("one", key="one") == "one"
            await until(session, lambda event: isinstance(event, m.TurnEnded) and event.answer == "mock: two")
            assert _answers(session) == ["mock: hello", "mock: two"]
            await _sound(session)


async def test_prompts_that_are_paused_a_second_time_are_announced_again(machine: Machine) -> None:
    async with AsyncExitStack() as stack:
        left = await _leave_prompts(machine, stack)
        hub = await stack.enter_async_context(machine.hub())
        second = await hub.get(left.id)
        await second.prompt("hang")
        await until(second, lambda event: isinstance(event, m.TurnEnded) and event.answer == "mock: two")
        await until(second, lambda event: isinstance(event, m.TurnStarted) and event.turn == "turn-5")
        await second.prompt("three")
        async with machine.hub() as last:
            session = await last.get(left.id)
            await session.take_up()
            events = [envelope.event for envelope in await whole_log(session)]
            notices = [event.text[:13] for event in events if isinstance(event, m.Notice)]
            assert notices == ["2 prompts wai", "1 prompt wait"]


async def test_an_answer_and_its_audit_record_are_stored_together_or_not_at_all(machine: Machine) -> None:
    async with machine.hub() as hub:
        session = await hub.create(machine.spec())
        await session.prompt("permission")
        request = await until_asked(session)
        machine.store.refused = {"RequestAnswered": 1}
        with pytest.raises(StoreBusy):
            await session.answer(request, Allow(), by="ada", surface="test")
        assert await machine.store.audit.read() == []
        await session.answer(request, Allow(), by="ada", surface="test", origin="here")
        (row,) = await machine.store.audit.read()
        record = msgspec.json.decode(row.body)
        assert (record["act"], record["target"], record["by"], record["origin"]) == ("answer", request, "ada", "here")
        assert (await until_ended(session)).ok


async def test_a_pause_because_of_a_doubt_lasts_over_any_number_of_restarts(machine: Machine) -> None:
    async with AsyncExitStack() as stack:
        hub = await stack.enter_async_context(machine.hub())
        left = await hub.create(machine.spec())
        left.hold()
        await left.prompt("one", key="one")
        await left._log.append([m.StateChanged(state="running", waiting_for="model")])  # as right before a hand-over
        for _ in range(3):
            hub = await stack.enter_async_context(machine.hub())
            session = await hub.get(left.id)
            await session.take_up()
            assert [each.id for each in session.view().queue] == ["one"]
            assert session.view().state == "interrupted"
        notices = [e.event.text for e in await whole_log(session) if isinstance(e.event, m.Notice)]
        assert notices == [f"1 prompt waits: {PERHAPS_BEGUN}"]
        await session.continue_queue()
        assert (await until_ended(session)).answer == "mock: one"


async def test_a_session_that_is_released_while_it_is_parked_stays_parked(machine: Machine) -> None:
    async with machine.hub() as hub:
        session = await hub.create(machine.spec())
        await session.prompt("hello")
        await until_ended(session)
        later = time.time() + 3600
        await session._take_batch(
            [
                m.TurnStarted(turn=TurnId("limited")),
                m.LimitReached(kind="usage", status="reached", resets_at=later, name="five_hour"),
                m.TurnEnded(turn=TurnId("limited"), ok=False, error="limit", stop_reason="error"),
            ]
        )
        await until_state(session, "parked", "limit")
        await hub.forget(session.id)
        again = (await hub.get(session.id)).view()
        assert (again.state, again.until, again.attached) == ("parked", later, False)


async def test_an_agent_in_this_process_that_is_ended_before_its_first_step_is_over() -> None:
    async def serve(lines: AsyncIterator[bytes], write: Callable[[bytes], Awaitable[None]]) -> int:
        return 0

    wire = TaskWire(InProcess(serve=serve, env={}, cwd="/"))
    async with asyncio.timeout(5):
        await wire.end(close_wait=0.0)
        assert await wire.read() is None
        assert await wire.read() is None


async def test_a_prompt_that_is_refused_releases_no_others(machine: Machine) -> None:
    async with AsyncExitStack() as stack:
        left = await _leave_prompts(machine, stack)
        async with machine.hub() as hub:
            session = await hub.get(left.id)
            await session.take_up()
            machine.store.refused = {"PromptQueued": 1}
            with pytest.raises(StoreBusy):
                await session.prompt("three")
            await session.rename("somebody is here")
            await until_state(session, "interrupted")
            assert [each.id for each in session.view().queue] == ["one", "two"]
            assert not session._conductor._may_begin()


async def test_an_agent_that_always_ends_before_its_prompt_is_started_twice_and_fails_the_turn(
    machine: Machine,
) -> None:
    async with machine.hub(command=("/bin/sh", "-c", "echo please log in >&2; exit 3")) as hub:
        session = await hub.create(msgspec.structs.replace(machine.spec(), engine="broken"))
        conductor = session._conductor

        async def until_gone(names: list[str]) -> None:
            """The store takes as long as the agent lives."""
            if names == ["StateChanged"] and conductor.agent is not None:
                await asyncio.wait([conductor.agent._runner._reader], timeout=20)

        machine.store.before = until_gone
        await session.prompt("Fix the login bug")
        async with asyncio.timeout(30):
            ended = await until_ended(session)
        assert isinstance(ended, m.TurnEnded)
        assert not ended.ok
        assert "please log in" in ended.error
        await until_idle(session)
        assert sum(isinstance(each.event, m.EngineDetached) for each in await whole_log(session)) == 2
        assert not session.view().queue
        assert session.view().turns[-1].unconfirmed
        await _sound(session)


async def test_a_prompt_begins_when_the_agent_gives_back_the_one_before_it(machine: Machine) -> None:
    async with machine.hub() as hub:
        session = await hub.create(machine.spec())
        await session.prompt("hello")
        await until_ended(session)
        await session.prompt("hang")
        await until(session, lambda event: isinstance(event, m.TurnStarted) and event.turn == "turn-2")
        await session.prompt("waits", key="waits")
        await session.prompt("steered", key="steered")
        conductor = session._conductor
        conductor.progress.sent[PromptId("steered")] = "key"  # as an engine that can be steered has it, not begun
        await session.interrupt()
        await until(session, lambda event: isinstance(event, m.TurnEnded) and event.turn == "turn-2")
        assert session.busy
        await session._take_batch([m.PromptWithdrawn(prompt=PromptId("steered"), reason="taken back")])
        await until(session, lambda event: isinstance(event, m.TurnEnded) and event.answer == "mock: waits")


async def test_an_answer_of_a_person_starts_prompts_that_are_paused(machine: Machine) -> None:
    async with AsyncExitStack() as stack:
        left = await _leave_prompts(machine, stack)
        async with machine.hub() as hub:
            session = await hub.get(left.id)
            await session.set_limits(Limits(turns=1, on_reached="ask"))
            await session._allowance.halt(told("turns", "1 of 1 turns are used"), "before")
            asked = next(each for each in session.view().requests if each.state == "open")
            assert session._conductor._paused
            await session.answer(asked.request.id, Reply(answers={"?": "5"}), by="ada", surface="test")
            await until(session, lambda event: isinstance(event, m.TurnEnded) and event.answer == "mock: two")
