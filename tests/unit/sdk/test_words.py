"""Words that are streamed come once, whatever is sent again."""

from __future__ import annotations

from footplate.events.ids import MessageId, ToolCallId
from footplate.events.model import Message, MessageDelta
from footplate.sdk.turns import Words

M = MessageId("m1")


def test_pieces_then_the_whole_add_up_to_the_whole() -> None:
    words = Words()
    told = [
        words.feed(MessageDelta(message=M, part=0, text="Hel")),
        words.feed(MessageDelta(message=M, part=0, text="lo")),
        words.feed(Message(message=M, part=0, text="Hello, you")),
    ]
    assert told == ["Hel", "lo", ", you"]


def test_a_tail_that_is_sent_again_adds_only_what_is_new() -> None:
    words = Words()
    words.feed(MessageDelta(message=M, part=0, text="Hel"))
    assert words.feed(MessageDelta(message=M, part=0, text="Hello", reset=True)) == "lo"
    assert words.feed(MessageDelta(message=M, part=0, text="!")) == "!"
    assert words.feed(Message(message=M, part=0, text="Hello!")) == ""


def test_the_words_of_sub_agents_are_their_own() -> None:
    words = Words()
    assert words.feed(MessageDelta(message=M, part=0, text="aside", parent=ToolCallId("t1"))) == ""
    assert words.feed(Message(message=M, part=0, text="aside", parent=ToolCallId("t1"))) == ""
