"""A command with all that is known of the message it came in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from footplate.chat.model import Message
from footplate.chat.reading.commands import Command
from footplate.chat.reading.routing import Said
from footplate.chat.talk.kit import Actor
from footplate.chat.talk.places import Spot
from footplate.chat.talk.records import About


class Ordered(msgspec.Struct, frozen=True, kw_only=True):
    """Who ordered it, where, in reply to what."""

    spot: Spot
    message: Message
    sender: Actor
    said: Said
    about: About | None = None


Handler = Callable[[Command, Ordered], Awaitable[str]]
"""Carries out a command; what to tell the person, as markdown. Raises a `FootplateError` for what cannot be."""
