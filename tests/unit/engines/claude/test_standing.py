"""A conversation that takes over in the middle: the log of two halves is that of the whole."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from footplate.engines.base import Exit
from footplate.engines.claude.prompts import prompt_uuid
from footplate.engines.claude.translate import Translator
from footplate.engines.standing import Standing
from footplate.events import model as m
from footplate.events.ids import EngineSessionId, PromptId, SessionId, TurnId
from footplate.events.model import Envelope, Event, is_ephemeral
from footplate.events.reduce import fold
from footplate.events.view import SessionView
from footplate.host.lines import Block
from footplate.runtime.standing import standing_of
from footplate.testing.invariants import check_invariants
from tests.unit.engines.claude.playing import VERSIONS, Recording, play, recording, scenarios

SESSION = EngineSessionId("11111111-1111-4111-8111-111111111111")
RECORDINGS = [(version, name) for version in VERSIONS for name in scenarios(version)]
ENDED = Exit(code=0)

NOT_IN_THE_LOG = {
    "sig_SIGHUP_stream": "text that was streamed and never finished",
    "sig_SIGTERM_stream": "text that was streamed and never finished",
    "tasks_named": "the ids of to-dos",
    "tasks_sonnet45": "the ids of to-dos",
    "tasks_env": "the ids of to-dos",
    "task_tools": "the ids of to-dos",
    "bash_background": "that a task ended between two turns",
    "bg_bash_open": "that a task ended between two turns",
}
"""What the second half cannot know, by the recordings in which it matters: there only the invariants hold."""


def view_of(events: list[Event]) -> SessionView:
    """The view after the durable events, as a service that starts again finds it."""
    lasting = [event for event in events if not is_ephemeral(event)]
    return fold(
        Envelope(seq=seq, time=1.0, session=SessionId("s"), epoch=1, turn=None, source="engine", event=event)
        for seq, event in enumerate((m.SessionOpened(engine="claude", cwd="/workspace"), *lasting), 1)
    )


def halves(recorded: Recording, cut: int) -> list[Event]:
    """The durable events of a recording that two services read, one after the other, from a process that goes on."""
    first = play(Translator(cwd="/workspace"), recorded, recorded.lines[:cut])
    view = view_of(first)
    if view.resume is None:
        return []
    second = Translator(cwd="/workspace", resume=view.resume.value, first_turn=len(view.turns) + 1)
    begun = second.fresh()
    named = recorded.name.startswith("2.1.325")  # the other one's turns do not say which prompts are theirs
    waiting = tuple(each.id for each in view.queue) if named else ()
    second.take_over(replace(standing_of(view, living=True), waiting=waiting))
    rest = play(second, replace(recorded, prompts=()), recorded.lines[cut:])
    ended = second.finish(ENDED)
    return [event for event in (*first, *begun, *rest, *ended) if not is_ephemeral(event)]


def told(events: list[Event]) -> list[Event]:
    """The events without what a process says of itself, which it says again to whoever comes."""
    aside = m.EngineAttached | m.Notice | m.LimitReached | m.UsageReported | m.ModelChanged | m.ModeChanged
    return [
        replace(event, usage=None, answer="", error_kind="") if isinstance(event, m.TurnEnded) else event
        for event in events
        if not isinstance(event, aside)
    ]


@pytest.mark.parametrize(("version", "name"), RECORDINGS)
def test_cut_anywhere_the_other_half_goes_on_with_what_is_open(version: str, name: str) -> None:
    recorded = recording(version, name)
    whole = Translator(cwd="/workspace")
    events = [event for event in (*play(whole, recorded), *whole.finish(ENDED)) if not is_ephemeral(event)]
    for cut in range(1, len(recorded.lines)):
        joined = halves(recorded, cut)
        if joined:
            assert check_invariants(joined, finished=True) == []
            assert name in NOT_IN_THE_LOG or told(joined) == told(events), cut


def test_a_prompt_that_joined_the_turn_before_does_not_start_the_next_one() -> None:
    prompt, other = PromptId("prompt"), PromptId("before")
    second = Translator(cwd="/workspace", resume=SESSION, first_turn=2)
    second.take_over(
        Standing(living=True, turn=TurnId("turn-1"), prompts=(other,), said=(other,), taken=(other,), waiting=(prompt,))
    )
    session = {"session_id": SESSION}
    echo = {"type": "user", "message": {"role": "user", "content": "go"}, "isReplay": True, "uuid": prompt_uuid(prompt)}
    result = {"type": "result", "subtype": "success", "is_error": False, "result": "", **session}
    init = {"type": "system", "subtype": "init", "user_message_uuids": [prompt_uuid(prompt)], **session}
    lines = (echo, result, init, result)
    events = [event for line in lines for event in second.feed(Block(msgspec.json.encode(line) + b"\n"))]
    assert [type(event) for event in events if isinstance(event, m.PromptSteered | m.TurnStarted | m.TurnEnded)] == [
        m.PromptSteered,
        m.TurnEnded,
        m.TurnStarted,
        m.TurnEnded,
    ]
    (started,) = [event for event in events if isinstance(event, m.TurnStarted)]
    assert started.prompts == ()


def test_a_prompt_that_is_echoed_between_turns_begins_none_that_never_ends() -> None:
    """The lines of its turn were read by a service that was killed, so it was sent again: the CLI only echoes it."""
    prompt, after = PromptId("prompt"), PromptId("after")
    second = Translator(cwd="/workspace", resume=SESSION, first_turn=2)
    second.take_over(Standing(living=True, waiting=(prompt, after)))
    session = {"session_id": SESSION}
    said = {"type": "user", "message": {"role": "user", "content": "go"}, "isReplay": True}
    result = {"type": "result", "subtype": "success", "is_error": False, "result": "done", **session}
    answer = {"type": "assistant", "message": {"id": "m1", "content": [{"type": "text", "text": "done"}]}, **session}
    init = {"type": "system", "subtype": "init", "user_message_uuids": [prompt_uuid(after)], **session}
    echoes = [{**said, "uuid": prompt_uuid(name)} for name in (prompt, after)]
    lines = (answer, result, echoes[0], init, echoes[1], result)
    events = [event for line in lines for event in second.feed(Block(msgspec.json.encode(line) + b"\n"))]
    ended = [event for event in events if isinstance(event, m.TurnEnded)]
    assert [(turn.prompts, turn.ok, turn.stop_reason) for turn in ended] == [
        ((), True, "end_turn"),
        ((prompt,), False, "lost"),
        ((after,), True, "end_turn"),
    ]
    assert [event.prompts for event in events if isinstance(event, m.TurnStarted)] == [(), (prompt,), (after,)]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_call_of_an_earlier_turn_that_is_told_again_does_not_start_again(version: str) -> None:
    recorded = recording(version, "bash_allowed")
    first = play(Translator(cwd="/workspace"), recorded)
    calls = [event.call for event in first if isinstance(event, m.ToolStarted)]
    second = Translator(cwd="/workspace", resume=SESSION, first_turn=2)
    second.take_over(standing_of(view_of(first), living=True))
    again = play(second, replace(recorded, prompts=()), [line for line in recorded.lines if b'"tool_use"' in line])
    assert calls
    assert [event for event in again if isinstance(event, m.ToolStarted)] == []
