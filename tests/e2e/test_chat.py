"""`footplate chat` as a person meets it: on a real terminal, in a pipe, from two terminals, with the real CLI."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from footplate.events.codec import decode_envelope
from footplate.events.model import TurnEnded
from footplate.runtime.audit import account_name
from footplate.testing.closed import MINIMAL_PATH
from footplate.testing.messages import script, tool
from tests.e2e.terminal import RUN, Terminal
from tests.e2e.world import World, wait_until_gone

Opener = Callable[..., Terminal]
KEYS = "y once"
ME = account_name()


@pytest.fixture
def env(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A closed environment without any agent but the built-in one; no process of it may be left."""
    home = tmp_path / "home"
    home.mkdir()
    yield {
        "HOME": str(home),
        "PATH": MINIMAL_PATH,
        "LANG": "C.UTF-8",
        "TERM": "xterm",
        "FOOTPLATE_DATA_DIR": str(tmp_path / "data"),
        "FOOTPLATE_MOCK_PACE_MS": "0",
    }
    wait_until_gone(str(tmp_path))


@pytest.fixture
def opener(env: dict[str, str]) -> Iterator[Opener]:
    """Opens terminals in that environment and sees them closed."""
    opened: list[Terminal] = []

    def open_terminal(*arguments: str, columns: int = 80, **more: str) -> Terminal:
        opened.append(Terminal({**env, **more}, *arguments, cwd=env["HOME"], columns=columns))
        return opened[-1]

    yield open_terminal
    for terminal in opened:
        terminal.close()


@pytest.fixture
def chat(opener: Opener) -> Terminal:
    """A chat with the mock agent, ready for a line."""
    terminal = opener("chat", "--engine", "mock")
    terminal.wait("ready")
    return terminal


def _leave(terminal: Terminal) -> None:
    terminal.type("\x04")
    assert terminal.finish() == 0
    assert terminal.restored


def _pipe(env: dict[str, str], stdin: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RUN, "chat", *arguments],
        env=env,
        cwd=env["HOME"],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def _session(terminal: Terminal) -> str:
    """The id of the session, as `/sessions` tells it."""
    terminal.say("/sessions")
    terminal.wait("* 0")
    found = re.search(r"\* (0\w{25})", terminal.text)
    assert found is not None
    return found[1]


# -------------------------------------------------------------------------------------------------- terminal


def test_text_streams_tools_and_diffs_are_shown(chat: Terminal) -> None:
    chat.say("slow 60000")
    chat.wait("slow begin")  # while the turn still runs
    chat.type("\x03")
    chat.wait("interrupting")
    chat.wait("ready")
    chat.say("edit notes.txt")
    chat.wait("✓ Edit")
    chat.wait("-two")
    chat.wait("+2")
    chat.wait("ready")
    chat.say("subagent")
    chat.wait("  ✓ Search 42")
    chat.wait("ready")
    chat.say("plan")
    chat.wait("[ ] Check the result")
    chat.wait("3 of 3 done")
    chat.wait("ready")
    assert "\x1b[32m+2\x1b[0m" in chat.seen
    _leave(chat)
    assert "footplate chat 0" in chat.text


@pytest.mark.parametrize(
    ("keys", "told", "outcome"),
    [
        (["y"], f"= allowed once by {ME} from chat pts/", "permission: allow"),
        (["s"], f"= allowed for this session by {ME}", "permission: allow"),
        (["a"], f"= always allowed by {ME}", "permission: always"),
        (["n", "not today\r"], f"= denied by {ME} from chat pts/", "permission: reject"),
        (["n", "\r"], f"= denied by {ME}", "permission: reject"),
    ],
)
def test_a_permission_is_answered_by_key(chat: Terminal, keys: list[str], told: str, outcome: str) -> None:
    chat.say("permission")
    chat.wait(KEYS)
    for key in keys:
        chat.type(key)
        if key == "n":
            chat.wait("Enter denies")
    chat.wait(told)
    chat.wait(outcome)
    chat.wait("ready")
    _leave(chat)


