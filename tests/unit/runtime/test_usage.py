"""What was used, added up: by day, session, model and engine, from logs that grow."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec

from footplate.events.ids import SessionId, TurnId
from footplate.events.model import TurnEnded
from footplate.events.usage import ModelUsage, Usage
from footplate.interfaces.cli.usage import Use as Shown
from footplate.interfaces.cli.usage import render_plot
from footplate.runtime.hub import Hub
from footplate.runtime.services import Services
from footplate.runtime.spec import SessionSpec
from footplate.runtime.usage import Spent, UsageBook, Use, add_up, shares_of, total
from tests.unit.runtime.following import until_ended

MONDAY = datetime(2026, 11, 16, 12, tzinfo=UTC).timestamp()
DAY = 86_400.0


def _spent(session: str, model: str, cost: float | None, *, ago: float = 0.0, first: bool = True) -> Spent:
    return Spent(
        time=MONDAY - ago,
        session=SessionId(session),
        engine="claude",
        title=f"title of {session}",
        share=ModelUsage(model=model, input_tokens=10, output_tokens=1, cost_usd=cost),
        first=first,
    )


SPENT = (
    _spent("a", "opus", 1.0, ago=DAY),
    _spent("a", "opus", 2.0),
    _spent("a", "haiku", 0.5, first=False),
    _spent("b", "haiku", None),
)


def test_days_come_in_order_and_models_with_the_dearest_first() -> None:
    days = add_up(SPENT, "day", UTC)
    assert [(use.name, use.turns, use.cost_usd) for use in days] == [("2026-11-15", 1, 1.0), ("2026-11-16", 2, 2.5)]
    models = add_up(SPENT, "model")
    assert [(use.name, use.turns, use.cost_usd) for use in models] == [("opus", 2, 3.0), ("haiku", 2, 0.5)]
    sessions = add_up(SPENT, "session")
    assert [(use.name, use.title, use.turns, use.cost_usd) for use in sessions] == [
        ("a", "title of a", 2, 3.5),
        ("b", "title of b", 1, None),
    ]
    assert total(SPENT) == Use(name="", turns=3, sessions=2, input_tokens=40, output_tokens=4, cost_usd=3.5)


def test_the_shares_of_models_are_the_engines_own_and_what_is_left_is_the_sessions_model() -> None:
    def ended(usage: Usage | None) -> TurnEnded:
        return TurnEnded(turn=TurnId("t"), ok=True, usage=usage)

    assert shares_of(ended(None), "opus") == (ModelUsage(model="opus"),)
    plain = shares_of(ended(Usage(input_tokens=3, cost_usd=1.0)), "opus")
    assert plain == (ModelUsage(model="opus", input_tokens=3, cost_usd=1.0),)
    haiku = ModelUsage(model="haiku", output_tokens=5, cost_usd=0.25)
    assert shares_of(ended(Usage(cost_usd=1.0, models=(haiku,))), "opus") == (
        haiku,
        ModelUsage(model="opus", cost_usd=0.75),
    )


async def test_a_log_is_read_once_and_then_only_what_is_new(services: Services, hub: Hub, tmp_path: Path) -> None:
    session = await hub.create(SessionSpec(engine="mock", cwd=str(tmp_path)), title="first")
    book = UsageBook(services.store)

    async def spent() -> tuple[Spent, ...]:
        row = await services.store.projections.session(session.id)
        assert row is not None
        return await book.spent((row,))

    await session.prompt("usage")
    await until_ended(session)
    (one,) = await spent()
    assert (one.engine, one.title, one.share.cost_usd is not None) == ("mock", "first", True)
    after = session.view().last_seq
    await session.prompt("hello")
    await until_ended(session, after=after)
    both = await spent()
    assert both[0] == one
    assert len(both) == 2
    assert await book.spent((), since=0.0) == ()


def test_the_plot_fits_a_wide_and_a_narrow_terminal() -> None:
    rows = (
        Shown(name="2026-11-15", turns=1, output_tokens=1200, cost_usd=0.5),
        Shown(name="2026-11-16", turns=12, output_tokens=2_500_000, cost_usd=2.0),
    )
    wide = render_plot(rows, 80)
    assert [len(line) for line in wide] == [78, 80]
    assert [line.count("█") for line in wide] == [10, 38]
    assert wide[1].endswith("$2.00  12 turns  2.5M tokens")
    narrow = render_plot(rows, 40)
    assert all(len(line) <= 40 for line in narrow)
    assert narrow[1].endswith("$2.00  12 turns"), "what has no room is left out, not cut"
    free = render_plot(tuple(msgspec.structs.replace(row, cost_usd=None) for row in rows), 60)
    assert free[0].count("█") < free[1].count("█"), "without money the bars are of turns"
