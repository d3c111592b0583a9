from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench import editors, setup
from bench.acp_pipe import Pipe
from bench.stage import NotMeasured, Stage


def test_without_the_peer_nothing_is_measured_and_it_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> tuple[str, ...]:
        raise NotMeasured("not here")

    monkeypatch.setattr(setup, "editor_adapter", missing)
    monkeypatch.setattr(editors, "claude_binary", lambda folder, version: Path(sys.executable))
    assert editors.measure_editors(Stage(tmp_path), editors.QUICK).why == "not here"


@pytest.mark.long
def test_an_agent_is_driven_and_its_processes_are_counted(tmp_path: Path) -> None:
    argv = (sys.executable, "-m", "footplate", "acp", "mock")
    environment = {**Stage(tmp_path).environment, "FOOTPLATE_MOCK_PACE_MS": "0"}
    pipe = Pipe("ours", argv, environment, tmp_path, Path("/nonexistent"))
    try:
        pipe.initialize()
        assert pipe.prompt(pipe.open(), "hello") > 0
        assert pipe.cpu_ms() > 0
        assert 20 < pipe.rss_mb() < editors.MEMORY_MB
        assert 10 < pipe.pss_mb() < editors.MEMORY_MB
        with pytest.raises(NotMeasured, match="session/prompt"):
            pipe.prompt("nobody", "hello")
    finally:
        pipe.close()
