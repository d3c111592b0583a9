"""Logging an ACP agent in: its methods, which of them a key is set for, and what to tell a person. Pure."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from typing import Final

import msgspec

from footplate.acp.schema.start import AuthenticateRequest
from footplate.acp.wire import Wire
from footplate.engines.acp.startup import Call
from footplate.events.base import OptionalRaw

KEYS: Final = {
    "anthropic-api-key": ("ANTHROPIC_API_KEY",),
    "codex-api-key": ("CODEX_API_KEY",),
    "gemini-api-key": ("GEMINI_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openai-api-key": ("OPENAI_API_KEY",),
    "vertex-ai": ("GOOGLE_API_KEY",),
}
"""Methods that do not say which variable they read, by their ids."""

KEY_NAME: Final = re.compile(r"\b[A-Z][A-Z0-9_]*_(?:KEY|TOKEN)\b")
"""What a variable with a key in it is called."""


class Variable(Wire, frozen=True, kw_only=True):
    """A variable that a method reads."""

    name: str
    optional: bool = False


class Method(Wire, frozen=True, kw_only=True):
    """A way to log in. The published schema has neither `vars` nor the type that goes with it; agents do."""

    id: str
    name: str = ""
    description: str | None = None
    vars: tuple[Variable, ...] = ()

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables without which it is no use; empty where it needs something else, or does not tell."""
        told = tuple(each.name for each in self.vars if not each.optional)
        return told or KEYS.get(self.id) or tuple(KEY_NAME.findall(self.description or ""))


class _Offer(Wire, frozen=True, kw_only=True):
    auth_methods: tuple[Method, ...] = ()


_offer_decoder: Final = msgspec.json.Decoder(_Offer)


def read_methods(initialized: OptionalRaw) -> tuple[Method, ...]:
    """The methods in an answer to `initialize`."""
    try:
        return () if initialized is None else _offer_decoder.decode(initialized).auth_methods
    except msgspec.ValidationError:
        return ()


class Login:
    """Which methods are still worth a try, one after the other, and the words for a person when none is left.

    `wanted` is the method that the operator named: then no other is tried. `present` are the names of the variables
    that reach the agent.
    """

    def __init__(self, methods: tuple[Method, ...], *, wanted: str, present: Iterable[str]) -> None:
        self._methods = methods
        self._present = frozenset(present)
        fitting = [method.id for method in methods if self._fits(method)]
        self._left = deque([wanted] if wanted else fitting)

    def _fits(self, method: Method) -> bool:
        return bool(method.variables) and self._present.issuperset(method.variables)

    def next(self) -> Call | None:
        """The next method to try."""
        if not self._left:
            return None
        return Call("authenticate", AuthenticateRequest(method_id=self._left.popleft()))

    def advise(self) -> str:
        """What a person can do about it: the agent's own methods, and the variables that are not set."""
        ways = [_word(method, self._present) for method in self._methods]
        return "log in first" + (f": {'; '.join(ways)}" if ways else "")


def _word(method: Method, present: frozenset[str]) -> str:
    name = method.name or method.id
    missing = [each for each in method.variables if each not in present]
    if missing:
        return f"{name} (set {', '.join(missing)})"
    return f"{name} ({method.description})" if method.description else name
