"""Texts of the run view that are not tool calls."""

from __future__ import annotations

import pytest

from footplate.events.model import EngineDetached
from footplate.events.run_notes import word_exit


@pytest.mark.parametrize(
    ("gone", "facts"),
    [
        (EngineDetached(reason="exit code 3", exit_code=3), "exit code 3"),
        (EngineDetached(reason="exited with code 3", exit_code=3), "exited with code 3"),
        (EngineDetached(reason="it failed with code 30", exit_code=3), "it failed with code 30, exit code 3"),
        (EngineDetached(reason="it was stopped", exit_code=3), "it was stopped, exit code 3"),
        (EngineDetached(reason="killed by SIGKILL", signal=9), "killed by SIGKILL"),
        (EngineDetached(reason="killed", signal=9), "killed, signal 9"),
        (EngineDetached(reason="signal 40", signal=40), "signal 40"),
        (EngineDetached(reason="saw signal 40", signal=4), "saw signal 40, signal 4"),
    ],
)
def test_an_exit_status_is_named_once(gone: EngineDetached, facts: str) -> None:
    assert word_exit(gone) == f"the agent ended without a result ({facts})"
