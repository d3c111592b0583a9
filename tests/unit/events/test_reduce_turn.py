"""The reduced view of turns, messages, calls and tasks, on logs written by hand."""

from __future__ import annotations

import msgspec

from footplate.events.content import TextBlock
from footplate.events.ids import MessageId, PromptId, TaskId, ToolCallId, TurnId
from footplate.events.model import (
    Denial,
    Message,
    MessageDelta,
    PlanChanged,
    PromptQueued,
    PromptSteered,
    TaskEnded,
    TaskStarted,
    TaskUpdated,
    Thought,
    ThoughtDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    TurnEnded,
    TurnStarted,
    UserMessage,
)
from footplate.events.reduce import SessionReducer
from footplate.events.tools import CommandDetail, PlanEntry, SubagentDetail
from footplate.events.usage import Usage
from footplate.events.view import (
    Counts,
    LivePart,
    MessageItem,
    QueuedPrompt,
    TaskView,
    TextPart,
    ThoughtItem,
    ToolItem,
    Totals,
    TurnView,
    UserItem,
)
from tests.unit.events.log import Log, log

T1, T2 = TurnId("t1"), TurnId("t2")
M1 = MessageId("m1")
C1, C2, C3 = ToolCallId("c1"), ToolCallId("c2"), ToolCallId("c3")
TASK = TaskId("k1")
P1, P2 = PromptId("p1"), PromptId("p2")


def in_turn() -> Log:
    """A log whose next event has number 4 and belongs to turn t1."""
    return log() >> TurnStarted(turn=T1)


def bash(call: ToolCallId, parent: ToolCallId | None = None) -> ToolStarted:
    return ToolStarted(call=call, name="Bash", kind="command", title="ls", parent=parent)


def done(call: ToolCallId) -> ToolEnded:
    return ToolEnded(call=call, ok=True, outcome="completed")


# --------------------------------------------------------------------------------------------------- turns


def test_a_turn_runs_from_its_start_to_its_end() -> None:
    script = log() >> TurnStarted(turn=T1, prompts=(PromptId("p"),), origin="prompt")
    assert script.view().turn == T1
    script >> TurnEnded(
        turn=T1,
        ok=False,
        error="no",
        stop_reason="refusal",
        denials=(Denial(tool="Bash"),),
        usage=Usage(output_tokens=5),
    )
    assert script.view().turn is None
    assert script.view().turns == (
        TurnView(
            id=T1,
            started_at=3.0,
            prompts=(PromptId("p"),),
            origin="prompt",
            ok=False,
            error="no",
            stop_reason="refusal",
            usage=Usage(output_tokens=5),
            denials=(Denial(tool="Bash"),),
            ended_at=4.0,
        ),
    )


def test_the_sessions_cost_is_the_sum_of_its_turns() -> None:
    script = log()
    for turn, cost in ((T1, 0.5), (T2, 0.25), (TurnId("t3"), None)):
        script >> TurnStarted(turn=turn)
        script >> TurnEnded(turn=turn, ok=True, usage=Usage(input_tokens=10, cost_usd=cost, duration_ms=7))
    assert script.view().usage == Totals(turns=3, input_tokens=30, cost_usd=0.75, duration_ms=21)


def test_a_cost_that_nobody_told_is_unknown_and_not_zero() -> None:
    script = in_turn() >> TurnEnded(turn=T1, ok=True, usage=Usage(input_tokens=1))
    assert script.view().usage == Totals(turns=1, input_tokens=1)


def test_a_turn_that_ends_twice_is_counted_once() -> None:
    ended = TurnEnded(turn=T1, ok=True, usage=Usage(cost_usd=1.0))
    once, twice = in_turn() >> ended, in_turn() >> ended >> ended
    assert (once.view().turns, once.view().usage) == (twice.view().turns, twice.view().usage)


# ------------------------------------------------------------------------------------------------ messages


def test_deltas_are_live_text_until_the_message_replaces_them() -> None:
    script = in_turn() >> MessageDelta(message=M1, part=0, text="Hel") >> MessageDelta(message=M1, part=0, text="lo")
    assert script.view().live == (LivePart(kind="message", id=M1, text="Hello"),)
    assert script.view().items == ()
    script >> Message(message=M1, part=0, text="Hello!", model="sonnet")
    assert script.view().live == ()
    assert script.view().items == (
        MessageItem(id=M1, turn=T1, at=4.0, parts=(TextPart(part=0, text="Hello!"),), model="sonnet"),
    )


def test_parts_of_one_message_are_merged_in_order_of_their_numbers() -> None:
    script = in_turn()
    for part, text in ((1, "b"), (0, "a"), (2, "c"), (1, "B")):
        script >> Message(message=M1, part=part, text=text)
    parts = (TextPart(part=0, text="a"), TextPart(part=1, text="B"), TextPart(part=2, text="c"))
    assert script.view().items == (MessageItem(id=M1, turn=T1, at=4.0, parts=parts),)


