"""The client: connect to a service, or start one, and open, find and end its sessions."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from typing import Final
from urllib.parse import quote

import msgspec

from footplate.config.places import data_folder
from footplate.config.running import read_running
from footplate.errors import ServiceUnreachable
from footplate.events.ids import RequestId, SessionId
from footplate.events.model import ConfigOption, SessionState
from footplate.events.requests import Answer, RequestKind, RequestState
from footplate.sdk.acp.client import AcpClient
from footplate.sdk.acp.doors import ServerDoor
from footplate.sdk.asking import Desk, Handler, PermissionReply
from footplate.sdk.files import Files
from footplate.sdk.follow import follow_stream
from footplate.sdk.local import LocalService
from footplate.sdk.opening import Opening
from footplate.sdk.processes import Processes
from footplate.sdk.session import EventListener, Session
from footplate.sdk.shapes import (
    ModeState,
    News,
    RequestInfo,
    RequestPage,
    ServiceInfo,
    SessionDetail,
    SessionInfo,
    SessionPage,
    Snapshot,
)
from footplate.sdk.stream import Stream
from footplate.sdk.wire import PATIENCE_S, Wire
from footplate.tasks import spawn
from footplate.version import __version__

PAGE: Final = 500
INITIALIZE: Final = {
    "protocolVersion": 1,
    "clientCapabilities": {},
    "clientInfo": {"name": "footplate.sdk", "version": __version__},
}


class Client:
    """A service, and everything in it that the token reaches."""

    def __init__(self, wire: Wire, service: LocalService | None = None) -> None:
        """Over an open wire; `connect` and `start` make one."""
        self._wire = wire
        self.files = Files(wire)
        self.processes = Processes(wire)
        self._service = service
        self._sessions: dict[SessionId, Session] = {}
        self._desk = Desk(self.answer)
        self._watching: asyncio.Task[None] | None = None
        self._agents: dict[str, AcpClient] = {}

    @classmethod
    def connect(
        cls,
        url: str,
        *,
        token: str = "",
        patience_s: float | None = PATIENCE_S,
        headers: Mapping[str, str] | None = None,
        verify: bool | str = True,
    ) -> Opening[Client]:
        """Connect to a service: `async with` it, or `await` it and `dispose()` of it later.

        Raises `ServiceUnreachable` when nobody answers for `patience_s` (None: never give up), `TokenInvalid` when the
        token is not known.
        """

        async def begin() -> Client:
            client = cls(Wire(url, token, patience_s=patience_s, headers=headers, verify=verify))
            try:
                await client.service()
            except BaseException:
                await client.dispose()
                raise
            return client

        return Opening(begin)

    @classmethod
    def local(
        cls, *, environ: Mapping[str, str] | None = None, patience_s: float | None = PATIENCE_S
    ) -> Opening[Client]:
        """Connect to the server of this person that runs on this machine; no token is needed.

        `FOOTPLATE_URL` and `FOOTPLATE_TOKEN` name another one. Raises `ServiceUnreachable` when none runs.
        """
        known = os.environ if environ is None else environ
        named = known.get("FOOTPLATE_URL", "")
        if named:
            return cls.connect(named, token=known.get("FOOTPLATE_TOKEN", ""), patience_s=patience_s)
        data = data_folder(known)
        found = read_running(data)
        if found is None:
            raise ServiceUnreachable(f"a server on {data}", "none has been started")
        return cls.connect(found.url, token=found.token, patience_s=patience_s, verify=found.verify or True)

    @classmethod
    def start(
        cls, *, data: str = "", env: Mapping[str, str] | None = None, patience_s: float | None = PATIENCE_S
    ) -> Opening[Client]:
        """Start a service of this program's own on a free port; it ends with the client, and its agents with it."""

        async def begin() -> Client:
            service = await LocalService.start(data=data, env=env)
            client = cls(Wire(service.url, service.token, patience_s=patience_s), service)
            try:
                await client.service()
            except BaseException:
                await client.dispose()
                raise
            return client

        return Opening(begin)

    @property
    def wire(self) -> Wire:
        """The way to the service, for calls that have no method here."""
        return self._wire

    async def service(self) -> ServiceInfo:
        """What the service is, and what the token may do."""
        return await self.wire.get("/api/info", ServiceInfo)

    async def dispose(self) -> None:
        """Let go of everything. Sessions live on in the service, unless `start` made it."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait((self._watching,))
        await self._desk.close()
        for session in self._sessions.values():
            await session.close()
        for agent in self._agents.values():
            await agent.dispose()
        await self.wire.close()
        if self._service is not None:
            await self._service.stop()

    # ----------------------------------------------------------------------------------------- sessions

    async def create_session(
        self,
        engine: str = "",
        *,
        cwd: str,
        model: str = "",
        mode: str = "",
        effort: str = "",
        title: str = "",
        resume: str = "",
        limits: Mapping[str, object] | None = None,
        env: Mapping[str, str] | None = None,
        profile: str = "",
        output_schema: Mapping[str, object] | None = None,
    ) -> Session:
        """Open a session. `resume` is an engine's own id or resume line of a conversation to go on with."""
        body = _new_session(engine, cwd, model=model, mode=mode, effort=effort, title=title, resume=resume)
        body |= _surroundings(limits, env, profile, output_schema)
        return self.adopt(await self.wire.post("/api/sessions", SessionInfo, body))

    async def resume_session(self, session: str) -> Session:
        """A session of before, by its id. Raises `UnknownSession`."""
        found = self._sessions.get(SessionId(session))
        if found is not None:
            return found
        detail = await self.wire.get(_path(session), SessionDetail)
        shared = {
            each.name: getattr(detail, each.name)
            for each in msgspec.structs.fields(SessionInfo)
            if each.name in detail.__struct_fields__ and each.name not in ("turns", "updated_at")
        }
        return self.adopt(SessionInfo(**shared, turns=len(detail.turns), updated_at=detail.updated_at or 0.0))

    async def resume_or_create_session(
        self,
        session: str,
        engine: str = "",
        *,
        cwd: str,
        model: str = "",
        mode: str = "",
        effort: str = "",
        title: str = "",
        limits: Mapping[str, object] | None = None,
        env: Mapping[str, str] | None = None,
        profile: str = "",
        output_schema: Mapping[str, object] | None = None,
    ) -> Session:
        """The session of that id, which may be of your own choice; a new one with that id if there is none.

        The service keeps it: any number of calls, from any program and after a restart, give one session. One that is
        there gets the model, the mode and the effort that are given; what else is given is for a new one. An id has
        1 to 64 letters, digits, `.`, `_` or `-`.
        """
        body = _new_session(engine, cwd, model=model, mode=mode, effort=effort, title=title)
        body |= _surroundings(limits, env, profile, output_schema)
        return self.adopt(await self.wire.put(_path(session), SessionInfo, body))

    async def destroy_session(self, session: str) -> None:
        """End a session and remove it with its log."""
        await (await self.resume_session(session)).destroy()

    def adopt(self, info: SessionInfo) -> Session:
        """The object for a session; one for each, however often it is asked for."""
        found = self._sessions.setdefault(info.id, Session(self, info))
        found.learn(info)
        return found

    def release(self, session: SessionId) -> None:
        """Forget the object for a session that was removed: another one may get its id."""
        self._sessions.pop(session, None)

    async def sessions(
        self,
        *,
        state: tuple[SessionState, ...] = (),
        engine: str = "",
        cwd: str = "",
        query: str = "",
        limit: int = PAGE,
    ) -> AsyncIterator[SessionInfo]:
        """Every session that fits, the latest active first, page by page."""
        after: str | None = ""
        while after is not None:
            params = {"state": state, "engine": engine, "cwd": cwd, "q": query, "limit": limit, "after": after}
            page = await self.wire.get("/api/sessions", SessionPage, params)
            for info in page.sessions:
                yield info
            after = page.after

    # ----------------------------------------------------------------------------------------- requests

    async def requests(
        self, *, state: tuple[RequestState, ...] = ("open",), kind: tuple[RequestKind, ...] = (), session: str = ""
    ) -> tuple[RequestInfo, ...]:
        """What waits for a person, across all sessions, the oldest first."""
        found: list[RequestInfo] = []
        after: str | None = ""
        while after is not None:
            params = {"state": state, "kind": kind, "session": session, "limit": PAGE, "after": after}
            page = await self.wire.get("/api/requests", RequestPage, params)
            found += page.requests
            after = page.after
        return tuple(found)

    async def request(self, request: RequestId) -> RequestInfo:
        """One request, whole."""
        return await self.wire.get(f"/api/requests/{request}", RequestInfo)

    async def answer(self, request: RequestId, answer: Answer) -> RequestInfo:
        """Answer a request of any session. Raises `AlreadyAnswered` when somebody was first."""
        session = await self.resume_session((await self.request(request)).session)
        return await session.answer(request, answer)

    async def respond_permission(self, request: RequestId, reply: PermissionReply) -> RequestInfo:
        """Answer a permission in a word: "once", "always" or "reject"."""
        return await (await self._asking(request)).respond_permission(request, reply)

    async def raw_respond_permission(self, request: RequestId, response: Mapping[str, object]) -> RequestInfo:
        """Answer as the protocol does."""
        return await (await self._asking(request)).raw_respond_permission(request, response)

    async def _asking(self, request: RequestId) -> Session:
        return await self.resume_session((await self.request(request)).session)

    def news(self) -> Stream[Snapshot | News]:
        """What needs somebody, in all sessions: first what stands now, then what changes, for as long as you read.

        After a lost connection it begins with what stands now again, so nothing that still matters is missed.
        """
        return self.wire.streams.make(self._news())

    async def _news(self) -> AsyncGenerator[Snapshot | News]:
        async with aclosing(follow_stream(self.wire, "/api/events")) as events:
            async for event in events:
                kind: type[Snapshot] | type[News] = Snapshot if event.event == "snapshot" else News
                yield msgspec.json.decode(event.data, type=kind)

    async def on_request(self, handler: Handler) -> Callable[[], None]:
        """Let the handler answer what any agent asks, also what is open already; what is returned ends that."""
        stop = self._desk.add(handler)
        if self._watching is None:
            self._watching = spawn(self._watch(), name="news")
        for request in await self.requests():
            self._desk.take(request)
        return stop

    async def _watch(self) -> None:
        async for told in self.news():
            if isinstance(told, Snapshot):
                for request in told.requests:
                    self._desk.take(request)
            elif told.request is not None and told.request.state == "open":
                self._desk.take(told.request)

    # ------------------------------------------------------------------------------- by id, as others do

    async def on_session_event(self, session: str, listener: EventListener) -> Callable[[], None]:
        """Call the listener with each event of a session."""
        return await (await self.resume_session(session)).on_event(listener)

    async def on_permission_request(self, session: str, handler: Handler) -> Callable[[], None]:
        """Let the handler answer the permissions of a session."""
        return await (await self.resume_session(session)).on_permission_request(handler)

    async def set_session_mode(self, session: str, mode: str) -> None:
        """Change the permission mode of a session."""
        await (await self.resume_session(session)).set_mode(mode)

    async def set_session_model(self, session: str, model: str) -> None:
        """Change the model of a session."""
        await (await self.resume_session(session)).set_model(model)

    async def set_session_thought_level(self, session: str, level: str) -> None:
        """Change how hard the model of a session thinks."""
        await (await self.resume_session(session)).set_thought_level(level)

    async def set_session_config_option(self, session: str, option: str, value: str) -> None:
        """Change an option of a session."""
        await (await self.resume_session(session)).set_config_option(option, value)

    async def get_session_config_options(self, session: str) -> tuple[ConfigOption, ...]:
        """What can be chosen in a session."""
        return await (await self.resume_session(session)).get_config_options()

    async def get_session_modes(self, session: str) -> ModeState:
        """The permission modes of a session, and the one that holds."""
        return await (await self.resume_session(session)).get_modes()

    async def raw_send_session_method(
        self, session: str, method: str, params: Mapping[str, object] | None = None
    ) -> object:
        """Send a session's agent a message of the Agent Client Protocol; its result. `sessionId` is filled in."""
        found = await self.resume_session(session)
        agent = await self._agent(found.info.engine)
        return await agent.call(method, {**(params or {}), "sessionId": session})

    async def _agent(self, engine: str) -> AcpClient:
        """A connection of the protocol to the sessions of an engine, made once."""
        if engine not in self._agents:
            made = AcpClient(ServerDoor(self.wire, engine))
            self._agents[engine] = made
            await made.call("initialize", INITIALIZE)
        return self._agents[engine]


def _path(session: str) -> str:
    return f"/api/sessions/{quote(session, safe='')}"


def _new_session(engine: str, cwd: str, **given: str) -> dict[str, object]:
    return {"engine": engine, "cwd": cwd, **given}


def _surroundings(
    limits: Mapping[str, object] | None,
    env: Mapping[str, str] | None,
    profile: str,
    output_schema: Mapping[str, object] | None,
) -> dict[str, object]:
    body: dict[str, object] = {"limits": dict(limits or {}), "env": dict(env or {}), "profile": profile}
    return body if output_schema is None else {**body, "output_schema": dict(output_schema)}
