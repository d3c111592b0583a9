"""Requests that agents make on their own account, which must not use up or repeat a step of a script. Pure."""

from __future__ import annotations

from typing import Literal

import msgspec

from footplate.testing.messages.asked import Asked

ChoreName = Literal["", "summary", "title"]

SUMMARY = "<analysis>Scripted analysis.</analysis>\n<summary>Scripted summary.</summary>"
TITLE = '{"title": "Scripted title"}'
PLAIN_TITLE = "Scripted title"


class Chore(msgspec.Struct, frozen=True, kw_only=True):
    """What the request is for, what it gets, and whether a script in its own text comes first."""

    name: ChoreName
    text: str
    takes_script: bool


def chore_of(asked: Asked) -> Chore | None:
    """The chore that a request is for, known by the words of its last text.

    Claude compacts with the whole conversation less its last answer, so the last script would say its last
    step again; `/compact SCRIPT:[...]` is how a test gives the summary. A title is asked for with the
    user's words, and so the user's script, in a `<session>` block. Other agents ask for titles and the like with no
    tools at hand; for the work itself they always have some.
    """
    text = asked.last_text()
    if asked.api and not asked.tool_names:
        return Chore(name="title", text=PLAIN_TITLE, takes_script=False)
    if "Your task is to create a detailed summary of the conversation" in text:
        return Chore(name="summary", text=SUMMARY, takes_script=True)
    if text.startswith("<session>") and not asked.tool_names:
        return Chore(name="title", text=TITLE, takes_script=False)
    return None
