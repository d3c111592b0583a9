"""The mock agent itself: an ACP agent over any pair of line streams, with many sessions at a time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Final, TypeVar

import msgspec
from msgspec import UnsetType

from footplate.acp import jsonrpc
from footplate.acp.reading import PROTOCOL_VERSION, read_content
from footplate.acp.schema.content import TextContent
from footplate.acp.schema.sessions import (
    CancelNotification,
    ListSessionsRequest,
    ListSessionsResponse,
    LoadSessionRequest,
    LoadSessionResponse,
    NewSessionRequest,
    NewSessionResponse,
    PromptRequest,
    SessionInfo,
    SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse,
    SetSessionModeRequest,
    SetSessionModeResponse,
)
from footplate.acp.schema.start import (
    AgentCapabilities,
    ClientCapabilities,
    Implementation,
    InitializeRequest,
    InitializeResponse,
    PromptCapabilities,
    SessionCapabilities,
    SessionListCapabilities,
)
from footplate.acp.schema.updates import AgentMessageChunk, CurrentModeUpdate, UserMessageChunk
from footplate.engines.mock.peer import Peer, Refusal, Write
from footplate.engines.mock.sessions import MODES, Memory, Saved, Session, choose_memory, is_minted, mint_id
from footplate.engines.mock.steps import Prompt
from footplate.engines.mock.triggers import choose_script
from footplate.engines.mock.turn import Stop, Turn
from footplate.tasks import spawn
from footplate.version import __version__

PACE_MS: Final = 400
PACE_VARIABLE: Final = "FOOTPLATE_MOCK_PACE_MS"
"""How long the mock agent rests between the steps of `plan` and `demo`; 0 for tests."""

T = TypeVar("T")


async def serve(
    lines_in: AsyncIterator[bytes],
    write: Write,
    *,
    env: Mapping[str, str],
    cwd: str,
    complain: Callable[[str], None] | None = None,
    memory: Memory | None = None,
) -> int:
    """Serve one client until its lines end or a script ends the agent; gives back the exit code.

    At the end of the lines every turn is cancelled, gets its answer out, and nothing is left running.
    """
    agent = Agent(Peer(write), env=env, cwd=cwd, complain=complain, memory=memory or choose_memory(env))
    reading = spawn(agent.read(lines_in), name="mock agent: read", awaited=True)
    try:
        await asyncio.wait((reading, agent.ended), return_when=asyncio.FIRST_COMPLETED)
        if agent.ended.done():
            return agent.ended.result()
        reading.result()
        return await agent.drain()
    finally:
        await _end((reading, *agent.turns))


async def _end(tasks: tuple[asyncio.Task[None], ...]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class Agent:
    """Knows the sessions of one connection and answers the client's messages."""

    def __init__(
        self,
        peer: Peer,
        *,
        env: Mapping[str, str],
        cwd: str,
        complain: Callable[[str], None] | None,
        memory: Memory,
    ) -> None:
        self.turns: set[asyncio.Task[None]] = set()
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._peer = peer
        self._env = env
        self._cwd = cwd
        self._complain = complain
        self._memory = memory
        self._client = ClientCapabilities()
        self._sessions: dict[str, Session] = {}
        pace = env.get(PACE_VARIABLE, "")
        self._pace_ms = int(pace) if pace.isdecimal() else PACE_MS

    async def read(self, lines: AsyncIterator[bytes]) -> None:
        """Take every line of the client."""
        async for chunk in lines:
            for line in chunk.split(b"\n"):
                if line.strip():
                    await self._receive(line)

    async def drain(self) -> int:
        """Cancel what runs, and what waits behind it, and let it have its last word."""
        for session in self._sessions.values():
            for cancelled in session.cancels:
                cancelled.set()
        while self.turns and not self.ended.done():
            running: set[asyncio.Future[None] | asyncio.Future[int]] = {*self.turns, self.ended}
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        return self.ended.result() if self.ended.done() else 0

    async def _receive(self, line: bytes) -> None:
        try:
            message = jsonrpc.envelope_decoder.decode(line)
        except msgspec.ValidationError as problem:
            await self._peer.refuse(None, Refusal(jsonrpc.INVALID_REQUEST, f"Invalid request: {problem}"))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            await self._peer.refuse(None, Refusal(jsonrpc.PARSE_ERROR, f"Parse error: {problem}"))
        else:
            await self._dispatch(message)

    async def _dispatch(self, message: jsonrpc.Envelope) -> None:
        match message.kind:
            case "request":
                await self._serve_request(message)
            case "notification":
                self._notice(message)
            case "response":
                self._peer.settle(message)
            case "invalid":
                await self._peer.refuse(None, Refusal(jsonrpc.INVALID_REQUEST, "Invalid request: no method"))

    async def _serve_request(self, message: jsonrpc.Envelope) -> None:
        rpc_id = None if isinstance(message.id, UnsetType) else message.id
        try:
            if message.method == "session/prompt":
                self._start(rpc_id, _params(message, PromptRequest))
                return
            method = _METHODS.get(message.method or "")
            if method is None:
                raise Refusal(jsonrpc.METHOD_NOT_FOUND, f"Method not found: {message.method}")  # noqa: TRY301
            result = await method(self, message)
        except Refusal as refusal:
            await self._peer.refuse(rpc_id, refusal)
        else:
            await self._peer.answer(rpc_id, result)

    # ------------------------------------------------------------------------------------------ methods

    async def initialize(self, message: jsonrpc.Envelope) -> InitializeResponse:
        """Tell what we can, learn what the client can."""
        self._client = _params(message, InitializeRequest).client_capabilities
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=True, embedded_context=True),
                session_capabilities=SessionCapabilities(list=SessionListCapabilities()),
            ),
            auth_methods=(),
            agent_info=Implementation(name="footplate-mock", title="Mock agent", version=__version__),
        )

    async def new_session(self, message: jsonrpc.Envelope) -> NewSessionResponse:
        """Open a session."""
        params = _params(message, NewSessionRequest)
        session = Session(mint_id(), Saved(params.cwd or self._cwd))
        self._sessions[session.id] = session
        return NewSessionResponse(session_id=session.id, modes=session.modes(), config_options=session.config_options())

    async def load_session(self, message: jsonrpc.Envelope) -> LoadSessionResponse:
        """Bring a session back and tell its history again."""
        params = _params(message, LoadSessionRequest)
        session = self._sessions.get(params.session_id)
        if session is None:
            if not is_minted(params.session_id):
                raise Refusal(jsonrpc.NOT_FOUND, f"no such session: {params.session_id}")
            saved = self._memory.load(params.session_id) or Saved(params.cwd)
            session = self._sessions[params.session_id] = Session(params.session_id, saved)
        for exchange in session.exchanges:
            await self._peer.update(session.id, UserMessageChunk(content=TextContent(text=exchange.prompt)))
            if exchange.answer:
                await self._peer.update(session.id, AgentMessageChunk(content=TextContent(text=exchange.answer)))
        return LoadSessionResponse(modes=session.modes(), config_options=session.config_options())

    async def list_sessions(self, message: jsonrpc.Envelope) -> ListSessionsResponse:
        """The sessions of this connection and those that were kept."""
        params = _params(message, ListSessionsRequest)
        found = {name: session.saved() for name, session in self._sessions.items()}
        for name in self._memory.ids():
            saved = self._memory.load(name)
            if saved is not None:
                found.setdefault(name, saved)
        return ListSessionsResponse(
            sessions=tuple(_info(name, saved) for name, saved in found.items() if params.cwd in (None, saved.cwd))
        )

    async def set_mode(self, message: jsonrpc.Envelope) -> SetSessionModeResponse:
        """Change the mode; every reader is told."""
        params = _params(message, SetSessionModeRequest)
        session = self._session(params.session_id)
        if params.mode_id not in MODES:
            raise Refusal(jsonrpc.INVALID_PARAMS, f"unknown mode {params.mode_id!r}; modes: {', '.join(MODES)}")
        session.mode = params.mode_id
        await self._peer.update(session.id, CurrentModeUpdate(current_mode_id=session.mode))
        return SetSessionModeResponse()

    async def set_config_option(self, message: jsonrpc.Envelope) -> SetSessionConfigOptionResponse:
        """Change an option; a changed mode is told as such, too."""
        params = _params(message, SetSessionConfigOptionRequest)
        session = self._session(params.session_id)
        if not session.configure(params.config_id, params.value):
            raise Refusal(jsonrpc.INVALID_PARAMS, f"no option {params.config_id!r} with a value {params.value!r}")
        if params.config_id == "mode":
            await self._peer.update(session.id, CurrentModeUpdate(current_mode_id=session.mode))
        return SetSessionConfigOptionResponse(config_options=session.config_options())

    # -------------------------------------------------------------------------------------------- turns

    def _session(self, name: str) -> Session:
        session = self._sessions.get(name)
        if session is None:
            raise Refusal(jsonrpc.NOT_FOUND, f"no such session: {name}")
        return session

    def _notice(self, message: jsonrpc.Envelope) -> None:
        """A notification gets no answer, whatever is wrong with it; those that we do not know are let pass."""
        if message.method != "session/cancel":
            return
        with contextlib.suppress(Refusal):
            session = self._session(_params(message, CancelNotification).session_id)
            if session.cancels:
                session.cancels[0].set()

    def _start(self, rpc_id: jsonrpc.RpcId, params: PromptRequest) -> None:
        """Take a prompt; from here on it can be cancelled, also before its turn has begun."""
        session = self._session(params.session_id)
        cancelled = asyncio.Event()
        session.cancels.append(cancelled)
        task = spawn(self._run(rpc_id, session, params, cancelled), name="mock agent: turn")
        self.turns.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        self.turns.discard(task)
        problem = None if task.cancelled() else task.exception()
        if problem is not None and not self.ended.done():
            self.ended.set_exception(problem)

    async def _run(
        self, rpc_id: jsonrpc.RpcId, session: Session, params: PromptRequest, cancelled: asyncio.Event
    ) -> None:
        async with session.turn:
            prompt = self._prompt(session, params)
            session.begin(prompt.text)
            self._memory.save(session.id, session.saved())
            turn = Turn(
                self._peer,
                session,
                self._client,
                number=prompt.number,
                cancelled=cancelled,
                complain=self._complain,
            )
            try:
                response = await turn.play(choose_script(prompt))
            except Refusal as refusal:
                self._close(session, turn)
                await self._peer.refuse(rpc_id, refusal)
            except Stop as stop:
                self._close(session, turn)
                if not self.ended.done():
                    self.ended.set_result(stop.code)
            else:
                self._close(session, turn)
                await self._peer.answer(rpc_id, response)

    def _close(self, session: Session, turn: Turn) -> None:
        """The turn is over: nothing can cancel it any more, and it is history."""
        session.cancels.pop(0)
        session.remember(turn.answer)
        self._memory.save(session.id, session.saved())

    def _prompt(self, session: Session, params: PromptRequest) -> Prompt:
        texts = [block.text for block in map(read_content, params.prompt) if isinstance(block, TextContent)]
        return Prompt(
            text=texts[-1] if texts else "",
            blocks=len(params.prompt),
            number=len(session.exchanges) + 1,
            history=tuple(exchange.prompt for exchange in session.exchanges),
            env=self._env,
            cwd=session.cwd,
            pace_ms=self._pace_ms,
        )


_METHODS: Final[Mapping[str, Callable[[Agent, jsonrpc.Envelope], Coroutine[None, None, object]]]] = {
    "initialize": Agent.initialize,
    "session/new": Agent.new_session,
    "session/load": Agent.load_session,
    "session/list": Agent.list_sessions,
    "session/set_mode": Agent.set_mode,
    "session/set_config_option": Agent.set_config_option,
}


def _params(message: jsonrpc.Envelope, shape: type[T]) -> T:
    raw = b"{}" if message.params is None else message.params
    try:
        return msgspec.json.decode(raw, type=shape)
    except msgspec.ValidationError as problem:
        raise Refusal(jsonrpc.INVALID_PARAMS, f"Invalid params: {problem}") from problem


def _info(session: str, saved: Saved) -> SessionInfo:
    return SessionInfo(session_id=session, cwd=saved.cwd, title=saved.exchanges[0].prompt if saved.exchanges else None)
