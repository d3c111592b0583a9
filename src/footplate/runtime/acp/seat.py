"""One session as one client has it: its events as updates, its prompts and their answers, what the agent asks.

All that the client hears of a session is written by one task, in the order of the session's log: the answer to a prompt
stands behind every update of its turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable

import msgspec

from footplate.acp import jsonrpc
from footplate.acp.encode import Encoder, coalesce
from footplate.acp.encode_requests import PERMISSION, Asked, Unanswered, ask, take
from footplate.acp.encode_turn import CANCELLED, answer_prompt
from footplate.acp.failures import Failure
from footplate.acp.jsonrpc import METHOD_NOT_FOUND, RpcId
from footplate.acp.profile import Profile
from footplate.acp.schema.sessions import PromptResponse
from footplate.acp.schema.updates import SessionNotification, SessionUpdate
from footplate.acp.server_prompts import tell_commands
from footplate.acp.session_meta import RawMessages
from footplate.acp.tool_responses import ToolResponses
from footplate.errors import AlreadyAnswered, FootplateError, UnknownRequest
from footplate.events import model as m
from footplate.events.content import ContentBlock
from footplate.events.ids import PromptId, RequestId, SessionId
from footplate.events.model import Event, Unknown
from footplate.events.requests import Answer, Decline, Deny, Request
from footplate.runtime.acp.along import Along
from footplate.runtime.acp.client import Client, Manner, Pending
from footplate.runtime.acp.extensions import ended_notice, exit_notice, unparsed_notice
from footplate.runtime.audit import Principal
from footplate.runtime.log import Delivery
from footplate.runtime.session import Session
from footplate.runtime.taps import Taps
from footplate.tasks import spawn

CHOICE_S = 5.0
"""How long an engine may take to tell that an option has changed, once it has taken the change."""

NOT_SHOWN = "The question could not be shown to a person; nobody has declined it."
WITHDRAWN = "The prompt was withdrawn"

log = logging.getLogger(__name__)


class Seat:
    """A session on a connection. `after` is where its reading begins; up to `replayed` it tells the past."""

    def __init__(
        self,
        session: Session,
        client: Client,
        profile: Profile,
        manner: Manner,
        *,
        after: int,
        replayed: int = 0,
        name: str = "",
    ) -> None:
        """`name` is what the client calls the session, where that is not its id."""
        self.session = session
        self._name = SessionId(name) if name else session.id
        self._along: Along | None = None
        self._stop_reading: Callable[[], None] | None = None
        self.encoder = Encoder(profile)
        self.prompts: dict[PromptId, RpcId] = {}
        self._client = client
        self._profile = profile
        self._manner = manner
        self._replayed = replayed
        self._turn: set[PromptId] = set()
        self._cancelled: set[PromptId] = set()
        self._written = after
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []
        if after:
            self.encoder.learn(session.view())
        self._subscription = session.subscribe(after)
        self._pump = spawn(self._write_on(), name=f"acp seat {session.id}")

    @property
    def ended(self) -> bool:
        """Whether nothing more of the session will be written."""
        return self._pump.done()

    @property
    def behind(self) -> bool:
        """Whether the session's log has something that was not written yet, and will be."""
        return self._written < self.session.view().last_seq and not self.ended

    # ------------------------------------------------------------------------------------------- asking

    async def prompt(self, rpc_id: RpcId, content: tuple[ContentBlock, ...], prompt: PromptId) -> None:
        """Hand over a prompt; its answer is written when its turn is over."""
        self.prompts[prompt] = rpc_id
        self.encoder.own(prompt)
        try:
            await self.session.prompt(content, key=prompt)
        except BaseException:
            self.prompts.pop(prompt, None)
            raise

    async def cancel(self) -> None:
        """The client wants its turn to stop, and what it has waiting behind it too."""
        mine = set(self.prompts)
        self._cancelled |= mine
        for waiting in self.session.view().queue:
            if waiting.id in mine and waiting.id not in self._turn:
                await self._withdraw(waiting.id)
        if self.session.busy:
            await self.session.interrupt()

    async def _withdraw(self, prompt: PromptId) -> None:
        try:
            await self.session.withdraw(prompt)
        except FootplateError as problem:
            log.debug("the prompt %s has begun: %s", prompt, problem)

    async def settled(self) -> None:
        """Wait until the client was told all that the session's log has now."""
        if self.behind:
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append((self.session.view().last_seq, waiting))
            await waiting

    async def chosen(self, name: str, value: str, *, patience: float = CHOICE_S) -> None:
        """Wait until the client was told that the option has the value: some engines only say so afterwards."""
        await self.settled()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                while not self.encoder.choices.has(name, value) and not self._pump.done():
                    waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                    self._waiters.append((self._written + 1, waiting))
                    await waiting
        self.encoder.choices.chosen(name, value)

    async def greet(self) -> None:
        """After the session was opened for the client: its commands, and what the agent asks right now."""
        view = self.session.view()
        frames: list[bytes] = []
        if view.commands:
            frames.append(self._notify(tell_commands(view.commands, self._profile)))
        frames += [self._ask(held.request) for held in view.requests if held.state == "open"]
        await self._client.write(frames)

    async def take(self, pending: Pending, response: jsonrpc.Envelope, who: Principal) -> None:
        """The client's response to what the agent asked, and who sent it."""
        asked = pending.asked
        outcome = self._outcome(asked, response)
        if isinstance(outcome, Asked):
            await self._client.write([self._client.ask(self.session.id, outcome)])
        elif isinstance(outcome, Unanswered):
            await self._unanswered(asked.request, outcome, who)
        else:
            await self._answer(asked.request, outcome, who)

    def read_along(self, taps: Taps, wanted: RawMessages) -> None:
        """Have the client see lines of the agent as they are, too."""
        self._along = Along(self._name, self._client, wanted)
        self._along.follow(taps, self.session.id)

    def read_responses(self, taps: Taps) -> None:
        """Have the client told what each tool answered, too."""
        self.encoder.tools.responses = responses = ToolResponses()
        self._stop_reading = taps.listen(self.session.id, responses.read)

    def pending(self, request: RequestId) -> Pending | None:
        """An open request of the session as the client is asked about it."""
        for held in self.session.view().requests:
            if held.request.id == request and held.state == "open":
                return Pending(self.session.id, ask(self._name, held.request, self._profile, self.encoder.tools))
        return None

    async def close(self, *, replaced: bool = False) -> None:
        """Stop following the session for this client; the session continues.

        A replaced seat finishes what it is writing: this may be the answer to a prompt that the new seat does not know.
        When the connection ends, the seat stops at once, because its client may not read any more.
        """
        if replaced:
            self._client.drop_session(self.session.id)  # not later: the other seat asks under the same session
        if self._along is not None:
            await self._along.close()
        if self._stop_reading is not None:
            self._stop_reading()
        self._subscription.close()
        try:
            if replaced:
                await asyncio.wait((self._pump,))
        finally:
            self._pump.cancel()
            await asyncio.wait((self._pump,))
            if not replaced:
                self._client.drop_session(self.session.id)
            self._wake_waiters(upto=None)

    # ------------------------------------------------------------------------------------------ answers

    def _outcome(self, asked: Asked, response: jsonrpc.Envelope) -> Answer | Asked | Unanswered:
        if response.error is not None or response.result is None:
            if response.error is not None and response.error.code == METHOD_NOT_FOUND and asked.method != PERMISSION:
                plainer = msgspec.structs.replace(self._profile, forms=False, questions=False)
                return ask(self._name, asked.request, plainer, self.encoder.tools)
            words = response.error.message if response.error is not None else "no result"
            return Unanswered(f"{NOT_SHOWN} ({words})", failed=True)
        try:
            return take(self._name, asked, response.result, self.encoder.tools)
        except msgspec.ValidationError as problem:
            return Unanswered(f"{NOT_SHOWN} ({problem})", failed=True)

    async def _answer(self, request: Request, answer: Answer, who: Principal) -> None:
        if request.kind == "question" and isinstance(answer, Deny):
            answer = Decline(message=answer.message)
        try:
            await self.session.answer(request.id, answer, **msgspec.structs.asdict(who))
        except (AlreadyAnswered, UnknownRequest) as late:
            log.info("a late answer was dropped: %s", late)
        except FootplateError as problem:
            log.warning("the answer to %s was refused: %s", request.id, problem)
            await self._client.write([self._ask(request)])

    async def _unanswered(self, request: Request, outcome: Unanswered, who: Principal) -> None:
        """The client will not answer. Where somebody else watches the request stays open.

        Else the turn ends; or, where the client could not show the question, the agent is told just that.
        """
        if self.session.watchers > 1:
            log.info("%s stays open for the other surfaces: %s", request.id, outcome.reason)
            return
        log.info("%s: %s, and nobody else watches", request.id, outcome.reason)
        if outcome.failed:
            await self._answer(request, Deny(message=outcome.reason), who)
            return
        self._cancelled |= set(self.prompts)
        await self.session.interrupt()

    # ------------------------------------------------------------------------------------------ writing

    async def _write_on(self) -> None:
        try:
            async for delivery in self._subscription:
                await self._write([delivery, *self._subscription.ready()])
            await self._client.write(self._over(f"session {self.session.id} was closed", "closed"))
        except Exception:
            # Nothing more of the session reaches the client: a caller that waits must not wait for ever.
            await self._client.write(self._over("Internal error; see the server log", "internal"))
            raise
        finally:
            self._subscription.close()
            self._wake_waiters(upto=None)

    async def _write(self, deliveries: list[Delivery]) -> None:
        frames: list[bytes] = []
        updates: list[SessionUpdate] = []
        for delivery in deliveries:
            envelope = delivery.envelope()
            event = envelope.event
            if isinstance(event, Unknown):
                continue
            updates += self.encoder.encode(event, envelope.time)
            beside = await self._beside(event, past=delivery.seq <= self._replayed)
            if beside:
                frames += self._updates(updates)
                frames += beside
                updates = []
        frames += self._updates(updates)
        await self._client.write(frames)
        self._written = max(self._written, deliveries[-1].seq)
        self._wake_waiters(upto=self._written)

    def _updates(self, updates: list[SessionUpdate]) -> list[bytes]:
        return [self._notify(update) for update in (coalesce(updates) if self._profile.coalesce else updates)]

    def _notify(self, update: SessionUpdate) -> bytes:
        params = SessionNotification(session_id=self._name, update=update)
        return jsonrpc.encode_notification("session/update", params)

    async def _beside(self, event: Event, *, past: bool) -> list[bytes]:
        """What is no update: requests, the ends of prompts, word of the agent's process."""
        match event:
            case m.RequestOpened() if not past:
                return [self._ask(event.request)]
            case m.RequestAnswered() | m.RequestWithdrawn() | m.RequestUnanswered() | m.RequestRejected():
                return self._client.drop(event.request)
            case m.TurnStarted():
                self._turn = set(event.prompts)
                if self._turn & self._cancelled and not past:
                    await self.session.interrupt()
                return []
            case m.PromptSteered():
                self._turn.add(event.prompt)
                return []
            case m.TurnEnded():
                ended, self._turn = self._turn | set(event.prompts), set()
                return [frame for prompt in sorted(ended) for frame in self._settle(prompt, event)]
            case m.PromptWithdrawn():
                return self._settle(event.prompt, event)
            case _:
                return [] if past else self._process_news(event)

    def _process_news(self, event: Event) -> list[bytes]:
        match event:
            case m.EngineDetached() if self._manner.adapter and (event.exit_code or event.signal):
                return [exit_notice(event)]
            case m.Unparsed():
                return unparsed_notice(self._name, event, self._manner)
            case m.SessionClosed() if self._manner.extensions:
                return [ended_notice(self._name, event.reason)]
            case _:
                return []

    def _ask(self, request: Request) -> bytes:
        return self._client.ask(self.session.id, ask(self._name, request, self._profile, self.encoder.tools))

    def _settle(self, prompt: PromptId, event: m.TurnEnded | m.PromptWithdrawn) -> list[bytes]:
        """The answer to a prompt of this client; none to one of somebody else."""
        if prompt not in self.prompts:
            return []
        rpc_id = self.prompts.pop(prompt)
        cancelled = prompt in self._cancelled
        self._cancelled.discard(prompt)
        if isinstance(event, m.TurnEnded):
            answer = answer_prompt(event, cancelled=cancelled, quota=self._profile.claude_code)
        elif cancelled:
            answer = PromptResponse(stop_reason=CANCELLED)
        else:
            answer = Failure(jsonrpc.INTERNAL_ERROR, f"{WITHDRAWN}: {event.reason}", {"errorKind": "withdrawn"})
        return [answer.frame(rpc_id) if isinstance(answer, Failure) else jsonrpc.encode_response(rpc_id, answer)]

    def _over(self, reason: str, kind: str) -> list[bytes]:
        """The errors for the prompts that wait for an answer."""
        gone = Failure(jsonrpc.INTERNAL_ERROR, reason, {"errorKind": kind})
        frames = [gone.frame(rpc_id) for rpc_id in self.prompts.values()]
        self.prompts.clear()
        return frames

    def _wake_waiters(self, *, upto: int | None) -> None:
        waiting, self._waiters = self._waiters, []
        for target, future in waiting:
            if upto is None or target <= upto:
                if not future.done():
                    future.set_result(None)
            else:
                self._waiters.append((target, future))