def test_escape_goes_back_and_deny_and_stop_ends_the_turn(chat: Terminal) -> None:
    chat.say("permission")
    chat.wait(KEYS)
    chat.type("n")
    chat.wait("Enter denies")
    chat.type("words that stay here\x1b")
    chat.wait(KEYS)
    chat.type("q")
    chat.wait("empty the line")
    chat.type("y")  # goes into the line: nothing is allowed by accident
    chat.type("\x15")
    chat.wait(KEYS)
    chat.type("x")
    chat.wait("= denied and stopped")
    chat.wait("ready")
    assert "allowed" not in chat.text
    _leave(chat)


def test_a_question_is_answered_by_number_or_in_own_words_or_declined(chat: Terminal) -> None:
    chat.say("question")
    chat.wait("a number chooses")
    chat.type("3")
    chat.wait("question: Blue")
    chat.wait("ready")
    chat.say("question")
    chat.wait("a number chooses")
    chat.type("d")
    chat.wait("= declined to answer")
    chat.wait("ready")
    chat.say("question")
    chat.wait("a number chooses")
    chat.type("t")
    chat.wait("in your own words")
    chat.say("Größer, 日本")
    chat.wait(": Größer, 日本 · ")
    chat.wait("ready")
    _leave(chat)


def test_lines_typed_ahead_are_queued_shown_and_taken_back(chat: Terminal) -> None:
    chat.say("hang")
    chat.wait("hang begin")
    chat.say("first")
    chat.wait("+ queued: first")
    chat.say("second")
    chat.wait("2 queued")
    chat.say("/cancel")
    chat.wait("- not sent")
    chat.say("/queue")
    chat.wait("1 first")
    chat.say("/interrupt")
    chat.wait("mock: first")
    chat.wait("ready")
    assert "mock: second" not in chat.text
    _leave(chat)


def test_commands_of_ours_change_the_session(chat: Terminal) -> None:
    chat.say("!echo out of the shell; exit 3")
    chat.wait("(exit code 3)")
    chat.wait("out of the shell")
    chat.say("/mode plan")
    chat.wait("- mode: plan")
    chat.say("/mode nonsense")
    chat.wait("one of default, plan")
    chat.say("/title My work")
    chat.wait("- title: My work")
    chat.say("/usage")
    chat.wait("tokens in")
    chat.say("/requests")
    chat.wait("nothing is asked")
    chat.type("/ti\t")
    chat.wait("/title ")
    chat.say("\x15/mo\t")
    chat.wait("/mode  /model")
    chat.type("\x1a")  # nobody can suspend it here: it goes on
    chat.say("/help")
    chat.wait("/steer TEXT")
    chat.say("/quit")
    assert chat.finish() == 0
    assert chat.restored


def test_what_is_allowed_for_the_session_is_listed_and_revoked(chat: Terminal) -> None:
    chat.say("permission")
    chat.wait(KEYS)
    chat.type("s")
    chat.wait("- from now on: Allow Bash: touch example.txt")
    chat.wait("ready")
    chat.say("/rules")
    chat.wait("1 Allow Bash: touch example.txt")
    chat.say("/revoke 2")
    chat.wait("no such rule")
    chat.say("/revoke 1")
    chat.wait("a rule of the session is revoked")
    chat.say("/rules")
    chat.wait("nothing is allowed for the session")
    _leave(chat)


def test_the_line_editor_edits(chat: Terminal) -> None:
    chat.type("wrod\x7f\x7f\x7fXord \x17\x17say")  # backspace, delete words
    chat.type("\x1b[D\x1b[D\x1b[DI \x1b[F it 日本\r")  # arrows, end
    chat.wait("mock: I say it 日本")
    chat.wait("ready")
    chat.type("\x1b[A\x01again \r")  # history, Ctrl-A
    chat.wait("mock: again I say it 日本")
    chat.wait("ready")
    chat.type("\x1b[200~two\nlines\x1b[201~")  # a paste is not sent by its line break
    chat.wait("two↵lines")
    chat.type("\r")
    chat.wait("mock: two\nlines")
    _leave(chat)


