"""Resume lines of Claude, written and found."""

from __future__ import annotations

import pytest

from footplate.engines.claude.resume import RESUME
from footplate.events.base import ResumeToken
from footplate.events.ids import EngineSessionId

TOKEN = ResumeToken(engine="claude", value=EngineSessionId("abc-123"))


@pytest.mark.parametrize(
    "line",
    [
        "claude --resume abc-123",
        "`claude --resume abc-123`",
        "`claude --resume abc-123",
        "claude --resume abc-123`",
        "  CLAUDE -R abc-123  ",
        "claude -r abc-123\r",
        "claude --resume=abc-123",
    ],
)
def test_a_resume_line_is_found_however_it_is_written(line: str) -> None:
    assert RESUME.is_line(line)
    assert RESUME.extract(f"Done.\n{line}\nBye.") == TOKEN


@pytest.mark.parametrize(
    "line",
    [
        "run claude --resume abc-123",
        "claude --resume abc-123 please",
        "claude --resume",
        "claude --resume --dangerous",
        "codex resume abc-123",
        "",
    ],
)
def test_other_lines_are_none(line: str) -> None:
    assert not RESUME.is_line(line)
    assert RESUME.extract(line) is None


def test_the_last_line_wins() -> None:
    assert RESUME.extract("claude --resume one\n\n`claude -r abc-123`\n") == TOKEN


def test_what_is_written_is_found_again() -> None:
    assert RESUME.extract(RESUME.format(TOKEN)) == TOKEN