def test_a_thought_and_a_message_may_share_a_message_id() -> None:
    script = in_turn() >> Thought(message=M1, part=0, text="hm") >> Message(message=M1, part=1, text="yes")
    assert script.view().items == (
        ThoughtItem(id=M1, turn=T1, at=4.0, parts=(TextPart(part=0, text="hm"),)),
        MessageItem(id=M1, turn=T1, at=5.0, parts=(TextPart(part=1, text="yes"),)),
    )


def test_a_tail_sent_again_replaces_what_is_there() -> None:
    script = in_turn() >> ThoughtDelta(message=M1, part=0, text="so fa")
    (
        script
        >> ThoughtDelta(message=M1, part=0, text="so far", reset=True)
        >> ThoughtDelta(message=M1, part=0, text=" so good")
    )
    assert script.view().live == (LivePart(kind="thought", id=M1, text="so far so good"),)


def test_a_delta_that_comes_after_its_message_says_nothing() -> None:
    script = in_turn() >> Message(message=M1, part=0, text="Hello")
    before = script.view()
    assert (script >> MessageDelta(message=M1, part=0, text="Hel", reset=True)).view() == before


def test_text_that_its_turn_left_unfinished_goes_with_the_turn_but_a_sub_agents_stays() -> None:
    script = in_turn() >> bash(C1) >> MessageDelta(message=M1, part=0, text="half")
    script >> MessageDelta(message=MessageId("m2"), part=0, text="sub", parent=C1) >> TurnEnded(turn=T1, ok=True)
    assert script.view().live == (LivePart(kind="message", id="m2", text="sub", parent=C1),)


def test_a_message_to_the_agent_stands_in_the_timeline() -> None:
    content = (TextBlock(text="go"),)
    script = in_turn() >> UserMessage(message=M1, content=content, prompt=PromptId("p"))
    assert script.view().items == (UserItem(id=M1, turn=T1, at=4.0, content=content, prompt=PromptId("p")),)


# ---------------------------------------------------------------------------------------------- tool calls


def test_a_call_is_filled_in_as_more_becomes_known() -> None:
    script = in_turn() >> bash(C1)
    script >> ToolUpdated(
        call=C1, input=msgspec.Raw(b'{"command":"ls"}'), detail=CommandDetail(command="ls"), note="runs"
    )
    script >> ToolUpdated(call=C1, title="list files", elapsed_s=2.0)
    script >> ToolEnded(
        call=C1,
        ok=False,
        outcome="failed",
        content=(TextBlock(text="no such"),),
        detail=CommandDetail(command="ls", exit_code=2),
    )
    assert script.view().items == (
        ToolItem(
            id=C1,
            turn=T1,
            at=4.0,
            name="Bash",
            kind="command",
            title="list files",
            input=msgspec.Raw(b'{"command":"ls"}'),
            detail=CommandDetail(command="ls", exit_code=2),
            status="failed",
            ok=False,
            content=(TextBlock(text="no such"),),
            note="runs",
            elapsed_s=2.0,
            ended_at=7.0,
        ),
    )


def test_streamed_input_and_output_are_live_until_the_whole_is_there() -> None:
    script = (
        in_turn() >> bash(C1) >> ToolUpdated(call=C1, input_delta='{"com') >> ToolUpdated(call=C1, input_delta="mand")
    )
    assert script.view().live == (LivePart(kind="tool_input", id=C1, text='{"command'),)
    script >> ToolUpdated(call=C1, input=msgspec.Raw(b"{}")) >> ToolUpdated(call=C1, output_delta="a")
    script >> ToolUpdated(call=C1, output_delta="ab", reset=True) >> ToolUpdated(call=C1, output_delta="c")
    assert script.view().live == (LivePart(kind="tool_output", id=C1, text="abc"),)
    assert (script >> done(C1)).view().live == ()


def test_calls_nest_below_their_parent_and_are_counted_at_every_depth() -> None:
    task = ToolStarted(call=C1, name="Task", kind="subagent", title="look", detail=SubagentDetail(description="look"))
    script = in_turn() >> task >> bash(C2, parent=C1) >> bash(C3, parent=C2)
    script >> ToolEnded(call=C3, ok=False, outcome="failed") >> bash(ToolCallId("c4"), parent=C1)
    tools = {item.id: item for item in script.view().items if isinstance(item, ToolItem)}
    assert (tools[C1].children, tools[C1].counts) == ((C2, "c4"), Counts(calls=3, running=2, failed=1))
    assert (tools[C2].children, tools[C2].counts) == ((C3,), Counts(calls=1, running=0, failed=1))
    assert [tools[call].parent for call in (C1, C2, C3)] == [None, C1, C2]


