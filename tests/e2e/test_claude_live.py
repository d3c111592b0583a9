"""Live conversations with the real Claude CLI on the scripted model: requests, interrupts, queues, choices, facts."""

from __future__ import annotations

import asyncio
import json

import msgspec
import pytest

from footplate.engines.base import HookSpec, ToolServer, ToolSpec
from footplate.errors import EngineDeclined, InvalidValue, UnsupportedOption
from footplate.events import commands as c
from footplate.events import facts as f
from footplate.events import model as m
from footplate.events.ids import MessageId, PromptId, TaskId
from footplate.events.requests import Allow, Choose, Decline, Deny, Reply
from footplate.testing.messages import say, script, tool
from footplate.testing.messages.step import Step
from tests.e2e.live import Live, talk
from tests.e2e.world import VERSIONS, World

pytestmark = [pytest.mark.timeout(180), pytest.mark.both_versions]


def bash(command: str) -> Step:
    return tool("Bash", {"command": command})


LASTING = "timeout 60 tail -f /dev/null"
SLOW = say("word " * 400, chunk=5, chunk_delay=0.05)

# ------------------------------------------------------------------------------------------- permissions


async def test_a_permission_is_given_once_or_with_another_input_or_refused_with_words(world: World) -> None:
    async with talk(world) as live:
        await live.prompt(script(bash("touch once"), bash("touch asked"), bash("touch never"), "End: $LAST"))
        first = await live.request()
        assert (first.kind, first.tool, first.title) == ("permission", "Bash", "touch once")
        await live.answer(first, Allow())
        assert (await live.see(m.RequestApplied)).request == first.id
        second = await live.request()
        await live.answer(second, Allow(updated_input=msgspec.Raw(b'{"command":"touch changed"}')))
        assert (await live.see(m.RequestApplied)).request == second.id
        third = await live.request()
        await live.answer(third, Deny(message="not this one, please"))
        assert (await live.see(m.ToolEnded)).outcome == "denied"
        ended = await live.ended()
    assert ended.ok
    assert "not this one, please" in ended.answer
    assert {path.name for path in world.work.iterdir()} == {"once", "changed"}


async def test_what_is_allowed_for_the_session_is_not_asked_again(world: World) -> None:
    async with talk(world) as live:
        await live.prompt(script(bash("touch one"), bash("touch one"), "End."))
        request = await live.request()
        await live.answer(request, Allow(scope="session"))
        assert (await live.ended()).answer == "End."
    assert len(live.of(m.RequestOpened)) == 1
    assert not (world.work / ".claude").exists()


async def test_what_is_allowed_for_always_is_written_to_the_place_that_the_choice_names(world: World) -> None:
    async with talk(world) as live:
        await live.prompt(script(bash("touch one"), bash("touch one"), "End."))
        request = await live.request()
        choice = next(option for option in request.options if option.kind == "allow_always")
        assert "local settings" in choice.label
        await live.answer(request, Choose(option=choice.id))
        assert (await live.ended()).answer == "End."
    assert len(live.of(m.RequestOpened)) == 1
    written = json.loads((world.work / ".claude" / "settings.local.json").read_text())
    assert [rule for rule in written["permissions"]["allow"] if rule.startswith("Bash(touch one")]


async def test_deny_and_stop_ends_the_turn_and_an_answer_that_the_engine_rejects_keeps_its_words(world: World) -> None:
    async with talk(world) as live:
        await live.prompt(script(bash("touch never"), "Never said."))
        await live.answer(await live.request(), Choose(option="deny_and_stop"))
        ended = await live.ended()
        assert (ended.ok, ended.stop_reason) == (False, "interrupted")
        await live.prompt(script(bash("touch never"), "Went on."))
        request = await live.request()
        await live.answer(request, Allow(updated_input=msgspec.Raw(b"null")))
        rejected = await live.see(m.RequestRejected)
        assert rejected.request == request.id
        assert rejected.reason
        assert (await live.ended()).answer == "Went on."
    assert not (world.work / "never").exists()


async def test_a_changed_input_that_the_tool_cannot_take_is_rejected_with_the_reason(world: World) -> None:
    async with talk(world) as live:
        await live.prompt(script(bash("touch never"), "Went on."))
        request = await live.request()
        await live.answer(request, Allow(updated_input=msgspec.Raw(b'{"command": 5}')))
        rejected = await live.see(m.RequestRejected)
        assert rejected.request == request.id
        assert rejected.reason.startswith("The permission handler returned updatedInput for Bash that failed")
        assert (await live.see(m.ToolEnded)).outcome == "denied"
        assert (await live.ended()).answer == "Went on."
    assert not (world.work / "never").exists()


