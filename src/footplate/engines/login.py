"""Ways to log in to an agent that an editor can offer, and engines that have some."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol, runtime_checkable

import msgspec


class LoginMethod(msgspec.Struct, frozen=True, kw_only=True):
    """A login in a terminal: the agent's own program with these arguments."""

    id: str
    name: str
    description: str
    arguments: tuple[str, ...]


class Gateway(msgspec.Struct, frozen=True, kw_only=True):
    """A server in front of the models that needs no login of the agent's own."""

    base_url: str
    headers: Mapping[str, str] = {}
    protocol: Literal["anthropic", "bedrock"] = "anthropic"


@runtime_checkable
class LogsIn(Protocol):
    """An engine that people log in to."""

    def logins(self, environ: Mapping[str, str]) -> tuple[LoginMethod, ...]:
        """How one can log in on this machine."""
        ...

    @property
    def logout(self) -> tuple[str, ...]:
        """The arguments with which its own program logs out."""
        ...

    def through(self, gateway: Gateway) -> dict[str, str]:
        """The variables that send its requests through a gateway. Raises `InvalidValue`."""
        ...
