"""Events and envelopes go to JSON and back without loss, and strangers are kept."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest

from footplate.events.codec import ReadEnvelope, decode_envelope, decode_event, encode
from footplate.events.commands import Command
from footplate.events.ids import MessageId, SessionId, ToolCallId, TurnId
from footplate.events.model import (
    Envelope,
    Event,
    Message,
    RequestOpened,
    ToolStarted,
    ToolUpdated,
    Unknown,
    is_ephemeral,
)
from footplate.events.tools import Choice, Question
from tests.unit.events.examples import examples

EVENTS: tuple[type, ...] = get_args(Event)
COMMANDS: tuple[type, ...] = get_args(Command)


@pytest.mark.parametrize("kind", EVENTS)
def test_every_event_survives_the_round_trip(kind: type) -> None:
    for example in examples(kind):
        assert decode_event(msgspec.json.encode(example)) == example


@pytest.mark.parametrize("kind", COMMANDS)
def test_every_command_survives_the_round_trip(kind: type) -> None:
    for example in examples(kind):
        assert msgspec.json.decode(msgspec.json.encode(example), type=Command) == example


def test_a_stored_question_without_questions_is_read_as_its_title_with_yes_and_no() -> None:
    event = decode_event(b'{"type":"RequestOpened","request":{"id":"r","kind":"question","title":"Go on?"}}')
    assert isinstance(event, RequestOpened)
    assert event.request.questions == (Question(text="Go on?", choices=(Choice(label="Yes"), Choice(label="No"))),)


@pytest.mark.parametrize("kind", EVENTS)
def test_an_events_tag_is_its_own_name(kind: type) -> None:
    for example in examples(kind):
        assert msgspec.json.decode(msgspec.json.encode(example))["type"] == kind.__name__


def test_an_envelope_survives_the_round_trip() -> None:
    event = Message(message=MessageId("m"), part=0, text="hello")
    envelope = Envelope(
        seq=7, time=1.5, session=SessionId("s"), event=event, epoch=2, turn=TurnId("t"), source="person"
    )
    assert decode_envelope(encode(envelope)) == ReadEnvelope(
        seq=7, time=1.5, session=SessionId("s"), event=event, epoch=2, turn=TurnId("t"), source="person"
    )


def test_an_event_of_a_later_version_is_kept_as_it_came() -> None:
    raw = b'{"seq":1,"time":0.5,"session":"s","event":{"type":"Teleported","to":[1, 2]}}'
    assert decode_envelope(raw).event == Unknown(
        type="Teleported", raw=msgspec.Raw(b'{"type":"Teleported","to":[1, 2]}')
    )


def test_a_known_type_in_a_shape_of_a_later_version_is_kept_as_it_came() -> None:
    raw = b'{"type":"TitleChanged","title":{"en":"x"}}'
    assert decode_event(raw) == Unknown(type="TitleChanged", raw=msgspec.Raw(raw))


def test_a_field_of_a_later_version_is_passed_over() -> None:
    raw = b'{"type":"Message","message":"m","part":0,"text":"t","mood":"good"}'
    assert decode_event(raw) == Message(message=MessageId("m"), part=0, text="t")


def test_a_line_that_is_no_envelope_is_an_error() -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_envelope(b'{"seq":1}')


def test_absent_input_is_none_and_present_input_is_kept_byte_for_byte() -> None:
    started = ToolStarted(call=ToolCallId("c"), name="Bash", kind="command", title="ls")
    with_input = msgspec.structs.replace(started, input=msgspec.Raw(b'{"command": "ls",  "n": 1.0}'))
    assert decode_event(encode(started)) == started
    assert decode_event(encode(with_input)) == with_input


@pytest.mark.parametrize(
    ("event", "ephemeral"),
    [
        (ToolUpdated(call=ToolCallId("c"), output_delta="x"), True),
        (ToolUpdated(call=ToolCallId("c"), output_delta="x", reset=True), True),
        (ToolUpdated(call=ToolCallId("c"), note="half way"), False),
        (ToolUpdated(call=ToolCallId("c"), elapsed_s=0.0), False),
    ],
)
def test_a_tool_update_with_nothing_but_deltas_is_ephemeral(event: ToolUpdated, *, ephemeral: bool) -> None:
    assert is_ephemeral(event) is ephemeral
