"""One connection of clients to an agent: ids kept apart, answers matched, everything that is sent on a tape.

Several clients may share a connection and use the same JSON-RPC id: the agent sees ids of ours. A response stands on
the tape behind all that was sent before it, and is given to its caller after those who read along have been given that.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final, Protocol

import msgspec
from msgspec import UnsetType

from footplate.acp import jsonrpc
from footplate.acp.failures import Failure, failure_of
from footplate.acp.jsonrpc import Envelope, RpcId
from footplate.errors import AnswerLate, FootplateError
from footplate.runtime.acp.room import session_of
from footplate.runtime.acp.tape import Message, Tape
from footplate.runtime.audit import Principal
from footplate.tasks import complete

CANCEL: Final = "$/cancel_request"
INTERNAL: Final = Failure(jsonrpc.INTERNAL_ERROR, "Internal error; see the server log", {"kind": "internal"})


class Backend(Protocol):
    """The agent's side: `AcpAgent` or `Relay`."""

    async def receive(self, message: bytes, who: Principal) -> None:
        """Take one message of a client, and who sent it."""
        ...

    async def close(self) -> None:
        """The connection is over."""
        ...


class Answer(msgspec.Struct, frozen=True):
    """A response as its caller gets it, and its number on the tape."""

    body: bytes
    number: int
    failed: bool


class Waiting(msgspec.Struct, eq=False):
    """A request of a client that has no answer yet."""

    rpc_id: RpcId
    method: str
    stream: str
    answer: asyncio.Future[Answer]
    quiet: bool = False
    """Whether the answer stays off the tape: another client waits for one under the same id."""


class _Settled(msgspec.Struct, frozen=True):
    """A response that is about to be written, and its place among the messages that are written with it."""

    waiting: Waiting
    body: bytes
    place: int
    failed: bool


class _Cancelled(msgspec.Struct, rename="camel"):
    request_id: RpcId = None


