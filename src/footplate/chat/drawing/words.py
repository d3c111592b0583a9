"""Short words that stand in many messages: clock times, cut and flattened text. Pure."""

from __future__ import annotations

import time


def flat(text: str) -> str:
    """The text on one line."""
    return " ".join(text.split())


def shorten(text: str, most: int) -> str:
    """At most so many characters; what is left out is told by a mark."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def clock(at: float) -> str:
    """`14:05`, as the clock of this machine shows it."""
    return time.strftime("%H:%M", time.localtime(at))
