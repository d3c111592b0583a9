"""What a person allows, and for how long, on the real CLI: rules, plans, limits, folders that nobody trusts."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from footplate.config.acp import AcpAgentSettings
from footplate.config.settings import Settings
from footplate.errors import AlreadyAnswered
from footplate.events import model as m
from footplate.events.requests import Allow, Answer, Choose, Decline, Deny, Reply, Request
from footplate.host.process import Keeper
from footplate.runtime.hub import Hub
from footplate.runtime.limit_requests import GO_ON
from footplate.runtime.limits import Limits
from footplate.runtime.services import Services
from footplate.runtime.session import Session
from footplate.runtime.spec import SessionSpec
from footplate.store.sqlite import SqliteStore
from footplate.testing.invariants import check_log
from footplate.testing.messages import Step, script, tool
from tests.e2e.world import World
from tests.unit.runtime.following import until, until_asked, until_ended, until_idle, whole_log

pytestmark = pytest.mark.timeout(180)

PLANNING = tool("Write", {"file_path": "$PLANFILE", "content": "1. run the tests"})


@pytest.fixture
async def services(world: World, tmp_path: Path) -> AsyncIterator[Services]:
    """A real file and a keeper, for one hub after another."""
    store = await SqliteStore.open(tmp_path / "store")
    async with Keeper.start() as keeper:
        yield Services(store, keeper, settings=Settings(), environ=world.env, data=tmp_path / "data")
    await store.close()


@pytest.fixture
async def hub(services: Services) -> AsyncIterator[Hub]:
    """A hub over them."""
    async with Hub.open(services) as made:
        yield made


async def _open(hub: Hub, world: World, **spec: object) -> Session:
    return await hub.create(SessionSpec(engine="claude", cwd=str(world.work), **spec))  # type: ignore[arg-type]


def _bash(command: str, description: str = "") -> Step:
    given = {"command": command, "description": description} if description else {"command": command}
    return tool("Bash", given)


async def _turn(session: Session, *steps: object, answer: Answer | None = None) -> list[Request]:
    """A whole turn in which every person answers the same; what was asked of them."""
    asked: list[Request] = []
    reader = session.subscribe(session.view().last_seq)
    await session.prompt(script(*steps, "Done."))  # type: ignore[arg-type]
    try:
        async with asyncio.timeout(60):
            async for delivery in reader:
                event = delivery.envelope().event
                if isinstance(event, m.StateChanged) and event.waiting_for == "you":
                    asked += await _answer_open(session, answer or Allow())
                if isinstance(event, m.TurnEnded):
                    assert event.answer == "Done."
                    break
    finally:
        reader.close()
    await until_idle(session)
    return asked


async def _answer_open(session: Session, answer: Answer) -> list[Request]:
    answered: list[Request] = []
    for held in session.view().requests:
        if held.state == "open":
            try:
                await session.answer(held.request.id, answer, by="ada", surface="test")
            except AlreadyAnswered:
                continue  # by a rule
            answered.append(held.request)
    return answered


async def _sound(session: Session) -> None:
    assert check_log(await whole_log(session), finished=False) == []


async def test_what_the_cli_allows_for_the_session_holds_for_its_next_process_until_it_is_revoked(
    hub: Hub, services: Services, world: World
) -> None:
    session = await _open(hub, world)
    assert len(await _turn(session, _bash("touch one"), _bash("touch one"), answer=Allow(scope="session"))) == 1
    await session.evict()
    assert await _turn(session, _bash("touch one")) == []
    assert len(await _turn(session, _bash("touch two"))) == 1
    await hub.forget(session.id)
    async with Hub.open(services) as another:
        again = await another.get(session.id)
        assert await _turn(again, _bash("touch one")) == []
        (rule,) = again.rules()
        assert rule.label == "Allow Bash(touch one *)"
        await again.revoke(rule.id, by="ada", surface="test")
        assert len(await _turn(again, _bash("touch one"))) == 1
        await again.evict()
        assert len(await _turn(again, _bash("touch one"))) == 1
        await _sound(again)
    assert not (world.work / ".claude").exists()


async def test_a_rule_can_be_revoked_in_the_middle_of_a_turn(hub: Hub, world: World) -> None:
    session = await _open(hub, world)
    await session.prompt(script(_bash("touch one"), _bash("touch two"), _bash("touch one"), "Done."))
    first = await until_asked(session)
    await session.answer(first, Allow(scope="session"), by="ada", surface="test")
    second = await until_asked(session, after=session.view().last_seq)
    await session.revoke(session.rules()[0].id, by="ada", surface="test")
    before = session.view().last_seq
    await session.answer(second, Allow(), by="ada", surface="test")
    third = await until_asked(session, after=before)
    await session.answer(third, Deny(message="not again"), by="ada", surface="test")
    assert (await until_ended(session)).answer == "Done."


async def test_a_folder_that_is_allowed_for_the_session_is_allowed_to_its_next_process(
    hub: Hub, world: World, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "notes").write_text("hello")
    session = await _open(hub, world)
    reads = tool("Read", {"file_path": str(outside / "notes")})
    (asked,) = await _turn(session, tool("Write", {"file_path": str(outside / "new"), "content": "x"}), answer=Deny())
    number = next(n for n, each in enumerate(asked.suggestions) if each.allows == f"Allow access to {outside}")
    taken = Allow(scope="session", suggestion=number)
    await _turn(session, tool("Write", {"file_path": str(outside / "new"), "content": "x"}), answer=taken)
    await session.evict()
    assert await _turn(session, reads) == []
    await session.revoke(session.rules()[0].id)
    assert len(await _turn(session, reads)) == 1


@pytest.mark.parametrize("answer", [Allow(scope="exact"), Allow(scope="session")], ids=["exact", "session"])
async def test_of_an_acp_agent_only_the_very_same_call_is_not_asked_again(
    world: World, answer: Allow, tmp_path: Path
) -> None:
    program = Path(__file__).parent / "asking_agent.py"
    agents = {"asking": AcpAgentSettings(command=(sys.executable, str(program)))}
    store = await SqliteStore.open(tmp_path / "store")
    async with Keeper.start() as keeper:
        services = Services(store, keeper, settings=Settings(acp_agents=agents), environ=world.env, data=tmp_path)
        async with Hub.open(services) as hub:
            session = await hub.create(SessionSpec(engine="asking", cwd=str(world.work)))
            again = ("edit 2", "write print(1)", "run npm test")
            other = ("edit 3", "write evil()", "run npm test; reboot")
            for prompt in again:
                before = session.view().last_seq
                await session.prompt(prompt)
                await session.answer(await until_asked(session, after=before), answer, by="ada", surface="test")
                await until_ended(session, after=before)
            for prompt, by in (*((each, "policy") for each in again), *((each, "test") for each in other)):
                before = session.view().last_seq
                await session.prompt(prompt)
                if by == "test":
                    await session.answer(await until_asked(session, after=before), Deny(), by="ada", surface=by)
                await until_ended(session, after=before)
                assert session.view().closed_requests[-1].answered_from == by
            await _sound(session)
    await store.close()


# -------------------------------------------------------------------------------------------------- plans


async def test_what_a_plan_asks_for_is_granted_as_far_as_it_was_seen(hub: Hub, world: World) -> None:
    session = await _open(hub, world, mode="plan")
    wanted = [{"tool": "Bash", "prompt": "run tests"}, {"tool": "Bash", "prompt": "touch built"}]
    await session.prompt(
        script(
            PLANNING,
            tool("ExitPlanMode", {"allowedPrompts": wanted}),
            _bash("touch built"),
            _bash("touch tested", "Run tests"),
            _bash("touch tested", "Run tests again"),
            _bash("touch other", "Run tests"),
            "Done.",
        )
    )
    plan = await until_asked(session)
    (held,) = session.view().requests
    assert held.request.allowed_prompts == ("Bash: run tests", "Bash: touch built")
    before = session.view().last_seq
    await session.answer(plan, Choose(option="allow_prompts"), by="ada", surface="test")
    assert [rule.prompt for rule in session.rules()] == ["run tests", "touch built"]

    first = await _asked_for(session, "touch tested", before)
    assert (world.work / "built").exists()
    assert not (world.work / "tested").exists()
    assert first.plan_prompt == "run tests"
    before = session.view().last_seq
    await session.answer(first.id, Allow(scope="exact"), by="ada", surface="test")

    second = await _asked_for(session, "touch other", before)
    assert second.plan_prompt == "run tests"
    await session.answer(second.id, Deny(message="no"), by="ada", surface="test")
    assert (await until_ended(session)).answer == "Done."
    await until_idle(session)
    by_rule = [each.answered_by for each in session.view().closed_requests if each.answered_from == "policy"]
    assert by_rule == [
        "rule of the session: What the plan asks for: Bash: touch built",
        "rule of the session: Allow Bash: touch tested",
    ]
    await session.evict()
    assert await _turn(session, _bash("touch built"), _bash("touch tested")) == []
    await _sound(session)


async def _asked_for(session: Session, command: str, after: int) -> Request:
    """The request for that command."""

    def is_for(event: m.Event) -> bool:
        return isinstance(event, m.RequestOpened) and _command(event.request) == command

    opened = (await until(session, is_for, after=after))[-1]
    assert isinstance(opened, m.RequestOpened)
    return opened.request


def _open_requests(session: Session) -> list[Request]:
    return [each.request for each in session.view().requests if each.state == "open"]


def _command(request: Request) -> str:
    return str(json.loads(bytes(request.input or b"{}")).get("command"))


# ------------------------------------------------------------------------------------------------- limits


async def test_a_money_limit_that_asks_goes_on_with_more_where_it_stopped(hub: Hub, world: World) -> None:
    session = await _open(hub, world, limits=Limits(cost_usd=0.01, on_reached="ask"))
    costly = tool("Bash", {"command": "echo hi"}, usage={"input_tokens": 90_000, "output_tokens": 9_000})
    await session.prompt(script(costly, "Not yet."))
    ended = await until_ended(session)
    assert ended.stop_reason == "max_budget"
    asked = await until_asked(session)
    assert _open_requests(session)[0].limit == "money"
    assert len([request for request in world.requests() if request.asks_model]) == 1
    before = session.view().last_seq
    await session.answer(asked, Reply(answers={"?": "50"}), by="ada", surface="test")
    went_on = await until_ended(session, after=before)
    assert went_on.ok, went_on
    assert GO_ON in json.dumps(world.bodies()[-1])
    await until_idle(session)
    attached = [each for each in await whole_log(session) if isinstance(each.event, m.EngineAttached)]
    assert len(attached) == 2, "the process with the old budget was replaced"
    await _sound(session)


async def test_a_money_limit_that_is_not_raised_asks_the_model_nothing(hub: Hub, world: World) -> None:
    session = await _open(hub, world, limits=Limits(cost_usd=0.01, on_reached="ask"))
    costly = tool("Bash", {"command": "echo hi"}, usage={"input_tokens": 90_000, "output_tokens": 9_000})
    await session.prompt(script(costly, "Too dear."))
    await session.answer(await until_asked(session), Decline(), by="ada", surface="test")
    before = session.view().last_seq
    await session.prompt(script("Never."))
    await session.answer(await until_asked(session, after=before), Choose(option="stop"), by="ada", surface="test")
    await until_idle(session)
    assert (session.view().waiting_for, len(session.view().queue)) == ("limit", 1)
    assert len([request for request in world.requests() if request.asks_model]) == 1


# -------------------------------------------------------------------------------------------------- trust


async def test_a_rule_that_the_cli_will_not_read_in_this_folder_is_told(hub: Hub, world: World) -> None:
    session = await _open(hub, world)
    assert len(await _turn(session, _bash("touch one"), _bash("touch one"), answer=Allow(scope="always"))) == 1
    (rule,) = session.rules()
    assert rule.kept == "local"
    told = [each.event for each in await whole_log(session) if isinstance(each.event, m.Notice)]
    warned = [notice.text for notice in told if notice.code == "untrusted_folder"]
    asks_again = world.version == "old"
    assert [f"run `claude` in {world.work} once" in text for text in warned] == [True] * asks_again

    another = await _open(hub, world)
    assert len(await _turn(another, _bash("touch one"))) == asks_again
    await session.evict()
    assert await _turn(session, _bash("touch one")) == []

    await hub.forget(session.id)
    await hub.forget(another.id)
    _accept_trust(world)
    third = await _open(hub, world)
    assert await _turn(third, _bash("touch one"), _bash("touch two"), answer=Allow(scope="always")) != []
    assert "untrusted_folder" not in {
        each.event.code for each in await whole_log(third) if isinstance(each.event, m.Notice)
    }
    await third.revoke(third.rules()[0].id)
    left = [each.event for each in await whole_log(third) if isinstance(each.event, m.Notice)]
    assert "still stands in the local settings" in left[-1].text


def _accept_trust(world: World) -> None:
    """What the CLI writes when somebody accepts its trust dialog."""
    config = world.home / ".claude.json"
    known = json.loads(config.read_text()) if config.exists() else {}
    known.setdefault("projects", {})[str(world.work)] = {"hasTrustDialogAccepted": True}
    config.write_text(json.dumps(known))