def test_ctrl_c_twice_leaves(chat: Terminal) -> None:
    chat.say("hang")
    chat.wait("hang begin")
    chat.type("\x03\x03")
    assert chat.finish() == 130
    assert chat.restored


def test_sigterm_gives_the_terminal_back(chat: Terminal) -> None:
    chat.say("hang")
    chat.wait("hang begin")
    chat.process.terminate()
    assert chat.finish() == 143
    assert chat.restored


def test_a_narrow_terminal_looks_right(opener: Opener) -> None:
    chat = opener("chat", "--engine", "mock", columns=40)
    chat.wait("ready")
    chat.say("日本語の文章はとても長いので折り返されます " * 3)
    chat.wait("mock: ")
    chat.wait("ready")
    chat.say("stream 30")
    chat.wait("ready")
    chat.say("permission")
    chat.wait(KEYS)
    chat.wait_for_last_row(">")
    rows = chat.rows
    assert rows[-2].startswith("waiting for you")
    assert rows[-4:-2] == ["y once · s session · a always · n deny", "· x deny and stop"]
    assert sum("waiting for you" in row for row in rows) == 1  # drawn in place, nothing left behind
    text = "".join(rows)
    assert all(f"chunk {number}" in text.replace("chunk", "chunk ").replace("  ", " ") for number in range(30))
    chat.type("n")
    chat.wait("words for the agent")
    chat.type("日本" * 30)
    chat.wait("日本日本日本")
    assert len(chat.rows) - len(rows) <= 1
    chat.resize(60)
    chat.type("\r")
    chat.wait("permission: reject")
    _leave(chat)


def test_no_color_is_honoured(opener: Opener) -> None:
    chat = opener("chat", "--engine", "mock", NO_COLOR="1")
    chat.wait("ready")
    chat.say("edit x")
    chat.wait("+2")
    _leave(chat)
    assert not re.search(r"\x1b\[\d+m", chat.seen)


def test_a_terminal_that_can_do_nothing_gets_plain_lines(opener: Opener) -> None:
    chat = opener("chat", "--engine", "mock", TERM="dumb")
    chat.wait("mock · ")
    chat.type("permission\n")
    chat.wait(KEYS)
    chat.type("n no thanks\n")
    chat.wait("permission: reject")
    chat.type("/quit\n")
    assert chat.finish() == 0
    assert "\x1b" not in chat.seen


# ------------------------------------------------------------------------------------------------------ pipe


def test_in_a_pipe_a_script_is_what_a_person_would_type(env: dict[str, str]) -> None:
    done = _pipe(env, "permission\nn not now\nquestion\n2\nhang\n/interrupt\nlast\n", "--engine", "mock")
    assert done.returncode == 0, done.stderr
    wanted = [
        "> permission",
        ": not now · touch example.txt",
        "permission: reject",
        "question: Green",
        "hang begin",
        "mock: last",
    ]
    places = [done.stdout.find(text) for text in wanted]
    assert -1 not in places
    assert places == sorted(places)
    assert "\x1b" not in done.stdout + done.stderr


def test_a_limit_that_asks_is_answered_like_a_question(env: dict[str, str]) -> None:
    limits = ("--engine", "mock", "--max-turns", "1", "--on-limit", "ask")
    done = _pipe(env, "one\ntwo\n1\n", *limits)
    assert done.returncode == 0, done.stderr
    wanted = ["mock: one", "The limit of 1 turn is reached", "Go on with 1 turn more", "mock: two"]
    places = [done.stdout.find(text) for text in wanted]
    assert -1 not in places
    assert places == sorted(places)
    assert _pipe(env, "one\n", "--engine", "mock", "--max-budget", "0").returncode == 2


def test_a_request_that_a_script_does_not_answer_is_told(env: dict[str, str]) -> None:
    done = _pipe(env, "permission\n", "--engine", "mock")
    assert done.returncode == 1
    assert "left with a request open" in done.stdout