@pytest.mark.parametrize("changed", [b"{}", b" { } "])
async def test_a_changed_input_without_fields_is_refused(world: World, changed: bytes) -> None:
    """The CLI takes an empty object for "unchanged": it would run what the person has replaced."""
    async with talk(world) as live:
        await live.prompt(script(bash("touch never"), "Went on."))
        request = await live.request()
        with pytest.raises(InvalidValue, match="updated_input"):
            await live.answer(request, Allow(updated_input=msgspec.Raw(changed)))
        await live.answer(request, Deny())
        assert (await live.ended()).answer == "Went on."
    assert not (world.work / "never").exists()


# --------------------------------------------------------------------------------------------- questions


def question(text: str, *labels: str, several: bool = False) -> dict[str, object]:
    options = [{"label": label, "description": f"{label} it is"} for label in labels]
    return {"question": text, "header": text[:10], "options": options, "multiSelect": several}


def asks(*questions: dict[str, object]) -> Step:
    return tool("AskUserQuestion", {"questions": list(questions)})


async def test_questions_are_answered_by_choice_by_choices_by_free_text_or_not_at_all(world: World) -> None:
    colour = question("Which colour?", "red", "blue")
    sizes = question("Which sizes?", "small", "large", several=True)
    async with talk(world) as live:
        await live.prompt(script(asks(colour), "End: $LAST"))
        request = await live.request()
        assert (request.kind, [each.text for each in request.questions]) == ("question", ["Which colour?"])
        await live.answer(request, Reply(answers={"Which colour?": "blue"}))
        assert "blue" in (await live.ended()).answer

        await live.prompt(script(asks(colour, sizes), "End: $LAST"))
        request = await live.request()
        assert [each.multiple for each in request.questions] == [False, True]
        await live.answer(request, Reply(answers={"Which colour?": "rather green", "Which sizes?": ["small", "large"]}))
        answer = (await live.ended()).answer
        assert "rather green" in answer
        assert "small, large" in answer

        await live.prompt(script(asks(colour), "End: $LAST"))
        await live.answer(await live.request(), Decline(message="no time for this"))
        ended = await live.ended()
        assert ended.ok
        assert "no time for this" in ended.answer
    assert len(live.of(m.RequestApplied)) == 3


# ------------------------------------------------------------------------------------------------- plans

PLANNING = (tool("Write", {"file_path": "$PLANFILE", "content": "1. think\n2. do"}), tool("ExitPlanMode", {}))


async def test_a_plan_is_revised_then_approved_and_the_mode_is_the_one_that_was_chosen(world: World) -> None:
    async with talk(world, mode="plan") as live:
        await live.prompt(script(*PLANNING, "Revised: $LAST"))
        request = await live.request()
        assert (request.kind, request.plan) == ("plan", "1. think\n2. do")
        assert request.plan_file.endswith(".md")
        await live.answer(request, Deny(message="think longer"))
        assert "think longer" in (await live.ended()).answer

        await live.prompt(script(tool("ExitPlanMode", {}), "Begun."))
        await live.answer(await live.request(), Choose(option="allow"))
        assert (await live.see(m.ModeChanged)).mode == "default"
        assert (await live.ended()).answer == "Begun."

        await live.ask(c.SetMode, mode="plan")
        assert (await live.see(m.ModeChanged)).mode == "plan"
        await live.prompt(
            script(tool("ExitPlanMode", {}), tool("Write", {"file_path": "$CWD/made", "content": "x"}), "Done.")
        )
        await live.answer(await live.request(), Choose(option="allow_accept_edits"))
        assert (await live.ended()).answer == "Done."
        assert live.of(m.ModeChanged)[-1].mode == "acceptEdits"
    assert (world.work / "made").read_text() == "x"


# -------------------------------------------------------------------------------------------- interrupts


