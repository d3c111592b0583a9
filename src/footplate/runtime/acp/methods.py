"""The methods of ACP on our sessions, one function each, and the table of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from footplate.acp.content import read_prompt
from footplate.acp.encode_choices import EFFORT, MODE, MODEL
from footplate.acp.failures import invalid_params, unknown_method
from footplate.acp.jsonrpc import Envelope, RpcId
from footplate.acp.profile import read_profile
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
    McpServer,
    NewSessionRequest,
    NewSessionResponse,
    PromptRequest,
    ResumeSessionRequest,
    ResumeSessionResponse,
    SessionInfo,
    SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse,
    SetSessionModeRequest,
    SetSessionModeResponse,
    SetSessionTitleRequest,
    SetSessionTitleResponse,
    UnarchiveSessionRequest,
    UnarchiveSessionResponse,
)
from footplate.acp.schema.start import AuthenticateRequest, InitializeRequest
from footplate.acp.wire import Wire
from footplate.engines.catalog import make_engine
from footplate.errors import InvalidValue, UnknownSession
from footplate.events.content import headline
from footplate.events.ids import PromptId, SessionId, TaskId
from footplate.runtime.acp.introduction import introduce
from footplate.runtime.acp.opening import make_ready, offer_of
from footplate.runtime.acp.room import HELD, Held, Method, Reply, Room, read_params
from footplate.runtime.acp.seat import Seat
from footplate.runtime.acp.servers import read_servers
from footplate.runtime.session import Session
from footplate.runtime.spec import SessionSpec
from footplate.runtime.ulid import new_ulid
from footplate.store.projection import SessionRow
from footplate.store.values import SessionFilter


class SetModelRequest(Wire, frozen=True, kw_only=True):
    """Parameters of `session/set_model`, which no schema has any more and clients still send."""

    session_id: str
    model_id: str


class StopTaskRequest(Wire, frozen=True, kw_only=True):
    """Parameters of `_session/async_task/stop`."""

    session_id: str
    async_task_id: str


class Nothing(Wire, frozen=True, kw_only=True):
    """An answer that says nothing but that it was done."""


async def initialize(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """Learn what the client can, tell what we can."""
    params = read_params(envelope, InitializeRequest)
    profile = read_profile(params.client_capabilities, claude_code=room.engine.name == "claude")
    room.profile = msgspec.structs.replace(profile, questions=room.manner.extensions)
    return Reply(introduce(room.engine, room.manner))


async def authenticate(_room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """No way to log in is offered, so none can be chosen."""
    method = read_params(envelope, AuthenticateRequest).method_id
    raise invalid_params(f"no way to log in is called {method!r}; log in with the agent's own program")


# ------------------------------------------------------------------------------------------------ sessions


async def new_session(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """Open a session and start its agent."""
    params = read_params(envelope, NewSessionRequest)
    servers = read_servers(room.engine, params.mcp_servers)
    session = await room.hub.create(SessionSpec(engine=room.engine.name, cwd=_folder(params.cwd), mcp=servers))
    try:
        await make_ready(session, room.engine)
    except BaseException:
        await room.hub.delete(session.id)
        raise
    offer = offer_of(session, room.engine, room.profile)
    seat = await room.take_seat(session, after=session.view().last_seq)
    answer = NewSessionResponse(session_id=session.id, modes=offer.modes, config_options=offer.options)
    return Reply(answer, seat.greet)


async def load_session(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """Bring a session back: all of its past first, then the answer."""
    params = read_params(envelope, LoadSessionRequest)
    session = await _find(room, params.session_id)
    await _bring(room, session, params.mcp_servers)
    last = session.view().last_seq
    seat = await room.take_seat(session, after=0, replayed=last)
    await seat.settled()
    offer = offer_of(session, make_engine(session.spec.engine, room.services.settings.engines), room.profile)
    return Reply(LoadSessionResponse(modes=offer.modes, config_options=offer.options), seat.greet)


async def resume_session(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """Take a session up where it stands; its past is not told."""
    params = read_params(envelope, ResumeSessionRequest)
    session = await _find(room, params.session_id)
    await _bring(room, session, params.mcp_servers or ())
    seat = await room.take_seat(session, after=session.view().last_seq)
    offer = offer_of(session, make_engine(session.spec.engine, room.services.settings.engines), room.profile)
    return Reply(ResumeSessionResponse(modes=offer.modes, config_options=offer.options), seat.greet)


async def fork_session(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """A session that goes on from where another stands."""
    params = read_params(envelope, ForkSessionRequest)
    parent = await _find(room, params.session_id)
    session = await room.hub.fork(parent.id)
    offer = offer_of(session, room.engine, room.profile)
    seat = await room.take_seat(session, after=session.view().last_seq)
    answer = ForkSessionResponse(session_id=session.id, modes=offer.modes, config_options=offer.options)
    return Reply(answer, seat.greet)


async def list_sessions(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """One page of the sessions, the latest active first."""
    params = read_params(envelope, ListSessionsRequest)
    only = SessionFilter(engine="" if room.manner.all_engines else room.engine.name, cwd=params.cwd or "")
    page = await room.hub.sessions(only, after=params.cursor)
    aside = await room.hub.archived()
    wanted = params.archived or "exclude"
    shown = tuple(
        _info(row, archived=row.session in aside)
        for row in page.items
        if row.state != "closed" and (wanted == "include" or (row.session in aside) == (wanted == "only"))
    )
    return Reply(ListSessionsResponse(sessions=shown, next_cursor=page.after))


async def close_session(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """Stop what runs and let its process go; the session stays in the list."""
    session = await _find(room, read_params(envelope, CloseSessionRequest).session_id)
    seat = room.seats.get(session.id)
    if seat is not None:
        await seat.cancel()
        await room.leave(session.id)
    elif session.busy and not session.watchers:
        await session.interrupt()
    await session.evict()
    return Reply(CloseSessionResponse())


async def delete_session(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """Remove a session with its log, at once."""
    session = await _find(room, read_params(envelope, DeleteSessionRequest).session_id)
    await room.leave(session.id)
    await room.hub.delete(session.id)
    return Reply(DeleteSessionResponse())


async def archive_session(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """Put a session aside."""
    session = await _find(room, read_params(envelope, ArchiveSessionRequest).session_id)
    await room.hub.archive(session.id)
    return Reply(ArchiveSessionResponse())


async def unarchive_session(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """Put a session back."""
    session = await _find(room, read_params(envelope, UnarchiveSessionRequest).session_id)
    await room.hub.archive(session.id, archived=False)
    return Reply(UnarchiveSessionResponse())


async def set_title(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """Give a session a title."""
    params = read_params(envelope, SetSessionTitleRequest)
    seat = await room.seat(params.session_id)
    await seat.session.rename(params.title)
    await seat.settled()
    return Reply(SetSessionTitleResponse(title=params.title))


# ------------------------------------------------------------------------------------------------- prompts


async def prompt(room: Room, rpc_id: RpcId, envelope: Envelope) -> Held:
    """Hand over a message; a second one waits behind the first. The seat answers when the turn is over."""
    params = read_params(envelope, PromptRequest)
    seat = await room.seat(params.session_id)
    content = read_prompt(params.prompt)
    if not seat.session.view().title and (title := headline(content)):
        await seat.session.rename(title)
    await seat.prompt(rpc_id, content, PromptId(new_ulid()))
    return HELD


async def steer(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """Hand a message to the turn that is running."""
    params = read_params(envelope, PromptRequest)
    if not room.engine.capabilities().steer:
        raise unknown_method(envelope.method or "")
    seat = await room.seat(params.session_id)
    name = PromptId(new_ulid())
    seat.encoder.own(name)
    await seat.session.prompt(read_prompt(params.prompt), when="steer", key=name)
    return Reply(Nothing())


async def stop_task(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """End one background task."""
    params = read_params(envelope, StopTaskRequest)
    await (await room.seat(params.session_id)).session.stop_task(TaskId(params.async_task_id))
    return Reply(Nothing())


# ------------------------------------------------------------------------------------------------- choices


async def set_mode(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """Change the mode."""
    params = read_params(envelope, SetSessionModeRequest)
    await _choose(await room.seat(params.session_id), MODE, params.mode_id)
    return Reply(SetSessionModeResponse())


async def set_model(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """Change the model."""
    params = read_params(envelope, SetModelRequest)
    await _choose(await room.seat(params.session_id), MODEL, params.model_id)
    return Reply(Nothing())


async def set_config_option(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """Change an option; the answer has all of them."""
    params = read_params(envelope, SetSessionConfigOptionRequest)
    seat = await room.seat(params.session_id)
    value = params.value if isinstance(params.value, str) else str(params.value).lower()
    await _choose(seat, params.config_id, value)
    return Reply(SetSessionConfigOptionResponse(config_options=seat.encoder.choices.wire()))


async def _choose(seat: Seat, name: str, value: str) -> None:
    """Set an option by its id or category, if it can have the value."""
    option = seat.encoder.choices.find(name)
    known = tuple(each.value for each in option.values) if option is not None else ()
    if option is None and (seat.encoder.choices.options or name not in (MODE, MODEL, EFFORT)):
        offered = ", ".join(each.id for each in seat.encoder.choices.options)
        raise InvalidValue("configId", name, f"one of {offered or 'the options that the agent tells'}")
    if known and value not in known:
        raise InvalidValue(name, value, f"one of {', '.join(known)}")
    match option.category if option is not None else name:
        case "mode":
            await seat.session.set_mode(value)
        case "model":
            await seat.session.set_model(value)
        case "thought_level":
            await seat.session.set_effort(value)
        case _:
            raise InvalidValue("configId", name, "an option that can be set")
    await seat.chosen(name, value)


# -------------------------------------------------------------------------------------------------- inside


async def _find(room: Room, name: str) -> Session:
    """The session by our id, or by the engine's own."""
    try:
        return await room.hub.get(SessionId(name))
    except UnknownSession:
        after: str | None = None
        while True:
            page = await room.hub.sessions(SessionFilter(engine=room.engine.name), after=after)
            for row in page.items:
                if row.engine_session_id == name and row.state != "closed":
                    return await room.hub.get(row.session)
            after = page.after
            if after is None:
                raise