class Connection:
    """The clients' end of one agent."""

    def __init__(self, name: str, agent: str, tape: Tape, *, created_at: float) -> None:
        self.name = name
        self.agent = agent
        self.tape = tape
        self.created_at = created_at
        self.backend: Backend | None = None
        self._waiting: dict[RpcId, Waiting] = {}
        self._asked: set[RpcId] = set()
        self._numbers = 0
        self.broken = False
        """Whether its messages could not be stored: it is over, and the next message of a client opens it again."""
        self.opened_at = time.monotonic()
        self._active_at = asyncio.get_running_loop().time()

    # --------------------------------------------------------------------------------------------- clients

    async def call(
        self, envelope: Envelope, who: Principal, *, stream: str | None = None, quiet: bool = False
    ) -> Waiting:
        """Hand a request to the agent. `stream` is where its answer stands; `quiet` keeps it off the tape."""
        self._numbers += 1
        rpc_id = jsonrpc.id_of(envelope)
        for other in self._waiting.values():
            if _same(other.rpc_id, rpc_id):
                other.quiet = quiet = True  # whoever reads the tape could not tell them apart
        waiting = Waiting(
            rpc_id=rpc_id,
            method=envelope.method or "",
            stream=session_of(envelope) if stream is None else stream,
            answer=asyncio.get_running_loop().create_future(),
            quiet=quiet,
        )
        self._waiting[self._numbers] = waiting
        self._active_at = asyncio.get_running_loop().time()
        try:
            await self._hand_on(_request(self._numbers, envelope), who)
        except FootplateError as problem:
            await self._settle(self._numbers, failure_of(problem))
        return waiting

    async def tell(self, envelope: Envelope, raw: bytes, who: Principal) -> None:
        """Hand on a notification, or an answer to what the agent asked. Raises what the agent's side raises."""
        self._active_at = asyncio.get_running_loop().time()
        if envelope.method is None:
            self._asked.discard(jsonrpc.id_of(envelope))
        elif envelope.method == CANCEL:
            raw = self._renamed(envelope) or raw
        await self._hand_on(raw, who)

    async def answer(self, waiting: Waiting, *, idle_s: float, unless: asyncio.Future[None]) -> Answer | None:
        """Wait for the answer, however long, as long as there are signs of life. Raises `AnswerLate`.

        While the agent waits for a person it is not silent: nothing is late then. None when `unless` is done first.
        """
        loop = asyncio.get_running_loop()
        while not waiting.answer.done():
            if unless.done():
                return None
            quiet = loop.time() - self._active_at
            if not self._asked and quiet >= idle_s:
                raise AnswerLate(self.agent, waiting.method, idle_s)
            timeout = idle_s if self._asked else idle_s - quiet
            await asyncio.wait((waiting.answer, unless), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        answer = waiting.answer.result()
        await self.tape.delivered(answer.number)
        return answer

    def waits_for(self, rpc_id: RpcId) -> bool:
        """Whether a request of that id has no answer yet."""
        return any(_same(each.rpc_id, rpc_id) for each in self._waiting.values())

    def idle_since(self, moment: float) -> bool:
        """Whether nobody reads or waits, and nothing was said, since that moment of the loop's clock."""
        return not self.tape.read_along and not self._waiting and self._active_at < moment

    async def close(self) -> None:
        """End the agent's side; readers get what there is, callers an error."""
        backend, self.backend = self.backend, None
        if backend is not None:
            await backend.close()
        await self.lose(Failure(jsonrpc.INTERNAL_ERROR, f"the connection {self.name} was closed", {"kind": "closed"}))
        self.tape.close()

    # ----------------------------------------------------------------------------------------------- agent

    async def send(self, frames: Sequence[bytes]) -> None:
        """Take messages of the agent, in order. They are stored also when the caller is cancelled meanwhile.

        A caller that the end of the connection cancels may be about to store a response: left in the middle, the
        request would have none, and to answer it a second time could give it two.
        """
        messages: list[Message] = []
        settled: list[_Settled] = []
        for frame in frames:
            envelope = _peek(frame)
            waiting = self._answered(envelope)
            if waiting is None:
                self._note(envelope)
                messages.append(Message(frame.strip(), session_of(envelope)))
                continue
            body = _response(waiting.rpc_id, envelope)
            if not waiting.quiet:
                messages.append(Message(body, waiting.stream))
            settled.append(_Settled(waiting, body, len(messages), envelope.error is not None))
        self._active_at = asyncio.get_running_loop().time()
        await complete(self._store(messages, settled), name=f"acp connection {self.name}: store")

    async def _store(self, messages: Sequence[Message], settled: Sequence[_Settled]) -> None:
        """Write the messages to the tape; then those who wait for responses among them have these."""
        last = self.tape.last
        try:
            last = await self.tape.write(messages)
        except Exception as problem:
            self._break(failure_of(problem) if isinstance(problem, FootplateError) else INTERNAL)
            raise
        finally:
            for each in settled:
                if not each.waiting.answer.done():
                    number = last - len(messages) + each.place
                    each.waiting.answer.set_result(Answer(each.body, number, each.failed))

    def _break(self, failure: Failure) -> None:
        """Messages are lost to the readers: end their streams and answer every caller, rather than go on with a gap."""
        self.broken = True
        self.tape.close()
        for waiting in self._waiting.values():
            if not waiting.answer.done():
                waiting.answer.set_result(Answer(failure.frame(waiting.rpc_id).strip(), self.tape.last, failed=True))
        self._waiting.clear()

    async def lose(self, failure: Failure) -> None:
        """The agent is gone: every request that waits is answered so."""
        self._asked.clear()
        for name in tuple(self._waiting):
            if name in self._waiting:  # not answered while another one was settled
                await self._settle(name, failure)

    async def _settle(self, name: RpcId, failure: Failure) -> None:
        await self.send([failure.frame(name)])

    async def _hand_on(self, message: bytes, who: Principal) -> None:
        if self.backend is None:
            await self.lose(Failure(jsonrpc.INTERNAL_ERROR, f"the connection {self.name} was closed"))
            return
        await self.backend.receive(message, who)

    def _answered(self, envelope: Envelope) -> Waiting | None:
        if envelope.kind != "response" or isinstance(envelope.id, UnsetType):
            return None
        return self._waiting.pop(envelope.id, None)

    def _note(self, envelope: Envelope) -> None:
        """Which requests of the agent wait for a client."""
        if envelope.kind == "request" and not isinstance(envelope.id, UnsetType):
            self._asked.add(envelope.id)
        elif envelope.method == CANCEL and envelope.params is not None:
            self._asked.discard(_read_cancelled(envelope.params))

    def _renamed(self, envelope: Envelope) -> bytes | None:
        """A client's word on one of its requests, under the id by which the agent knows it."""
        meant = _read_cancelled(envelope.params) if envelope.params is not None else None
        for name, waiting in self._waiting.items():
            if _same(waiting.rpc_id, meant):
                return jsonrpc.encode_notification(CANCEL, {"requestId": name})
        return None


def _peek(frame: bytes) -> Envelope:
    """What a message of the agent is; one that is not JSON-RPC passes as it is."""
    try:
        return jsonrpc.envelope_decoder.decode(frame)
    except (msgspec.ValidationError, RecursionError):
        return Envelope()


def _request(name: int, envelope: Envelope) -> bytes:
    params = msgspec.UNSET if envelope.params is None else envelope.params
    return jsonrpc.encode_request(name, envelope.method or "", params)


def _response(rpc_id: RpcId, envelope: Envelope) -> bytes:
    if envelope.error is not None:
        error = envelope.error
        data = msgspec.UNSET if error.data is None else error.data
        return jsonrpc.encode_error(rpc_id, error.code, error.message, data).rstrip(b"\n")
    return jsonrpc.encode_response(rpc_id, envelope.result).rstrip(b"\n")


def _same(one: RpcId, other: RpcId) -> bool:
    """Whether a client takes them for one id: 1 and 1.0 are, 1 and "1" are not."""
    return isinstance(one, str) == isinstance(other, str) and one == other


def _read_cancelled(params: msgspec.Raw) -> RpcId:
    try:
        return msgspec.json.decode(params, type=_Cancelled).request_id
    except msgspec.ValidationError:
        return None
