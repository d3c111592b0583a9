"""Limits of a session: money, turns, time, tool calls. Pure; the session acts on what this finds.

Memory, CPU time and processes of its agent are limits, too; the agent's wire holds it to them.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from footplate.config.settings import CommonSettings
from footplate.events.model import LimitKind, LimitReached
from footplate.events.view import Totals
from footplate.events.wording import format_count, format_duration, format_money
from footplate.host.resources import ResourceLimits, read_resources, stricter

Positive = Meta(gt=0)


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a session may use; None is no limit. Reaching one stops the session and is told; it can be raised.

    With `on_reached` as `ask` somebody is asked as well whether it may go on: of money, turns, time and tool calls.
    """

    cost_usd: Annotated[float, Positive] | None = None
    turns: Annotated[int, Positive] | None = None
    seconds: Annotated[float, Positive] | None = None
    tool_calls: Annotated[int, Positive] | None = None
    memory_mb: Annotated[int, Positive] | None = None
    cpu_s: Annotated[int, Positive] | None = None
    processes: Annotated[int, Positive] | None = None
    on_reached: Literal["stop", "ask"] = "stop"


def agent_resources(limits: Limits, common: CommonSettings) -> ResourceLimits:
    """What an agent process may use of the machine, by the session and by the settings of its engine."""
    own = ResourceLimits(memory_mb=limits.memory_mb, cpu_s=limits.cpu_s, processes=limits.processes)
    return stricter(own, read_resources(common))


class Spent(msgspec.Struct, kw_only=True):
    """What a session has used so far."""

    cost_usd: float = 0.0
    turns: int = 0
    seconds: float = 0.0
    tool_calls: int = 0

    @classmethod
    def of(cls, totals: Totals, *, tool_calls: int) -> Spent:
        """As the log tells it."""
        return cls(
            cost_usd=totals.cost_usd or 0.0,
            turns=totals.turns,
            seconds=totals.duration_ms / 1000,
            tool_calls=tool_calls,
        )


def reached(limits: Limits, spent: Spent) -> LimitReached | None:
    """The first limit that is used up, if any: checked before the next prompt and at every tool call."""
    if limits.cost_usd is not None and spent.cost_usd >= limits.cost_usd:
        return told("money", spent_money(limits, spent))
    if limits.turns is not None and spent.turns >= limits.turns:
        return told("turns", f"{spent.turns:,} of {format_count(limits.turns, 'turn')} used")
    if limits.seconds is not None and spent.seconds >= limits.seconds:
        return told("time", f"{format_duration(spent.seconds)} of {format_duration(limits.seconds)} are over")
    if limits.tool_calls is not None and spent.tool_calls >= limits.tool_calls:
        return told("tool_calls", spent_calls(limits, spent.tool_calls))
    return None


def spent_money(limits: Limits, spent: Spent) -> str:
    """How much of the money is gone."""
    return f"{format_money(spent.cost_usd)} of {format_money(limits.cost_usd or 0)} are spent"


def spent_calls(limits: Limits, calls: int) -> str:
    """How many of the tool calls are made."""
    return f"{calls:,} of {format_count(limits.tool_calls or 0, 'tool call')} used"


def told(kind: LimitKind, text: str) -> LimitReached:
    """A limit of the session that is reached, in words."""
    return LimitReached(kind=kind, status="reached", name=f"session {kind}", text=text)


def remaining_money(limits: Limits, spent: Spent) -> float | None:
    """What the engine itself may still spend; it stops before the model call that would go beyond."""
    if limits.cost_usd is None:
        return None
    return max(limits.cost_usd - spent.cost_usd, 0.0001)
