"""What goes out: a message's content, and its place."""

from __future__ import annotations

import msgspec

from footplate.interfaces.telegram.bot.wire import Entity


class Button(msgspec.Struct, frozen=True, kw_only=True):
    """One button under a message: what it says, and what a press of it sends us."""

    text: str
    callback_data: str


Keyboard = tuple[tuple[Button, ...], ...]


class Content(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a person sees: text, its formatting, and buttons."""

    text: str
    entities: tuple[Entity, ...] = ()
    keyboard: Keyboard = ()


class Place(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where it stands: chat, topic, behind which message, and whether it makes a sound."""

    chat: int
    topic: int | None = None
    reply_to: int | None = None
    silent: bool = False


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the command menu."""

    command: str
    description: str