async def _bring(room: Room, session: Session, servers: tuple[McpServer, ...]) -> None:
    """Hand over the client's MCP servers; the session's next process has them."""
    read = read_servers(make_engine(session.spec.engine, room.services.settings.engines), servers)
    if read and read != session.spec.mcp:
        await session.bring_servers(read)


def _folder(cwd: str) -> str:
    if not Path(cwd).is_absolute():
        raise InvalidValue("cwd", cwd, "an absolute path")
    return cwd


def _info(row: SessionRow, *, archived: bool) -> SessionInfo:
    return SessionInfo(
        session_id=row.session,
        cwd=row.cwd,
        title=row.title or None,
        updated_at=datetime.fromtimestamp(row.updated_at, UTC).isoformat(),
        archived=archived or None,
        meta=msgspec.Raw(msgspec.json.encode({"footplate": {"engine": row.engine, "state": row.state}})),
    )


METHODS: Final[Mapping[str, Method]] = {
    "initialize": initialize,
    "authenticate": authenticate,
    "session/new": new_session,
    "session/load": load_session,
    "session/resume": resume_session,
    "session/fork": fork_session,
    "session/list": list_sessions,
    "session/close": close_session,
    "session/delete": delete_session,
    "session/archive": archive_session,
    "session/unarchive": unarchive_session,
    "session/set_title": set_title,
    "session/prompt": prompt,
    "session/set_mode": set_mode,
    "session/set_model": set_model,
    "session/set_config_option": set_config_option,
    "_session/steering": steer,
    "_session/async_task/stop": stop_task,
}
