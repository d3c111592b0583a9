"""The end of a turn: verdict, answer, error for people, figures. Pure functions of a result and what came before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from footplate.engines.claude.lenient import present, read, read_struct
from footplate.engines.claude.wire import (
    NUMBER,
    TEXT,
    TEXTS,
    DeniedCall,
    ModelTotals,
    Result,
    ThinkingTokens,
    Tokens,
)
from footplate.events.ids import ToolCallId
from footplate.events.model import Denial, StopReason
from footplate.events.usage import ModelUsage, Usage, cost_since

DIAGNOSTIC: Final = "[ede_diagnostic]"
"""How an internal string in `errors` begins; never shown to people."""

REPORTED: Final = (
    ("usage", "usage"),
    ("modelUsage", "model_usage"),
    ("total_cost_usd", "total_cost_usd"),
    ("duration_ms", "duration_ms"),
    ("duration_api_ms", "duration_api_ms"),
    ("num_turns", "num_turns"),
)

DENIED: Final = msgspec.json.Decoder(tuple[DeniedCall, ...])
TOKENS: Final = msgspec.json.Decoder(Tokens)
THINKING: Final = msgspec.json.Decoder(ThinkingTokens)
MODELS: Final = msgspec.json.Decoder(dict[str, ModelTotals])
NO_TOKENS: Final = Tokens()
NO_TOTALS: Final = ModelTotals()

SUBTYPES: Final[dict[str, StopReason]] = {"error_max_turns": "max_turns", "error_max_budget_usd": "max_budget"}
STOPS: Final[dict[str, StopReason]] = {
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    "tool_use": "end_turn",
    "pause_turn": "end_turn",
    "": "end_turn",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "refusal",
}


class Totals(msgspec.Struct, frozen=True):
    """What the process had cost when the turn before ended."""

    cost_usd: float = 0.0
    models: Mapping[str, ModelTotals] = {}


def is_ok(line: Result) -> bool:
    """The verdict: `is_error` where it stands, else the subtype."""
    return line.subtype == "success" if line.is_error is None else not line.is_error


def stop_reason(line: Result, *, interrupted: bool) -> StopReason:
    """Why the turn ended."""
    if line.subtype in SUBTYPES:
        return SUBTYPES[line.subtype]
    if interrupted or (line.terminal_reason or "").startswith("aborted"):
        return "interrupted"
    told = STOPS.get(line.stop_reason or "", "other")
    return told if is_ok(line) or told in ("refusal", "max_tokens") else "error"


def answer(line: Result, said: list[str]) -> str:
    """The result's own text; the last message where the result has none."""
    return line.result or "".join(said)


def denials(line: Result) -> tuple[Denial, ...]:
    """The calls that were refused."""
    return tuple(
        Denial(
            tool=denied.tool_name,
            call=ToolCallId(denied.tool_use_id) if denied.tool_use_id else None,
            input=None if denied.tool_input is None else denied.tool_input.copy(),
        )
        for denied in read(DENIED, line.permission_denials) or ()
    )


def error_text(line: Result, stop: StopReason, refused: tuple[Denial, ...]) -> str:
    """What went wrong, in a few words for people."""
    texts = (*(read(TEXTS, line.errors) or ()), read(TEXT, line.error) or "")
    shown = [text for text in texts if text and not text.startswith(DIAGNOSTIC)]
    if shown:
        return "; ".join(dict.fromkeys(shown))
    if stop == "interrupted":
        return "interrupted"
    if line.result:
        return line.result
    if refused:
        return "permission denied: " + ", ".join(dict.fromkeys(denial.tool for denial in refused))
    return f"the agent ended the turn with an error ({line.terminal_reason or line.subtype or 'no reason given'})"


def error_kind(line: Result, stop: StopReason, told: str) -> str:
    """The class of the error: the CLI's own word for an API failure, else why the turn stopped."""
    return told or line.api_error or line.api_error_type or (stop if stop != "error" else "error")


def structured_output(line: Result) -> msgspec.Raw | None:
    """What the agent gave for the schema; None when it gave nothing."""
    raw = present(line.structured_output)
    return None if raw is None else raw.copy()


def usage(line: Result, before: Totals) -> tuple[Usage, Totals]:
    """What this turn cost, and the totals that the next one starts from.

    CLI 2.1.325 continues the totals of a conversation that it resumes, 2.1.197 starts them at zero. What the newer one
    says it used since its last result is right in both cases, so the totals are compared only where that is missing.
    """
    tokens = read_struct(TOKENS, line.usage) or NO_TOKENS
    thinking = read(THINKING, tokens.output_tokens_details)
    total = read(NUMBER, line.total_cost_usd)
    models = read(MODELS, line.model_usage)
    after = Totals(before.cost_usd if total is None else total, before.models if models is None else models)
    since = read(MODELS, line.since_last_result)
    spent = Usage(
        input_tokens=tokens.input_tokens,
        output_tokens=tokens.output_tokens,
        cache_read_tokens=tokens.cache_read_input_tokens,
        cache_write_tokens=tokens.cache_creation_input_tokens,
        reasoning_tokens=0 if thinking is None else thinking.thinking_tokens,
        cost_usd=_cost(total, before, since),
        total_cost_usd=total,
        duration_ms=_whole(line.duration_ms),
        duration_api_ms=_whole(line.duration_api_ms),
        models=_shares(after.models, before.models) if since is None else _shares(since, {}),
        reported=_reported(line),
    )
    return spent, after


def _cost(total: float | None, before: Totals, since: Mapping[str, ModelTotals] | None) -> float | None:
    if since is not None:
        return round(sum(used.cost_usd for used in since.values()), 9)
    return None if total is None else cost_since(before.cost_usd, total)


def context_size(totals: Totals, model: str) -> int | None:
    """How much the model in force can hold."""
    share = totals.models.get(model) or totals.models.get(model.split("[", maxsplit=1)[0])
    return None if share is None else share.context_window


def _shares(now: Mapping[str, ModelTotals], before: Mapping[str, ModelTotals]) -> tuple[ModelUsage, ...]:
    shares = (_share(model, totals, before.get(model, NO_TOTALS)) for model, totals in now.items())
    return tuple(share for share in shares if share.input_tokens or share.output_tokens or share.cost_usd)


def _share(model: str, now: ModelTotals, before: ModelTotals) -> ModelUsage:
    if now.cost_usd < before.cost_usd or now.output_tokens < before.output_tokens:
        before = NO_TOTALS
    return ModelUsage(
        model=model,
        input_tokens=now.input_tokens - before.input_tokens,
        output_tokens=now.output_tokens - before.output_tokens,
        cache_read_tokens=now.cache_read_input_tokens - before.cache_read_input_tokens,
        cache_write_tokens=now.cache_creation_input_tokens - before.cache_creation_input_tokens,
        cost_usd=cost_since(before.cost_usd, now.cost_usd),
        context_window=now.context_window,
    )


def _whole(raw: msgspec.Raw | None) -> int | None:
    number = read(NUMBER, raw)
    return None if number is None else int(number)


def _reported(line: Result) -> msgspec.Raw | None:
    parts: list[bytes] = []
    for name, field in REPORTED:
        raw: msgspec.Raw | None = getattr(line, field)
        if raw is not None:
            parts.append(b'"%s":%s' % (name.encode(), bytes(raw)))
    return msgspec.Raw(b"{%s}" % b",".join(parts)) if parts else None
