"""What `completed` says for results of the Claude CLI that the installed versions do not write: played as an agent."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from footplate.config.settings import Settings
from footplate.events.runs import Completed
from tests.contract.players import write_player
from tests.contract.subjects import Scene, watch

SESSION = "11111111-2222-4333-8444-555555555555"
INIT = {"type": "system", "subtype": "init", "session_id": SESSION, "cwd": "/", "model": "opus", "tools": []}


async def play(folder: Path, *lines: dict[str, object], one_shot: bool) -> Completed:
    """The end of a run of a `claude` that writes these lines."""
    scene = Scene(folder)
    output = b"".join(msgspec.json.encode(line) + b"\n" for line in (INIT, *lines))
    write_player(scene.bin / "claude", output, version="2.1.325 (Claude Code)", reads_first=True)
    end = (await watch(scene.run("claude", "do it", Settings(), one_shot=one_shot)))[-1]
    assert isinstance(end, Completed)
    return end


def say(text: str) -> dict[str, object]:
    return {
        "type": "assistant",
        "session_id": SESSION,
        "message": {"id": "m", "role": "assistant", "content": [{"type": "text", "text": text}]},
    }


def result(**fields: object) -> dict[str, object]:
    return {"type": "result", "session_id": SESSION, **fields}


@pytest.mark.parametrize("one_shot", [False, True])
async def test_the_answer_is_the_result_also_where_the_last_message_continues(tmp_path: Path, one_shot: bool) -> None:
    ended = result(subtype="success", is_error=False, result="One. ")
    end = await play(tmp_path, say("One. "), say("Two."), ended, one_shot=one_shot)
    assert (end.ok, end.answer) == (True, "One. ")


@pytest.mark.parametrize("one_shot", [False, True])
async def test_the_error_text_of_an_older_cli_is_the_error_of_the_run(tmp_path: Path, one_shot: bool) -> None:
    ended = result(subtype="error", is_error=True, error="Credit balance is too low")
    end = await play(tmp_path, say("half an answer"), ended, one_shot=one_shot)
    assert (end.ok, end.answer, end.error) == (False, "half an answer", "Credit balance is too low")
