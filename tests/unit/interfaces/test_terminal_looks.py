"""What a person sees, kept as pictures in text: at 80 and at 40 columns, on a terminal, without colour, in a pipe.

`FOOTPLATE_LOOKS=write pytest tests/unit/interfaces/test_terminal_looks.py` draws them anew; look at what changed.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from msgspec.structs import replace

from footplate.engines.mock.engine import MockEngine
from footplate.events.base import ResumeToken
from footplate.events.ids import EngineSessionId, RequestId, SessionId
from footplate.events.requests import Allow, Choose, RequestOption, RequestState
from footplate.events.run_events import CommandAction, Completed, RunMeta, Started, TextNote
from footplate.events.runs import Action, RunEvent
from footplate.events.tools import CommandDetail
from footplate.interfaces.cli.doctor import render_findings
from footplate.interfaces.cli.help_page import HelpContext
from footplate.interfaces.cli.lines import columns_of
from footplate.interfaces.cli.progress import Painter, PlainLines
from footplate.interfaces.cli.requests import render_head, render_request, render_requests
from footplate.interfaces.cli.roster import render_states
from footplate.interfaces.cli.sessions import Row, render_sessions
from footplate.interfaces.cli.tables import fold, render_table
from footplate.interfaces.cli.usage import Use, render_plot
from footplate.runtime.agents import AgentState, Missing
from footplate.runtime.checkup import Finding
from footplate.sdk.shapes import RequestInfo
from tests.commands import all_commands

LOOKS = Path(__file__).resolve().parent.parent.parent / "fixtures" / "terminal"
NOW = 1_800_000_000.0
SESSION, OTHER = "01M7HE3X24FPNBYEYA6VDMWQR8", "01M7HF0000000000000000000A"
SESSIONS = (
    Row(id=SESSION, engine="claude", state="waiting", cwd="/src/shop", title="fix the login of the shop, please",
        updated_at=NOW - 12, cost_usd=0.0412, open_requests=1),
    Row(id=OTHER, engine="mock", state="idle", cwd="/home/ada/src/shop/.worktrees/fix-login", updated_at=NOW - 90_000),
    Row(id=OTHER[:-1] + "B", engine="codex", state="running", cwd="/x", updated_at=NOW - 400,
        title="日本語のタイトルはここにある"),
)  # fmt: skip
COMMAND = "npm install --save-dev playwright @types/node"
ASKED = RequestInfo(
    id=RequestId("req_01M7HE5QPKX8H3E0Z1V3C2B9AD"), session=SessionId(SESSION), kind="permission", state="open",
    opened_at=NOW - 75, title=COMMAND, tool="Bash",
    description="Adds the browser that the tests of the page are run in, and the types that they need.",
    input=msgspec.Raw(msgspec.json.encode({"command": COMMAND, "timeout": 60_000})),
    detail=CommandDetail(command=COMMAND),
    options=(RequestOption(id="allow", label="Allow"), RequestOption(id="reject", label="Reject")),
)  # fmt: skip
USED = (
    Use(name="2026-11-14", turns=31, input_tokens=1_100_000, output_tokens=120_000, cost_usd=4.1),
    Use(name="2026-11-15", turns=1, input_tokens=900, output_tokens=100, cost_usd=0.22),
    Use(name="2026-11-16", turns=3),
)
FINDINGS = (
    Finding(name="settings", status="ok", text="/home/ada/.config/footplate/footplate.toml"),
    Finding(name="keeper", status="ok", text="pid 4711, up 97 s; driven by process 4700\n  agent fb12-1, runs"),
    Finding(name="port", status="warn", text="127.0.0.1:2468 is taken by another program",
            advice="stop it, or serve with --port"),
    Finding(name="agent claude", status="fail",
            text="Claude Code is the agent of new sessions, and its program is not on this machine",
            advice="run `footplate agents install claude`, or set default_engine to an agent that is here"),
)  # fmt: skip
NOTHING = AgentState(
    id="", title="", description="", engine=True, installed=False, version="", program="", origin="", offered="",
    way="", source="built-in", problem="", missing=(),
)  # fmt: skip
LACKS = ("not installed", "Node v20.20.2 is too old", "no login that we can see")
AGENTS = (
    replace(NOTHING, id="claude", installed=True, version="2.1.325", origin="path"),
    replace(NOTHING, id="qwen", missing=tuple(Missing(what=each, advice="do it") for each in LACKS)),
)
RESUME = ResumeToken(engine="mock", value=EngineSessionId("mock-1"))
RUN: tuple[RunEvent, ...] = (
    Started(engine="mock", title="mock", resume=RESUME, meta=RunMeta(cwd="/home/ada/src/a-folder-with-a-long-name")),
    Action(id="1", kind="command", title="npx playwright test --project chromium --reporter line", phase="completed",
           ok=True, detail=CommandAction(tool="Bash", command="npx")),
    Action(id="2", kind="command", title="make check", phase="completed", ok=False, message="exit code 2",
           detail=CommandAction(tool="Bash", command="make check")),
    Action(id="3", kind="note", title="I look at what is left", phase="completed", ok=True, detail=TextNote()),
    Completed(ok=True, answer="The tests pass, `make check` does not.", resume=RESUME),
)  # fmt: skip


def _help(words: str, width: int) -> str:
    command = all_commands()[words]
    context = HelpContext(command, info_name=f"footplate {words}".strip(), max_content_width=100, terminal_width=width)
    return command.get_help(context)


def _run(width: int) -> str:
    out, err = io.StringIO(), io.StringIO()
    painter = Painter(out, err, MockEngine())
    for event in RUN:
        painter.show(event)
    plain = re.sub(r"\r\x1b\[2K[^\n]*(?=\r\x1b\[2K)|\r\x1b\[2K", "", err.getvalue())
    return plain + out.getvalue()


PICTURES: dict[str, Callable[[int], str]] = {
    "help": lambda width: _help("", width),
    "help-run": lambda width: _help("run", width),
    "sessions": lambda width: render_sessions(SESSIONS, now=NOW, width=width),
    "requests": lambda width: render_requests((ASKED,), now=NOW, width=width),
    "request": lambda width: render_request(ASKED, width=width),
    "usage": lambda width: "\n".join(render_plot(USED, width)),
    "doctor": lambda width: render_findings(FINDINGS, width=width),
    "agents": lambda width: render_states(AGENTS, width=width),
    "run": _run,
}


@pytest.mark.parametrize(
    ("far", "said"),
    [
        ({"state": "open"}, "open"),
        ({"state": "withdrawn", "ended_reason": "interrupted"}, "withdrawn: interrupted"),
        ({"state": "unanswered", "ended_reason": "the session was closed"}, "unanswered: the session was closed"),
        ({"state": "applied", "answer": Choose(option="allow"), "answered_by": "ada", "answered_from": "web"},
         "allowed once by ada from web, applied"),
        ({"state": "rejected", "answer": Allow(scope="session"), "answered_by": "ada", "ended_reason": "no such rule"},
         "allowed for this session by ada, the agent refused the answer: no such rule"),
        ({"state": "applied", "answered_by": "ada", "answered_from": "cli"}, "applied by ada from cli"),
    ],
)  # fmt: skip
def test_a_request_says_what_was_answered_and_how_far_it_got(far: dict[str, Any], said: str) -> None:
    options = (RequestOption(id="allow", label="Allow", kind="allow_once"),)
    shown = render_head(replace(ASKED, options=options, **far), width=1000)
    assert shown == f"permission {ASKED.id} ({said}): {COMMAND}"


@pytest.mark.parametrize("state", get_args(RequestState))
def test_a_request_says_what_runs_with_edits_unless_the_agent_did_not_use_them(state: RequestState) -> None:
    shown = render_request(replace(ASKED, state=state, answer=Allow(updated_input=msgspec.Raw(b'{"command":"ls"}'))))
    assert ("it runs with this input:\n    command: ls" in shown) == (state in ("answered", "applied"))


@pytest.mark.parametrize("width", [80, 40])
@pytest.mark.parametrize("name", PICTURES)
def test_it_looks_as_it_did(name: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")
    shown = PICTURES[name](width).rstrip("\n") + "\n"
    kept = LOOKS / f"{name}.{width}.txt"
    if os.environ.get("FOOTPLATE_LOOKS") == "write":
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(shown)
    assert shown == kept.read_text(), f"look at it; if it is meant, draw it anew: see {Path(__file__).name}"
    lines = [line for line in shown.splitlines() if len(line.split()) > 1]  # a word, such as a path, is not broken
    assert [line for line in lines if columns_of(line) > width] == []
    assert "\x1b" not in shown


def test_colour_is_for_terminals_that_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for no_color, wanted in (("1", False), ("", True)):
        monkeypatch.setenv("NO_COLOR", no_color)
        if not no_color:
            monkeypatch.delenv("NO_COLOR")
        err = io.StringIO()
        Painter(io.StringIO(), err, MockEngine()).show(RUN[1])
        assert bool(re.search(r"\x1b\[\d+m", err.getvalue())) is wanted


class Tty(io.StringIO):
    """An output that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_the_answer_of_a_run_is_exact_in_a_pipe_and_clean_on_a_terminal() -> None:
    tricks = "run \x1b]0;owned\x07/login \u202eevil"
    said, failed = (Completed(ok=ok, answer=tricks * ok, error=tricks * (not ok)) for ok in (True, False))
    for out, shown in ((io.StringIO(), f"{tricks}\n"), (Tty(), "run /login evil\n")):
        err = io.StringIO()
        lines = PlainLines(out, err, MockEngine())
        lines.show(said)
        lines.show(failed)
        assert out.getvalue() == shown
        assert "error: run ⟨U+001B⟩]0;owned⟨U+0007⟩/login ⟨U+202E⟩evil\n" in err.getvalue()


def test_in_a_pipe_no_line_is_cut_or_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    long = "a title that is longer than any terminal " * 10
    assert long.strip() in render_table(("ID", "TITLE"), [("1", long)])
    assert fold(long) == long
    err = io.StringIO()
    PlainLines(io.StringIO(), err, MockEngine()).show(RUN[1])
    assert err.getvalue() == "✓ npx playwright test --project chromium --reporter line\n"
