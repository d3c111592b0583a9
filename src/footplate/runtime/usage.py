"""What sessions have used: tokens, turns and money, by day, by session, by model and by engine.

Read from the logs of the sessions that were active in the time that is asked for; what was read once is kept, so that
asking again costs only what is new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, tzinfo
from typing import Final, Literal

import msgspec

from footplate.events import model as m
from footplate.events.ids import SessionId
from footplate.events.usage import ModelUsage
from footplate.store.base import Store
from footplate.store.projection import SessionRow

PAGE: Final = 500
ENDING: Final = b'"TurnEnded"'
"""What the log's line of such an event holds: the others are not decoded."""

By = Literal["day", "session", "model", "engine"]


class Use(msgspec.Struct, frozen=True, kw_only=True):
    """What was used under one name: a day, a session, a model or an engine. `cost_usd` is None where nobody told."""

    name: str
    title: str = ""
    turns: int = 0
    sessions: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = None


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """One model's share of one turn. `first`: it stands for the turn in counts."""

    time: float
    session: SessionId
    engine: str
    title: str
    share: ModelUsage
    first: bool


class TurnUse(msgspec.Struct, frozen=True, gc=False):
    """A turn that ended, and what each model used in it."""

    time: float
    shares: tuple[ModelUsage, ...]


def shares_of(ended: m.TurnEnded, model: str) -> tuple[ModelUsage, ...]:
    """What each model used in the turn; all of it is the session's model's where they are not told apart."""
    usage = ended.usage
    if usage is None:
        return (ModelUsage(model=model),)
    whole = ModelUsage(
        model=model,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        cost_usd=usage.cost_usd,
    )
    if not usage.models:
        return (whole,)
    told = sum(share.cost_usd or 0.0 for share in usage.models)
    rest = (usage.cost_usd or 0.0) - told
    if rest > 1e-9:
        return (*usage.models, ModelUsage(model=model, cost_usd=rest))
    return usage.models


def add_up(spent: Iterable[Spent], by: By, zone: tzinfo | None = None) -> tuple[Use, ...]:
    """The sums under each name: days in order, the others with the dearest first."""
    names: dict[By, Callable[[Spent], str]] = {
        "day": lambda each: datetime.fromtimestamp(each.time, UTC).astimezone(zone).date().isoformat(),
        "session": lambda each: each.session,
        "model": lambda each: each.share.model or "unknown",
        "engine": lambda each: each.engine,
    }
    groups: dict[str, list[Spent]] = {}
    for each in spent:
        groups.setdefault(names[by](each), []).append(each)
    sums = [_sum(name, group, by) for name, group in groups.items()]
    if by == "day":
        return tuple(sorted(sums, key=lambda use: use.name))
    return tuple(sorted(sums, key=lambda use: (-(use.cost_usd or 0.0), -use.output_tokens, use.name)))


def total(spent: Iterable[Spent]) -> Use:
    """Everything."""
    return _sum("", list(spent), "engine")


def _sum(name: str, group: list[Spent], by: By) -> Use:
    costs = [each.share.cost_usd for each in group if each.share.cost_usd is not None]
    counted = {(each.session, each.time) for each in group if each.first or by == "model"}
    return Use(
        name=name,
        title=group[-1].title if by == "session" else "",
        turns=len(counted),
        sessions=len({each.session for each in group}),
        input_tokens=sum(each.share.input_tokens for each in group),
        output_tokens=sum(each.share.output_tokens for each in group),
        cache_read_tokens=sum(each.share.cache_read_tokens for each in group),
        cache_write_tokens=sum(each.share.cache_write_tokens for each in group),
        cost_usd=round(sum(costs), 9) if costs else None,
    )


class UsageBook:
    """What the sessions of a store have used, as far as it was asked for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._turns: dict[SessionId, list[TurnUse]] = {}
        self._read: dict[SessionId, int] = {}

    async def spent(self, rows: Iterable[SessionRow], *, since: float = 0.0) -> tuple[Spent, ...]:
        """Every share of every turn of these sessions that ended since then, in order of time."""
        found: list[Spent] = []
        for row in rows:
            if row.updated_at < since:
                continue
            for turn in await self._turns_of(row):
                if turn.time >= since:
                    found += [
                        Spent(
                            time=turn.time,
                            session=row.session,
                            engine=row.engine,
                            title=row.title,
                            share=share,
                            first=index == 0,
                        )
                        for index, share in enumerate(turn.shares)
                    ]
        return tuple(sorted(found, key=lambda each: each.time))

    async def _turns_of(self, row: SessionRow) -> list[TurnUse]:
        turns = self._turns.setdefault(row.session, [])
        if self._read.get(row.session, 0) > row.last_seq:
            turns.clear()
            self._read[row.session] = 0
        while (after := self._read.get(row.session, 0)) < row.last_seq:
            rows = await self._store.read(row.session, after, PAGE)
            if not rows:
                break
            for stored in rows:
                if ENDING in stored.body:
                    envelope = stored.envelope()
                    if isinstance(envelope.event, m.TurnEnded):
                        turns.append(TurnUse(envelope.time, shares_of(envelope.event, row.model)))
            self._read[row.session] = rows[-1].seq
        return turns
