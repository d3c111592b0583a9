"""What the operator of a server asked for, and which token follows from it."""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.config.running import DEFAULT_PORT
from footplate.errors import InvalidValue
from footplate.interfaces.http.guard import Cors, Doors, is_loopback
from footplate.interfaces.http.serving import Tls
from footplate.runtime.access import Access, TokenRequest
from footplate.store.base import Store

OWN_TOKEN: Final = "serve"
"""The name of the token that `footplate serve` makes when it finds none."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """The command line of the server."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    token: str = ""
    no_token: bool = False
    new_token: bool = False
    insecure: bool = False
    """Without a token, and reachable by others: the operator said so in as many words."""
    keep: bool = False
    """Whether agents outlive the server, until the next one takes them over."""
    tls: Tls | None = None
    cors: Cors = Cors()
    log_level: str = "warning"
    local: str = ""
    """A token for others of the same person on this machine, known to this process and to nobody after it."""
    drain: float | None = None
    """End with the agents: how many seconds the turns that run are waited for. None: they go on without us."""

    def doors(self, allowed_hosts: tuple[str, ...]) -> Doors:
        """Who is let in."""
        return Doors(host=self.host, allowed_hosts=allowed_hosts, cors=self.cors)

    @property
    def public(self) -> bool:
        """Whether others than this machine can reach it."""
        return not is_loopback(self.host)


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """How one gets in: the tokens, the one to show (this once), and a line for the operator."""

    access: Access
    token: str = ""
    line: str = ""


def check_wanted(wanted: Wanted) -> None:
    """Raise `InvalidValue` for what contradicts itself, or opens the machine to everybody by accident."""
    if wanted.token and wanted.no_token:
        raise InvalidValue("--no-token", wanted.token, "either a token or none")
    if wanted.no_token and wanted.public and not wanted.insecure:
        raise InvalidValue(
            "--no-token",
            wanted.host,
            "a loopback address; anybody who reaches this one could run commands as you. "
            "Use a token, or say --insecure-no-token",
        )


async def open_access(store: Store, wanted: Wanted) -> Entry:
    """The tokens of this server: the operator's own, none, or one that is made at the first start and kept by hash."""
    if wanted.no_token:
        return Entry(access=await Access.load(store, open_to_all=True), line="no token is asked for")
    access = await Access.load(store, chosen=wanted.token, local=wanted.local)
    if wanted.token:
        return Entry(access=access, line="the one you gave")
    own = [record for record in access.list() if record.name == OWN_TOKEN]
    if own and not wanted.new_token:
        return Entry(access=access, line="as printed when it was made; --new-token makes another in its place")
    for record in own:
        await access.revoke(record.id)
    issued = await access.issue(TokenRequest(name=OWN_TOKEN, scopes=("admin",)))
    return Entry(access=access, token=issued.token, line="shown this once, stored as a hash")
