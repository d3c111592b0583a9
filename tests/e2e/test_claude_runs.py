"""Runs of the real Claude CLI on the scripted model: what a person gets, case by case."""

from __future__ import annotations

import base64
import struct
import uuid
import zlib
from pathlib import Path

import msgspec
import pytest

from footplate.events.run_events import CommandAction, FileChangeAction, SubagentAction, ToolAction
from footplate.testing.invariants import check_run
from footplate.testing.messages import api_error, say, script, tool, tools
from tests.e2e.world import VERSIONS, World

pytestmark = pytest.mark.timeout(120)


@pytest.mark.both_versions
async def test_a_plain_answer_comes_with_its_session_and_its_cost(world: World) -> None:
    seen = await world.run(script("Hello there."))
    assert seen.completed.ok
    assert seen.completed.answer == "Hello there."
    assert seen.started is not None
    assert seen.started.meta.version == VERSIONS[world.version]
    assert seen.started.meta.cwd == str(world.work)
    assert seen.started.meta.billing == "api_key"
    assert seen.completed.resume == seen.started.resume
    assert seen.completed.usage is not None
    figures = msgspec.json.decode(seen.completed.usage)
    assert set(figures) == {
        "usage",
        "modelUsage",
        "total_cost_usd",
        "duration_ms",
        "duration_api_ms",
        "num_turns",
    }
    assert not check_run(seen.events)


@pytest.mark.both_versions
async def test_an_allowed_tool_runs_and_its_output_reaches_the_model(world: World) -> None:
    prompt = script(tool("Bash", {"command": "touch made; echo ran"}), "It said: $LAST")
    seen = await world.run(prompt, allow_tools=("Bash",))
    assert seen.completed.answer == "It said: ran"
    (command,) = seen.done("command")
    assert command.ok is True
    assert isinstance(command.detail, CommandAction)
    assert command.detail.command == "touch made; echo ran"
    assert (world.work / "made").exists()
    assert not check_run(seen.events)


@pytest.mark.both_versions
async def test_a_tool_that_is_not_allowed_is_denied_with_a_warning(world: World) -> None:
    prompt = script(tool("Bash", {"command": "touch made"}), "Understood.")
    seen = await world.run(prompt, allow_tools=("Read",))
    assert seen.completed.ok
    assert seen.completed.answer == "Understood."
    assert [command.ok for command in seen.done("command")] == [False]
    assert any("permission denied: Bash" in text for text in seen.warnings())
    assert not (world.work / "made").exists()
    assert not check_run(seen.events)


async def test_a_failing_tool_is_an_action_that_failed_and_not_a_run_that_failed(world: World) -> None:
    seen = await world.run(
        script(tool("Bash", {"command": "echo no >&2; exit 3"}), "It failed."), allow_tools=("Bash",)
    )
    assert seen.completed.ok
    (command,) = seen.done("command")
    assert command.ok is False
    assert isinstance(command.detail, CommandAction)
    assert command.detail.exit_code == 3


async def test_a_file_that_is_written_shows_as_a_change(world: World) -> None:
    write = tool("Write", {"file_path": "$CWD/new.txt", "content": "one\n"})
    edit = tool("Edit", {"file_path": "$CWD/new.txt", "old_string": "one", "new_string": "two"})
    seen = await world.run(script(write, edit, "Done."), allow_tools=("Write", "Edit"))
    changes = [change for action in seen.done("file_change") for change in _changes(action.detail)]
    assert changes == [("new.txt", "add"), ("new.txt", "update")]
    assert (world.work / "new.txt").read_text() == "two\n"


def _changes(detail: object) -> list[tuple[str, str]]:
    assert isinstance(detail, FileChangeAction)
    return [(Path(change.path).name, change.kind) for change in detail.changes]


async def test_parallel_tools_are_told_apart(world: World) -> None:
    calls = [("Bash", {"command": f"touch made{n}; echo {n}"}) for n in range(3)]
    seen = await world.run(script(tools(*calls), "All three."), allow_tools=("Bash",))
    done = seen.done("command")
    assert sorted(action.title for action in done) == [f"touch made{n}; echo {n}" for n in range(3)]
    assert len({action.id for action in done}) == 3
    assert not check_run(seen.events)


