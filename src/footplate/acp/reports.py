"""What a sub-agent reported, without the words that its engine adds for its own model."""

from __future__ import annotations

import re
import textwrap
from typing import Final

BACKGROUND: Final = "Works in the background."
_LAUNCHED: Final = re.compile(r"\s*Async agent launched successfully")
_FRAME: Final = re.compile(r"\A.*?The report follows:\n", re.DOTALL)
_TOOLS: Final = re.compile(r"^\s*<tools-used-before-summary>.*?</tools-used-before-summary>\s*\n", re.MULTILINE)
_TRAILER: Final = re.compile(r"\n?agentId: \S+ \([^\n]*\)\s*(?:<usage>.*?</usage>)?\s*\Z", re.DOTALL)


def clean_report(text: str) -> str:
    """The report for people; of a sub-agent that was only launched there is none yet."""
    if _LAUNCHED.match(text):
        return BACKGROUND
    bare = _TRAILER.sub("", text)
    framed = "[Subagent hand-back]" in bare
    bare = _TOOLS.sub("", bare)
    return textwrap.dedent(_FRAME.sub("", bare)) if framed else bare
