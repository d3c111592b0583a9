"""What a turn cost: tokens, money, time, as one engine-independent value."""

from __future__ import annotations

import msgspec

from footplate.events.base import OptionalRaw


class ModelUsage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The share of one model."""

    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = None
    context_window: int | None = None


def cost_since(before: float, total: float) -> float:
    """What came on top of a running total; a total that shrank began at zero again."""
    return round(total - before, 9) if total >= before else total


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Tokens, money and time of one turn, never cumulative; totals are made by whoever adds up.

    `total_cost_usd` is the engine's own running total, where it gives one, of its process or of its conversation;
    `reported` holds the engine's figures untouched, under its own names.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = None
    total_cost_usd: float | None = None
    duration_ms: int | None = None
    duration_api_ms: int | None = None
    model_calls: int | None = None
    models: tuple[ModelUsage, ...] = ()
    reported: OptionalRaw = None
