"""Short words that stand in many messages: times, money, states. Pure."""

from __future__ import annotations

import time

from footplate.events.requests import Allow, Answer, Decline, Deny, Reply


def flat(text: str) -> str:
    """The text on one line."""
    return " ".join(text.split())


def shorten(text: str, most: int) -> str:
    """At most so many characters; what is left out is told by a mark."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def elapsed(seconds: float) -> str:
    """`7s`, `2m 05s`, `1h 03m`."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02}s"
    return f"{whole // 3600}h {whole % 3600 // 60:02}m"


def money(usd: float | None) -> str:
    """`$0.12`, or nothing where nothing is known."""
    if usd is None or usd <= 0:
        return ""
    return f"${usd:.2f}" if usd >= 0.01 else f"${usd:.4f}"


def clock(at: float) -> str:
    """`14:05`, as the clock of this machine shows it."""
    return time.strftime("%H:%M", time.localtime(at))


def answer_words(answer: Answer) -> str:
    """What was answered, in a few words."""
    match answer:
        case Allow():
            scope = {"once": "allowed once", "exact": "allowed, exactly this, for the session"}
            scope |= {"session": "allowed for the session", "always": "allowed always"}
            mode = f", mode {answer.mode}" if answer.mode else ""
            return scope[answer.scope] + mode
        case Deny():
            words = f": {flat(answer.message)}" if answer.message else ""
            return ("denied and stopped" if answer.interrupt else "denied") + words
        case Reply():
            given = (value if isinstance(value, str) else ", ".join(value) for value in answer.answers.values())
            return f"answered: {flat('; '.join(given))}"
        case Decline():
            return "declined to answer"
        case _:
            return f"chose {flat(answer.option)}"
