"""What a turn of an ACP agent has used: the tokens wherever it tells them, the money by the difference. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.acp.schema.updates import UsageUpdate
from footplate.acp.wire import Wire
from footplate.events.base import OptionalRaw
from footplate.events.model import UsageReported
from footplate.events.usage import Usage, cost_since


class TokenUsage(Wire, frozen=True, kw_only=True):
    """Tokens of a turn, or of one call of the model. The schema calls for more than most agents tell."""

    input_tokens: int = 0
    output_tokens: int = 0
    thought_tokens: int | None = None
    cached_read_tokens: int | None = None
    cached_write_tokens: int | None = None

    def plus(self, other: TokenUsage) -> TokenUsage:
        """Both together."""
        return TokenUsage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            thought_tokens=(self.thought_tokens or 0) + (other.thought_tokens or 0),
            cached_read_tokens=(self.cached_read_tokens or 0) + (other.cached_read_tokens or 0),
            cached_write_tokens=(self.cached_write_tokens or 0) + (other.cached_write_tokens or 0),
        )


class _Count(msgspec.Struct, frozen=True):
    input_tokens: int = 0
    output_tokens: int = 0


class _Quota(msgspec.Struct, frozen=True):
    token_count: _Count = _Count()


class UsageMeta(msgspec.Struct, frozen=True):
    """Where agents tell usage outside of the schema: Gemini beside the end of a turn, Qwen beside a chunk of text."""

    quota: _Quota | None = None
    usage: TokenUsage | None = None


_usage_decoder: Final = msgspec.json.Decoder(TokenUsage)
_meta_decoder: Final = msgspec.json.Decoder(UsageMeta)


class Meter:
    """Counts turn by turn. `before` is what the agent's running total was, None when that is not known."""

    def __init__(self, before: float | None) -> None:
        self._cost: float | None = None
        self._cost_told = False
        self._cost_before = before
        self._calls: TokenUsage | None = None

    def report(self, update: UsageUpdate, *, model: str) -> UsageReported:
        """How full the context is, and what all of it has cost."""
        if update.cost is not None and update.cost.currency == "USD":
            self._cost, self._cost_told = update.cost.amount, True
        return UsageReported(context_used=update.used, context_size=update.size, cost_usd=self._cost, model=model)

    def count(self, meta: OptionalRaw) -> None:
        """One call of the model, as told beside a chunk of what it said."""
        told = _read_meta(meta).usage
        if told is not None:
            self._calls = told if self._calls is None else self._calls.plus(told)

    def end_turn(self, reported: OptionalRaw = None, meta: OptionalRaw = None) -> Usage | None:
        """What the turn that ends now has used; None when the agent told nothing."""
        total, before = self._cost if self._cost_told else None, self._cost_before
        calls, self._calls = self._calls, None
        quota = _read_meta(meta).quota
        if quota is not None and calls is None:
            calls = TokenUsage(
                input_tokens=quota.token_count.input_tokens, output_tokens=quota.token_count.output_tokens
            )
        if reported is None and total is None and calls is None:
            return None
        tokens = _read_tokens(reported) if reported is not None else calls or TokenUsage()
        self._cost_before, self._cost_told = total if total is not None else before, False
        return Usage(
            input_tokens=tokens.input_tokens,
            output_tokens=tokens.output_tokens,
            cache_read_tokens=tokens.cached_read_tokens or 0,
            cache_write_tokens=tokens.cached_write_tokens or 0,
            reasoning_tokens=tokens.thought_tokens or 0,
            cost_usd=cost_since(before, total) if total is not None and before is not None else None,
            total_cost_usd=total,
            reported=None if reported is None else reported.copy(),
        )


def _read_tokens(reported: msgspec.Raw) -> TokenUsage:
    try:
        return _usage_decoder.decode(reported)
    except msgspec.ValidationError:
        return TokenUsage()


def _read_meta(meta: OptionalRaw) -> UsageMeta:
    try:
        return UsageMeta() if meta is None else _meta_decoder.decode(meta)
    except msgspec.ValidationError:
        return UsageMeta()