def test_json_lines_are_the_envelopes_and_replies(env: dict[str, str]) -> None:
    prompt = {"type": "SendPrompt", "key": "k1", "content": [{"type": "text", "text": "hello"}]}
    lines = [prompt, {"type": "SetMode", "key": "k2", "mode": "plan"}, {"type": "Nonsense"}]
    done = _pipe(
        env, "".join(msgspec.json.encode(each).decode() + "\n" for each in lines), "--engine", "mock", "--json"
    )
    assert done.returncode == 0, done.stderr
    told = [msgspec.json.decode(line, type=dict[str, msgspec.Raw]) for line in done.stdout.splitlines()]
    replies = [bytes(each["reply"]) for each in told if "reply" in each]
    assert replies[:2] == [b'{"key":"k1","ok":true}', b'{"key":"k2","ok":true}']
    assert b"not a command" in replies[2]
    events = [decode_envelope(line.encode()).event for line in done.stdout.splitlines() if '"seq"' in line]
    ended = [event for event in events if isinstance(event, TurnEnded)]
    assert [event.answer for event in ended] == ["mock: hello"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--engine", "nobody"], "unknown engine 'nobody'"),
        (["--engine", "mock", "--mode", "wild"], "one of default, plan"),
        (["NOSUCHSESSION"], "no session 'NOSUCHSESSION'"),
        (["--engine", "mock", "--cwd", "/no/such/folder"], "a folder that exists"),
        (["--engine", "mock", "--resume", "two words"], "a session id or a line"),
        (["--resume", "x", "SESSION"], "give one of them"),
    ],
)
def test_bad_usage_is_exit_code_2_with_a_reason(env: dict[str, str], arguments: list[str], told: str) -> None:
    done = _pipe(env, "", *arguments)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_an_agent_that_is_not_installed_is_a_failed_turn(env: dict[str, str]) -> None:
    done = _pipe(env, "hello\n", "--engine", "claude")
    assert done.returncode == 1
    assert "was not found" in done.stdout


def test_a_session_goes_on_where_it_was_left(env: dict[str, str]) -> None:
    _pipe(env, "remember me\n/title kept\n", "--engine", "mock")
    done = _pipe(env, "history\n", "kept")
    assert done.stdout.count("> remember me") == 1
    assert "mock: remember me" in done.stdout
    assert done.stdout.splitlines()[-2] == "remember me"


# ------------------------------------------------------------------------------------------------ two terminals


def test_a_second_chat_answers_and_both_see_who_did(chat: Terminal, opener: Opener) -> None:
    session = _session(chat)
    chat.say("permission")
    chat.wait(KEYS)
    second = opener("chat", session)
    second.wait("? Bash asks: touch example.txt")
    second.wait(KEYS)
    second.type("y")
    for each in (chat, second):
        each.wait(f"= allowed once by {ME} from chat pts/")
        each.wait("permission: allow")
        each.wait("ready")
    second.say("said over there")
    chat.wait("> said over there")
    chat.wait("mock: said over there")
    _leave(second)
    chat.say("still here")
    chat.wait("mock: still here")
    _leave(chat)


def test_the_second_says_so_when_the_owner_is_killed(chat: Terminal, opener: Opener, env: dict[str, str]) -> None:
    session = _session(chat)
    second = opener("chat", session)
    second.wait("joined the session")
    chat.say("hang")
    second.wait("hang begin")
    os.kill(chat.process.pid, signal.SIGKILL)
    assert second.finish() == 1
    assert "which owns the sessions, is gone" in second.text
    assert second.restored
    third = _pipe(env, "hello again\n", session)
    assert "mock: hello again" in third.stdout, third.stderr


def test_a_new_chat_in_a_second_terminal_is_a_session_of_its_own(chat: Terminal, env: dict[str, str]) -> None:
    done = _pipe(env, "hello from the pipe\n/sessions\n", "--engine", "mock")
    assert done.returncode == 0, done.stderr
    assert "mock: hello from the pipe" in done.stdout
    assert len(re.findall(r"0\w{25} · mock", done.stdout)) == 2
    assert "hello from the pipe" not in chat.text
    _leave(chat)


