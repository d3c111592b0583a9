"""What a chat needs of the process that owns the sessions: one protocol, and its implementation on a hub.

`LinkBackend` (of `link_client`) is the other implementation: the same over a Unix socket, for a second terminal.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Final, Protocol, assert_never

import msgspec

from footplate.config.settings import Settings
from footplate.engines.catalog import make_engine
from footplate.events import commands as c
from footplate.events.base import ResumeToken
from footplate.events.commands import Command
from footplate.events.facts import Fact, QueryName
from footplate.events.ids import EngineSessionId, SessionId
from footplate.runtime.audit import LOCAL, Principal, account_name, claimed_surface
from footplate.runtime.hub import Hub
from footplate.runtime.log import Subscription
from footplate.runtime.session import Session
from footplate.runtime.spec import SessionSpec
from footplate.store.projection import SessionRow
from footplate.store.values import SessionFilter

CHAT: Final = "chat"
"""The surface of a command that names none."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Where a session stands when somebody joins: its last number, and what its engine lets one choose."""

    session: SessionId
    last_seq: int = 0
    modes: tuple[str, ...] = ()
    efforts: tuple[str, ...] = ()
    resume_line: str = ""


class Attachment:
    """One reader of a session: where it stood, and its envelopes as JSON from there on. Close it when done."""

    def __init__(self, standing: Standing, bodies: AsyncGenerator[bytes, None]) -> None:
        self.standing = standing
        self.bodies = bodies

    async def close(self) -> None:
        """No more events."""
        await self.bodies.aclose()


class ChatBackend(Protocol):
    """The sessions of one data folder, whoever owns it. Every method may raise a `FootplateError`."""

    @property
    def owner(self) -> str:
        """Who owns the sessions, in words; empty when it is this process."""
        ...

    async def sessions(self) -> tuple[SessionRow, ...]:
        """The latest sessions, the latest active first."""
        ...

    async def find(self, engine_session: str) -> SessionId | None:
        """The session that has the engine's own id, if one has."""
        ...

    async def create(self, spec: SessionSpec, *, resume: ResumeToken | None = None) -> SessionId:
        """Open a new session."""
        ...

    async def fork(self, session: SessionId) -> SessionId:
        """A session that goes on from where this one stands."""
        ...

    async def attach(self, session: SessionId, after: int = 0) -> Attachment:
        """Read a session from a cursor on."""
        ...

    async def do(self, session: SessionId, command: Command) -> None:
        """Have a command carried out; returns when it is accepted for good."""
        ...

    async def query(self, session: SessionId, name: QueryName, arguments: Mapping[str, str]) -> Fact:
        """Ask about the agent that is running; `facts.RESULTS` says what each name is answered with."""
        ...


class OwnerBackend(ChatBackend, Protocol):
    """The sessions of the process that has them, for other processes of the same person."""

    async def release(self, conversation: ResumeToken) -> bool:
        """End the agent process that has this conversation of its engine, if it is idle; whether it is free then."""
        ...


class HubBackend:
    """The sessions of this very process."""

    owner = ""

    def __init__(self, hub: Hub, settings: Settings) -> None:
        self._hub = hub
        self._settings = settings

    async def sessions(self) -> tuple[SessionRow, ...]:
        """The latest sessions, the latest active first."""
        return (await self._hub.sessions()).items

    async def find(self, engine_session: str) -> SessionId | None:
        """The session that has the engine's own id, if one has."""
        found = await self._hub.sessions(SessionFilter(engine_session=EngineSessionId(engine_session)))
        return next((row.session for row in found.items if row.state != "closed"), None)

    async def create(self, spec: SessionSpec, *, resume: ResumeToken | None = None) -> SessionId:
        """Open a new session."""
        return (await self._hub.create(spec, resume=resume)).id

    async def fork(self, session: SessionId) -> SessionId:
        """A session that goes on from where this one stands."""
        return (await self._hub.fork(session)).id

    async def attach(self, session: SessionId, after: int = 0) -> Attachment:
        """Read a session from a cursor on."""
        live = await self._hub.get(session)
        view = live.view()
        engine = make_engine(live.spec.engine, self._settings)
        can = engine.capabilities()
        standing = Standing(
            session=session,
            last_seq=view.last_seq,
            modes=live.modes,
            efforts=can.efforts,
            resume_line=engine.format_resume(view.resume) if view.resume is not None else "",
        )
        return Attachment(standing, _bodies(live.subscribe(after)))

    async def do(self, session: SessionId, command: Command) -> None:
        """Have a command carried out. Only the account of the service reaches this, whoever the command names."""
        principal = Principal(by=account_name(), surface=claimed_surface(command.surface, CHAT), origin=LOCAL)
        await carry_out(await self._hub.get(session), command, principal)

    async def query(self, session: SessionId, name: QueryName, arguments: Mapping[str, str]) -> Fact:
        """Ask about the agent that is running."""
        return await (await self._hub.get(session)).query(name, **arguments)

    async def release(self, conversation: ResumeToken) -> bool:
        """End the agent process that has this conversation, if it is idle."""
        return await self._hub.release(conversation)


async def _bodies(subscription: Subscription) -> AsyncGenerator[bytes, None]:
    try:
        async for delivery in subscription:
            yield delivery.body
    finally:
        subscription.close()


async def carry_out(session: Session, command: Command, principal: Principal) -> None:
    """The command as a call of the session, by the principal: what the command says of its sender is a claim."""
    match command:
        case c.SendPrompt():
            await session.prompt(command.content, when=command.when, key=command.prompt)
        case c.WithdrawPrompt():
            await session.withdraw(command.prompt)
        case c.Interrupt():
            await session.interrupt()
        case c.Continue():
            await session.continue_queue()
        case c.AnswerRequest():
            await session.answer(command.request, command.answer, **msgspec.structs.asdict(principal))
        case c.RevokeRule():
            await session.revoke(command.rule, **msgspec.structs.asdict(principal))
        case c.StopTask():
            await session.stop_task(command.task)
        case c.CloseSession():
            await session.close(command.reason)
        case c.RunCommand():
            await session.run_command(command.command)
        case c.Rewind():
            await session.rewind(command.message)
        case _:
            await _change(session, command, principal)


async def _change(
    session: Session,
    command: c.SetMode | c.SetModel | c.SetEffort | c.SetOption | c.Rename,
    principal: Principal,
) -> None:
    """The command as another setting of the session."""
    match command:
        case c.SetMode():
            await session.set_mode(command.mode, principal)
        case c.SetModel():
            await session.set_model(command.model)
        case c.SetEffort():
            await session.set_effort(command.effort)
        case c.SetOption():
            await session.set_option(command.option, command.value, principal)
        case c.Rename():
            await session.rename(command.title)
        case _:
            assert_never(command)
