"""The methods of ACP that open, find, list and end sessions."""

from __future__ import annotations

import asyncio
import uuid
from datetime import UTC, datetime

import msgspec

from footplate.acp.jsonrpc import Envelope, RpcId
from footplate.acp.meta import message_meta
from footplate.acp.schema.sessions import (
    ArchiveSessionRequest,
    ArchiveSessionResponse,
    CloseSessionRequest,
    CloseSessionResponse,
    DeleteSessionRequest,
    DeleteSessionResponse,
    ForkSessionRequest,
    ForkSessionResponse,
    ListSessionsRequest,
    ListSessionsResponse,
    LoadSessionRequest,
    LoadSessionResponse,
    NewSessionRequest,
    NewSessionResponse,
    ResumeSessionRequest,
    ResumeSessionResponse,
    SessionInfo,
    SetSessionTitleRequest,
    SetSessionTitleResponse,
    UnarchiveSessionRequest,
    UnarchiveSessionResponse,
)
from footplate.engines.base import Engine
from footplate.engines.catalog import make_engine
from footplate.engines.claude.history import History
from footplate.engines.claude.launch import ENGINE as CLAUDE
from footplate.errors import UnknownSession
from footplate.events.base import OptionalRaw
from footplate.events.ids import EngineSessionId
from footplate.runtime.acp.opening import make_ready, offer_of
from footplate.runtime.acp.room import Reply, Room, read_params
from footplate.runtime.acp.wishes import Opening, Wishes, read_folder
from footplate.runtime.adoption import adopt_past
from footplate.runtime.session import Session
from footplate.runtime.spec import SessionSpec
from footplate.store.projection import SessionRow
from footplate.store.values import SessionFilter


