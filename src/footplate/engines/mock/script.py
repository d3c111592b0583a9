"""What the mock agent does, by the first word of the prompt: one small script per word."""

from __future__ import annotations

import posixpath
from collections.abc import Generator
from typing import Final

import msgspec

from footplate.acp.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS
from footplate.acp.meta import parent_meta
from footplate.acp.schema.asking import PermissionOption
from footplate.acp.schema.content import Content, Diff, TextContent, ToolCallContent
from footplate.acp.schema.tools import ToolCall, ToolCallLocation, ToolCallUpdate
from footplate.acp.schema.updates import Cost, Plan, PlanEntry, ToolCallChange, Usage, UsageUpdate
from footplate.engines.mock.steps import (
    Ask,
    Charge,
    Complain,
    Emit,
    Fail,
    Pause,
    Permit,
    Prompt,
    Quit,
    Reply,
    Say,
    Script,
    Show,
    Step,
    Think,
)
from footplate.events.base import OptionalRaw

END: Final = "end_turn"
CANCELLED: Final = "cancelled"
BIGGEST: Final = 256 * 1024 * 1024
PLAN: Final = ("Look around", "Make the change", "Check the result")
OPTIONS: Final = (
    PermissionOption(option_id="allow", name="Allow", kind="allow_once"),
    PermissionOption(option_id="always", name="Always allow", kind="allow_always"),
    PermissionOption(option_id="reject", name="Reject", kind="reject_once"),
)
QUESTION: Final = "Which colour do you like best?"
COLOURS: Final = ("Red", "Green", "Blue")

Asking = Generator[Step, Reply, Reply]
"""A part of a script that asks the person and gives back the reply."""


def raw(value: object) -> msgspec.Raw:
    """Any value as raw JSON, for the fields of ACP that are open."""
    return msgspec.Raw(msgspec.json.encode(value))


def items(*content: ToolCallContent) -> tuple[msgspec.Raw, ...]:
    """The content of a tool call."""
    return tuple(raw(item) for item in content)


def text_item(text: str) -> Content:
    """Text as the content of a tool call."""
    return Content(content=TextContent(text=text))


def call_id(prompt: Prompt, word: str) -> str:
    """A tool call's id: never the same twice in a session, also after it was resumed."""
    return f"call-{prompt.number}-{word}"


def number(prompt: Prompt, place: int, otherwise: int) -> int:
    """The number that stands at that place of the prompt."""
    return int(prompt.words[place]) if len(prompt.words) > place else otherwise


def finished(call: str, *, ok: bool = True, text: str = "", parent: OptionalRaw = None) -> Show:
    """The last update of a call."""
    content = items(text_item(text)) if text else None
    return Show(ToolCallChange(tool_call_id=call, status="completed" if ok else "failed", content=content, meta=parent))


# ------------------------------------------------------------------------------------------ the first table


def echo(prompt: Prompt) -> Script:
    """Anything else: the text comes back."""
    yield Say(f"mock: {prompt.text}")
    return END


def stream(prompt: Prompt) -> Script:
    """`stream N [delayMs]`: N chunks."""
    delay = number(prompt, 2, 0)
    for index in range(number(prompt, 1, 3)):
        yield Say(f"chunk {index}")
        if (yield Pause(delay)).outcome == "cancelled":
            return CANCELLED
    return END


def slow(prompt: Prompt) -> Script:
    """`slow MS`: waits, and can be cancelled."""
    yield Say("slow begin")
    if (yield Pause(number(prompt, 1, 1000))).outcome == "cancelled":
        yield Say("slow cancelled")
        return CANCELLED
    yield Say("slow end")
    return END


def hang(_prompt: Prompt) -> Script:
    """`hang`: answers only after a cancel."""
    yield Say("hang begin")
    yield Pause(None)
    return CANCELLED


def permission(prompt: Prompt) -> Script:
    """`permission`: a call that waits for leave."""
    reply = yield from ask_permission(prompt)
    yield Say(f"permission: {reply.value if reply.outcome == 'chosen' else 'cancelled'}")
    return END if reply.outcome == "chosen" else CANCELLED


def ask_permission(prompt: Prompt) -> Asking:
    """The call, the request and the end of the call."""
    call = ToolCall(
        tool_call_id=call_id(prompt, "permission"),
        title="touch example.txt",
        name="Bash",
        kind="execute",
        status="pending",
        raw_input=raw({"command": "touch example.txt", "description": "Make an empty file"}),
    )
    yield Show(call)
    asked = ToolCallUpdate(
        tool_call_id=call.tool_call_id,
        title=call.title,
        name=call.name,
        kind=call.kind,
        status="pending",
        raw_input=call.raw_input,
    )
    reply = yield Permit(asked, OPTIONS)
    allowed = reply.outcome == "chosen" and reply.value != "reject"
    yield finished(call.tool_call_id, ok=allowed, text="nothing was done: this is the mock agent" if allowed else "")
    return reply


def tool(prompt: Prompt) -> Script:
    """`tool`: a call without a question."""
    call = call_id(prompt, "tool")
    yield Show(
        ToolCall(
            tool_call_id=call,
            title="Read notes.txt",
            name="Read",
            kind="read",
            status="in_progress",
            locations=(ToolCallLocation(path=posixpath.join(prompt.cwd, "notes.txt")),),
            raw_input=raw({"path": posixpath.join(prompt.cwd, "notes.txt")}),
        )
    )
    yield finished(call, text="the notes (made up by the mock agent)")
    yield Say("tool done")
    return END


