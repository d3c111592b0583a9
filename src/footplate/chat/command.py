"""A command of the chat that a package brings: `/name words`, and the buttons under its answers.

A package names a function without arguments, which makes the command, in the entry-point group
`footplate.chat_commands`; the entry's name is the command's. It works in the chats of every transport.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import msgspec

from footplate.chat.model import Id

GROUP: Final = "footplate.chat_commands"


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What the chat shows: the answer to a command, or what a press turns its message into."""

    text: str
    """Markdown."""
    buttons: tuple[tuple[str, str], ...] = ()
    """Each with its name and the words that a press of it calls the command with: at most about 40 bytes."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who may use the bot wrote the command, or pressed a button of it."""

    words: str
    """What stood behind the command, or what the button stands for."""
    pressed: bool
    person: Id
    name: str
    """Of the person."""
    chat: Id
    topic: Id | None
    key: str
    """Of the message or the press: the same when a crash leads to a second call."""
    prompt: Callable[[str], Awaitable[None]]
    """Hand these words to the session of this chat; its answer comes there as usual."""


class ChatCommand(Protocol):
    """One command."""

    description: str
    """Its line in the menu."""

    async def run(self, call: Call) -> Reply:
        """Do it. A `FootplateError` is told in the chat in its own words, anything else is told to have failed."""
        ...
