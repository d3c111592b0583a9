"""A session as an object: prompt it, listen to it, answer what it asks, change it."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Literal, Protocol

import msgspec

from footplate.errors import AlreadyAnswered, ServiceUnreachable
from footplate.events import model as m
from footplate.events.codec import ReadEnvelope
from footplate.events.content import ContentBlock
from footplate.events.ids import MessageId, PromptId, RequestId, RuleId, SessionId
from footplate.events.model import ConfigOption
from footplate.events.requests import Answer, Choose, Deny
from footplate.events.runs import RunEvent, RunFold
from footplate.events.view import QueuedPrompt, RequestView, SessionView
from footplate.sdk.asking import (
    Desk,
    Handler,
    PermissionReply,
    describe_request,
    encode_answer,
    reply_answer,
    same_answer,
)
from footplate.sdk.feed import Feed
from footplate.sdk.follow import follow_session
from footplate.sdk.shapes import (
    Accepted,
    CommandOutput,
    ModeState,
    RequestInfo,
    SessionDetail,
    SessionInfo,
    WaitingPrompts,
)
from footplate.sdk.stream import Stream
from footplate.sdk.turns import TurnRun
from footplate.sdk.wire import Wire

Content = str | Sequence[ContentBlock]
When = Literal["queue", "steer", "now"]
EventListener = Callable[[ReadEnvelope], None]


class Service(Protocol):
    """What a session needs of its client."""

    @property
    def wire(self) -> Wire:
        """The way to the service."""
        ...

    async def request(self, request: RequestId) -> RequestInfo:
        """One request, whole."""
        ...

    def adopt(self, info: SessionInfo) -> Session:
        """The object for a session."""
        ...

    def release(self, session: SessionId) -> None:
        """Forget the object for a session that was removed."""
        ...

    async def raw_send_session_method(
        self, session: str, method: str, params: Mapping[str, object] | None = None
    ) -> object:
        """Send a session's agent a message of the protocol."""
        ...


