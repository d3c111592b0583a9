"""Agents that outlive the service: what is written down of each, and the wire to one that was taken over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec

from footplate.engines.base import Engine, Exit, Installed, Options
from footplate.engines.rejoining import CanRejoin, Rejoining
from footplate.events.content import ContentBlock, TextBlock
from footplate.events.ids import SessionId
from footplate.events.view import SessionView
from footplate.host.keepers import Held
from footplate.host.lines import Block
from footplate.runtime.services import Services
from footplate.runtime.standing import reported_cost, standing_of
from footplate.runtime.wires import CLOSE_WAIT_S, Kept, Wire

AGENTS: Final = "agents"
"""The documents that say of each session which agent process it has, and how that was started."""

SILENCE_S: Final = 3.0
"""How long a rejoined agent may say nothing before the end of its turn is concluded."""


class AgentRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The agent process of a session. `agent` is the keeper's name of it, `epoch` counts those who talked to it."""

    session: SessionId
    engine: str
    agent: str
    installed: Installed
    options: Options
    epoch: int = 0


class Rejoin(msgspec.Struct, frozen=True):
    """An agent that waits to be taken over, and what is written down of it."""

    held: Held
    record: AgentRecord


def rejoining_options(view: SessionView, record: AgentRecord) -> Options:
    """The options of a process that is reattached: as it was started, with what it has open."""
    standing = standing_of(view, living=True)
    asked = {each.request.engine_request for each in view.requests} - {""}
    requests = tuple(each for each in standing.requests if each.request.id in asked)  # the others are the session's own
    before = record.options
    standing = msgspec.structs.replace(
        standing,
        waiting=tuple(prompt.id for prompt in view.queue),
        commands=tuple(command for prompt in view.queue if (command := slash_command(prompt.content))),
        requests=requests,
    )
    if view.attached and view.resume is not None:  # else it has not named its conversation, and may name any
        before = msgspec.structs.replace(before, resume=view.resume.value, session_id=None, fork=False)
    cost = reported_cost(view)
    if cost is None and record.options.resume is None:
        cost = 0.0  # the conversation began with this process
    return msgspec.structs.replace(
        before,
        standing=standing,
        reported_cost_usd=cost,
        epoch=record.epoch + 1,
        resumable=view.resumable,
        effort=view.effort or before.effort,
        first_turn=len(view.turns) + 1,
    )


def slash_command(content: tuple[ContentBlock, ...]) -> str:
    """The command that a prompt begins with; empty when it is none."""
    text = content[0].text.lstrip() if content and isinstance(content[0], TextBlock) else ""
    return text.split(maxsplit=1)[0] if text.startswith("/") else ""


def can_rejoin(engine: Engine) -> bool:
    """Whether a living process of the engine can be taken over; others end with the service."""
    return isinstance(engine, CanRejoin)


async def write_down(services: Services, record: AgentRecord) -> None:
    """Before anything is said to it."""
    await services.store.documents(AGENTS).put(record.session, msgspec.json.encode(record))


async def strike_out(services: Services, session: SessionId) -> None:
    """It is gone."""
    await services.surroundings.blocking(services.surroundings.forget_mark, services.data, session)
    await services.store.documents(AGENTS).delete(session, durable=False)


async def read_record(services: Services, session: SessionId) -> AgentRecord | None:
    """What is written down of a session's agent process; None when it has none, or its last one ended in order."""
    document = await services.store.documents(AGENTS).get(session)
    return None if document is None else msgspec.json.decode(document.body, type=AgentRecord)


async def find_record(services: Services, held: Held) -> AgentRecord | None:
    """What is written down of a kept agent; None when it belongs to no session, or to one that has another by now."""
    session = SessionId(held.agent.about.get("session", ""))
    record = await read_record(services, session) if session else None
    return record if record is not None and record.agent == held.agent.id else None


class RejoinedWire:
    """The wire to an agent that another service had: first what was lost, then what is news of what it says."""

    def __init__(self, wire: Wire, rejoining: Rejoining) -> None:
        self._wire = wire
        self._rejoining = rejoining
        self._lost = rejoining.lost()

    @property
    def gone(self) -> bool:
        return self._wire.gone

    @property
    def kept(self) -> Kept | None:
        return self._wire.kept

    async def read(self) -> Block | None:
        if self._lost.lines:
            lost, self._lost = self._lost, Block()
            return lost
        while not self._rejoining.over:
            try:
                async with asyncio.timeout(SILENCE_S):
                    block = await self._wire.read()
            except TimeoutError:
                block = self._rejoining.silence()
            else:
                if block is None:
                    return None
                block = self._rejoining.sift(block)
            if block.lines or block.oversize:
                return block
        return await self._wire.read()

    async def write(self, data: bytes) -> None:
        await self._wire.write(data)

    def write_now(self, data: bytes) -> bool:
        return self._wire.write_now(data)

    def close_stdin(self) -> None:
        self._wire.close_stdin()

    def listen_errors(self, take: Callable[[bytes], None]) -> None:
        self._wire.listen_errors(take)

    async def end(self, *, close_wait: float | None = CLOSE_WAIT_S) -> Exit:
        return await self._wire.end(close_wait=close_wait)
