"""The Telegram bridge with the real Claude CLI: everything a person does from the phone, and kill -9 in each state."""

from __future__ import annotations

import asyncio
import time

import pytest

from footplate.testing.messages import script, tool
from footplate.testing.messages.step import Step
from tests.e2e.telegram_host import telegram
from tests.e2e.world import World

pytestmark = pytest.mark.timeout(240)
LONG_PLAN = "# Plan\n1. make it\n" + "\n".join(f"{number}. a step of many" for number in range(2, 300))
QUESTION = {
    "questions": [
        {
            "question": "Which one?",
            "header": "Pick",
            "multiSelect": True,
            "options": [
                {"label": "Red", "description": "like fire"},
                {"label": "Blue", "description": "like the sea"},
            ],
        },
        {
            "question": "Why?",
            "header": "Reason",
            "multiSelect": False,
            "options": [{"label": "Because", "description": ""}, {"label": "Other reasons", "description": ""}],
        },
    ]
}


def bash(command: str) -> Step:
    return tool("Bash", {"command": command})


async def _appears(world: World, name: str) -> None:
    async with asyncio.timeout(60):
        while not (world.work / name).exists():  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def _model_calls(world: World) -> int:
    return sum(request.asks_model for request in world.requests())


async def test_a_day_on_the_phone(world: World) -> None:
    async with telegram(world) as host:
        me = host.me
        # a prompt, with a tool that is approved by button
        await host.ask(script(bash("touch approved"), "Made it: $LAST"), "permission · claude")
        assert "touch approved" in me.find("permission · claude").text
        assert not (world.work / "approved").exists()
        await me.press("Allow once")
        first = await host.see("Made it")
        await host.settled()
        assert (world.work / "approved").exists()
        line = first.text.splitlines()[-1]
        assert line.startswith("claude --resume ")
        # a file is changed: the diff is shown; denied with a reason
        write = tool("Write", {"file_path": str(world.work / "a.txt"), "content": "hello\n"})
        ask = await host.ask(script(write, "After all: $LAST"), "+hello")
        assert "+hello" in ask.text
        await me.press("Deny with reason…", on=ask)
        await host.until(lambda: "Reply to this message" in me.room.bubbles[ask.id].text)
        await me.write("not that name", reply_to=ask)
        await host.see("After all")
        assert "not that name" in me.find("After all").text
        assert not (world.work / "a.txt").exists()
        # a question: several choices, descriptions, then own words
        ask = await host.ask(script(tool("AskUserQuestion", QUESTION), "You said: $LAST"), "Which one?")
        assert "Red: like fire" in ask.text
        await me.press("☐ Red", on=ask)
        await host.until(lambda: "☑ Red" in me.room.bubbles[ask.id].labels)
        await me.press("Done", on=me.room.bubbles[ask.id])
        await host.until(lambda: "Why?" in me.room.bubbles[ask.id].text)
        await me.write("it is warm", reply_to=ask)
        answer = await host.see("You said")
        assert "Red" in answer.text
        assert "it is warm" in answer.text
        # cancel: the session survives
        await me.write(script(bash("touch asleep; sleep 60"), "Never."))
        await host.allow("sleep 60")
        await _appears(world, "asleep")
        await host.until(lambda: any("cancel" in bubble.labels for bubble in me.answers))
        await me.press("cancel")
        await host.see("cancelled · claude")
        await host.settled()
        # from a pasted line, after /new
        await host.ask("/new", "begins a new session")
        await host.ask(f"{script('Back again.')}\n`{line}`", "Back again.")
        await host.settled()
        assert me.find("Back again.").text.splitlines()[-1] == line
        # a command of the agent's own: no model speaks, and that is no error
        await host.ask("/compact", "the context was shortened")
        assert me.find("the context was shortened").text.startswith("done · claude")
        # a budget: what passes it is stopped before the next call of the model
        await host.ask("/budget 0.01", "budget: $0.01")
        costly = tool("Bash", {"command": "echo hi"}, usage={"input_tokens": 90_000, "output_tokens": 9_000})
        calls = _model_calls(world)
        await host.ask(script(costly, "Too dear."), "Go on?")
        await me.press("Stop here")
        await host.see(": Stop here")
        assert _model_calls(world) <= calls + 1
        assert not me.sees("Too dear.")


