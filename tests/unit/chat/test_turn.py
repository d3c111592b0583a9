"""A turn as a chat shows it."""

from __future__ import annotations

from footplate.chat.talk.turn import Ending, Turn
from footplate.events import model as m
from footplate.events.ids import TurnId

TURN = TurnId("t1")


def ended(*events: m.Event, ok: bool = True, answer: str = "", error: str = "") -> Ending:
    turn = Turn(m.TurnStarted(turn=TURN), 0.0, None)
    for event in (*events, m.TurnEnded(turn=TURN, ok=ok, answer=answer, error=error, stop_reason="end_turn")):
        turn.feed(event, 1.0)
    assert turn.ending is not None
    return turn.ending


def test_a_compaction_is_told_and_is_no_error() -> None:
    ending = ended(m.CompactionEnded(ok=True, trigger="manual", tokens_before=9000, tokens_after=700))
    assert (ending.label, ending.text) == ("done", "the context was shortened: 9.0k -> 700 tokens")
    assert ended(m.CompactionEnded(ok=True)).text == "the context was shortened"
    assert ended(m.CompactionEnded(ok=False, error="no room")).text == "the context could not be shortened: no room"


def test_what_a_command_of_the_agents_own_says_is_the_answer_where_there_is_no_other() -> None:
    said = m.Notice(level="info", text="Total cost: $0.02", code="local_command")
    assert ended(said).text == "Total cost: $0.02"
    assert ended(said, answer="words of the model").text == "words of the model"
    assert ended(m.Notice(level="info", text="a hook ran", code="hook")).text == ""
    failed = ended(said, ok=False, error="it broke")
    assert (failed.label, failed.text) == ("error", "it broke\n\nTotal cost: $0.02")
