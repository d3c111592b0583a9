"""Control requests of ours that wait for their answer. Pure.

Each one knows which command or query it belongs to and what its answer means. An answer to anything else is none of
ours: with `--replay-user-messages` the CLI also repeats what we answered to its own requests.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final

import msgspec

from footplate.engines.base import Reply
from footplate.engines.claude import features
from footplate.engines.claude.answers import NOTHING, RESPONSE, Response
from footplate.engines.claude.control import Requests
from footplate.engines.claude.lenient import present, read_struct
from footplate.events.facts import Fact

MUTE: Final = ""
"""The key of a request that nobody asked for."""


class Verdict(Enum):
    """What an answer can mean beside a fact (or words, which are a refusal)."""

    DONE = "done"
    LATER = "later"


Meaning = Callable[[msgspec.Raw], Fact | str | Verdict]
"""Reads the body of an answer: a fact, words of refusal, nothing to tell, or that a further answer will tell."""


class Waiting(msgspec.Struct, frozen=True):
    """One request of ours."""

    key: str
    subtype: str
    meaning: Meaning


class Outgoing:
    """The requests of one process."""

    def __init__(self, version: features.Version, *, epoch: int = 0) -> None:
        self._version = version
        self._requests = Requests(f"footplate-{epoch}-" if epoch else "footplate-")
        self._waiting: dict[str, Waiting] = {}
        self._due: set[str] = set()

    @property
    def open(self) -> bool:
        """Whether an answer is waited for."""
        return bool(self._due)

    def give_up(self, key: str) -> None:
        """Wait no longer for the answers to a command or query; a late one still has its effect."""
        self._due -= {name for name, waiting in self._waiting.items() if waiting.key == key}

    def ask(self, key: str, subtype: str, meaning: Meaning | None = None, **arguments: object) -> bytes:
        """The frame of a request; arguments that are None are left out."""
        name, frame = self._requests.named(subtype, **arguments)
        self._waiting[name] = Waiting(key, subtype, meaning or _done)
        self._due.add(name)
        return frame

    def settle(self, raw: msgspec.Raw | None) -> tuple[Response, Reply | None] | None:
        """An answer: its body, and the reply it makes; None when it answers no request of ours."""
        response = read_struct(RESPONSE, raw)
        waiting = None if response is None else self._waiting.pop(response.request_id, None)
        if response is None or waiting is None:
            return None
        self._due.discard(response.request_id)
        if response.subtype != "success":
            words = features.explain(self._version, response.error or "no reason given")
            return response, Reply(key=waiting.key, error=f"{waiting.subtype}: {words}")
        meant = waiting.meaning(present(response.response) or NOTHING)
        return response, _reply(waiting, meant)


def reading(read: Callable[[msgspec.Raw], Fact | None]) -> Meaning:
    """The meaning of an answer that is a fact, if it can be read."""

    def meaning(raw: msgspec.Raw) -> Fact | str:
        return read(raw) or "an answer that cannot be read"

    return meaning


def encoded(fact: Fact) -> msgspec.Raw:
    """A fact as a reply carries it."""
    return msgspec.Raw(msgspec.json.encode(fact))


def _reply(waiting: Waiting, meant: Fact | str | Verdict) -> Reply | None:
    if meant is Verdict.LATER:
        return None
    if isinstance(meant, str):
        return Reply(key=waiting.key, error=f"{waiting.subtype}: {meant}")
    return Reply(key=waiting.key, result=encoded(meant) if isinstance(meant, Fact) else None)


def _done(raw: msgspec.Raw) -> Verdict:  # noqa: ARG001
    return Verdict.DONE
