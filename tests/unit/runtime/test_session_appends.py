"""What a turn costs the store: few appends, and a state stands in the log together with what caused it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from footplate.config.settings import Settings
from footplate.events import model as m
from footplate.events.ids import SessionId
from footplate.events.model import Envelope
from footplate.host.process import Keeper
from footplate.runtime.hub import Hub
from footplate.runtime.services import Services
from footplate.runtime.session import Session
from footplate.runtime.spec import SessionSpec
from footplate.store.memory import MemoryStore
from footplate.store.values import Encoded
from tests.unit.runtime.following import until, until_asked, until_ended, until_idle, whole_log

Names = list[str]


class Ledger(MemoryStore):
    """A memory store that remembers which events came in one append."""

    def __init__(self) -> None:
        super().__init__()
        self.appends: list[Names] = []

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
        seq = await super().append(session, epoch, expected_seq, events, durable=durable, audit=audit)
        stamped = [each.envelope if isinstance(each, Encoded) else each for each in events]
        self.appends.append([type(each.event).__name__ for each in stamped])
        return seq


@pytest.fixture
async def ledger() -> AsyncIterator[Ledger]:
    store = Ledger()
    yield store
    await store.close()


@pytest.fixture
async def session(ledger: Ledger, tmp_path: Path) -> AsyncIterator[Session]:
    """A session whose agent runs already, with nothing to do."""
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "FOOTPLATE_MOCK_PACE_MS": "0"}
    async with Keeper.start() as keeper:
        services = Services(ledger, keeper, settings=Settings(), environ=environ, data=tmp_path / "data")
        async with Hub.open(services) as hub:
            made = await hub.create(SessionSpec(engine="mock", cwd=str(tmp_path)))
            await made.prompt("hello")
            await until_ended(made)
            await until_idle(made)
            ledger.appends.clear()
            yield made


async def _turn(session: Session, prompt: str) -> None:
    before = session.view().last_seq
    await session.prompt(prompt)
    await until_ended(session, after=before)
    await until_idle(session)


async def test_a_plain_turn_of_a_warm_agent_takes_three_appends_at_most(session: Session, ledger: Ledger) -> None:
    await _turn(session, "hello")
    assert ledger.appends[0] == ["PromptQueued", "StateChanged"]
    assert ledger.appends[-1][-2:] == ["TurnEnded", "StateChanged"]
    assert len(ledger.appends) <= 3


async def test_a_state_is_never_an_append_of_its_own_while_a_tool_is_called(session: Session, ledger: Ledger) -> None:
    await _turn(session, "tool")
    assert [names for names in ledger.appends if names == ["StateChanged"]] == []
    told = [each.event for each in await whole_log(session) if isinstance(each.event, m.StateChanged)]
    assert [(each.state, each.waiting_for) for each in told[-4:]] == [
        ("running", "model"),
        ("running", "tool"),
        ("running", "model"),
        ("idle", ""),
    ]


async def test_no_idle_is_told_between_a_turn_and_a_prompt_that_waits(session: Session) -> None:
    before = session.view().last_seq
    await session.prompt("slow 50")
    await session.prompt("second")
    seen = await until(session, lambda event: isinstance(event, m.StateChanged) and event.state == "idle", after=before)
    assert sum(isinstance(event, m.TurnEnded) for event in seen) == 2


async def test_a_request_that_opens_is_waited_for_and_an_end_of_its_turn_is_told(session: Session) -> None:
    before = session.view().last_seq
    await session.prompt("permission")
    await until_asked(session, after=before)
    await until(session, lambda event: isinstance(event, m.StateChanged) and event.waiting_for == "you", after=before)
    await session.interrupt()
    await until_ended(session, after=before)
    await until_idle(session)
    assert (session.view().state, session.view().waiting_for) == ("idle", "")


async def test_a_state_that_we_add_is_told_as_ours(session: Session) -> None:
    await _turn(session, "hello")
    assert {each.source for each in await whole_log(session) if isinstance(each.event, m.StateChanged)} == {"bridge"}