def test_children_keep_growing_after_a_view_was_handed_out() -> None:
    reducer = SessionReducer()
    seen = []
    for envelope in in_turn() >> bash(C1) >> bash(C2, parent=C1) >> bash(C3, parent=C1):
        reducer.apply(envelope)
        seen.append([item.children for item in reducer.view().items if item.id == C1 and isinstance(item, ToolItem)])
    assert seen[-3:] == [[()], [(C2,)], [(C2, C3)]]


def test_a_parent_that_never_started_is_no_parent() -> None:
    script = in_turn() >> bash(C1, parent=C2) >> bash(C2, parent=C1) >> done(C1) >> done(C2)
    tools = {item.id: item for item in script.view().items if isinstance(item, ToolItem)}
    assert (tools[C1].parent, tools[C1].counts) == (None, Counts(calls=1))
    assert (tools[C2].parent, tools[C2].counts) == (C1, Counts())


def test_what_is_said_of_a_call_that_ended_or_never_started_changes_nothing() -> None:
    script = in_turn() >> bash(C1) >> done(C1)
    before = script.view().items
    script >> ToolUpdated(call=C1, title="late") >> ToolEnded(call=C1, ok=False, outcome="lost") >> bash(C1)
    script >> ToolUpdated(call=C2, title="who") >> done(C2)
    assert script.view().items == before


def test_the_plan_is_replaced_whole_and_a_sub_agents_stands_with_its_call() -> None:
    old, new, own = (PlanEntry(content=text) for text in ("old", "new", "own"))
    script = in_turn() >> bash(C1) >> PlanChanged(entries=(old,)) >> PlanChanged(entries=(new,))
    script >> PlanChanged(entries=(own,), parent=C1)
    assert script.view().plan == (new,)
    assert [item.plan for item in script.view().items if isinstance(item, ToolItem)] == [(own,)]


# --------------------------------------------------------------------------------------------------- tasks


def test_a_task_lives_beside_the_turns() -> None:
    script = in_turn() >> TaskStarted(task=TASK, kind="command", title="build", call=C1)
    script >> TurnEnded(turn=T1, ok=True) >> TaskUpdated(task=TASK, note="half", background=True)
    assert script.view().tasks == (
        TaskView(id=TASK, started_at=4.0, kind="command", title="build", call=C1, note="half", background=True),
    )
    script >> TaskEnded(task=TASK, status="completed", summary="built", output_file="/tmp/out")
    assert script.view().tasks == (
        TaskView(
            id=TASK,
            started_at=4.0,
            kind="command",
            title="build",
            call=C1,
            note="half",
            background=True,
            status="completed",
            summary="built",
            output_file="/tmp/out",
            ended_at=7.0,
        ),
    )


def test_a_turn_that_fails_before_the_agent_repeats_the_prompt_keeps_its_text() -> None:
    content = (TextBlock(text="fix the login bug"),)
    queued = PromptQueued(prompt=P1, content=content)
    failed = TurnEnded(turn=T1, ok=False, error="please run /login", stop_reason="error")
    started = log() >> queued >> TurnStarted(turn=T1, prompts=(P1,))
    waiting = (QueuedPrompt(id=P1, content=content, at=started.envelopes[2].time),)
    assert started.view().turns[0].unconfirmed == waiting
    assert started.view().queue == ()
    ended = (started >> failed).view().turns[0]
    assert (ended.ok, ended.error, ended.unconfirmed) == (False, "please run /login", waiting)


def test_a_prompt_that_the_agent_repeated_is_a_message_and_nothing_else() -> None:
    content = (TextBlock(text="hello"),)
    said = UserMessage(message=M1, content=content, prompt=P1)
    begun = log() >> PromptQueued(prompt=P1, content=content) >> TurnStarted(turn=T1, prompts=(P1,)) >> said
    assert begun.view().turns[0].unconfirmed == ()
    failed = (begun >> TurnEnded(turn=T1, ok=False, error="overloaded", stop_reason="error")).view()
    assert (failed.turns[0].unconfirmed, [item.id for item in failed.items]) == ((), [M1])


def test_a_turn_that_went_well_has_nothing_unconfirmed() -> None:
    queued = PromptQueued(prompt=P1, content=(TextBlock(text="/context"),))
    view = (log() >> queued >> TurnStarted(turn=T1, prompts=(P1,)) >> TurnEnded(turn=T1, ok=True)).view()
    assert view.turns[0].unconfirmed == ()


def test_a_steered_prompt_and_one_that_only_the_end_names_are_kept_when_the_turn_fails() -> None:
    first, second = (PromptQueued(prompt=name, content=(TextBlock(text=name),)) for name in (P1, P2))
    ended = TurnEnded(turn=T1, ok=False, error="gone", stop_reason="lost", prompts=(P1, P2))
    view = (log() >> first >> second >> TurnStarted(turn=T1) >> PromptSteered(prompt=P1) >> ended).view()
    assert [prompt.id for prompt in view.turns[0].unconfirmed] == [P1, P2]
    assert view.queue == ()