class Session:
    """One session of a service. It lives in the service; this object may come and go."""

    def __init__(self, client: Service, info: SessionInfo) -> None:
        self._client = client
        self._wire = client.wire
        self._info = info
        self._path = f"/api/sessions/{info.id}"
        self._feed = Feed(self._wire, info.id)
        self._desk = Desk(self.answer)
        self._feed.listen(self._put)

    @property
    def id(self) -> SessionId:
        """Its id; `client.resume_session(id)` brings it back."""
        return self._info.id

    @property
    def info(self) -> SessionInfo:
        """What was known of it last; `refresh()` asks again."""
        return self._info

    def learn(self, info: SessionInfo) -> None:
        """The service told how the session stands."""
        self._info = info

    async def refresh(self) -> SessionInfo:
        """What a list would show of it now."""
        detail = await self.detail()
        known = {each.name for each in msgspec.structs.fields(SessionInfo)} & {
            each.name for each in msgspec.structs.fields(SessionDetail)
        }
        shared = {name: getattr(detail, name) for name in known if name not in ("turns", "updated_at")}
        self._info = msgspec.structs.replace(
            self._info,
            **shared,
            turns=len(detail.turns),
            updated_at=detail.updated_at or 0.0,
            open_requests=sum(each.state == "open" for each in detail.requests),
            cost_usd=detail.usage.cost_usd,
        )
        return self._info

    async def detail(self) -> SessionDetail:
        """The whole session as the service has it."""
        return await self._wire.get(self._path, SessionDetail)

    async def view(self) -> SessionView:
        """The whole session, kept up to date in this program: free after the first time."""
        await self._feed.start()
        return self._feed.view()

    # ------------------------------------------------------------------------------------------ prompts

    def prompt(self, content: Content, *, mode: When = "queue", key: str = "") -> TurnRun:
        """Give the agent a message. `await` what is returned for the turn; iterate it for its events.

        The same `key` twice is one message.
        """
        chosen = key or uuid.uuid4().hex

        async def send() -> Accepted:
            return await self._send(content, mode, chosen)

        return TurnRun(self.id, self._feed, send)

    def steer(self, content: Content) -> TurnRun:
        """Give the running turn a message; without one it begins a turn."""
        return self.prompt(content, mode="steer")

    async def queue(self, content: Content, *, key: str = "") -> PromptId:
        """Leave a message behind what runs, and do not wait for it."""
        return (await self._send(content, "queue", key or uuid.uuid4().hex)).prompt

    async def _send(self, content: Content, mode: When, key: str) -> Accepted:
        body = {
            "content": content if isinstance(content, str) else tuple(content),
            "mode": mode,
            "idempotency_key": key,
        }
        return await self._wire.post(f"{self._path}/prompt", Accepted, body, again=True)

    async def waiting(self) -> tuple[QueuedPrompt, ...]:
        """The messages that wait, the next one first."""
        return (await self._wire.get(f"{self._path}/queue", WaitingPrompts)).prompts

    async def withdraw(self, prompt: PromptId) -> None:
        """Take back a message that waits."""
        await self._wire.exchange("DELETE", f"{self._path}/queue/{prompt}")

    async def reorder(self, prompts: Sequence[PromptId]) -> tuple[QueuedPrompt, ...]:
        """Put the messages that wait in another order."""
        body = {"prompts": tuple(prompts)}
        return (await self._wire.post(f"{self._path}/queue/order", WaitingPrompts, body, again=True)).prompts

    async def interrupt(self) -> None:
        """Stop what runs; what waits behind it runs next."""
        await self._wire.tell("POST", f"{self._path}/interrupt")

    async def continue_queue(self) -> tuple[QueuedPrompt, ...]:
        """Start the prompts that a restart has paused; returns the prompts that wait, possibly none."""
        return (await self._wire.post(f"{self._path}/continue", WaitingPrompts, again=True)).prompts

    async def run_command(self, command: str) -> CommandOutput:
        """Run a command in the session's folder; the agent hears of it with the next message."""
        return await self._wire.post(f"{self._path}/command", CommandOutput, {"command": command}, slow=True)

    # ----------------------------------------------------------------------------------------- listening

    def events(self, after: int = 0, *, epoch: int | None = None) -> Stream[ReadEnvelope]:
        """Every event after a number (0: from the beginning), then as they come, for as long as you read.

        `epoch` is that of the event numbered `after`. Raises `CursorLost` when the session no longer has that event.
        """
        return self._wire.streams.make(follow_session(self._wire, self.id, after, epoch))

    def runs(self, after: int = 0, *, epoch: int | None = None) -> Stream[RunEvent]:
        """The same as started / action / completed for each turn: the short story."""
        return self._wire.streams.make(self._runs(after, epoch))

    async def _runs(self, after: int, epoch: int | None) -> AsyncGenerator[RunEvent]:
        fold = RunFold()
        async with aclosing(follow_session(self._wire, self.id, after, epoch)) as events:
            async for envelope in events:
                if isinstance(envelope.event, m.Unknown):
                    continue
                if fold.completed:
                    fold = RunFold()
                for told in fold.feed(envelope.event):
                    yield told

    async def on_event(self, listener: EventListener) -> Callable[[], None]:
        """Call the listener with each event from now on; what is returned ends that."""
        await self._feed.start()
        return self._feed.listen(listener)

    async def on_request(self, handler: Handler) -> Callable[[], None]:
        """Let the handler answer what the agent asks, also what is open already; what is returned ends that.

        It gets a `RequestInfo`; what it returns is given as the answer. None leaves the request to others.
        """
        stop = self._desk.add(handler)
        await self._feed.start()
        for each in self._feed.view().requests:
            if each.state == "open":
                self._desk.take(describe_request(self.id, each.request, each.opened_at))
        return stop

    async def on_permission_request(self, handler: Handler) -> Callable[[], None]:
        """The same for permissions alone."""
        return await self.on_request(lambda request: handler(request) if request.kind == "permission" else None)

    def _put(self, envelope: ReadEnvelope) -> None:
        if self._desk.staffed and isinstance(envelope.event, m.RequestOpened):
            self._desk.take(describe_request(self.id, envelope.event.request, envelope.time))

    # ------------------------------------------------------------------------------------------- answers

    async def answer(self, request: RequestId, answer: Answer) -> RequestInfo:
        """Answer a request. Raises `AlreadyAnswered` when somebody was first."""
        path = f"/api/requests/{request}/answer"
        try:
            return await self._wire.post(path, RequestInfo, encode_answer(answer))
        except ServiceUnreachable:
            pass  # it may have arrived: ask again, and see whose answer it was
        try:
            return await self._wire.post(path, RequestInfo, encode_answer(answer))
        except AlreadyAnswered:
            if not same_answer(await self._find(request), answer):
                raise
        return await self._client.request(request)

    async def _find(self, request: RequestId) -> RequestView | None:
        detail = await self.detail()
        known = (*detail.requests, *detail.closed_requests)
        return next((each for each in known if each.request.id == request), None)

    async def respond_permission(self, request: RequestId, reply: PermissionReply) -> RequestInfo:
        """Answer a permission in a word: "once", "always" or "reject"."""
        return await self.answer(request, reply_answer(await self._client.request(request), reply))

    async def raw_respond_permission(self, request: RequestId, response: Mapping[str, object]) -> RequestInfo:
        """Answer as the protocol does: `{"outcome": {"outcome": "selected", "optionId": ...}}`, or cancelled."""
        outcome = response.get("outcome")
        option = outcome.get("optionId") if isinstance(outcome, Mapping) else None
        return await self.answer(request, Choose(option=str(option)) if option else Deny(interrupt=True))

    # ------------------------------------------------------------------------------------------- changes

    async def set_mode(self, mode: str) -> None:
        """Change the permission mode."""
        await self._wire.tell("POST", f"{self._path}/mode", {"mode": mode})

    async def set_model(self, model: str) -> None:
        """Change the model."""
        await self._wire.tell("POST", f"{self._path}/model", {"model": model})

    async def set_thought_level(self, level: str) -> None:
        """Change how hard the model thinks."""
        await self._wire.tell("POST", f"{self._path}/effort", {"effort": level})

    async def set_limits(self, limits: Mapping[str, object]) -> None:
        """Change what the session may use."""
        await self._wire.tell("POST", f"{self._path}/limits", dict(limits))

    async def set_config_option(self, option: str, value: str) -> None:
        """Change one of `get_config_options()`."""
        match option:
            case "mode":
                await self.set_mode(value)
            case "model":
                await self.set_model(value)
            case "effort" | "thought_level":
                await self.set_thought_level(value)
            case _:
                await self._wire.tell("POST", f"{self._path}/option", {"option": option, "value": value})

    async def get_config_options(self) -> tuple[ConfigOption, ...]:
        """What can be chosen: as the session's agent told; before it is started, what is known of the engine."""
        detail = await self.detail()
        return detail.options or detail.choices

    async def get_modes(self) -> ModeState:
        """The permission modes, and the one that holds."""
        detail = await self.detail()
        return ModeState(current=detail.mode, available=detail.modes)

    async def fork(self, title: str = "") -> Session:
        """A session that goes on from here and leaves this one alone."""
        made = await self._wire.post(f"{self._path}/fork", SessionInfo, {"title": title})
        return self._client.adopt(made)

    async def rewind(self, message: MessageId) -> None:
        """Put files back to where they stood at a message."""
        await self._wire.tell("POST", f"{self._path}/rewind", {"message": message})

    async def rename(self, title: str) -> SessionInfo:
        """Give it another title."""
        self._info = await self._wire.post(f"{self._path}/title", SessionInfo, {"title": title}, again=True)
        return self._info

    async def archive(self, *, archived: bool = True) -> SessionInfo:
        """Put it aside, or back."""
        self._info = await self._wire.post(f"{self._path}/archive", SessionInfo, {"archived": archived}, again=True)
        return self._info

    async def revoke(self, rule: RuleId) -> None:
        """Take back what was allowed for the session."""
        await self._wire.exchange("DELETE", f"{self._path}/rules/{rule}")

    async def raw_send(self, method: str, params: Mapping[str, object] | None = None) -> object:
        """Send the session's agent a message of the Agent Client Protocol; its result."""
        return await self._client.raw_send_session_method(self.id, method, params)

    async def end(self, reason: str = "") -> SessionInfo:
        """End the session; its log stays."""
        self._info = await self._wire.post(f"{self._path}/close", SessionInfo, {"reason": reason}, again=True)
        return self._info

    async def destroy(self) -> None:
        """End the session and remove it with its log."""
        await self.close()
        await self._wire.exchange("DELETE", self._path)
        self._client.release(self.id)

    async def close(self) -> None:
        """Listen no more. The session itself lives on in the service."""
        await self._feed.close()
        await self._desk.close()
