"""A conversation of which the engine has no record begins anew; one that was never attached is left to the engine."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from footplate.engines.base import Options
from footplate.engines.claude.engine import ClaudeEngine
from footplate.engines.claude.prompts import prompt_uuid
from footplate.engines.mock.engine import MockEngine
from footplate.events import model as m
from footplate.events.base import ResumeToken
from footplate.events.content import TextBlock
from footplate.events.ids import EngineSessionId, PromptId, ToolCallId, TurnId
from footplate.events.view import QueuedPrompt, SessionView, ToolItem
from footplate.runtime.records import FORGOTTEN, Doubts, begin_anew, is_missing, was_begun, with_token
from footplate.runtime.surroundings import Surroundings

ID = EngineSessionId("6e0b8f5e-5b5e-4d6c-9d0c-2f6f7b8a9c1d")
CLEARED = EngineSessionId("7e0b8f5e-5b5e-4d6c-9d0c-2f6f7b8a9c1d")
TOKEN = ResumeToken(engine="claude", value=ID)
ATTACHED = SessionView(version="2.1.325", resume=TOKEN)


@pytest.fixture
def options(tmp_path: Path) -> Options:
    return Options(cwd=str(tmp_path), resume=ID)


def test_a_conversation_without_a_file_is_missing(tmp_path: Path, options: Options) -> None:
    assert is_missing(ClaudeEngine(), ATTACHED, options, {"HOME": str(tmp_path)})


def test_a_conversation_with_a_file_is_there(tmp_path: Path, options: Options) -> None:
    folder = tmp_path / ".claude" / "projects" / "any"
    folder.mkdir(parents=True)
    (folder / f"{ID}.jsonl").write_text("{}\n")
    assert not is_missing(ClaudeEngine(), ATTACHED, options, {"HOME": str(tmp_path)})


def test_what_was_never_attached_or_is_forked_or_begins_is_left_to_the_engine(tmp_path: Path, options: Options) -> None:
    home = {"HOME": str(tmp_path)}
    assert not is_missing(ClaudeEngine(), SessionView(resume=TOKEN), options, home)
    assert not is_missing(ClaudeEngine(), ATTACHED, replace(options, fork=True), home)
    assert not is_missing(ClaudeEngine(), ATTACHED, replace(options, resume=None), home)
    assert not is_missing(MockEngine(), ATTACHED, options, home)


def _write_prompt(folder: Path, conversation: EngineSessionId, prompt: PromptId) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    entry = {"type": "user", "uuid": prompt_uuid(prompt), "message": {"role": "user", "content": "hi"}}
    (folder / f"{conversation}.jsonl").write_bytes(msgspec.json.encode(entry) + b"\n")


def test_a_prompt_that_the_file_has_was_begun(tmp_path: Path, options: Options) -> None:
    home, prompt = {"HOME": str(tmp_path)}, PromptId("p1")
    assert not was_begun(ClaudeEngine(), options, home, prompt)
    _write_prompt(tmp_path / ".claude" / "projects" / "any", ID, prompt)
    assert was_begun(ClaudeEngine(), options, home, prompt)
    assert not was_begun(ClaudeEngine(), options, home, PromptId("p2"))
    assert not was_begun(ClaudeEngine(), replace(options, resume=None), home, prompt)
    assert not was_begun(MockEngine(), options, home, prompt)


def test_it_is_told_only_where_the_agent_had_said_something() -> None:
    assert begin_anew(ATTACHED) == []
    call = ToolItem(id=ToolCallId("c"), name="Bash", kind="command", title="ls", turn=TurnId("t"), at=1.0)
    (notice,) = begin_anew(replace(ATTACHED, items=(call,)))
    assert isinstance(notice, m.Notice)
    assert (notice.code, notice.text) == ("conversation_lost", FORGOTTEN)


def test_a_turn_that_fails_before_the_conversation_is_there_still_names_it() -> None:
    ended = m.TurnEnded(turn=TurnId("t"), ok=False, error="no")
    assert with_token(ended, ATTACHED) == replace(ended, resume=TOKEN)
    assert with_token(ended, SessionView(resume=TOKEN)) == ended


@pytest.mark.parametrize("begun_in", [ID, CLEARED])
async def test_a_prompt_is_looked_for_where_the_process_started_and_where_it_moved_to(
    tmp_path: Path, options: Options, begun_in: EngineSessionId
) -> None:
    """After `/clear` the record of the process names the conversation that it was started in, the log the new one."""
    home, prompt = {"HOME": str(tmp_path)}, PromptId("p1")
    _write_prompt(tmp_path / ".claude" / "projects" / "any", begun_in, prompt)
    queued = QueuedPrompt(id=prompt, content=(TextBlock(text="hi"),), at=0.0)
    doubts = Doubts(SessionView(queue=(queued,)), Surroundings())
    doubts.started_in = ID
    assert await doubts.begun(prompt, ClaudeEngine(), lambda: replace(options, resume=CLEARED), home)
