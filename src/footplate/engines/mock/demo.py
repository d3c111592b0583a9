"""The guided tour: everything a session can show, one after another, with a word on each."""

from __future__ import annotations

from footplate.acp.schema.tools import ToolCall
from footplate.acp.schema.updates import ToolCallChange
from footplate.engines.mock.script import (
    CANCELLED,
    END,
    PLAN,
    Asking,
    ask_permission,
    ask_question,
    call_id,
    edit,
    items,
    raw,
    show_plan,
    subagent,
    text_item,
    usage,
)
from footplate.engines.mock.steps import DONE, Pause, Prompt, Reply, Say, Script, Show, Think

CLOSING = """\
That was everything a session can show. Nothing was touched on your disk.

Try these words next, each as a prompt of its own:
- `stream 20 100` streams text; `slow 10000` can be interrupted; `hang` must be
- `permission`, `question`, `plan`, `edit notes.txt`, `subagent`, `usage`, `think`, `tool`
- `error`, `garbage`, `stderr`, `crash 3`: how trouble looks
- `env HOME`, `history`, `blocks`: what the agent knows
Anything else is echoed. To work with a real agent, start a session with another engine."""


def demo(prompt: Prompt) -> Script:
    """`demo`: the whole tour. Ends early when it is cancelled."""
    for stop in (_words, _thought, _command, _change, _plan, _permission, _question, _subagent, _figures):
        reply = yield from stop(prompt)
        if reply.outcome == "cancelled" or (yield Pause(prompt.pace_ms)).outcome == "cancelled":
            yield Say("The tour was interrupted. `demo` starts it again.")
            return CANCELLED
    yield Say(CLOSING)
    return END


def _words(prompt: Prompt) -> Asking:
    for text in ("Welcome! ", "I am the mock agent: ", "no model, no key, no cost. ", "This text is streamed.\n"):
        yield Say(text)
        if (yield Pause(prompt.pace_ms // 4)).outcome == "cancelled":
            return Reply("cancelled")
    return DONE


def _thought(prompt: Prompt) -> Asking:
    yield Think("This is a thought. Agents that think show it apart from the answer.")
    return (yield Pause(prompt.pace_ms))


def _command(prompt: Prompt) -> Asking:
    yield Say("Next, a command with its output:\n")
    call = call_id(prompt, "command")
    command = raw({"command": "ls", "cwd": prompt.cwd, "description": "List the folder"})
    yield Show(
        ToolCall(tool_call_id=call, title="ls", name="Bash", kind="execute", status="in_progress", raw_input=command)
    )
    for output in ("README.md\n", "README.md\nnotes.txt\n"):
        yield Show(ToolCallChange(tool_call_id=call, content=items(text_item(output))))
        if (yield Pause(prompt.pace_ms)).outcome == "cancelled":
            return Reply("cancelled")
    yield Show(ToolCallChange(tool_call_id=call, status="completed", raw_output=raw({"exitCode": 0})))
    return DONE


def _change(prompt: Prompt) -> Asking:
    yield Say("A change of a file is shown as a diff:\n")
    yield from edit(Prompt(text="edit notes.txt", number=prompt.number, cwd=prompt.cwd))
    return DONE


def _plan(prompt: Prompt) -> Asking:
    yield Say("\nA plan, and how it moves on:\n")
    for done in range(len(PLAN) + 1):
        yield show_plan(done)
        if (yield Pause(prompt.pace_ms)).outcome == "cancelled":
            return Reply("cancelled")
    return DONE


def _permission(prompt: Prompt) -> Asking:
    yield Say("Now I ask for permission. It waits for you as long as it must:\n")
    reply = yield from ask_permission(prompt)
    if reply.outcome == "chosen":
        yield Say(f"You chose `{reply.value}`.\n")
    return reply


def _question(prompt: Prompt) -> Asking:
    yield Say("And a question, with choices or in your own words:\n")
    reply = yield from ask_question(prompt)
    if reply.outcome == "chosen":
        yield Say(f"You said: {reply.value}.\n")
    elif reply.outcome == "declined":
        yield Say("You would rather not say. That is an answer, too.\n")
    return reply


def _subagent(prompt: Prompt) -> Asking:
    yield Say("Agents may start agents; their calls stand inside the call that started them:\n")
    yield from subagent(prompt)
    return DONE


def _figures(prompt: Prompt) -> Asking:
    yield Say("\nAt last, what it cost: tokens, context, money:\n")
    yield from usage(prompt)
    yield Say("\n")
    return DONE
