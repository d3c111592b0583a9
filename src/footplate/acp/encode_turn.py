"""The end of a turn as the response to the prompt that began it. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.acp.failures import Failure, failure_of_turn
from footplate.acp.meta import quota_meta
from footplate.acp.schema.sessions import PromptResponse
from footplate.acp.schema.updates import Usage as WireUsage
from footplate.events.base import OptionalRaw
from footplate.events.model import StopReason, TurnEnded
from footplate.events.usage import Usage

STOPS: Final[dict[StopReason, str]] = {
    "end_turn": "end_turn",
    "max_tokens": "max_tokens",
    "max_turns": "max_turn_requests",
    "max_budget": "max_turn_requests",
    "refusal": "refusal",
    "interrupted": "cancelled",
}
CANCELLED: Final = "cancelled"


def answer_prompt(event: TurnEnded, *, cancelled: bool, quota: bool = False) -> PromptResponse | Failure:
    """What the client hears. `cancelled`: it asked for the turn to stop, so whatever came of that is no error.

    `quota`: it is told the tokens by models, too, in the words of claude-agent-acp.
    """
    stop = STOPS.get(event.stop_reason)
    if stop is None:
        if event.ok:
            stop = "end_turn"
        elif cancelled:
            stop = CANCELLED
        else:
            return failure_of_turn(event)
    meta = quota_meta(event.usage) if quota and event.usage is not None else None
    return PromptResponse(stop_reason=stop, usage=_usage(event.usage), meta=meta)


def _usage(usage: Usage | None) -> OptionalRaw:
    if usage is None:
        return None
    parts = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    wire = WireUsage(
        total_tokens=sum(parts),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_read_tokens=usage.cache_read_tokens,
        cached_write_tokens=usage.cache_write_tokens,
        thought_tokens=usage.reasoning_tokens or None,
    )
    return msgspec.Raw(msgspec.json.encode(wire))
