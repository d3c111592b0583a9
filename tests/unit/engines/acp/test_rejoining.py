"""Going on with a living ACP agent: cut wherever the log tells all, two conversations give the events of one."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from footplate.engines.acp.converse import AcpConversation
from footplate.engines.acp.rejoining import rejoin_acp
from footplate.engines.base import Exit, Installed
from footplate.engines.rejoining import Restful, Where
from footplate.errors import EngineGone
from footplate.events import model as m
from footplate.events.commands import SetMode
from footplate.events.ids import RequestId, SessionId
from footplate.events.model import Envelope, Event, is_ephemeral
from footplate.events.reduce import fold
from footplate.events.requests import Allow, Reply
from footplate.events.view import SessionView
from footplate.host.lines import Block
from footplate.runtime.requests import RequestBook
from footplate.runtime.standing import standing_of
from footplate.testing.invariants import check_invariants
from footplate.ulid import new_ulid
from tests.unit.engines.acp.playing import OPTIONS, SESSION, Json, Play, call, progress, say

COLOUR: Json = {
    "type": "object",
    "properties": {"colour": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}]}},
}
OFFERED = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]


def update(told: Json) -> Json:
    return {"method": "session/update", "params": {"sessionId": SESSION, "update": told}}


def request(rpc_id: object, method: str, **params: object) -> Json:
    return {"id": rpc_id, "method": method, "params": {"sessionId": SESSION, **params}}


LINES: tuple[Json, ...] = (
    update(say("I look. ")),
    update(say("Now.")),
    update(call(toolCallId="c1", title="ls", name="Bash", kind="execute", rawInput={"command": "ls"})),
    update(progress(toolCallId="c1", status="completed")),
    update(call(toolCallId="c1", title="ls -l", name="Bash", kind="execute", rawInput={"command": "ls -l"})),
    request("a:1", "session/request_permission", toolCall={"toolCallId": "c1"}, options=OFFERED),
    update(progress(toolCallId="c1", status="in_progress")),
    update(progress(toolCallId="c1", status="completed")),
    request(8, "elicitation/create", mode="form", message="Which?", requestedSchema=COLOUR),
    update(say("Red it is.")),
)
"""One turn in which the agent speaks, calls the same tool twice under one id, and asks for two things."""


class Log:
    """The durable events of a session, and what it answers at once."""

    def __init__(self) -> None:
        self.events: list[Event] = [m.SessionOpened(engine="acp", cwd="/project")]
        self._book = RequestBook(new_ulid)
        self._names: dict[str, str] = {}

    def take(self, play: Play, events: list[Event]) -> None:
        for event in events:
            renamed = self._rename(event)
            if renamed is None or is_ephemeral(renamed):
                continue
            self.events.append(renamed)
            if isinstance(event, m.RequestOpened) and isinstance(renamed, m.RequestOpened):
                answer = Reply(answers={"Which?": "Red"}) if event.request.questions else Allow()
                self.events.append(m.RequestAnswered(request=renamed.request.id, answer=answer, by="me"))
                self.take(play, play.reply(event.request.id, answer))

    def _rename(self, event: Event) -> Event | None:
        """As a session does, with ids that are the same every time."""
        renamed = self._book.rename(event)
        if isinstance(renamed, m.RequestOpened):
            ours = RequestId(f"r-{len(self._names)}")
            self._names[renamed.request.id] = ours
            return replace(renamed, request=replace(renamed.request, id=ours))
        if isinstance(renamed, m.RequestApplied | m.RequestWithdrawn):
            return replace(renamed, request=RequestId(self._names.get(renamed.request, renamed.request)))
        return renamed

    def view(self) -> SessionView:
        return fold(
            Envelope(seq=seq, time=1.0, session=SessionId("s"), epoch=1, turn=None, source="engine", event=event)
            for seq, event in enumerate(self.events, 1)
        )


def begun(log: Log) -> Play:
    play = Play()
    play.open()
    play.prompt()
    log.take(play, play.events)
    return play


def go_on(log: Log) -> Play:
    """Another conversation with the same agent, from the log alone."""
    view = log.view()
    options = replace(OPTIONS, resume=SESSION, epoch=1, first_turn=2, standing=standing_of(view, living=True))
    play = Play()
    play.conversation = AcpConversation("acp", options, Installed(engine="acp"), first_turn=2)
    play.do(play.conversation.begin())
    return play


def rests(play: Play) -> bool:
    return play.conversation.at_rest


def told(log: Log) -> list[Event]:
    """Without what each conversation says of itself, and with the engine's ids left out."""
    return [
        replace(event, request=replace(event.request, engine_request=""))
        if isinstance(event, m.RequestOpened)
        else event
        for event in log.events
        if not isinstance(event, m.EngineAttached)
    ]


