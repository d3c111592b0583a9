"""The end of a turn as the answer to its prompt: stop reasons, and errors with their codes."""

from __future__ import annotations

import pytest

from footplate.acp.encode_turn import answer_prompt
from footplate.acp.failures import Failure
from footplate.acp.schema.sessions import PromptResponse
from footplate.events.ids import TurnId
from footplate.events.model import StopReason, TurnEnded


@pytest.mark.parametrize(
    ("stop", "told"),
    [
        ("end_turn", "end_turn"),
        ("max_tokens", "max_tokens"),
        ("max_turns", "max_turn_requests"),
        ("max_budget", "max_turn_requests"),
        ("refusal", "refusal"),
        ("interrupted", "cancelled"),
    ],
)
def test_a_turn_that_was_stopped_has_a_stop_reason(stop: StopReason, told: str) -> None:
    ended = TurnEnded(
        turn=TurnId("t"), ok=stop == "end_turn", stop_reason=stop, error="" if stop == "end_turn" else "x"
    )
    assert answer_prompt(ended, cancelled=False) == PromptResponse(stop_reason=told)


@pytest.mark.parametrize(("kind", "code"), [("authentication_failed", -32000), ("server_error", -32603)])
def test_a_turn_that_failed_is_an_error_unless_it_was_cancelled(kind: str, code: int) -> None:
    ended = TurnEnded(turn=TurnId("t"), ok=False, stop_reason="error", error="no", error_kind=kind)
    failure = answer_prompt(ended, cancelled=False)
    assert isinstance(failure, Failure)
    assert failure.code == code
    assert answer_prompt(ended, cancelled=True) == PromptResponse(stop_reason="cancelled")
