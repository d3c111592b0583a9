"""Resume commands: the line that continues a conversation in an engine's own program, written and found in a text."""

from __future__ import annotations

import re

from footplate.events.base import ResumeToken
from footplate.events.ids import EngineSessionId


class ResumeCommand:
    """The resume command of one engine: `command` and then the id. `short` may stand for the last word of it.

    It is found on a line of its own, in any case, with or without backticks; people lose one of the two when they
    copy it. An id never starts with a dash: `codex resume --last` is not a resume command.
    """

    def __init__(self, engine: str, command: str, *, short: str = "") -> None:
        self._engine = engine
        self._command = command
        *words, last = map(re.escape, command.split(" "))
        flag = f"(?:{last}|{re.escape(short)})" if short else last
        gap = r"(?:[ \t]+|=)" if last.startswith(r"\-") else r"[ \t]+"
        start = r"[ \t]+".join((*words, flag))
        self._line = re.compile(rf"`?{start}{gap}(?P<id>[^\s`\-][^\s`]*)`?", re.IGNORECASE)

    def format(self, token: ResumeToken) -> str:
        """The line that a person can paste in a terminal."""
        return f"{self._command} {token.value}"

    def extract(self, text: str) -> ResumeToken | None:
        """The token of the last resume command in the text."""
        for line in reversed(text.splitlines()):
            match = self._line.fullmatch(line.strip())
            if match is not None:
                return ResumeToken(engine=self._engine, value=EngineSessionId(match["id"]))
        return None

    def is_line(self, line: str) -> bool:
        """Whether this one line is a resume command and nothing else."""
        return self._line.fullmatch(line.strip()) is not None