def whole() -> Log:
    log = Log()
    play = begun(log)
    for line in LINES:
        log.take(play, play.line(line))
    log.take(play, play.answer("session/prompt", {"stopReason": "end_turn"}))
    return log


@pytest.mark.parametrize("cut", range(len(LINES) + 1))
def test_cut_where_all_is_told_the_other_half_goes_on(cut: int) -> None:
    log = Log()
    first = begun(log)
    for line in LINES[:cut]:
        log.take(first, first.line(line))
    prompt = first.last("session/prompt")["id"]
    if not first.conversation.at_rest:
        log.take(first, first.do(first.conversation.pause()))
    second = go_on(log)
    for line in LINES[cut:]:
        log.take(second, second.line(line))
    log.take(second, second.line({"id": prompt, "result": {"stopReason": "end_turn"}}))
    assert check_invariants(log.events, finished=True) == []
    assert not [event for event in log.events if isinstance(event, m.Unparsed)]
    if cut != 1:  # there a text is told in two parts
        assert told(log) == told(whole())
    ended = log.events[-1]
    assert isinstance(ended, m.TurnEnded)
    assert (ended.ok, ended.answer) == (True, "Red it is.")


def test_half_a_text_is_not_all_that_was_said() -> None:
    play = begun(Log())
    assert isinstance(play.conversation, Restful)
    assert rests(play)
    play.line(LINES[0])
    assert not rests(play)
    assert [type(event) for event in play.do(play.conversation.pause())] == [m.Message]
    assert rests(play)


def test_while_something_else_is_asked_of_the_agent_not_all_is_told() -> None:
    play = Play()
    play.begin()
    assert not rests(play)
    play = Play()
    play.open(modes={"currentModeId": "a", "availableModes": [{"id": "a", "name": "A"}, {"id": "b", "name": "B"}]})
    assert rests(play)
    play.command(SetMode(key="k", mode="b"))
    assert not rests(play)


def test_an_answer_that_may_not_have_been_written_is_written_again() -> None:
    log = Log()
    first = begun(log)
    for line in LINES[:6]:
        log.take(first, first.line(line))
    second = go_on(log)
    selected = {"outcome": {"outcome": "selected", "optionId": "yes"}}
    assert second.frames == [{"jsonrpc": "2.0", "id": "a:1", "result": selected}]


def test_between_turns_the_next_prompt_has_ids_of_its_own() -> None:
    log = whole()
    second = go_on(log)
    assert second.frames == []
    second.prompt()
    prompt = second.last("session/prompt")
    assert prompt["id"] == 1_000_001
    ended = second.answer("session/prompt", {"stopReason": "end_turn"})[-1]
    assert isinstance(ended, m.TurnEnded)
    assert ended.turn == "turn-2"
    late = second.line({"id": 3, "result": {"stopReason": "end_turn"}})
    assert [type(event) for event in late] == [m.Unparsed]


def test_an_agent_that_dies_after_it_was_taken_over_loses_the_turn() -> None:
    log = Log()
    first = begun(log)
    log.take(first, first.line(LINES[2]))
    second = go_on(log)
    log.take(second, second.do(second.conversation.finish(Exit(signal=9))))
    assert check_invariants(log.events, finished=True) == []
    ended = [event for event in log.events if isinstance(event, m.TurnEnded)]
    assert [event.stop_reason for event in ended] == ["lost"]


def test_where_something_may_be_missing_it_is_not_taken_over() -> None:
    with pytest.raises(EngineGone, match="killed while it spoke"):
        rejoin_acp(Where(session=SESSION, cwd="/", environ={}))
    rejoining = rejoin_acp(Where(session=SESSION, cwd="/", environ={}, whole=True))
    assert (rejoining.over, rejoining.lost(), rejoining.silence()) == (True, Block(), Block())
    assert rejoining.sift(Block(json.dumps(LINES[0]).encode())) == Block(json.dumps(LINES[0]).encode())
