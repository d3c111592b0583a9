"""The hub: sessions are read without being claimed, and created, deleted, released and given up one at a time."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from footplate.config.settings import RuntimeSettings, Settings
from footplate.errors import SessionFailed, StoreBusy
from footplate.events import model as m
from footplate.events.ids import SessionId, TaskId
from footplate.events.model import Envelope
from footplate.host.keepers import Keepers
from footplate.host.process import Keeper
from footplate.runtime.failures import MOST, WINDOW_S
from footplate.runtime.hub import Hub
from footplate.runtime.limits import Limits
from footplate.runtime.log import Subscription
from footplate.runtime.service import open_runtime
from footplate.runtime.services import Services
from footplate.runtime.session import Session
from footplate.runtime.spec import SPECS, SessionSpec
from tests.unit.runtime.following import until, until_ended, until_idle
from tests.unit.runtime.gates import GatedMachine, GatedStore

DEADLINE_S = 30
STDIO = Settings(engines={"mock": {"form": "stdio"}})


@pytest.fixture
def settings() -> Settings:
    """The in-process mock agent; a test that wants a process overrides this."""
    return Settings()


@pytest.fixture
def machine() -> GatedMachine:
    return GatedMachine(settle_s=0.5, stop_s=60.0, wake_s=0.01)


@pytest.fixture
async def store() -> AsyncIterator[GatedStore]:
    made = GatedStore()
    yield made
    await made.close()


@pytest.fixture
async def keeper() -> AsyncIterator[Keeper]:
    async with Keeper.start() as made:
        yield made


@pytest.fixture
def services(tmp_path: Path, settings: Settings, store: GatedStore, machine: GatedMachine, keeper: Keeper) -> Services:
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "FOOTPLATE_MOCK_PACE_MS": "0"}
    return Services(store, keeper, settings=settings, environ=environ, data=tmp_path / "data", surroundings=machine)


@pytest.fixture(autouse=True)
async def nothing_stays() -> AsyncIterator[None]:
    """No task is left when the hub is closed."""
    before = asyncio.all_tasks()
    yield
    assert {task.get_name() for task in asyncio.all_tasks() - before - {asyncio.current_task()}} == set()


async def _create(hub: Hub, tmp_path: Path) -> Session:
    return await hub.create(SessionSpec(engine="mock", cwd=str(tmp_path)))


async def _release(hub: Hub, tmp_path: Path, *prompts: str) -> SessionId:
    """A session that had these turns and has left memory."""
    session = await _create(hub, tmp_path)
    for text in prompts:
        before = session.view().last_seq
        await session.prompt(text)
        await until_ended(session, after=before)
        await until_idle(session)
    await hub.forget(session.id)
    return session.id


async def _within(fact: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not fact():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0.005)


async def _problem(work: Awaitable[object]) -> str:
    """The name of the exception that it raises; empty when it raises none."""
    try:
        async with asyncio.timeout(DEADLINE_S):
            await work
    except Exception as problem:  # noqa: BLE001 - a test compares it
        return type(problem).__name__
    return ""


async def _read_all(reader: Subscription) -> list[str]:
    return [type(delivery.envelope().event).__name__ async for delivery in reader]


# ------------------------------------------------------------------------------------------------- looking


async def test_to_look_at_a_session_claims_nothing(services: Services, store: GatedStore, tmp_path: Path) -> None:
    async with Hub.open(services) as hub:
        name = await _release(hub, tmp_path, "hello")
        claims, tasks = store.claims[name], asyncio.all_tasks()
        found = await hub.get(name)
        view = found.view()
        reader = found.subscribe(0)
        first = await anext(reader)
        assert (view.state, view.turns[-1].answer) == ("idle", "mock: hello")
        assert (found.cold, found.busy, found.working, found.attached) == (True, False, False, False)
        assert isinstance(first.envelope().event, m.SessionOpened)
        assert (store.claims[name], asyncio.all_tasks()) == (claims, tasks)
        assert await hub.get(name) is found
        reader.close()


async def test_the_first_command_wakes_it_and_its_readers_stay(services: Services, tmp_path: Path) -> None:
    async with Hub.open(services) as hub:
        name = await _release(hub, tmp_path, "hello")
        found = await hub.get(name)
        epoch, last = found.view().epoch, found.view().last_seq
        reader = found.subscribe(last)
        await found.rename("another title")
        async with asyncio.timeout(DEADLINE_S):
            delivery = await anext(reader)
        assert delivery.envelope().event == m.TitleChanged(title="another title")
        assert (found.cold, found.view().epoch, found.view().last_seq) == (False, epoch + 1, last + 1)
        reader.close()


async def test_a_session_that_wakes_reads_what_was_appended_since(services: Services, tmp_path: Path) -> None:
    async with Hub.open(services) as hub, Hub.open(services) as another:
        name = await _release(hub, tmp_path, "hello")
        cold = await hub.get(name)
        reader = cold.subscribe(cold.view().last_seq)
        await (await another.get(name)).rename("by another writer")
        await another.forget(name)
        await cold.prompt("history")
        async with asyncio.timeout(DEADLINE_S):
            first = (await anext(reader)).envelope().event
        assert first == m.TitleChanged(title="by another writer")
        assert "hello" in (await until_ended(cold, after=reader.cursor)).answer
        assert cold.view().title == "by another writer"
        reader.close()


async def test_a_closed_session_can_be_read_and_takes_nothing(
    services: Services, store: GatedStore, tmp_path: Path
) -> None:
    async with Hub.open(services) as hub:
        session = await _create(hub, tmp_path)
        await session.close("enough")
        await hub.forget(session.id)
        claims = store.claims[session.id]
        again = await hub.get(session.id)
        assert again.view().closed_reason == "enough"
        assert await _problem(again.prompt("more")) == "SessionOver"
        assert (again.cold, store.claims[session.id]) == (True, claims)


async def test_unknown_ids_leave_nothing_behind(services: Services) -> None:
    async with Hub.open(services) as hub:
        for number in range(100):
            assert await _problem(hub.get(SessionId(f"nobody-{number}"))) == "UnknownSession"
            assert await _problem(hub.delete(SessionId(f"nobody-{number}"))) == "UnknownSession"
        assert hub._entries == {}


async def test_many_who_ask_at_once_get_the_same_session(services: Services, store: GatedStore, tmp_path: Path) -> None:
    async with Hub.open(services) as hub:
        name = await _release(hub, tmp_path)
        store.reading.shut()
        asking = [asyncio.ensure_future(hub.get(name)) for _ in range(5)]
        await store.reading.reached.wait()
        asking.pop().cancel()  # whoever gives up stops nobody else
        store.reading.open()
        assert len({id(each) for each in await asyncio.gather(*asking)}) == 1


# ------------------------------------------------------------------------------------------------ creating


async def test_who_asks_for_a_session_that_is_being_created_waits_for_it(
    services: Services, store: GatedStore, tmp_path: Path
) -> None:
    async with Hub.open(services) as hub:
        store.appending.shut()
        creating = asyncio.ensure_future(_create(hub, tmp_path))
        await store.appending.reached.wait()
        (document,) = (await store.documents(SPECS).list()).items
        polling = asyncio.ensure_future(hub.get(SessionId(document.key)))
        await asyncio.sleep(0)
        store.appending.open()
        created, polled = await asyncio.gather(creating, polling)
        assert created is polled
        assert store.claims[created.id] == 1
        await created.rename("still the only writer")


async def test_a_session_that_cannot_be_stored_is_not_half_there(
    services: Services, store: GatedStore, tmp_path: Path
) -> None:
    async with Hub.open(services) as hub:
        store.appending.problem = StoreBusy("here", "locked")
        assert await _problem(_create(hub, tmp_path)) == "StoreBusy"
        store.appending.problem = None
        assert (await hub.sessions()).items == ()
        assert (await store.documents(SPECS).list()).items == ()
        assert hub._entries == {}


# ------------------------------------------------------------------------------------------------ deleting


async def test_a_session_that_is_being_deleted_is_unknown_at_once_and_deleted_once(
    services: Services, store: GatedStore, tmp_path: Path
) -> None:
    async with Hub.open(services) as hub:
        session = await _create(hub, tmp_path)
        reading = asyncio.ensure_future(_read_all(session.subscribe(0)))
        store.deleting.shut()
        deleting = asyncio.ensure_future(hub.delete(session.id))
        await store.deleting.reached.wait()
        assert await _problem(hub.get(session.id)) == "UnknownSession"
        assert await _problem(session.prompt("too late")) == "SessionOver"
        assert await _problem(session.close()) == "SessionOver"
        second = asyncio.ensure_future(_problem(hub.delete(session.id)))
        await asyncio.sleep(0)
        assert not second.done()
        store.deleting.open()
        await deleting
        assert await second == "UnknownSession"
        async with asyncio.timeout(DEADLINE_S):
            assert "SessionOpened" in await reading
        assert await _problem(hub.get(session.id)) == "UnknownSession"
        assert (store.deleting.calls, hub._entries) == (1, {})
        assert (await store.documents(SPECS).list()).items == ()


async def test_a_close_while_the_session_is_deleted_succeeds_or_says_that_it_is_over(
    services: Services, tmp_path: Path
) -> None:
    async with Hub.open(services) as hub:
        for steps in range(16):
            session = await _create(hub, tmp_path)
            await session.prompt("hang")
            await until(session, lambda event: isinstance(event, m.TurnStarted))
            closing = asyncio.ensure_future(_problem(session.close()))
            for _ in range(steps):
                await asyncio.sleep(0)
            assert await _problem(hub.delete(session.id)) == ""
            assert await closing in ("", "SessionOver")
            assert await _problem(hub.get(session.id)) == "UnknownSession"


async def test_a_session_that_the_store_does_not_delete_can_still_be_used(
    services: Services, store: GatedStore, tmp_path: Path
) -> None:
    async with Hub.open(services) as hub:
        session = await hub.create(SessionSpec(engine="mock", cwd=str(tmp_path), limits=Limits(turns=7)))
        store.deleting.problem = StoreBusy("here", "locked")
        assert await _problem(hub.delete(session.id)) == "StoreBusy"
        store.deleting.problem = None
        again = await hub.get(session.id)
        assert again.spec == session.spec
        await again.prompt("hello")
        assert (await until_ended(again)).answer == "mock: hello"
        await hub.delete(session.id)


async def test_who_deletes_and_hangs_up_leaves_no_half_deleted_session(
    services: Services, store: GatedStore, tmp_path: Path
) -> None:
    async with Hub.open(services) as hub:
        session = await _create(hub, tmp_path)
        store.deleting.shut()
        deleting = asyncio.ensure_future(hub.delete(session.id))
        await store.deleting.reached.wait()
        deleting.cancel()
        store.deleting.open()
        await _within(lambda: hub._entries == {})
        assert await _problem(hub.get(session.id)) == "UnknownSession"


# ---------------------------------------------------------------------------------------------- releasing


class TestProcesses:
    """The mock agent as a process under the keeper."""

    @pytest.fixture
    def settings(self) -> Settings:
        return STDIO

    @pytest.mark.parametrize("how", ["delete", "close", "forget", "stop"])
    async def test_a_session_that_is_let_go_of_while_its_agent_starts_leaves_no_process(
        self, services: Services, machine: GatedMachine, keeper: Keeper, tmp_path: Path, how: str
    ) -> None:
        async with Hub.open(services) as hub:
            session = await _create(hub, tmp_path)
            machine.disk.shut()
            prompting = asyncio.ensure_future(_problem(session.prompt("hello")))
            await machine.disk.reached.wait()
            ends = {"delete": hub.delete, "forget": hub.forget}
            ending = asyncio.ensure_future(
                session.close() if how == "close" else hub.close() if how == "stop" else ends[how](session.id)
            )
            await asyncio.sleep(0)
            machine.disk.open()
            async with asyncio.timeout(DEADLINE_S):
                await ending
            assert await prompting == ""
            assert await keeper.agents() == ()
            assert not session.attached

    async def test_a_start_that_hangs_is_cancelled_and_frees_what_it_holds(
        self, services: Services, machine: GatedMachine, keeper: Keeper, tmp_path: Path
    ) -> None:
        async with Hub.open(services) as hub:
            name = await _release(hub, tmp_path, "hello")
            session = await hub.get(name)
            machine.disk.shut()
            prompting = asyncio.ensure_future(_problem(session.prompt("again")))
            await machine.disk.reached.wait()
            async with asyncio.timeout(DEADLINE_S):
                await hub.forget(name)
            assert await prompting == ""  # accepted and stored: it begins when the session is opened again
            machine.disk.open()
            again = await hub.get(name)
            before = again.view().last_seq
            await again.take_up()
            assert (await until_ended(again, after=before)).answer == "mock: again"
        assert await keeper.agents() == ()


async def test_a_hub_that_closes_waits_for_what_is_being_opened(
    services: Services, store: GatedStore, tmp_path: Path
) -> None:
    hub = Hub(services)
    name = await _release(hub, tmp_path)
    store.reading.shut()
    opening = asyncio.ensure_future(_problem(hub.get(name)))
    await store.reading.reached.wait()
    closing = asyncio.ensure_future(hub.close())
    for _ in range(50):  # it has stopped all else, and waits
        await asyncio.sleep(0)
    assert not closing.done()
    store.reading.open()
    await closing
    assert await opening in ("", "SessionFailed")
    assert (hub._entries, hub.live) == ({}, ())
    assert await _problem(hub.get(name)) == "SessionFailed"


# ------------------------------------------------------------------------------------------------ failures


async def _fail() -> None:
    raise OSError("the disk is gone")


async def _fail_now(hub: Hub, session: Session) -> str:
    """Have a piece of work of the session fail; the name of what its caller gets."""
    told = await _problem(session._do(_fail))
    await _within(lambda: all(each is not session for each in hub.live))
    return told


async def test_a_session_that_fails_is_given_up_and_opened_again_as_after_a_crash(
    services: Services, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with Hub.open(services) as hub:
        session = await _create(hub, tmp_path)
        await session.prompt("hang")
        await until(session, lambda event: isinstance(event, m.TurnStarted))
        reading = asyncio.ensure_future(_read_all(session.subscribe(0)))
        waiting = asyncio.ensure_future(_problem(session._do(asyncio.Event().wait)))
        await asyncio.sleep(0)
        agent = session._conductor.agent
        assert agent is not None
        agent._runner._publish([m.Notice(level="info", text="what the agent says while its session fails")])
        for _ in range(5):  # it waits for the mailbox now
            await asyncio.sleep(0)
        session._failed(OSError("the disk is gone"))
        assert await waiting == "SessionFailed"
        assert await _problem(session.prompt("too late")) == "SessionFailed"
        async with asyncio.timeout(DEADLINE_S):
            await reading
        assert f"session {session.id} failed: OSError: the disk is gone" in caplog.text
        assert "task 'agent' failed" not in caplog.text
        again = await hub.get(session.id)
        assert again is not session
        ended = await until_ended(again)
        assert (ended.ok, ended.stop_reason) == (False, "lost")
        before = again.view().last_seq
        await again.prompt("hello")
        assert (await until_ended(again, after=before)).answer == "mock: hello"


async def test_the_caller_of_what_failed_gets_an_error_that_can_be_tried_again(
    services: Services, tmp_path: Path
) -> None:
    async with Hub.open(services) as hub:
        session = await _create(hub, tmp_path)
        assert await _fail_now(hub, session) == "SessionFailed"
        assert (SessionFailed.status, SessionFailed.retryable) == (503, True)


async def test_a_session_that_fails_again_and_again_can_be_read_and_is_refused_for_a_while(
    services: Services, machine: GatedMachine, tmp_path: Path
) -> None:
    async with Hub.open(services) as hub:
        name = (await _create(hub, tmp_path)).id
        for _ in range(MOST):
            session = await hub.get(name)
            await session.take_up()
            await _fail_now(hub, session)
        refused = await hub.get(name)
        with pytest.raises(SessionFailed, match=r"failed 3 times within 1m 00s \(OSError: the disk is gone\)"):
            await refused.prompt("hello")
        assert (refused.cold, refused.view().state) == (True, "idle")
        machine.ahead_s = WINDOW_S + 1
        await refused.prompt("hello")
        assert (await until_ended(refused)).ok


async def test_a_session_that_cannot_be_opened_stays_readable_and_the_next_command_tries_again(
    services: Services, store: GatedStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with Hub.open(services) as hub:
        name = await _release(hub, tmp_path, "hello")
        session = await hub.get(name)
        store.broken[name] = PermissionError("no access")
        assert await _problem(session.prompt("again")) == "SessionFailed"
        assert f"session {name} cannot be opened" in caplog.text
        assert (session.cold, session.view().turns[0].answer) == (True, "mock: hello")
        del store.broken[name]
        before = session.view().last_seq
        await session.prompt("again")
        assert (await until_ended(session, after=before)).ok


async def test_work_that_fails_by_itself_while_a_session_wakes_fails_the_waking(
    services: Services, machine: GatedMachine, tmp_path: Path
) -> None:
    async with Hub.open(services) as hub:
        session = await _create(hub, tmp_path)
        machine.disk.shut()
        await session.prompt("hello")  # its agent never starts: the prompt waits for the next life
        await hub.forget(session.id)
        machine.disk.open()
        machine.disk.problem = PermissionError("no access")
        again = await hub.get(session.id)
        assert await _problem(again.take_up()) == "SessionFailed"
        assert again.cold
        machine.disk.problem = None
        await again.take_up()
        assert (await until_ended(again)).answer == "mock: hello"


async def test_a_reader_of_all_sessions_that_raises_breaks_no_append(
    services: Services, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[Envelope] = []

    def raises(_: Sequence[Envelope]) -> None:
        raise ValueError("a bug of the reader")

    services.bulletin.subscribe(raises)
    services.bulletin.subscribe(seen.extend)
    async with Hub.open(services) as hub:
        session = await _create(hub, tmp_path)
        await session.rename("stored all the same")
        assert session.view().title == "stored all the same"
        assert seen[-1].event == m.TitleChanged(title="stored all the same")
        assert "a bug of the reader" in caplog.text


# --------------------------------------------------------------------------------------------------- start


async def test_one_session_that_cannot_be_opened_does_not_keep_the_others_from_it(
    services: Services, store: GatedStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    names: list[SessionId] = []
    async with Hub.open(services) as hub:
        for _ in range(3):
            session = await _create(hub, tmp_path)
            await session.prompt("hang")
            await until(session, lambda event: isinstance(event, m.TurnStarted))
            names.append(session.id)
        store.broken[names[0]] = PermissionError("the transcript cannot be read")
        async with open_runtime(services) as service:
            found = [await service.hub.get(name) for name in names]
            assert [each.cold for each in found] == [True, False, False]
            assert [each.view().state for each in found[1:]] == ["interrupted", "interrupted"]
        assert f"session {names[0]} cannot be opened" in caplog.text


async def test_a_session_that_only_has_waiting_prompts_is_found_at_the_start(
    services: Services, machine: GatedMachine, tmp_path: Path
) -> None:
    async with Hub.open(services) as hub:
        session = await _create(hub, tmp_path)
        machine.disk.shut()
        await session.prompt("hello")  # its agent never starts
        await hub.forget(session.id)
        machine.disk.open()
    row = (await services.store.projections.sessions()).items[0]
    assert (row.attached, row.turn) == (False, None)
    async with open_runtime(services) as service:
        assert (await until_ended(await service.hub.get(session.id))).answer == "mock: hello"


async def test_a_session_that_the_store_refuses_to_wake_at_the_start_is_woken_later(
    services: Services, store: GatedStore, machine: GatedMachine, tmp_path: Path
) -> None:
    async with Hub.open(services) as hub:
        session = await _create(hub, tmp_path)
        machine.disk.shut()
        await session.prompt("hello")  # its agent never starts
        await hub.forget(session.id)
        machine.disk.open()
    store.broken[session.id] = StoreBusy("here", "locked")
    async with open_runtime(services) as service:
        found = await service.hub.get(session.id)
        assert found.cold
        del store.broken[session.id]
        assert (await until_ended(found)).answer == "mock: hello"


async def test_what_a_start_costs_depends_on_what_was_left_not_on_what_is_stored(
    services: Services, store: GatedStore, tmp_path: Path
) -> None:
    async with Hub.open(services) as hub:
        for _ in range(20):
            await _create(hub, tmp_path)
    claims = store.claims.total()
    async with open_runtime(services) as service:
        assert (service.hub.live, store.claims.total()) == ((), claims)


@pytest.mark.parametrize("readable", [True, False])
async def test_an_agent_that_cannot_be_reattached_is_ended_and_the_service_starts(
    store: GatedStore, tmp_path: Path, readable: bool
) -> None:
    async def kept(machine: GatedMachine) -> Services:
        keepers = await Keepers.open(tmp_path / "data", grace_s=60)
        environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "FOOTPLATE_MOCK_PACE_MS": "0"}
        data = tmp_path / "data"
        return Services(
            store, keepers, settings=STDIO, environ=environ, data=data, keepers=keepers, surroundings=machine
        )

    async with open_runtime(await kept(GatedMachine())) as service:
        session = await _create(service.hub, tmp_path)
        await session.prompt("hang")
        await until(session, lambda event: isinstance(event, m.TurnStarted))
    broken = GatedMachine()
    broken.disk.problem = None if readable else PermissionError("the transcript cannot be read")
    async with open_runtime(await kept(broken)) as service:
        found = await service.hub.get(session.id)
        assert service.rejoined == ((session.id,) if readable else ())
        assert (found.attached, found.view().state) == ((True, "running") if readable else (False, "interrupted"))
        service.hub.leaving = False


# ------------------------------------------------------------------------------------------------- sweeper


class TestSweeper:
    """Idle processes are ended, unused sessions leave memory."""

    @pytest.fixture
    def machine(self) -> GatedMachine:
        return GatedMachine(sweep_s=0.01, unused_s=0.05)

    @pytest.fixture
    def settings(self) -> Settings:
        return Settings(runtime=RuntimeSettings(idle_s=0.05))

    async def test_the_setting_says_when_an_idle_agent_is_ended(self, services: Services, tmp_path: Path) -> None:
        async with open_runtime(services) as service:
            session = await _create(service.hub, tmp_path)
            await session.prompt("hello")
            await until(session, lambda event: isinstance(event, m.EngineDetached))

    async def test_an_agent_with_a_background_task_is_spared(
        self, services: Services, machine: GatedMachine, tmp_path: Path
    ) -> None:
        async with open_runtime(services) as service:
            session = await _create(service.hub, tmp_path)
            await session.prompt("hang")
            await until(session, lambda event: isinstance(event, m.TurnStarted))
            task = TaskId("task-1")
            await session._take_batch([m.TaskStarted(task=task, kind="command", title="sleep")])
            await session.interrupt()
            await until_ended(session)
            machine.ahead_s = 3600
            await session.evict(idle=True)
            assert session.attached
            ended_at = machine.monotonic()
            await session._take_batch([m.TaskEnded(task=task, status="completed")])
            assert session.idle_since >= ended_at, "the task was the last thing that it did"
            await _within(lambda: not session.attached)

    async def test_a_process_that_was_started_without_a_prompt_lives_for_its_whole_time(
        self, services: Services, machine: GatedMachine, tmp_path: Path
    ) -> None:
        """Its own start counts, not the end of a turn long ago: else it is gone before the prompt comes."""
        async with open_runtime(services) as service:
            session = await _create(service.hub, tmp_path)
            reader = session.subscribe(0)
            await session.prompt("hello")
            await until(session, lambda event: isinstance(event, m.EngineDetached))
            machine.ahead_s = 3600
            started_at = machine.monotonic()
            await session.wake()
            assert session.idle_since >= started_at
            assert session.attached
            await _within(lambda: not session.attached)
            assert machine.monotonic() - started_at >= 0.05
            reader.close()

    async def test_any_idle_time_is_obeyed(self, services: Services, machine: GatedMachine, tmp_path: Path) -> None:
        """Also one that is much shorter or longer than the time between two looks."""
        services.settings = Settings(runtime=RuntimeSettings(idle_s=86_400.0))
        async with open_runtime(services) as service:
            session = await _create(service.hub, tmp_path)
            await session.prompt("hello")
            await until_ended(session)
            await until_idle(session)
            machine.ahead_s = 86_000
            await asyncio.sleep(0.1)
            assert session.attached
            machine.ahead_s = 86_500
            await _within(lambda: not session.attached)

    async def test_a_session_that_nobody_uses_leaves_memory(
        self, services: Services, machine: GatedMachine, tmp_path: Path
    ) -> None:
        async with open_runtime(services) as service:
            read, unused = [await _create(service.hub, tmp_path) for _ in range(2)]
            reader = read.subscribe(0)
            await _within(lambda: service.hub.live == (read,))
            assert (await service.hub.get(unused.id)).cold
            reader.close()
            await _within(lambda: service.hub._entries == {})


async def test_a_prompt_in_the_instant_of_an_eviction_waits_for_the_next_process(
    services: Services, tmp_path: Path
) -> None:
    async with Hub.open(services) as hub:
        session = await _create(hub, tmp_path)
        for number in range(5):
            before = session.view().last_seq
            await session.prompt(f"first {number}")
            await until_ended(session, after=before)
            await until_idle(session)
            before = session.view().last_seq
            evicting = asyncio.ensure_future(session.evict(idle=True))
            for _ in range(number):
                await asyncio.sleep(0)
            await session.prompt(f"second {number}")
            assert (await until_ended(session, after=before)).answer == f"mock: second {number}"
            await evicting