async def test_what_a_sub_agent_does_hangs_below_its_call(world: World) -> None:
    inner = script(tool("Bash", {"command": "touch inner; echo inner"}), "inner says $LAST", say="do it")
    agent = {
        "description": "look around",
        "prompt": inner,
        "subagent_type": "general-purpose",
        "run_in_background": False,
    }
    seen = await world.run(script(tool("Agent", agent), "Outer is done."), allow_tools=("Bash", "Agent"))
    assert seen.completed.answer == "Outer is done."
    (subagent,) = seen.done("subagent")
    assert isinstance(subagent.detail, SubagentAction)
    assert subagent.title == "look around"
    (command,) = seen.done("command")
    assert isinstance(command.detail, CommandAction)
    assert command.detail.parent_id == subagent.id


async def test_a_background_task_is_named_in_a_warning_and_ended_with_the_run(world: World) -> None:
    command = "touch begun; tail -f /dev/null"
    prompt = script(tool("Bash", {"command": command, "run_in_background": True}), "It runs.")
    seen = await world.run(prompt, allow_tools=("Bash",))
    assert seen.completed.ok
    assert seen.completed.answer == "It runs."
    assert any("still running" in text for text in seen.warnings()), seen.warnings()


async def test_background_work_is_waited_for_when_asked(world: World) -> None:
    slow = "timeout 3 tail -f /dev/null; echo late > late"
    background = tool("Bash", {"command": slow, "run_in_background": True})
    seen = await world.run(
        script(background, "Begun.", "The task reported."), allow_tools=("Bash",), wait_background=True
    )
    assert seen.completed.ok
    assert seen.completed.answer == "Begun.\n\nThe task reported."
    assert (world.work / "late").read_text() == "late\n"
    assert not seen.warnings()


async def test_a_thought_is_a_note(world: World) -> None:
    seen = await world.run(script(say("Answer.", thinking="let me think about it")))
    assert any("let me think about it" in (note.title + note.message) for note in seen.done("note"))
    assert seen.completed.answer == "Answer."


def _png(path: Path) -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\xff\0\0" * 8) * 8)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b""))


async def test_an_image_that_a_tool_returns_does_not_disturb_the_run(world: World) -> None:
    _png(world.work / "p.png")
    seen = await world.run(script(tool("Read", {"file_path": "$CWD/p.png"}), "saw $LAST"))
    assert seen.completed.answer == "saw [image image/png]"
    (read,) = seen.done("tool")
    assert isinstance(read.detail, ToolAction)
    assert read.title == "Read p.png"
    assert base64.b64encode(b"\x89PNG")[:6].decode() not in read.message


@pytest.mark.parametrize(
    ("status", "told"),
    [(400, "400"), (401, "401"), (429, "429"), (500, "500"), (529, "529")],
)
async def test_an_api_error_is_a_failed_run_that_says_why(world: World, status: int, told: str) -> None:
    seen = await world.run(script(api_error(status, message="scripted refusal")))
    assert not seen.completed.ok
    assert (
        told in seen.completed.error or "scripted refusal" in seen.completed.error or "API key" in seen.completed.error
    )
    assert seen.completed.resume is not None
    assert not check_run(seen.events)


async def test_an_overloaded_model_is_tried_again_and_the_wait_is_shown(world: World) -> None:
    seen = await world.run(script(api_error(529, times=1, then="Recovered.")))
    assert seen.completed.ok
    assert seen.completed.answer == "Recovered."
    assert any("529" in text and "again" in text for text in seen.warnings()), seen.warnings()


