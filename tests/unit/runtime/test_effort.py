"""The effort of a session is stored with it: however it was set, and over any number of processes."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from footplate.config.acp import AcpAgentSettings
from footplate.config.settings import Settings
from footplate.engines.base import Installed, Options
from footplate.engines.claude.engine import ClaudeEngine
from footplate.errors import InvalidValue
from footplate.events import model as m
from footplate.events.ids import SessionId
from footplate.events.view import NoticeItem, SessionView
from footplate.runtime.hub import Hub
from footplate.runtime.limits import Spent
from footplate.runtime.rejoining import AgentRecord, rejoining_options
from footplate.runtime.services import Services
from footplate.runtime.session import Session
from footplate.runtime.spec import SPECS, SessionSpec, check_effort
from footplate.runtime.starting import starting_options
from tests.e2e import forgetful_agent
from tests.unit.runtime.following import until_ended, until_idle, whole_log


async def open_session(hub: Hub, tmp_path: Path, effort: str = "") -> Session:
    return await hub.create(SessionSpec(engine="mock", cwd=str(tmp_path), effort=effort))


async def turn(session: Session, text: str = "hello") -> None:
    before = session.view().last_seq
    await session.prompt(text)
    await until_ended(session, after=before)
    await until_idle(session)


def told_by_agent(session: Session) -> str:
    """The effort that the agent itself says it has."""
    (option,) = [option for option in session.view().options if option.category == "thought_level"]
    return option.value


async def listed(hub: Hub) -> list[str]:
    return [row.effort for row in (await hub.sessions()).items]


async def test_an_effort_of_the_beginning_is_in_the_log_the_view_and_the_list(hub: Hub, tmp_path: Path) -> None:
    session = await open_session(hub, tmp_path, "high")
    opened = (await whole_log(session))[0].event
    assert isinstance(opened, m.SessionOpened)
    assert (opened.effort, session.view().effort, session.spec.effort) == ("high", "high", "high")
    assert await listed(hub) == ["high"]
    await turn(session)
    assert told_by_agent(session) == "high"


@pytest.mark.parametrize("living", [False, True])
async def test_an_effort_that_is_set_survives_the_process_and_the_service(
    services: Services, tmp_path: Path, *, living: bool
) -> None:
    async with Hub.open(services) as hub:
        session = await open_session(hub, tmp_path, "low")
        if living:
            await turn(session)
        await session.set_effort("high")
        assert (session.view().effort, session.spec.effort, await listed(hub)) == ("high", "high", ["high"])
        await turn(session)
        assert told_by_agent(session) == "high"
        await session.evict()
        await turn(session)
        assert told_by_agent(session) == "high"
    again = Services(services.store, services.keeper, settings=Settings(), environ=services.environ, data=services.data)
    async with Hub.open(again) as hub:
        assert await listed(hub) == ["high"]
        session = await hub.get(session.id)
        assert (session.cold, session.view().effort) == (True, "high")
        await turn(session)
        assert told_by_agent(session) == "high"


async def test_a_fork_begins_with_the_effort_that_was_set(hub: Hub, tmp_path: Path) -> None:
    session = await open_session(hub, tmp_path, "low")
    await turn(session)
    await session.set_effort("high")
    forked = await hub.fork(session.id)
    assert forked.view().effort == "high"


async def test_an_option_of_that_category_is_the_effort(hub: Hub, tmp_path: Path) -> None:
    session = await open_session(hub, tmp_path)
    await turn(session)
    (option,) = [option for option in session.view().options if option.category == "thought_level"]
    await session.set_option(option.id, "high")
    assert (session.view().effort, session.spec.choices) == ("high", {})


async def test_another_spec_brings_its_effort_along_and_keeps_one_that_was_set(hub: Hub, tmp_path: Path) -> None:
    session = await open_session(hub, tmp_path, "low")
    await session.set_effort("high")
    await session.respec(msgspec.structs.replace(session.spec, profile="p"))
    assert session.view().effort == "high"
    await session.respec(msgspec.structs.replace(session.spec, effort="low"))
    assert (session.view().effort, session.spec.profile) == ("low", "p")


async def test_an_effort_that_does_not_exist_is_refused_and_changes_nothing(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="effort: 'banana' cannot be used; expected one of low, high"):
        await open_session(hub, tmp_path, "banana")
    session = await open_session(hub, tmp_path, "low")
    for living in (False, True):
        if living:
            await turn(session)
        with pytest.raises(InvalidValue, match="banana"):
            await session.set_effort("banana")
        with pytest.raises(InvalidValue, match="8000"):
            await session.set_effort("8000")
    assert session.view().effort == "low"


@pytest.mark.parametrize("living", [False, True])
async def test_an_effort_that_is_taken_back_stays_so_over_processes_and_services(
    services: Services, tmp_path: Path, *, living: bool
) -> None:
    async with Hub.open(services) as hub:
        session = await open_session(hub, tmp_path, "high")
        if living:
            await turn(session)
            assert told_by_agent(session) == "high"
        await session.set_effort("")
        assert (session.view().effort, session.spec.effort, await listed(hub)) == ("", "", [""])
        await turn(session)
        assert told_by_agent(session) == "low", "the default of the agent"
    again = Services(services.store, services.keeper, settings=Settings(), environ=services.environ, data=services.data)
    async with Hub.open(again) as hub:
        session = await hub.get(session.id)
        assert (session.view().effort, session.spec.effort) == ("", "")
        await turn(session)
        assert told_by_agent(session) == "low"


async def test_an_agent_without_a_choice_of_effort_goes_on_without_and_says_so(
    services: Services, tmp_path: Path
) -> None:
    agents = {"plain": AcpAgentSettings(command=forgetful_agent.COMMAND)}
    plain = Services(
        services.store,
        services.keeper,
        settings=Settings(acp_agents=agents),
        environ=services.environ,
        data=services.data,
    )
    async with Hub.open(plain) as hub:
        session = await hub.create(SessionSpec(engine="plain", cwd=str(tmp_path)))
        await session.set_effort("high")
        await turn(session)
        view = session.view()
        assert view.turns[-1].ok
        notices = [item.text for item in view.items if isinstance(item, NoticeItem)]
        assert notices == ["plain has no choice of effort; it goes on without 'high'"]
        await session.set_effort("")
        await turn(session)
        assert session.view().turns[-1].answer == "prompt 2", "it has its process still"


@pytest.mark.parametrize(("another", "told"), [("high", "high"), ("", "low")])
async def test_an_agent_that_cannot_resume_goes_on_after_an_effort_that_it_does_not_have(
    services: Services, tmp_path: Path, another: str, told: str
) -> None:
    agents = {"picky": AcpAgentSettings(command=(*forgetful_agent.COMMAND, "low", "high"))}
    picky = Services(
        services.store,
        services.keeper,
        settings=Settings(acp_agents=agents),
        environ=services.environ,
        data=services.data,
    )
    async with Hub.open(picky) as hub:
        session = await hub.create(SessionSpec(engine="picky", cwd=str(tmp_path), effort="ultra"))
        for _ in "ab":
            await turn(session)
            assert "'ultra' cannot be used; expected one of low, high" in session.view().turns[-1].error
        view = session.view()
        assert (view.resume, view.resumable) == (None, True), "nothing was said in that conversation"
        assert [value.value for option in view.options for value in option.values] == ["low", "high"]
        await session.set_effort(another)
        await turn(session)
        assert session.view().turns[-1].answer == "prompt 1"
        assert told_by_agent(session) == told
        assert not session.resumable
        await turn(session)
        assert session.view().turns[-1].answer == "prompt 2", "it has its process still"


async def test_an_agent_whose_start_failed_is_evicted_and_begins_anew(services: Services, tmp_path: Path) -> None:
    agents = {"picky": AcpAgentSettings(command=(*forgetful_agent.COMMAND, "low", "high"))}
    picky = Services(
        services.store,
        services.keeper,
        settings=Settings(acp_agents=agents),
        environ=services.environ,
        data=services.data,
    )
    async with Hub.open(picky) as hub:
        session = await hub.create(SessionSpec(engine="picky", cwd=str(tmp_path), effort="ultra"))
        await turn(session)
        await session.evict(idle=True)
        await session.set_effort("high")
        await turn(session)
        assert session.view().turns[-1].answer == "prompt 1"


def test_claude_takes_a_number_of_tokens_in_place_of_a_name() -> None:
    engine = ClaudeEngine()
    for effort in ("", "low", "max", "8000"):
        check_effort(engine, effort)
    with pytest.raises(InvalidValue, match="or a number of tokens"):
        check_effort(engine, "banana")


async def test_a_session_of_an_older_version_has_the_effort_of_its_spec(
    services: Services, hub: Hub, tmp_path: Path
) -> None:
    session = await open_session(hub, tmp_path)
    await hub.forget(session.id)
    spec = SessionSpec(engine="mock", cwd=str(tmp_path), effort="high")
    await services.store.documents(SPECS).put(session.id, msgspec.json.encode(spec))
    session = await hub.get(session.id)
    assert (session.view().effort, session.spec.effort) == ("", "high")
    await turn(session)
    assert told_by_agent(session) == "high"


def test_a_process_is_started_and_reattached_with_the_effort_of_the_log() -> None:
    view = SessionView(session=SessionId("s"), effort="high")
    spec = SessionSpec(engine="claude", cwd="/w", effort="low")
    assert starting_options(spec, view, Settings(), Spent()).effort == "high"
    record = AgentRecord(
        session=SessionId("s"),
        engine="claude",
        agent="a1",
        installed=Installed(engine="claude"),
        options=Options(cwd="/w", effort="low"),
    )
    assert rejoining_options(view, record).effort == "high"
