"""What the keeper says to the service, as typed values; `keeper.py` tells when each of them is sent."""

from __future__ import annotations

from typing import Final

import msgspec


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="hello"):
    """The keeper is ready and speaks version `v`."""

    v: int
    pid: int
    start_time: int


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
    alive: bool


class Listed(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="listed"):
    """All agents that the keeper knows."""

    agents: tuple[KeptAgent, ...]


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="refused"):
    """The keeper could not make sense of a request."""

    id: str | None
    reason: str


class Crashed(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="crashed"):
    """The keeper's last words."""

    reason: str


Message = Hello | Spawned | NotSpawned | Exited | SweptAway | Listed | Refused | Crashed

decode_message: Final = msgspec.json.Decoder(Message).decode