async def new_session(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """Open a session and start its agent."""
    params = read_params(envelope, NewSessionRequest)
    wishes = Wishes(room.engine, params, room.env)
    spec = SessionSpec(engine=room.engine.name, cwd=read_folder("cwd", params.cwd))
    session = await room.hub.create(wishes.applied(spec))
    try:
        await make_ready(session, room.engine)
    except BaseException:
        await room.hub.delete(session.id)
        raise
    offer = offer_of(session, room.profile)
    seat = await room.take_seat(session, after=session.view().last_seq, raw=wishes.raw)
    answer = NewSessionResponse(
        session_id=session.id, modes=offer.modes, config_options=offer.options, meta=_left_out(wishes)
    )
    return Reply(answer, seat.greet)


async def load_session(room: Room, rpc_id: RpcId, envelope: Envelope) -> Reply:
    """Bring a session back: all of its past first, then the answer."""
    params = read_params(envelope, LoadSessionRequest)
    session, engine = await _open_again(room, params.session_id)
    wishes = await _wish(room, rpc_id, session, engine, params)
    last = session.view().last_seq
    seat = await room.take_seat(session, after=0, replayed=last, name=params.session_id, raw=wishes.raw)
    await seat.settled()
    offer = offer_of(session, room.profile)
    answer = LoadSessionResponse(modes=offer.modes, config_options=offer.options, meta=_left_out(wishes))
    return Reply(answer, seat.greet)


async def resume_session(room: Room, rpc_id: RpcId, envelope: Envelope) -> Reply:
    """Take a session up where it stands; its past is not told."""
    params = read_params(envelope, ResumeSessionRequest)
    session, engine = await _open_again(room, params.session_id)
    wishes = await _wish(room, rpc_id, session, engine, params)
    before = room.seats.get(session.id)
    while before is not None and before.behind:  # what it has not written yet, the new seat would leave out
        await before.settled()
    after = session.view().last_seq
    seat = await room.take_seat(session, after=after, name=params.session_id, raw=wishes.raw)
    offer = offer_of(session, room.profile)
    answer = ResumeSessionResponse(modes=offer.modes, config_options=offer.options, meta=_left_out(wishes))
    return Reply(answer, seat.greet)


async def fork_session(room: Room, rpc_id: RpcId, envelope: Envelope) -> Reply:
    """A session that goes on from where another stands."""
    params = read_params(envelope, ForkSessionRequest)
    parent = await find_session(room, params.session_id)
    session = await room.hub.fork(parent.id)
    wishes = await _wish(room, rpc_id, session, room.engine, params)
    offer = offer_of(session, room.profile)
    seat = await room.take_seat(session, after=session.view().last_seq, raw=wishes.raw)
    answer = ForkSessionResponse(
        session_id=session.id, modes=offer.modes, config_options=offer.options, meta=_left_out(wishes)
    )
    return Reply(answer, seat.greet)


async def list_sessions(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """One page of the sessions, the latest active first."""
    params = read_params(envelope, ListSessionsRequest)
    wanted = params.archived or "exclude"
    only = SessionFilter(
        engine="" if room.manner.all_engines else room.engine.name,
        cwd=params.cwd or "",
        archived=None if wanted == "include" else wanted == "only",
    )
    page = await room.hub.sessions(only, after=params.cursor)
    shown = tuple(_info(row) for row in page.items if row.state != "closed")
    return Reply(ListSessionsResponse(sessions=shown, next_cursor=page.after))


async def close_session(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """Stop what runs and let its process go, unless it alone has the conversation; the session stays in the list."""
    session = await find_session(room, read_params(envelope, CloseSessionRequest).session_id)
    seat = room.seats.get(session.id)
    if seat is not None:
        await seat.cancel()
        await room.leave(session.id)
    elif session.busy and not session.watchers:
        await session.interrupt()
    if session.resumable:
        await session.evict()
    return Reply(CloseSessionResponse())


async def delete_session(room: Room, rpc_id: RpcId, envelope: Envelope) -> Reply:
    """Remove a session with its log, at once."""
    session = await find_session(room, read_params(envelope, DeleteSessionRequest).session_id)
    await room.leave(session.id)
    await room.hub.delete(session.id, room.caller(rpc_id))
    return Reply(DeleteSessionResponse())


async def archive_session(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """Put a session aside."""
    session = await find_session(room, read_params(envelope, ArchiveSessionRequest).session_id)
    await room.hub.archive(session.id)
    return Reply(ArchiveSessionResponse())


async def unarchive_session(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """Put a session back."""
    session = await find_session(room, read_params(envelope, UnarchiveSessionRequest).session_id)
    await room.hub.archive(session.id, archived=False)
    return Reply(UnarchiveSessionResponse())


async def set_title(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """Give a session a title."""
    params = read_params(envelope, SetSessionTitleRequest)
    seat = await room.seat(params.session_id)
    await seat.session.rename(params.title)
    await seat.settled()
    return Reply(SetSessionTitleResponse(title=params.title))


# -------------------------------------------------------------------------------------------------- inside


async def find_session(room: Room, name: str) -> Session:
    """The session by our id, or by the engine's own."""
    try:
        return await room.hub.get(room.known(name))
    except UnknownSession:
        only = SessionFilter(engine=room.engine.name, engine_session=EngineSessionId(name))
        for row in (await room.hub.sessions(only)).items:
            if row.state != "closed":
                return await room.hub.get(row.session)
        raise


async def _open_again(room: Room, name: str) -> tuple[Session, Engine]:
    """The session and its engine; one of the agent's own program, begun elsewhere, becomes one of ours."""
    try:
        session = await find_session(room, name)
    except UnknownSession:
        if not (room.manner.adopts and room.engine.name == CLAUDE and _is_uuid(name)):
            raise
        history = History.of(room.services.environ, room.services.settings.engines)
        entry = await asyncio.to_thread(history.find, name)
        session = await room.hub.get(await adopt_past(room.services.store, history, entry, room.services.locks))
    return session, make_engine(session.spec.engine, room.services.settings)


async def _wish(room: Room, rpc_id: RpcId, session: Session, engine: Engine, params: Opening) -> Wishes:
    """What the client asks for holds from the session's next process on."""
    wishes = Wishes(engine, params, room.env)
    spec = wishes.applied(session.spec)
    if spec != session.spec:
        session.check_mode(spec.mode)
        await session.respec(spec, room.caller(rpc_id))
    return wishes


def _left_out(wishes: Wishes) -> OptionalRaw:
    if not wishes.unknown:
        return None
    return message_meta(f"These options have no meaning here and were left out: {', '.join(wishes.unknown)}")


def _is_uuid(name: str) -> bool:
    try:
        return str(uuid.UUID(name)) == name.lower()
    except ValueError:
        return False


def _info(row: SessionRow) -> SessionInfo:
    return SessionInfo(
        session_id=row.session,
        cwd=row.cwd,
        title=row.title or None,
        updated_at=datetime.fromtimestamp(row.updated_at, UTC).isoformat(),
        archived=row.archived or None,
        meta=msgspec.Raw(msgspec.json.encode({"footplate": {"engine": row.engine, "state": row.state}})),
    )