async def test_a_refused_connection_is_a_failed_run_that_says_why(world: World) -> None:
    world.env["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:9"
    seen = await world.run("hello")
    assert not seen.completed.ok
    assert "connect" in seen.completed.error.lower(), seen.completed.error


async def test_the_turn_limit_stops_the_run(world: World) -> None:
    prompt = script(tool("Bash", {"command": "echo 1"}), tool("Bash", {"command": "echo 2"}), "Too far.")
    seen = await world.run(prompt, allow_tools=("Bash",), max_turns=1)
    assert not seen.completed.ok
    assert "turn" in seen.completed.error.lower()


async def test_the_budget_stops_the_run_before_the_next_model_call(world: World) -> None:
    costly = tool("Bash", {"command": "touch made"}, usage={"input_tokens": 900_000, "output_tokens": 90_000})
    seen = await world.run(script(costly, "Too dear."), allow_tools=("Bash",), max_budget_usd=0.01)
    assert not seen.completed.ok
    assert "budget" in seen.completed.error.lower()
    assert "Too dear." not in seen.completed.answer
    assert not any("tool_result" in str(body["messages"]) for body in world.bodies())


@pytest.mark.both_versions
async def test_a_resumed_session_keeps_its_id_and_its_memory(world: World) -> None:
    first = await world.run(script("One."))
    assert first.completed.resume is not None
    second = await world.run(script("Two."), resume=first.completed.resume.value)
    assert first.completed.cost_usd
    assert second.completed.cost_usd == pytest.approx(first.completed.cost_usd)  # not that of the conversation
    assert second.completed.answer == "Two."
    assert second.completed.resume == first.completed.resume
    assert any("SCRIPT" in str(body) and "One." in str(body) for body in world.bodies()[-1:])


async def test_a_pasted_resume_line_is_as_good_as_an_id(world: World) -> None:
    first = await world.run(script("One."))
    assert first.completed.resume is not None
    line = f"here it is:\n`claude --resume {first.completed.resume.value}`"
    second = await world.run(script("Two."), resume=line)
    assert second.completed.resume == first.completed.resume


async def test_an_unknown_session_is_a_failed_run_that_names_it(world: World) -> None:
    missing = str(uuid.uuid4())
    seen = await world.run(script("Never said."), resume=missing)
    assert seen.started is None
    assert not seen.completed.ok
    assert missing in seen.completed.error


async def test_a_fork_leaves_the_original_alone(world: World) -> None:
    first = await world.run(script("One."))
    assert first.completed.resume is not None
    forked = await world.run(script("Two."), resume=first.completed.resume.value, fork=True)
    assert forked.completed.ok
    assert forked.completed.resume is not None
    assert forked.completed.resume != first.completed.resume
    again = await world.run(script("Three."), resume=first.completed.resume.value)
    assert again.completed.resume == first.completed.resume
    assert "Two." not in str(world.bodies()[-1])


@pytest.mark.parametrize("one_shot", [False, True])
async def test_a_prompt_that_starts_with_a_dash_is_a_prompt(world: World, one_shot: bool) -> None:
    seen = await world.run("--help me " + script("Gladly."), one_shot=one_shot)
    assert seen.completed.answer == "Gladly."


async def test_a_prompt_of_a_megabyte_arrives_whole(world: World) -> None:
    seen = await world.run("x" * 1_000_000 + script("Long."))
    assert seen.completed.answer == "Long."
    assert "x" * 1_000_000 in str(world.bodies()[-1])


async def test_structured_output_comes_back_as_json(world: World) -> None:
    schema = {"type": "object", "properties": {"answer": {"type": "integer"}}, "required": ["answer"]}
    seen = await world.run(
        script(tool("StructuredOutput", {"answer": 42}), "never asked"),
        json_schema=msgspec.json.encode(schema).decode(),
    )
    assert seen.completed.ok
    assert seen.completed.structured_output is not None
    assert msgspec.json.decode(seen.completed.structured_output) == {"answer": 42}


async def test_without_a_login_the_run_says_how_to_get_one(world: World) -> None:
    del world.env["ANTHROPIC_API_KEY"]
    seen = await world.run("hello")
    assert not seen.completed.ok
    assert "log" in seen.completed.error.lower()
    assert not [request for request in world.requests() if request.asks_model]


async def test_bypassing_permissions_is_refused_as_root_before_anything_starts(world: World) -> None:
    seen = await world.run(script("Never."), mode="bypassPermissions")
    assert seen.started is None
    assert not seen.completed.ok
    assert "root" in seen.completed.error
    assert not world.requests()


async def test_the_one_shot_form_does_the_same(world: World) -> None:
    prompt = script(tool("Bash", {"command": "touch made; echo ran"}), "It said: $LAST")
    seen = await world.run(prompt, allow_tools=("Bash",), one_shot=True)
    assert seen.completed.answer == "It said: ran"
    assert not check_run(seen.events)


async def test_a_missing_cli_is_told_with_the_install_line(world: World) -> None:
    world.env["PATH"] = "/nonexistent"
    seen = await world.run("hello")
    assert seen.started is None
    commands = ("install.sh | bash", "brew install --cask claude-code", "npm install -g @anthropic-ai/claude-code")
    assert all(command in seen.completed.error for command in commands)
    assert "run `claude` once to log in" in seen.completed.error


async def test_a_program_that_cannot_be_executed_is_told_by_name(world: World) -> None:
    program = Path(world.env["PATH"].split(":")[0]) / "claude"
    program.unlink()
    program.write_bytes(b"\x7fELF not really")
    program.chmod(0o755)
    seen = await world.run("hello")
    assert seen.started is None
    assert str(program) in seen.completed.error


async def test_a_folder_that_does_not_exist_is_told_by_name(world: World) -> None:
    seen = await world.run("hello", cwd=str(world.work / "nowhere"))
    assert seen.started is None
    assert "nowhere" in seen.completed.error