def think(_prompt: Prompt) -> Script:
    """`think`: a thought before the answer."""
    yield Think("thinking about it")
    yield Say("thought")
    return END


def big(prompt: Prompt) -> Script:
    """`big N`: one chunk of N bytes."""
    size = number(prompt, 1, 1000)
    if size > BIGGEST:
        yield Fail(INVALID_PARAMS, f"big takes at most {BIGGEST}")
    yield Say("x" * size)
    return END


def error(_prompt: Prompt) -> Script:
    """`error`: the prompt fails."""
    yield Fail(INTERNAL_ERROR, "Internal error", "requested")
    return END


def crash(prompt: Prompt) -> Script:
    """`crash N`: the agent exits in the middle of the turn."""
    yield Say("crashing")
    yield Quit(number(prompt, 1, 1))
    return END


def garbage(_prompt: Prompt) -> Script:
    """`garbage`: a line that is not JSON."""
    yield Emit(b"this line is not JSON\n")
    yield Say("after garbage")
    return END


def stderr(_prompt: Prompt) -> Script:
    """`stderr`: a line on stderr."""
    yield Complain("mock: a line on stderr")
    yield Say("stderr written")
    return END


def env(prompt: Prompt) -> Script:
    """`env NAME`: a variable of the agent's environment."""
    name = prompt.words[1] if len(prompt.words) > 1 else ""
    yield Say(prompt.env.get(name) or f"{name} is not set")
    return END


def history(prompt: Prompt) -> Script:
    """`history`: the prompts before this one, a line each."""
    yield Say("\n".join(prompt.history) or "no prompts so far")
    return END


def blocks(prompt: Prompt) -> Script:
    """`blocks`: how many blocks the prompt has."""
    yield Say(str(prompt.blocks))
    return END


# ----------------------------------------------------------------------------------------- the second table


def plan(prompt: Prompt) -> Script:
    """`plan`: three entries, done one after another."""
    for done in range(len(PLAN) + 1):
        yield show_plan(done)
        if (yield Pause(prompt.pace_ms)).outcome == "cancelled":
            return CANCELLED
    yield Say("plan done")
    return END


def show_plan(done: int) -> Show:
    """The plan with so many entries done."""
    states = ["completed"] * done + ["in_progress"] + ["pending"] * len(PLAN)
    entries = (
        PlanEntry(content=text, priority="medium", status=state) for text, state in zip(PLAN, states, strict=False)
    )
    return Show(Plan(entries=tuple(entries)))


def question(prompt: Prompt) -> Script:
    """`question`: one question; the answer is echoed."""
    reply = yield from ask_question(prompt)
    yield Say(f"question: {reply.value if reply.outcome == 'chosen' else reply.outcome}")
    return CANCELLED if reply.outcome == "cancelled" else END


def ask_question(prompt: Prompt) -> Asking:
    """The call, the question and the end of the call."""
    call = call_id(prompt, "question")
    yield Show(ToolCall(tool_call_id=call, title=QUESTION, name="AskUserQuestion", kind="other", status="pending"))
    reply = yield Ask(call, QUESTION, "Colour", COLOURS)
    answered = reply.outcome == "chosen"
    yield finished(call, ok=answered, text=reply.value)
    return reply


def edit(prompt: Prompt) -> Script:
    """`edit PATH`: a diff. Nothing is read from or written to the disk."""
    path = posixpath.join(prompt.cwd, prompt.words[1] if len(prompt.words) > 1 else "example.txt")
    call = call_id(prompt, "edit")
    diff = Diff(path=path, old_text="one\ntwo\nthree\n", new_text="one\n2\nthree\n")
    yield Show(
        ToolCall(
            tool_call_id=call,
            title=f"Edit {path}",
            name="Edit",
            kind="edit",
            status="in_progress",
            locations=(ToolCallLocation(path=path),),
            content=items(diff),
        )
    )
    yield Show(ToolCallChange(tool_call_id=call, status="completed", content=items(diff)))
    yield Say(f"edit done: the change of {path} is made up, nothing was written to disk")
    return END


def usage(_prompt: Prompt) -> Script:
    """`usage`: context, cost and tokens."""
    yield Show(UsageUpdate(used=1200, size=200_000, cost=Cost(amount=0.0125, currency="USD")))
    yield Say("usage sent")
    yield Charge(
        Usage(total_tokens=1200, input_tokens=1000, output_tokens=150, thought_tokens=20, cached_read_tokens=50)
    )
    return END


def subagent(prompt: Prompt) -> Script:
    """`subagent`: a call inside a call. Stable ACP has no nesting: the parent's id stands in `_meta`."""
    outer, inner = call_id(prompt, "subagent"), call_id(prompt, "subagent-search")
    parent = parent_meta(outer)
    yield Show(
        ToolCall(
            tool_call_id=outer,
            title="Find the answer",
            name="Task",
            kind="think",
            status="in_progress",
            raw_input=raw({"description": "Find the answer", "prompt": "Search the notes for 42"}),
        )
    )
    yield Show(
        ToolCall(
            tool_call_id=inner,
            title="Search 42",
            name="Grep",
            kind="search",
            status="in_progress",
            raw_input=raw({"pattern": "42", "path": prompt.cwd}),
            meta=parent,
        )
    )
    yield finished(inner, text="notes.txt:42", parent=parent)
    yield Say("found it", outer)
    yield finished(outer, text="the answer is 42")
    yield Say("subagent done")
    return END