async def test_an_interrupt_stops_words_a_tool_a_sub_agent_and_a_question(world: World) -> None:
    inner = script(bash(f"touch inner; {LASTING}"), "never", say="do it")
    agent = {
        "description": "look around",
        "prompt": inner,
        "subagent_type": "general-purpose",
        "run_in_background": False,
    }
    async with talk(world, allow_tools=("Agent",)) as live:
        await live.prompt(script(SLOW))
        await live.see(m.MessageDelta)
        assert await stopped(live) == ("interrupted", False)

        await live.prompt(script(bash(f"touch begun; {LASTING}"), "never"))
        await live.answer(await live.request(), Allow())
        await appears(world, "begun")
        assert await stopped(live) == ("interrupted", False)

        await live.prompt(script(tool("Agent", agent), "never"))
        opened = await live.see(m.RequestOpened)
        assert opened.parent is not None
        await live.answer(opened.request, Allow())
        await appears(world, "inner")
        assert await stopped(live) == ("interrupted", False)

        await live.prompt(script(bash("rm nothing"), "never"))
        request = await live.request()
        assert await stopped(live) == ("interrupted", False)
        with pytest.raises(InvalidValue):
            await live.answer(request, Allow())
        assert (await live.turn(script("Still here."))).answer == "Still here."
    assert live.of(m.RequestWithdrawn)[-1].request == request.id


async def stopped(live: Live) -> tuple[str, bool]:
    await live.ask(c.Interrupt)
    ended = await live.ended()
    return ended.stop_reason, ended.ok


async def appears(world: World, name: str) -> None:
    async with asyncio.timeout(20):
        while not (world.work / name).exists():  # noqa: ASYNC110  another program makes it
            await asyncio.sleep(0.01)


# ------------------------------------------------------------------------------------------------ queues


async def test_prompts_wait_are_steered_in_cut_in_or_are_taken_back(world: World) -> None:
    async with talk(world, allow_tools=("Bash",)) as live:
        first = await live.prompt(script(SLOW))
        await live.see(m.MessageDelta)
        behind = await live.prompt(script("Second."))
        dropped = await live.prompt(script("Never said."))
        await live.ask(c.WithdrawPrompt, prompt=dropped)
        assert (await live.see(m.PromptWithdrawn)).prompt == dropped
        raw = await live.ask(c.Interrupt)
        assert raw is not None
        told = msgspec.json.decode(raw, type=f.Interrupted).still_queued
        assert told == ((behind,) if world.version == "new" else ())
        assert (await live.ended()).prompts == (first,)
        second = await live.ended()
        assert (second.prompts, second.answer) == ((behind,), "Second.")
        with pytest.raises(EngineDeclined, match="does not wait any more"):
            await live.ask(c.WithdrawPrompt, prompt=behind)

        await live.prompt(script(bash("touch begun; timeout 2 tail -f /dev/null"), "After."))
        await live.see(m.ToolStarted)
        await appears(world, "begun")
        steered = await live.prompt(script("Steered."), "steer")
        assert (await live.see(m.PromptSteered)).prompt == steered
        assert "Steered." in (await live.ended()).answer

        await live.prompt(script(SLOW))
        await live.see(m.MessageDelta)
        urgent = await live.prompt(script("At once."), "now")
        await live.see(m.TurnEnded)
        ended = await live.ended()
        assert (ended.prompts, ended.answer) == ((urgent,), "At once.")


async def test_an_interrupt_can_drop_what_waits(world: World) -> None:
    async with talk(world) as live:
        await live.prompt(script(SLOW))
        await live.see(m.MessageDelta)
        waiting = [await live.prompt(script("Never said.")) for _ in range(2)]
        await live.ask(c.Interrupt, withdraw_queued=True)
        assert (await live.ended()).stop_reason == "interrupted"
        assert (await live.turn(script("Next."))).answer == "Next."
    assert {event.prompt for event in live.of(m.PromptWithdrawn)} == set(waiting)


# ---------------------------------------------------------------------------------------------- sessions


async def test_fifty_turns_in_one_process_then_compacted_then_cleared(world: World) -> None:
    async with talk(world) as live:
        for number in range(50):
            assert (await live.turn(script(f"Turn {number}."))).answer == f"Turn {number}."
        await live.prompt("/compact")
        compacted = await live.see(m.CompactionEnded)
        assert (compacted.ok, compacted.trigger) == (True, "manual")
        await live.ended()
        before = live.of(m.EngineAttached)[-1].engine_session_id
        cleared = await live.turn("/clear")
        assert cleared.ok
        after = await live.turn(script("Afresh."))
        assert after.answer == "Afresh."
        attached = live.of(m.EngineAttached)[-1]
        assert attached.reason == "cleared"
        assert attached.engine_session_id != before
        assert after.resume is not None
        assert after.resume.value == attached.engine_session_id
    assert len({event.turn for event in live.of(m.TurnEnded)}) == 53


