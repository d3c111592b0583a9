"""The lines: a verb, a word or two, and a text whose line breaks are written as `\\n`. Pure.

From the person:                          To the person:
    HELLO name password [last number]         WELCOME name    or    NO why
    SAY id text                               OK id              it is kept, and need not be said again
    GOT number                                MSG number text    numbers rise; each is to be confirmed by GOT
"""

from __future__ import annotations


def write(verb: str, *words: str, text: str = "") -> bytes:
    """One line."""
    escaped = text.replace("\\", "\\\\").replace("\r", "").replace("\n", "\\n")
    return " ".join((verb, *words, *([escaped] if text else []))).encode() + b"\n"


def read(line: bytes, words: int) -> tuple[str, list[str], str]:
    """The verb, so many words behind it (empty where they are missing), and the text."""
    verb, *rest = line.decode(errors="replace").rstrip("\r\n").split(" ", words + 1)
    rest += [""] * (words + 1 - len(rest))
    return verb.upper(), rest[:words], _unescape(rest[words])


def _unescape(text: str) -> str:
    return "\\".join(part.replace("\\n", "\n") for part in text.split("\\\\"))
