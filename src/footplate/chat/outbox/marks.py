"""Marks for chats without buttons or replies: `#7a` presses a button of message 7, `#7 words` replies to it. Pure."""

from __future__ import annotations

import re
from string import ascii_lowercase
from typing import Final

import msgspec

from footplate.chat.drawing.rich import Rich, concat, join, plain
from footplate.chat.model import Content
from footplate.chat.transport import Capabilities

MARK: Final = re.compile(r"#(\d{1,9})([a-z])?(?:\s+(.*))?", re.DOTALL)


class Mark(msgspec.Struct, frozen=True):
    """What somebody typed: the message that is meant, the button of it, or words to it."""

    tag: int
    button: int | None
    words: str


def needs_marks(capabilities: Capabilities) -> bool:
    """Whether messages can be answered only in words."""
    return not (capabilities.buttons and capabilities.replies)


def with_marks(content: Content, tag: int, capabilities: Capabilities) -> Content:
    """The message with what to type: its own mark where it cannot be replied to, those of its buttons below."""
    body = Rich(content.text, content.entities)
    if not capabilities.replies:
        body = concat(plain(f"#{tag} "), body)
    keyboard = content.keyboard
    if not capabilities.buttons:
        buttons = [button for row in keyboard for button in row][: len(ascii_lowercase)]
        lines = [plain(f"#{tag}{letter} {each.text}") for letter, each in zip(ascii_lowercase, buttons, strict=False)]
        body, keyboard = join("\n\n", (body, join("\n", lines))), ()
    return Content(text=body.text, entities=body.entities, keyboard=keyboard)


def read_mark(text: str) -> Mark | None:
    """The mark at the beginning of a message, if there is one that means something."""
    found = MARK.fullmatch(text.strip())
    if found is None or bool(found[2]) == bool(found[3]):
        return None
    return Mark(int(found[1]), ascii_lowercase.index(found[2]) if found[2] else None, (found[3] or "").strip())
