"""A comment and the messages that are forwarded with it: one prompt. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from footplate.chat.model import Message, Update


def joins(first: Update, following: Update) -> bool:
    """Whether the second is a message that the first, a comment of the same person, was forwarded with."""
    comment, forward = first.message, following.message
    if comment is None or forward is None or comment.forwarded or not forward.forwarded:
        return False
    same = comment.chat.id == forward.chat.id and comment.topic == forward.topic
    return same and comment.sender == forward.sender and bool(comment.words)


def with_forwards(text: str, forwards: Sequence[Message]) -> str:
    """The comment, and what was forwarded behind it."""
    parts = [f"[forwarded message]\n{each.words}" for each in forwards if each.words]
    return "\n\n".join([text, *parts])
