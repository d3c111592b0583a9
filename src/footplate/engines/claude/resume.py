"""Resume lines: `claude --resume <id>`, what a person can paste in a terminal."""

from __future__ import annotations

import re
from typing import Final

from footplate.events.base import ResumeToken
from footplate.events.ids import EngineSessionId

LINE: Final = re.compile(
    r"^[ \t]*(?P<tick>`?)claude[ \t]+(?:--resume|-r)(?:[ \t]+|=)(?P<id>[^\s`\-][^\s`]*)(?P=tick)[ \t]*\r?$",
    re.IGNORECASE | re.MULTILINE,
)
"""On a line of its own, with or without backticks; an id never begins with a dash."""


def format_resume(token: ResumeToken) -> str:
    """The line that brings the conversation back."""
    return f"claude --resume {token.value}"


def extract_resume(text: str) -> ResumeToken | None:
    """The last resume line in the text."""
    found = [*LINE.finditer(text)]
    return ResumeToken(engine="claude", value=EngineSessionId(found[-1]["id"])) if found else None


def is_resume_line(line: str) -> bool:
    """Whether this one line is nothing but a resume line."""
    return LINE.fullmatch(line.strip("\r\n")) is not None
