"""What the methods of one connection share: the client, what it can, and the sessions that it follows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

import msgspec

from footplate.acp.failures import invalid_params
from footplate.acp.jsonrpc import Envelope, RpcId
from footplate.acp.profile import Profile
from footplate.acp.schema.beside import AuthStatusResponse
from footplate.acp.session_meta import RawMessages
from footplate.acp.wire import Wire
from footplate.engines.base import Engine
from footplate.engines.catalog import make_engine
from footplate.engines.login import Gateway
from footplate.errors import SessionOver
from footplate.events.ids import SessionId
from footplate.runtime.acp.client import Client, Manner
from footplate.runtime.acp.seat import Seat
from footplate.runtime.audit import Principal
from footplate.runtime.hub import Hub
from footplate.runtime.services import Services
from footplate.runtime.session import Session

T = TypeVar("T")


class Held(msgspec.Struct, frozen=True):
    """The response is written by somebody else, later."""


HELD: Final = Held()


class Reply(msgspec.Struct, frozen=True):
    """A response, and what is to be done once it is written."""

    result: object
    then: Callable[[], Awaitable[None]] | None = None


class _Of(Wire, frozen=True, kw_only=True):
    session_id: str = ""


_of_decoder: Final = msgspec.json.Decoder(_Of)


class Room:
    """The state of one connection. Sessions belong to the hub; a seat is only this client's view of one."""

    def __init__(self, hub: Hub, services: Services, engine: str, client: Client, manner: Manner) -> None:
        self.hub = hub
        self.services = services
        self.engine: Engine = make_engine(engine, services.settings)
        self.manner = manner
        self.client = client
        self.profile = Profile(claude_code=engine == "claude")
        self.seats: dict[SessionId, Seat] = {}
        self.logins: tuple[str, ...] = ()
        """The ways to log in that were offered."""
        self.env: dict[str, str] = {}
        """Variables for every session that this client opens."""
        self.gateway: Gateway | None = None
        """Where the client has requests sent."""
        self.status: AuthStatusResponse | None = None
        """Who is logged in, as the client was told when it asked."""
        self._callers: dict[RpcId, Principal] = {}
        self._names: dict[str, SessionId] = {}
        self._closed = False

    async def seat(self, session: str) -> Seat:
        """The session as this client has it; one that it names for the first time is taken up where it stands."""
        found = self.seats.get(self.known(session))
        if found is None or found.ended:
            live = await self.hub.get(self.known(session))
            found = await self.take_seat(live, after=live.view().last_seq)
        return found

    @contextmanager
    def serving(self, rpc_id: RpcId, who: Principal) -> Iterator[None]:
        """Know who has sent a request for as long as it is served: several clients may share the connection."""
        self._callers[rpc_id] = who
        try:
            yield
        finally:
            self._callers.pop(rpc_id, None)

    def caller(self, rpc_id: RpcId) -> Principal:
        """Who has sent the request that is being served."""
        return self._callers[rpc_id]

    def known(self, name: str) -> SessionId:
        """The session that the client knows by that name."""
        return self._names.get(name, SessionId(name))

    async def take_seat(
        self, session: Session, *, after: int, replayed: int = 0, name: str = "", raw: RawMessages | None = None
    ) -> Seat:
        """Follow a session from a number on, in place of how the client followed it before.

        `name` is what the client calls it, where that is not its id; `raw` chooses lines that it sees as they are.
        """
        if self._closed:
            raise SessionOver(session.id)
        before = self.seats.pop(session.id, None)
        seat = Seat(session, self.client, self.profile, self.manner, after=after, replayed=replayed, name=name)
        if raw is not None:
            seat.read_along(self.services.taps, raw)
        if self.manner.responses and self.profile.claude_code:
            seat.read_responses(self.services.taps)
        self.seats[session.id] = seat
        if name:
            self._names[name] = session.id
        if before is not None:
            seat.prompts |= before.prompts
            before.prompts.clear()
            await before.close(replaced=True)
        return seat

    async def leave(self, session: SessionId) -> None:
        """Do not follow the session any more."""
        seat = self.seats.pop(session, None)
        if seat is not None:
            await seat.close()

    async def close(self) -> None:
        """Follow nothing any more."""
        self._closed = True
        for session in tuple(self.seats):
            await self.leave(session)


Method = Callable[[Room, RpcId, Envelope], Coroutine[None, None, Reply | Held]]


def read_params(envelope: Envelope, shape: type[T]) -> T:
    """The parameters of a message. Raises `Failure` for ones that are not as the protocol says."""
    raw = b"{}" if envelope.params is None else envelope.params
    try:
        return msgspec.json.decode(raw, type=shape)
    except msgspec.ValidationError as problem:
        raise invalid_params(problem) from problem


def session_of(envelope: Envelope) -> str:
    """The session that a message is about; empty when it names none."""
    try:
        return "" if envelope.params is None else _of_decoder.decode(envelope.params).session_id
    except msgspec.ValidationError:
        return ""
