"""Resume commands of every engine, as people copy them."""

from __future__ import annotations

import pytest

from footplate.config.acp import AcpAgentSettings
from footplate.config.settings import Settings
from footplate.engines.catalog import BUILT_IN, find_resume, make_engine
from footplate.engines.resume_commands import ResumeCommand
from footplate.events.base import ResumeToken
from footplate.events.ids import EngineSessionId

SETTINGS = Settings(acp_agents={"own": AcpAgentSettings(command=("own-agent",))})


@pytest.mark.parametrize("engine", [*BUILT_IN, "own"])
@pytest.mark.parametrize("form", ["{}", "`{}`", "`{}", "{}`", "  {}  \r"])
def test_every_engine_finds_its_resume_command_also_with_one_backtick(engine: str, form: str) -> None:
    token = ResumeToken(engine=engine, value=EngineSessionId("ses_1"))
    made = make_engine(engine, SETTINGS)
    for command in (made.format_resume(token), made.format_resume(token).upper().replace("SES_1", "ses_1")):
        line = form.format(command)
        assert made.is_resume_line(line)
        assert made.extract_resume(f"Done.\n{line}\nBye.") == token
        assert find_resume(f"Done.\n{line}\nBye.", SETTINGS) == token


@pytest.mark.parametrize("engine", [*BUILT_IN, "own"])
def test_a_resume_command_inside_a_sentence_is_not_one(engine: str) -> None:
    made = make_engine(engine, SETTINGS)
    command = made.format_resume(ResumeToken(engine=engine, value=EngineSessionId("ses_1")))
    lines = (f"run `{command}`", f"`{command}` please", f"``{command}``x", command.removesuffix(" ses_1"))
    assert not any(made.is_resume_line(line) or made.extract_resume(line) for line in lines)


@pytest.mark.parametrize(
    ("engine", "line"),
    [
        ("claude", "claude -r ses_1"),
        ("claude", "claude --resume=ses_1"),
        ("opencode", "opencode -s ses_1"),
        ("qwen", "qwen -r ses_1"),
        ("mock", "mock -r ses_1"),
    ],
)
def test_short_forms_are_found(engine: str, line: str) -> None:
    assert find_resume(line) == ResumeToken(engine=engine, value=EngineSessionId("ses_1"))


def test_an_option_is_not_an_id() -> None:
    assert ResumeCommand("codex", "codex resume").extract("codex resume --last") is None
