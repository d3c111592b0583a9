"""The real CLI: an interrupt or a limit that arrives while a rule answers never leaves a session hanging."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from footplate.config.rules import Rule
from footplate.config.settings import Settings
from footplate.events import model as m
from footplate.host.process import Keeper
from footplate.runtime.hub import Hub
from footplate.runtime.limits import Limits
from footplate.runtime.services import Services
from footplate.runtime.session import Session
from footplate.runtime.spec import SessionSpec
from footplate.store.sqlite import SqliteStore
from footplate.testing.invariants import check_log
from footplate.testing.messages import script, tool, tools
from tests.e2e.world import World
from tests.unit.runtime.following import until, until_ended, until_idle, whole_log

pytestmark = pytest.mark.timeout(180)
ALLOW = (Rule(tool="Bash", decision="allow"),)


@asynccontextmanager
async def _hub(world: World, folder: Path) -> AsyncIterator[Hub]:
    store = await SqliteStore.open(folder / "store")
    async with Keeper.start() as keeper:
        services = Services(store, keeper, settings=Settings(), environ=world.env, data=folder / "data", rules=ALLOW)
        async with Hub.open(services) as hub:
            yield hub
    await store.close()


async def _works(session: Session) -> None:
    """The session takes a prompt as if nothing had been."""
    await until_idle(session)
    before = session.view().last_seq
    await session.prompt(script("still here"))
    assert (await until_ended(session, after=before)).answer == "still here"
    await until_idle(session)
    assert check_log(await whole_log(session), finished=False) == []


async def test_interrupts_at_any_moment_of_a_call_that_a_rule_allows(
    world: World, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    tries = 40 if request.config.getoption("--all-versions") else 8
    async with _hub(world, tmp_path) as hub:
        session = await hub.create(SessionSpec(engine="claude", cwd=str(world.work)))
        for number in range(tries):
            before = session.view().last_seq
            await session.prompt(script(tool("Bash", {"command": f"echo {number}"}), "It said: $LAST"))
            await until(session, lambda event: isinstance(event, m.ToolStarted | m.TurnEnded), after=before)
            await asyncio.sleep(0.004 * (number % 8))
            await session.interrupt()
            await until_ended(session, after=before)
        await _works(session)


async def test_a_limit_of_calls_that_is_reached_while_rules_answer(
    world: World, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    tries = 12 if request.config.getoption("--all-versions") else 3
    calls = tools(*(("Bash", {"command": f"echo {number}"}) for number in range(4)))
    async with _hub(world, tmp_path) as hub:
        for _ in range(tries):
            session = await hub.create(SessionSpec(engine="claude", cwd=str(world.work), limits=Limits(tool_calls=2)))
            await session.prompt(script(calls, "done"))
            events = await until(session, lambda event: isinstance(event, m.TurnEnded))
            assert [event.kind for event in events if isinstance(event, m.LimitReached)] == ["tool_calls"]
            await until_idle(session)
            assert check_log(await whole_log(session), finished=False) == []
