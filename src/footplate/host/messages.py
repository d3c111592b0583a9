"""What the keeper says to the service, as typed values; `keeper.py` tells when each of them is sent."""

from __future__ import annotations

from typing import Final

import msgspec


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="hello"):
    """The keeper is ready and speaks version `v`, and older ones down to `min`."""

    v: int
    min: int
    pid: int
    start_time: int
    marker: str


class Welcome(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="welcome"):
    """The keeper takes us, and this version is spoken from here on."""

    v: int


class Busy(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="busy"):
    """The keeper has another driver; 0 when it is about to go."""

    pid: int


class Taken(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="taken"):
    """The folder has a keeper already: this one goes again."""

    pid: int


class Spawned(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="spawned"):
    """The program runs; the service's ends of stdin, stdout and stderr come along."""

    id: str
    pid: int
    start_time: int
    marker: str


class NotSpawned(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="spawn_failed"):
    """The program could not be started."""

    id: str
    errno: int
    reason: str
    stage: str


class Exited(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="exited"):
    """The agent has ended; its descendants may still be there."""

    id: str
    code: int | None
    signal: int | None


class SweptAway(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="swept"):
    """The agent's descendants are gone, but for the survivors."""

    id: str
    pids: tuple[int, ...]
    survivors: tuple[int, ...]


class KeptAgent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent as the keeper knows it."""

    id: str
    pid: int
    start_time: int
    marker: str
    program: str = ""
    layers: int = 0
    alive: bool
    kept: bool = False
    waiting: bool = False
    attached: bool = True
    locked: bool = False
    stdin: bool = True
    about: dict[str, str] = {}
    spooled: int = 0
    full: bool = False
    problem: str = ""


class Attached(KeptAgent, frozen=True, kw_only=True, tag_field="type", tag="attached"):
    """The agent is ours: its pipes and spools come along, and its lock where it is `locked`.

    `rest` belongs behind what the first spool has.
    """

    rest: str = ""


class Listed(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="listed"):
    """All agents that the keeper knows; who drives it, or for how long nobody did, and how long that may last."""

    agents: tuple[KeptAgent, ...]
    driver: int = 0
    away_s: float = 0.0
    grace_s: float = 0.0
    retiring: bool = False


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="refused"):
    """The keeper could not make sense of a request."""

    id: str | None
    reason: str


class Crashed(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="crashed"):
    """The keeper's last words."""

    reason: str


Message = (
    Hello | Welcome | Busy | Taken | Spawned | NotSpawned | Attached | Exited | SweptAway | Listed | Refused | Crashed
)

decode_message: Final = msgspec.json.Decoder(Message).decode
