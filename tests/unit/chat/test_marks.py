"""Marks: what stands under a message where nothing can be pressed, and what somebody typed."""

from __future__ import annotations

import pytest

from footplate.chat.model import Button, Content, Entity
from footplate.chat.outbox.marks import Mark, needs_marks, read_mark, with_marks
from footplate.chat.outbox.tags import HIGHEST, Tags
from footplate.chat.reading.routing import Said
from footplate.chat.talk.kit import Actor
from footplate.chat.talk.places import Spot
from footplate.chat.talk.prompts import Wish, prompt_id
from footplate.chat.transport import Capabilities
from footplate.store.memory import MemoryStore

ASKED = Content(
    text="may I?",
    entities=(Entity(type="bold", offset=0, length=3),),
    keyboard=((Button(text="Allow", callback_data="a"), Button(text="Deny", callback_data="d")),),
)


def test_a_message_shows_its_mark_and_those_of_its_buttons() -> None:
    shown = with_marks(ASKED, 7, Capabilities())
    assert shown.text == "#7 may I?\n\n#7a Allow\n#7b Deny"
    assert shown.entities == (Entity(type="bold", offset=3, length=3),)
    assert shown.keyboard == ()


def test_what_the_service_has_needs_no_mark() -> None:
    assert with_marks(ASKED, 7, Capabilities(buttons=True)) == Content(
        text="#7 may I?", entities=(Entity(type="bold", offset=3, length=3),), keyboard=ASKED.keyboard
    )
    assert with_marks(ASKED, 7, Capabilities(replies=True)).text == "may I?\n\n#7a Allow\n#7b Deny"
    assert not needs_marks(Capabilities(buttons=True, replies=True))


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("#7a", Mark(7, 0, "")),
        (" #12c\n", Mark(12, 2, "")),
        ("#7 not today,\nthank you", Mark(7, None, "not today,\nthank you")),
        ("#7", None),
        ("#7a and more", None),
        ("# a heading", None),
        ("#include <stdio.h>", None),
        ("see #7a", None),
    ],
)
def test_only_a_mark_at_the_beginning_means_something(text: str, mark: Mark | None) -> None:
    assert read_mark(text) == mark


async def test_marks_are_counted_per_chat_survive_a_restart_and_stay_short() -> None:
    store = MemoryStore()
    assert [await Tags(store, "x/1").give("ada", f"r/{number}") for number in range(3)] == [1, 2, 3]
    assert await Tags(store, "x/1").give("bob", "r/9") == 1
    again = Tags(store, "x/1")
    assert await again.key("ada", 2) == "r/1"
    assert await again.key("ada", 9) == ""
    for _ in range(HIGHEST - 2):
        last = await again.give("ada", "r/new")
    assert last == 1
    assert await again.key("ada", 1) == "r/new"


def test_the_id_of_a_prompt_fits_a_button_whatever_the_service_calls_its_chats() -> None:
    def wish(chat: int | str, message: int | str) -> Wish:
        return Wish(spot=Spot(chat=chat), message=message, sender=Actor("x", "x"), said=Said(text="x"))

    assert prompt_id("telegram", wish(7, 12)) == "tg7-12"
    assert prompt_id("line", wish("ada", "12")) == "line-ada-12"
    long = prompt_id("matrix", wish("!abcdefghijklmnop:matrix.example.org", "$" + "x" * 40))
    assert len(long) <= 45
    assert long != prompt_id("matrix", wish("!abcdefghijklmnop:matrix.example.org", "$" + "x" * 41))