# --------------------------------------------------------------------------------------------------- real CLI


@pytest.fixture
def real(world: World) -> Iterator[Callable[..., Terminal]]:
    """Chats with the real Claude CLI on the scripted model."""
    opened: list[Terminal] = []

    def start(*arguments: str, **more: str) -> Terminal:
        env = {**world.env, "TERM": "xterm", **more}
        opened.append(Terminal(env, "chat", "--engine", "claude", *arguments, cwd=str(world.work)))
        opened[-1].wait("ready")
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()


def _paste(terminal: Terminal, text: str) -> None:
    terminal.type(f"\x1b[200~{text}\x1b[201~\r")


def test_the_real_cli_asks_and_the_keys_answer(real: Callable[..., Terminal], world: World, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    change = 'text = path.read_text(); path.write_text(text.replace("made", "edited"))'
    editor.write_text(f"#!{sys.executable}\nimport sys, pathlib\npath = pathlib.Path(sys.argv[1])\n{change}\n")
    editor.chmod(0o755)
    chat = real(EDITOR=str(editor))
    _paste(chat, script(tool("Bash", {"command": "touch made; echo ran"}), "It said: $LAST"))
    chat.wait("? Bash asks: touch made; echo ran")
    chat.wait(KEYS)
    chat.type("a")
    chat.wait("1 ")
    chat.wait("->")
    chat.type("\x1b")
    chat.wait(KEYS)
    chat.type("e")
    chat.wait(f"= allowed with edits by {ME}")
    chat.wait("command: touch edited; echo ran")
    chat.wait("✓ touch made; echo ran, as asked; it ran with edits")
    chat.wait("It said: ran")
    chat.wait("ready")
    assert (world.work / "edited").exists()
    assert not (world.work / "made").exists()
    _leave(chat)


def test_a_plan_of_the_real_cli_is_revised_and_approved(real: Callable[..., Terminal]) -> None:
    chat = real("--mode", "plan")
    write = tool("Write", {"file_path": "$PLANFILE", "content": "# Plan\n1. touch made"})
    _paste(chat, script(write, tool("ExitPlanMode", {}), tool("ExitPlanMode", {}), "Plan over."))
    chat.wait("? the plan of the agent")
    chat.wait("1. touch made")
    chat.wait("y approve")
    chat.type("r")
    chat.wait("what should be different?")
    chat.say("think again")
    chat.wait(f"= plan sent back by {ME}")
    chat.wait("y approve")
    chat.type("m")
    chat.wait("acceptEdits")
    shown = dict(re.findall(r"(\d) (\w+)\n", chat.text))
    chat.type(next(number for number, mode in shown.items() if mode == "acceptEdits"))
    chat.wait(f"= plan approved, mode acceptEdits by {ME}")
    chat.wait("Plan over.")
    _leave(chat)


@pytest.mark.both_versions
def test_a_plan_of_the_real_cli_is_approved_with_what_it_asks_for(real: Callable[..., Terminal], world: World) -> None:
    chat = real("--mode", "plan")
    write = tool("Write", {"file_path": "$PLANFILE", "content": "# Plan\n1. touch built"})
    wanted = [{"tool": "Bash", "prompt": "touch built"}, {"tool": "Bash", "prompt": "run tests"}]
    later = (
        tool("Bash", {"command": "touch built"}),
        tool("Bash", {"command": "touch tested", "description": "Run tests"}),
    )
    _paste(chat, script(write, tool("ExitPlanMode", {"allowedPrompts": wanted}), *later, "Plan over."))
    chat.wait("asks to allow: Bash: run tests")
    chat.wait("p approve and allow what it asks for")
    chat.type("p")
    chat.wait(f"= plan approved, with what the plan asks for by {ME}")
    chat.wait("what the plan asked for: run tests")
    chat.wait("p exactly this")
    assert (world.work / "built").exists()
    chat.type("p")
    chat.wait(f"= allowed for this session, exactly this by {ME}")
    chat.wait("Plan over.")
    chat.wait("ready")
    assert (world.work / "tested").exists()
    _leave(chat)