async def test_files_are_put_back_and_a_fork_leaves_the_original_alone(world: World) -> None:
    (world.work / "a.txt").write_text("old\n")
    edit = (
        tool("Read", {"file_path": "$CWD/a.txt"}),
        tool("Write", {"file_path": "$CWD/a.txt", "content": "new\n"}),
        "Written.",
    )
    async with talk(world, mode="acceptEdits") as live:
        prompt = await live.prompt(script(*edit))
        ended = await live.ended()
        assert (world.work / "a.txt").read_text() == "new\n"
        preview = await live.know(f.RewindResult, "rewind", message=prompt)
        assert (preview.possible, preview.files) == (True, (str(world.work / "a.txt"),))
        assert (world.work / "a.txt").read_text() == "new\n"
        await live.ask(c.Rewind, message=MessageId(prompt))
        rewound = await live.see(m.FilesRewound)
        assert (rewound.message, rewound.files) == (MessageId(prompt), (str(world.work / "a.txt"),))
        assert (world.work / "a.txt").read_text() == "old\n"
        with pytest.raises(EngineDeclined, match="rewind_files"):
            await live.ask(c.Rewind, message=MessageId(PromptId("never-sent")))
    assert ended.resume is not None
    async with talk(world, resume=ended.resume.value, fork=True) as fork:
        forked = await fork.turn(script("Forked."))
        assert forked.resume is not None
        assert forked.resume.value != ended.resume.value
        assert fork.of(m.EngineAttached)[0].reason == "forked"
    assert "Written." in str(world.bodies()[-1])


# ------------------------------------------------------------------------------------------------ of ours


async def test_a_tool_inside_our_process_and_a_hook_of_ours_are_called(world: World) -> None:
    called: list[str] = []

    async def echo(arguments: msgspec.Raw) -> str:
        return f"ECHO {msgspec.json.decode(arguments)['text']}"

    async def broken(arguments: msgspec.Raw) -> str:
        raise ValueError("out of order")

    async def endless(arguments: msgspec.Raw) -> str:
        called.append("endless")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            called.append("cancelled")
            raise
        return "never"

    async def guard(given: msgspec.Raw) -> msgspec.Raw:
        asked = msgspec.json.decode(given)
        called.append(asked["hook_event_name"])
        said = {
            "hookEventName": "PreToolUse",
            "permissionDecision": "allow",
            "permissionDecisionReason": "fine",
            "updatedInput": {"command": "echo from the hook"},
        }
        return msgspec.Raw(msgspec.json.encode({"hookSpecificOutput": said}))

    schema = msgspec.Raw(b'{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}')
    names = ("broken", "endless")
    lab = ToolServer(
        name="lab", tools=(ToolSpec(name="echo", input_schema=schema), *(ToolSpec(name=name) for name in names))
    )
    async with talk(
        world,
        servers=(lab,),
        hooks=(HookSpec(event="PreToolUse", name="guard", matcher="Bash"),),
        allow_tools=("mcp__lab",),
        run_tools={"lab.echo": echo, "lab.broken": broken, "lab.endless": endless},
        run_hooks={"guard": guard},
    ) as live:
        steps = (tool("mcp__lab__echo", {"text": "hello"}), tool("mcp__lab__broken", {}), "End: $LAST")
        ended = await live.turn(script(*steps))
        assert [event.ok for event in live.of(m.ToolEnded)] == [True, False]
        assert "ECHO hello" in str(world.bodies()[-1])
        assert "out of order" in ended.answer
        assert (await live.turn(script(bash("touch asked"), "End: $LAST"))).answer == "End: from the hook"
        [server] = (await live.know(f.Servers, "servers")).servers
        assert (server.name, server.status, server.tools) == ("lab", "connected", ("echo", *names))
        await live.prompt(script(tool("mcp__lab__endless", {}), "never"))
        await live.see(m.ToolStarted)
        async with asyncio.timeout(20):
            while "endless" not in called:  # noqa: ASYNC110  the CLI calls it when it likes
                await asyncio.sleep(0.01)
        assert await stopped(live) == ("interrupted", False)
        async with asyncio.timeout(20):
            while called[-1] != "cancelled":  # noqa: ASYNC110  the CLI drops the call before or after its last line
                await asyncio.sleep(0.01)
    assert called == ["PreToolUse", "endless", "cancelled"]


