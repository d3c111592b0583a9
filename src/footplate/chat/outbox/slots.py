"""A slot: one message of ours as it should be, and how far that is true. Pure; its JSON is what the store keeps.

                    put            call made           answered
        (nothing) ------> new ----> sending ----> shown <---> (edited as often as wanted)
                           |           |            |
                           | removed   | no word    | removed, or taken away by a person
                           v           v            v
                          gone       probe        gone          refused for good: failed

A slot that is `sending` when nobody sends it (no word came, or the bridge died) is uncertain: it is probed, never
blindly sent again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from footplate.chat.model import Content, Id, Place

State = Literal["new", "sending", "shown", "gone", "failed"]
Operation = Literal["send", "probe", "edit", "delete"]


class Slot(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One message of ours. `key` is its name for us, whatever its id becomes."""

    key: str
    place: Place
    order: str
    """Sorts by the time it was first wanted."""

    wanted: Content | None
    """What should stand there; None: nothing any more."""

    shown: Content | None = None
    state: State = "new"
    message: Id | None = None
    base: int = 0
    """What the transport wanted to know of the chat before it was sent, should nobody know whether it was."""

    tag: int = 0
    """The mark by which it can be answered in words, where messages have no buttons or replies."""

    urgent: bool = False
    """Whether somebody waits for it: it goes before progress, and each step of it is on disk."""

    after: str = ""
    """The slot that must be shown before this one is taken away."""

    about: str = ""
    """What a reply to it is about, in the words of whoever put it."""

    document: str = ""
    """A file to send: its path. `wanted.text` is the text under it."""

    plain: bool = False
    """Its formatting was refused: it goes without."""


class Step(msgspec.Struct, frozen=True):
    """What is to be done next in a chat."""

    slot: Slot
    operation: Operation


def next_operation(slot: Slot) -> Operation | None:
    """What the slot needs; None when all is as it should be."""
    match slot.state:
        case "new":
            return "send" if slot.wanted is not None else None
        case "sending":
            return "probe"
        case "shown":
            if slot.wanted is None:
                return "delete"
            return "edit" if slot.wanted != slot.shown else None
        case _:
            return None


def choose_step(slots: Iterable[Slot], is_shown: Callable[[str], bool]) -> Step | None:
    """The next step of a chat: what is uncertain, what somebody waits for, new messages, removals, edits; by age."""
    steps = []
    for slot in slots:
        operation = next_operation(slot)
        if operation is None or (operation == "delete" and slot.after and not is_shown(slot.after)):
            continue
        steps.append((_rank(slot, operation), slot.order, Step(slot, operation)))
    return min(steps, key=lambda each: each[:2])[2] if steps else None


def _rank(slot: Slot, operation: Operation) -> int:
    if operation == "probe":
        return 0
    if slot.urgent:
        return 1 if operation == "send" else 2
    return {"send": 3, "delete": 4, "edit": 5}[operation]