async def test_a_plan_is_shown_before_anything_changes_and_a_prompt_steers(world: World) -> None:
    async with telegram(world) as host:
        me = host.me
        await host.ask("/mode plan", "permission mode: plan")
        planning = (
            tool("Write", {"file_path": "$PLANFILE", "content": LONG_PLAN}),
            tool("ExitPlanMode", {}),
        )
        ask = await host.ask(script(*planning, *planning, bash("touch later"), "Planned."), "plan · claude")
        assert "make it" in ask.text
        assert "in all; the whole plan is above" in ask.text
        [file] = [each for each in me.answers if each.document]
        assert (file.document, file.body.decode(), file.id < ask.id) == ("plan.md", LONG_PLAN, True)
        assert ask.labels == ["Approve", "Approve + accept edits", "Revise…", "Stop"]
        assert list(world.work.iterdir()) == []
        await me.press("Revise…", on=ask)
        await host.until(lambda: "Reply to this message" in me.room.bubbles[ask.id].text)
        await me.write("smaller steps", reply_to=ask)
        await host.until(lambda: sum("plan · claude" in text for text in me.texts) == 2)
        second = me.find("plan · claude")
        assert second.id != ask.id
        await me.press("Approve", on=second)
        await host.allow("touch later")
        await host.see("Planned.")
        assert (world.work / "later").exists()
        # steer: a message during a run goes into it by button
        await me.write(script(bash("touch begun; sleep 8"), "Heard: end"))
        await host.allow("touch begun")
        await _appears(world, "begun")
        await me.write("and hurry up")
        await host.see("queued · claude")
        await me.press("steer")
        await host.see("steered · claude")
        await host.settled()
        assert any("and hurry up" in str(body) for body in world.bodies())


@pytest.mark.parametrize("state", ["asking", "working", "answered"])
async def test_kill_9_of_the_bridge_loses_and_doubles_nothing(world: World, state: str) -> None:
    async with telegram(world) as host:
        me = host.me
        command = "sleep 3; touch ran" if state == "working" else "touch ran"
        ask = await host.ask(script(bash(f"{command}; echo once >> count"), "The end."), "permission · claude")
        if state != "asking":
            await me.press("Allow once")
        if state == "working":
            await host.until(lambda: any("cancel" in b.labels and "sleep 3" in b.text for b in me.answers))
        elif state == "answered":
            await host.see("The end.")
        await host.kill()
        await me.write(script("While you were away."))
        if state == "asking":
            await me.press("Allow once", on=ask)
        await host.start()
        await host.see("While you were away.")
        await host.settled()
        assert sum("The end." in text for text in me.texts) == 1
        assert sum("While you were away." in text for text in me.texts) == 1
        assert sum("permission · claude" in text for text in me.texts) == 1
        assert (world.work / "count").read_text() == "once\n"
        assert all(not bubble.buttons for bubble in me.answers)


async def test_a_resumed_prompt_reacts_as_fast_as_a_new_one(world: World) -> None:
    async with telegram(world) as host:
        took = []
        for number in range(2):
            await asyncio.sleep(2.5)  # the bucket of the chat is full again
            begun = time.monotonic()
            sent = len(host.bots.calls("sendMessage"))
            await host.me.write(script(f"Answer {number}."))
            await host.until(lambda n=sent: len(host.bots.calls("sendMessage")) > n)
            took.append(time.monotonic() - begun)
            await host.see(f"Answer {number}.")
            await host.settled()
        assert took[1] < max(took[0] * 1.5, 0.5), took
