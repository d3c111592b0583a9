"""A run as lines of text: what a person reads."""

from __future__ import annotations

import msgspec
import pytest

from footplate.events.base import ResumeToken
from footplate.events.ids import EngineSessionId, ToolCallId
from footplate.events.run_events import CommandAction, Completed, RunMeta, Started, TextNote, TodoNote, ToolAction
from footplate.events.runs import Action
from footplate.events.tools import PlanEntry
from footplate.interfaces.cli.lines import action_line, clip, header, one_line, paint, summary

TOKEN = ResumeToken(engine="claude", value=EngineSessionId("abc"))


def _command(**changes: object) -> Action:
    action = Action(
        id="1",
        kind="command",
        title="pytest -q",
        phase="completed",
        ok=True,
        detail=CommandAction(tool="Bash", command="pytest -q"),
    )
    return msgspec.structs.replace(action, **changes)


def test_a_command_that_worked_is_ticked_with_its_time() -> None:
    assert action_line(_command(), 1.24) == "✓ pytest -q (1.2s)"


def test_a_quick_command_has_no_time() -> None:
    assert action_line(_command(), 0.04) == "✓ pytest -q"


def test_a_command_that_failed_is_crossed_with_its_outcome() -> None:
    assert action_line(_command(ok=False, message="exit code 3")) == "✗ pytest -q: exit code 3"


def test_a_warning_is_marked_as_one() -> None:
    warned = _command(kind="warning", level="warning", title="permission denied: Bash", detail=TextNote())
    assert action_line(warned) == "! permission denied: Bash"


def test_a_sub_agents_action_is_indented() -> None:
    nested = _command(detail=ToolAction(tool="Read", parent_id=ToolCallId("call")), title="Read a.py")
    assert action_line(nested) == "  ✓ Read a.py"


def test_a_to_do_list_shows_how_far_it_is() -> None:
    entries = (
        PlanEntry(content="Look", status="completed"),
        PlanEntry(content="Mend", status="in_progress", active_form="Mending"),
        PlanEntry(content="Test"),
    )
    todos = _command(kind="note", title="update todos", detail=TodoNote(tool="TodoWrite", entries=entries))
    assert action_line(todos) == "- update todos: 1 of 3 done, now: Mending"


def test_control_characters_of_an_agent_do_not_reach_the_terminal() -> None:
    assert one_line("a\x1b[2Jb\nc\td") == "a⟨U+001B⟩[2Jb c    d"
    assert "\x1b" not in action_line(_command(title="evil \x1b]0;title\x07"))


def test_the_header_says_who_works_where() -> None:
    meta = RunMeta(cwd="/repo", permission_mode="default", model="opus")
    assert header(Started(engine="claude", resume=TOKEN, title="opus", meta=meta)) == "claude · opus · default · /repo"
    assert header(Started(engine="mock", resume=TOKEN, title="mock")) == "mock"


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (None, "done · 12s · 3 steps"),
        (0.01234, "done · 12s · 3 steps · $0.0123"),
        (2.5, "done · 12s · 3 steps · $2.50"),
    ],
)
def test_the_summary_says_time_steps_and_cost(cost: float | None, said: str) -> None:
    assert summary(Completed(ok=True, cost_usd=cost), steps=3, elapsed=12.3) == said


def test_a_failed_run_is_summed_up_as_failed() -> None:
    assert summary(Completed(ok=False, error="no"), steps=1, elapsed=0.5) == "failed · 0.5s · 1 step"


def test_a_line_is_cut_to_the_columns_it_has() -> None:
    assert clip("short", 10) == "short"
    assert clip("a long line of text", 10) == "a long li…"
    assert clip("日本語テキスト", 7) == "日本…"


def test_without_colour_nothing_is_painted() -> None:
    assert paint("x", "ok", color=False) == "x"
    assert paint("x", "ok", color=True) == "\x1b[32mx\x1b[0m"