# -------------------------------------------------------------------------------------- choices and facts


async def test_mode_model_and_effort_are_changed_and_what_cannot_be_is_refused_in_words(world: World) -> None:
    async with talk(world) as live:
        config = await live.see(m.ConfigChanged)
        offered = {option.id: option.values for option in config.options}
        modes, models, efforts = offered["mode"], offered["model"], offered["effort"]
        assert "bypassPermissions" not in {mode.value for mode in modes}
        assert {"default", "sonnet", "haiku"} <= {model.value for model in models}
        assert [effort.value for effort in efforts] == ["low", "medium", "high", "xhigh", "max"]

        await live.ask(c.SetMode, mode="acceptEdits")
        assert (await live.see(m.ModeChanged)).mode == "acceptEdits"
        with pytest.raises(InvalidValue, match="one of default"):
            await live.ask(c.SetMode, mode="nonsense")
        with pytest.raises(EngineDeclined, match="not launched with --dangerously-skip-permissions"):
            await live.ask(c.SetMode, mode="bypassPermissions")
        live.runner.send(c.SetMode(key="unheard", mode="bypassPermissions"))
        assert (await live.see(m.Notice, lambda notice: notice.code == "control_error")).level == "warning"

        await live.ask(c.SetEffort, effort="low")
        await live.turn(script("One."))
        assert world.bodies()[-1]["output_config"] == {"effort": "low"}
        assert live.of(m.EngineAttached)[-1].mode == "acceptEdits"

        await live.ask(c.SetModel, model="haiku")
        await live.turn(script("Two."))
        assert "haiku" in str(world.bodies()[-1]["model"])
        assert "haiku" in live.of(m.ModelChanged)[-1].model
        await live.ask(c.SetEffort, effort="4000")
        await live.ask(c.Rename, title="A title")


async def test_facts_about_the_process_are_told_when_asked(world: World) -> None:
    (world.work / "alpha.txt").write_text("x")
    async with talk(world, allow_tools=("Bash",)) as live:
        about = await live.know(f.About, "about")
        assert (about.version, about.credentials) == (VERSIONS[world.version], "ANTHROPIC_API_KEY")
        assert "general-purpose" in {agent.name for agent in about.agents}
        assert "compact" in {command.name for command in (await live.know(f.Commands, "commands")).commands}
        assert (await live.see(m.CommandsChanged)).commands
        models = (await live.know(f.Models, "models")).models
        assert models[0].value == "default"
        assert models[0].resolved

        running = tool("Bash", {"command": "echo begun; tail -f /dev/null", "run_in_background": True})
        await live.turn(script(running, "It runs."))
        context = await live.know(f.ContextUsage, "context")
        assert 0 < context.used < context.size
        assert "Free space" in {category.name for category in context.categories}
        assert "Total cost" in (await live.know(f.Cost, "cost")).text
        usage = await live.know(f.SessionUsage, "usage")
        assert usage.cost_usd > 0
        assert usage.models[0].output_tokens > 0
        assert f.FileSuggestion(path="alpha.txt") in (await live.know(f.FileSuggestions, "files")).files

        [task] = (await live.know(f.Tasks, "tasks")).tasks
        assert task.background
        await only_newer(world, live, f.TaskOutput, "task_output", task=task.task)
        await only_newer(world, live, f.PlanText, "plan")
        await live.ask(c.StopTask, task=task.task)
        assert (await live.see(m.TaskEnded)).status == "stopped"
        with pytest.raises(InvalidValue, match="a task that runs"):
            await live.ask(c.StopTask, task=TaskId("nobody"))
    assert len(live.of(m.TaskStarted)) == 1


async def only_newer(world: World, live: Live, kind: type[f.Fact], name: f.QueryName, **arguments: str) -> None:
    """A question that the older CLI does not know: there it is refused with the version and the cure."""
    if world.version == "new":
        await live.know(kind, name, **arguments)
        return
    with pytest.raises(UnsupportedOption, match=r"2\.1\.197.*update the CLI to 2\.1\.325"):
        await live.know(kind, name, **arguments)
