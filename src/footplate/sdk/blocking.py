"""The same client without `await`, for scripts and notebooks: an event loop of its own in a thread beside yours.

with Client.start() as client:
    session = client.create_session("mock", cwd="/srv/app")
    session.on_request(lambda request: Allow())
    for event in session.prompt("run the tests"):
        print(event)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import TracebackType

from footplate.events.codec import ReadEnvelope
from footplate.events.ids import PromptId, RequestId, SessionId
from footplate.events.model import ConfigOption
from footplate.events.requests import Answer
from footplate.events.runs import RunEvent
from footplate.events.view import QueuedPrompt, SessionView, TurnView
from footplate.sdk import client as later
from footplate.sdk.asking import Handler, PermissionReply
from footplate.sdk.blocking_machine import Files, Processes
from footplate.sdk.loop import Loop
from footplate.sdk.opening import Opening
from footplate.sdk.session import Content, EventListener, When
from footplate.sdk.session import Session as LaterSession
from footplate.sdk.shapes import CommandOutput, ModeState, RequestInfo, ServiceInfo, SessionInfo
from footplate.sdk.turns import TurnRun as LaterTurn
from footplate.sdk.wire import PATIENCE_S


class Client:
    """A service, and everything in it that the token reaches. Use it in a `with`."""

    def __init__(self, opening: Callable[[], Opening[later.Client]]) -> None:
        self._loop = Loop()
        try:
            self._client = self._loop.wait(opening())
        except BaseException:
            self._loop.stop()
            raise
        self.files = Files(self._loop, self._client)
        self.processes = Processes(self._loop, self._client)

    @classmethod
    def connect(
        cls,
        url: str,
        *,
        token: str = "",
        patience_s: float | None = PATIENCE_S,
        headers: Mapping[str, str] | None = None,
        verify: bool | str = True,
    ) -> Client:
        """Connect to a service; `headers` go with every call, say to a gateway before it."""
        return cls(
            lambda: later.Client.connect(url, token=token, patience_s=patience_s, headers=headers, verify=verify)
        )

    @classmethod
    def start(cls, *, data: str = "", env: Mapping[str, str] | None = None) -> Client:
        """Start a service of this program's own; it ends with the client."""
        return cls(lambda: later.Client.start(data=data, env=env))

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.dispose()

    def dispose(self) -> None:
        """Let go of everything."""
        try:
            self._loop.wait(self._client.dispose())
        finally:
            self._loop.stop()

    def service(self) -> ServiceInfo:
        """What the service is, and what the token may do."""
        return self._loop.wait(self._client.service())

    def create_session(self, engine: str = "", *, cwd: str, **given: object) -> Session:
        """Open a session; `given` is what the client with `await` takes."""
        made = self._loop.wait(self._client.create_session(engine, cwd=cwd, **given))  # type: ignore[arg-type]
        return Session(self._loop, made)

    def resume_session(self, session: str) -> Session:
        """A session of before, by its id."""
        return Session(self._loop, self._loop.wait(self._client.resume_session(session)))

    def resume_or_create_session(
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
        """The session of that id, which may be of your own choice; a new one with that id if there is none."""
        opening = self._client.resume_or_create_session(
            session,
            engine,
            cwd=cwd,
            model=model,
            mode=mode,
            effort=effort,
            title=title,
            limits=limits,
            env=env,
            profile=profile,
            output_schema=output_schema,
        )
        return Session(self._loop, self._loop.wait(opening))

    def destroy_session(self, session: str) -> None:
        """End a session and remove it with its log."""
        self._loop.wait(self._client.destroy_session(session))

    def sessions(self, *, engine: str = "", cwd: str = "", query: str = "") -> Iterator[SessionInfo]:
        """Every session that fits, the latest active first."""
        return self._loop.read(self._client.sessions(engine=engine, cwd=cwd, query=query))

    def requests(self, *, session: str = "") -> tuple[RequestInfo, ...]:
        """What waits for a person."""
        return self._loop.wait(self._client.requests(session=session))

    def answer(self, request: RequestId, answer: Answer) -> RequestInfo:
        """Answer a request of any session."""
        return self._loop.wait(self._client.answer(request, answer))

    def respond_permission(self, request: RequestId, reply: PermissionReply) -> RequestInfo:
        """Answer a permission in a word."""
        return self._loop.wait(self._client.respond_permission(request, reply))

    def raw_respond_permission(self, request: RequestId, response: Mapping[str, object]) -> RequestInfo:
        """Answer as the protocol does."""
        return self._loop.wait(self._client.raw_respond_permission(request, response))

    def on_request(self, handler: Handler) -> Callable[[], None]:
        """Let the handler answer what any agent asks. It runs in the client's thread."""
        return self._loop.wait(self._client.on_request(handler))

    # ------------------------------------------------------------------------------- by id, as others do

    def on_session_event(self, session: str, listener: EventListener) -> Callable[[], None]:
        """Call the listener with each event of a session, in the client's thread."""
        return self._loop.wait(self._client.on_session_event(session, listener))

    def on_permission_request(self, session: str, handler: Handler) -> Callable[[], None]:
        """Let the handler answer the permissions of a session, in the client's thread."""
        return self._loop.wait(self._client.on_permission_request(session, handler))

    def set_session_mode(self, session: str, mode: str) -> None:
        """Change the permission mode of a session."""
        self._loop.wait(self._client.set_session_mode(session, mode))

    def set_session_model(self, session: str, model: str) -> None:
        """Change the model of a session."""
        self._loop.wait(self._client.set_session_model(session, model))

    def set_session_thought_level(self, session: str, level: str) -> None:
        """Change how hard the model of a session thinks."""
        self._loop.wait(self._client.set_session_thought_level(session, level))

    def set_session_config_option(self, session: str, option: str, value: str) -> None:
        """Change an option of a session."""
        self._loop.wait(self._client.set_session_config_option(session, option, value))

    def get_session_config_options(self, session: str) -> tuple[ConfigOption, ...]:
        """What can be chosen in a session."""
        return self._loop.wait(self._client.get_session_config_options(session))

    def get_session_modes(self, session: str) -> ModeState:
        """The permission modes of a session, and the one that holds."""
        return self._loop.wait(self._client.get_session_modes(session))

    def raw_send_session_method(self, session: str, method: str, params: Mapping[str, object] | None = None) -> object:
        """Send a session's agent a message of the Agent Client Protocol; its result."""
        return self._loop.wait(self._client.raw_send_session_method(session, method, params))


class Session:
    """One session of a service."""

    def __init__(self, loop: Loop, session: LaterSession) -> None:
        self._loop = loop
        self._session = session

    @property
    def id(self) -> SessionId:
        """Its id."""
        return self._session.id

    @property
    def info(self) -> SessionInfo:
        """What was known of it last."""
        return self._session.info

    def refresh(self) -> SessionInfo:
        """What a list would show of it now."""
        return self._loop.wait(self._session.refresh())

    def view(self) -> SessionView:
        """The whole session."""
        return self._loop.wait(self._session.view())

    def prompt(self, content: Content, *, mode: When = "queue", key: str = "") -> TurnRun:
        """Give the agent a message; `wait()` for the turn, or iterate what is returned for its events."""
        return TurnRun(self._loop, self._loop.do(lambda: self._session.prompt(content, mode=mode, key=key)))

    def steer(self, content: Content) -> TurnRun:
        """Give the running turn a message."""
        return self.prompt(content, mode="steer")

    def queue(self, content: Content, *, key: str = "") -> PromptId:
        """Leave a message behind what runs, and do not wait for it."""
        return self._loop.wait(self._session.queue(content, key=key))

    def interrupt(self) -> None:
        """Stop what runs."""
        self._loop.wait(self._session.interrupt())

    def continue_queue(self) -> tuple[QueuedPrompt, ...]:
        """Start the prompts that a restart has paused; returns the prompts that wait, possibly none."""
        return self._loop.wait(self._session.continue_queue())

    def run_command(self, command: str) -> CommandOutput:
        """Run a command in the session's folder."""
        return self._loop.wait(self._session.run_command(command))

    def events(self, after: int = 0, *, epoch: int | None = None) -> Iterator[ReadEnvelope]:
        """Every event after a number, then as they come, for as long as you read."""
        return self._loop.read(self._session.events(after, epoch=epoch))

    def runs(self, after: int = 0, *, epoch: int | None = None) -> Iterator[RunEvent]:
        """The same as started / action / completed."""
        return self._loop.read(self._session.runs(after, epoch=epoch))

    def on_event(self, listener: EventListener) -> Callable[[], None]:
        """Call the listener with each event, in the client's thread."""
        return self._loop.wait(self._session.on_event(listener))

    def on_request(self, handler: Handler) -> Callable[[], None]:
        """Let the handler answer what the agent asks, in the client's thread."""
        return self._loop.wait(self._session.on_request(handler))

    def answer(self, request: RequestId, answer: Answer) -> RequestInfo:
        """Answer a request."""
        return self._loop.wait(self._session.answer(request, answer))

    def respond_permission(self, request: RequestId, reply: PermissionReply) -> RequestInfo:
        """Answer a permission in a word."""
        return self._loop.wait(self._session.respond_permission(request, reply))

    def raw_respond_permission(self, request: RequestId, response: Mapping[str, object]) -> RequestInfo:
        """Answer as the protocol does."""
        return self._loop.wait(self._session.raw_respond_permission(request, response))

    def on_permission_request(self, handler: Handler) -> Callable[[], None]:
        """Let the handler answer the permissions of the agent, in the client's thread."""
        return self._loop.wait(self._session.on_permission_request(handler))

    def raw_send(self, method: str, params: Mapping[str, object] | None = None) -> object:
        """Send the agent a message of the Agent Client Protocol; its result."""
        return self._loop.wait(self._session.raw_send(method, params))

    def set_config_option(self, option: str, value: str) -> None:
        """Change an option of the session."""
        self._loop.wait(self._session.set_config_option(option, value))

    def get_config_options(self) -> tuple[ConfigOption, ...]:
        """What can be chosen."""
        return self._loop.wait(self._session.get_config_options())

    def set_mode(self, mode: str) -> None:
        """Change the permission mode."""
        self._loop.wait(self._session.set_mode(mode))

    def set_model(self, model: str) -> None:
        """Change the model."""
        self._loop.wait(self._session.set_model(model))

    def set_thought_level(self, level: str) -> None:
        """Change how hard the model thinks."""
        self._loop.wait(self._session.set_thought_level(level))

    def get_modes(self) -> ModeState:
        """The permission modes, and the one that holds."""
        return self._loop.wait(self._session.get_modes())

    def fork(self, title: str = "") -> Session:
        """A session that goes on from here."""
        return Session(self._loop, self._loop.wait(self._session.fork(title)))

    def rename(self, title: str) -> SessionInfo:
        """Give it another title."""
        return self._loop.wait(self._session.rename(title))

    def end(self, reason: str = "") -> SessionInfo:
        """End the session; its log stays."""
        return self._loop.wait(self._session.end(reason))

    def destroy(self) -> None:
        """End the session and remove it with its log."""
        self._loop.wait(self._session.destroy())


class TurnRun:
    """What became of a prompt: `wait()` for the turn, iterate for its events, `text()` for its words."""

    def __init__(self, loop: Loop, turn: LaterTurn) -> None:
        self._loop = loop
        self._turn = turn

    def __iter__(self) -> Iterator[ReadEnvelope]:
        """Every event of the turn."""
        return self._loop.read(aiter(self._turn))

    def wait(self) -> TurnView:
        """The turn as it ended."""
        return self._loop.wait(self._turn)

    def text(self) -> Iterator[str]:
        """The agent's own words as they are written."""
        return self._loop.read(self._turn.text())
