"""A turn of Codex: what is known of it while it runs, and how it ends. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.engines.codex.exec_wire import plain_words
from footplate.engines.codex.wire import Counts, TurnError
from footplate.engines.codex.wire import Turn as WireTurn
from footplate.events.base import OptionalRaw, ResumeToken
from footplate.events.ids import PromptId, TurnId
from footplate.events.model import Denial, StopReason, TurnEnded
from footplate.events.usage import Usage


class Turn(msgspec.Struct):
    """The turn that runs. `wire_id` is Codex's own name of it, once it is known."""

    id: TurnId
    prompts: tuple[PromptId, ...]
    wire_id: str = ""
    interrupted: bool = False
    requests: int = 0
    error: str = ""
    counts: Counts | None = None
    denials: list[Denial] = []


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn came to."""

    ok: bool
    stop_reason: StopReason
    error: str = ""
    error_kind: str = ""


INTERRUPTED: Final = Verdict(ok=False, stop_reason="interrupted", error="interrupted")
KINDS: Final = {"unauthorized": "auth", "usageLimitExceeded": "limit", "rateLimitExceeded": "rate"}


def judge(turn: Turn, ended: WireTurn) -> Verdict:
    """The verdict of Codex itself; what it said of the failure on the way is the reason where the end has none."""
    if ended.status == "completed":
        return Verdict(ok=True, stop_reason="end_turn")
    if ended.status == "interrupted":
        return INTERRUPTED
    words = word_error(ended.error) if ended.error is not None else turn.error
    kind = _kind(ended.error.codex_error_info) if ended.error is not None else ""
    return Verdict(ok=False, stop_reason="error", error=words or "the turn failed", error_kind=kind)


def word_error(error: TurnError) -> str:
    """The words of an error; a provider's answer in it is read out."""
    return plain_words(error.message) or (error.additional_details or "")


def _kind(info: OptionalRaw) -> str:
    """The name of the error, in our words where we have any."""
    try:
        name = "" if info is None else msgspec.json.decode(info, type=str | dict[str, msgspec.Raw] | None)
    except msgspec.ValidationError:
        return ""
    word = name if isinstance(name, str) else next(iter(name or {}), "")
    return KINDS.get(word, word)


def add_counts(before: Counts | None, last: Counts) -> Counts:
    """One more call of the model in the turn."""
    if before is None:
        return last
    fields = Counts.__struct_fields__
    return Counts(**{name: getattr(before, name) + getattr(last, name) for name in fields})


def sum_usage(counts: Counts | None, duration_ms: int | None) -> Usage | None:
    """What the turn has used. Codex counts cached tokens as input, we count them apart."""
    if counts is None:
        return None
    cached, written = counts.cached_input_tokens, counts.cache_write_input_tokens
    return Usage(
        input_tokens=max(0, counts.input_tokens - cached - written),
        output_tokens=counts.output_tokens,
        cache_read_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=counts.reasoning_output_tokens,
        duration_ms=duration_ms,
    )


def end_turn(
    turn: Turn,
    verdict: Verdict,
    *,
    answer: str,
    resume: ResumeToken | None,
    duration_ms: int | None = None,
    structured: bool = False,
) -> TurnEnded:
    """The last event of the turn."""
    return TurnEnded(
        turn=turn.id,
        ok=verdict.ok,
        answer=answer,
        error=verdict.error,
        error_kind=verdict.error_kind,
        stop_reason=verdict.stop_reason,
        structured_output=_read_json(answer) if structured and verdict.ok else None,
        usage=sum_usage(turn.counts, duration_ms),
        resume=resume,
        origin="prompt",
        denials=tuple(turn.denials),
        prompts=turn.prompts,
    )


def _read_json(text: str) -> OptionalRaw:
    try:
        return msgspec.Raw(msgspec.json.encode(msgspec.json.decode(text)))
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
