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


GatewayProtocol = Literal["anthropic", "bedrock", "vertex"]


class Gateway(msgspec.Struct, frozen=True, kw_only=True):
    """A server in front of the models that needs no login of the agent's own. `vertex` needs a project and a region."""

    base_url: str
    headers: Mapping[str, str] = {}
    protocol: GatewayProtocol = "anthropic"
    project: str = ""
    region: str = ""


class ProviderAccess(msgspec.Struct, frozen=True, kw_only=True):
    """How to call a provider's API: its address, and the headers that log in. Never shown and never logged."""

    base_url: str
    headers: Mapping[str, str]


@runtime_checkable
class ReachesProvider(Protocol):
    """An engine that knows with which credential its agent calls the provider."""

    def provider_access(self, environ: Mapping[str, str]) -> ProviderAccess | None:
        """With the credential of a session; None without one. Raises `FootplateError` for one that is of no use."""
        ...


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """Who pays, as far as may be shown."""

    label: str
    email: str = ""
    organization: str = ""


class LoginState(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the agent can begin without somebody logging in first."""

    state: Literal["authenticated", "unauthenticated", "unknown"]
    accounts: tuple[Account, ...] = ()


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

    @property
    def status(self) -> tuple[str, ...]:
        """The arguments with which its own program says who is logged in."""
        ...

    def read_status(self, output: str) -> LoginState:
        """What its program said to that."""
        ...

    def route(self, environ: Mapping[str, str]) -> Gateway:
        """Where its requests go without a gateway of ours; no headers."""
        ...

    def through(self, gateway: Gateway) -> dict[str, str]:
        """The variables that send its requests through a gateway. Raises `InvalidValue`."""
        ...
