"""How a turn of an ACP agent ends: the stop reason, the error, the agent's death, as one `TurnEnded`."""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.acp.jsonrpc import AUTH_REQUIRED, RpcError
from footplate.events.base import ResumeToken
from footplate.events.ids import PromptId, TurnId
from footplate.events.model import Denial, StopReason, TurnEnded
from footplate.events.usage import Usage


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn came to."""

    ok: bool
    stop_reason: StopReason
    error: str = ""
    error_kind: str = ""


VERDICTS: Final[dict[str, Verdict]] = {
    "end_turn": Verdict(ok=True, stop_reason="end_turn"),
    "max_tokens": Verdict(ok=False, stop_reason="max_tokens", error="the answer was cut off at the limit of tokens"),
    "max_turn_requests": Verdict(
        ok=False, stop_reason="max_turns", error="the agent reached its limit of model requests in one turn"
    ),
    "refusal": Verdict(ok=False, stop_reason="refusal", error="the agent refused to go on"),
    "cancelled": Verdict(ok=False, stop_reason="interrupted", error="interrupted"),
}


class Turn(msgspec.Struct):
    """The turn that runs."""

    id: TurnId
    prompts: tuple[PromptId, ...]
    interrupted: bool = False
    requests: int = 0
    denials: list[Denial] = []


def judge_stop(stop_reason: str) -> Verdict:
    """The verdict of a stop reason; one that we do not know is no failure."""
    return VERDICTS.get(stop_reason) or Verdict(ok=True, stop_reason="other")


def judge_error(error: RpcError) -> Verdict:
    """The verdict of a prompt that was answered by an error."""
    return Verdict(
        ok=False,
        stop_reason="error",
        error=word_error(error),
        error_kind="auth" if error.code == AUTH_REQUIRED else str(error.code),
    )


def word_error(error: RpcError) -> str:
    """The agent's own words and what it adds to them."""
    text = error.message or f"error {error.code}"
    detail = read_detail(error)
    return f"{text}: {detail}" if detail and detail not in text else text


class _Detail(msgspec.Struct, frozen=True):
    detail: str = ""
    details: str = ""
    message: str = ""


_detail_decoder: Final = msgspec.json.Decoder(_Detail | str)


def read_detail(error: RpcError) -> str:
    """The text in the error's data, where there is one that we can find."""
    if error.data is None:
        return ""
    try:
        found = _detail_decoder.decode(error.data)
    except msgspec.ValidationError:
        return ""
    return found if isinstance(found, str) else found.detail or found.details or found.message


def end_turn(
    turn: Turn, verdict: Verdict, *, answer: str, usage: Usage | None, resume: ResumeToken | None
) -> TurnEnded:
    """The last event of the turn."""
    return TurnEnded(
        turn=turn.id,
        ok=verdict.ok,
        answer=answer,
        error=verdict.error,
        error_kind=verdict.error_kind,
        stop_reason=verdict.stop_reason,
        usage=usage,
        resume=resume,
        origin="prompt",
        denials=tuple(turn.denials),
        prompts=turn.prompts,
    )
