"""What comes from an ACP agent: lines sorted into updates, requests and responses, and the events they mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

import msgspec
from msgspec import UnsetType

from footplate.acp import jsonrpc
from footplate.acp.jsonrpc import Envelope, RpcId
from footplate.acp.reading import ToolFields, UnknownUpdate, read_update
from footplate.acp.schema.asking import CreateElicitationRequest, CreateElicitationResponse, RequestPermissionRequest
from footplate.acp.schema.tools import ToolCall
from footplate.acp.schema.updates import (
    AgentMessageChunk,
    AgentThoughtChunk,
    CompactionSummaryChunk,
    CompactionUpdate,
    Plan,
    PlanRemoved,
    PlanUpdate,
    SessionMessage,
    SessionMessageChunk,
    SessionUpdate,
    SubagentUpdate,
    ToolCallChange,
    UserMessageChunk,
)
from footplate.engines.acp.calls import Call
from footplate.engines.acp.control import (
    cancelled,
    find_option,
    is_allowed,
    is_denied,
    open_permission,
    open_question,
    reject,
    select,
)
from footplate.engines.acp.rejoining import asked_again, name_request, option_again
from footplate.engines.acp.requests import Requests
from footplate.engines.acp.session import SessionState
from footplate.engines.acp.settle import Turn
from footplate.engines.acp.translate import MisplacedError, Translator
from footplate.engines.base import Options
from footplate.engines.rpc import RpcLines
from footplate.engines.standing import Standing
from footplate.events.commands import AnswerRequest
from footplate.events.ids import EngineSessionId, RequestId
from footplate.events.model import ConfigChanged, Denial, EngineAttached, Event, ModeChanged, ModelChanged, Notice
from footplate.events.requests import Answer, Reply
from footplate.events.tools import ToolOutcome
from footplate.host.lines import Block

TURN_UPDATES: Final = (AgentMessageChunk, AgentThoughtChunk, UserMessageChunk, ToolCall, ToolCallChange, Plan)
UNPLACED: Final = (
    CompactionSummaryChunk,
    CompactionUpdate,
    PlanRemoved,
    PlanUpdate,
    SessionMessage,
    SessionMessageChunk,
    SubagentUpdate,
)
"""Updates for clients that declare a capability which we do not; an agent that sends one anyway is kept to the word."""

EPOCH_REQUESTS: Final = 1_000
"""Requests of a turn are numbered from here on, times the number of those who talked to the agent before."""

T = TypeVar("T")


class CancelRequest(msgspec.Struct, frozen=True, rename="camel"):
    """Parameters of `$/cancel_request`."""

    request_id: RpcId


class Incoming(RpcLines):
    """The agent's side of the wire, folded into events; answers that need no person go out at once."""

    def __init__(self, engine: str, options: Options) -> None:
        super().__init__()
        self.session = EngineSessionId("")
        self.attached = False
        self.state = SessionState(cost_before=0.0 if options.resume is None else options.reported_cost_usd)
        self.translator = Translator()
        self.turn: Turn | None = None
        self._engine = engine
        self._options = options
        self._requests = Requests()
        self._held: list[Event] | None = []

    def attach(self, attached: EngineAttached) -> None:
        """The session can be used; what the agent told of it before comes after that."""
        self.session = attached.engine_session_id
        self.attached = True
        self.events.append(attached)
        self.release()

    def hold(self) -> None:
        """Hold back what the agent tells of the session."""
        self._held = []

    def release(self) -> None:
        """Tell what was held back: of the options as they are now, not how they came to that."""
        held, self._held = self._held or (), None
        if self.state.options:
            self.events.append(self.state.config())
        self.events += [event for event in held if not isinstance(event, ConfigChanged | ModeChanged | ModelChanged)]

    def tell(self, events: Iterable[Event]) -> None:
        """What is told of the session."""
        (self.events if self._held is None else self._held).extend(events)

    def take_over(self, standing: Standing, *, epoch: int) -> None:
        """Go on where another stopped. Answers that may not have been written are written again: by its id a request

        is answered once, however often the agent hears it.
        """
        self.state.mode, self.state.model = standing.mode, standing.model
        self.state.restore(tuple(map(option_again, standing.options)))
        if standing.turn is None:
            return
        self.turn = Turn(standing.turn, standing.prompts, requests=epoch * EPOCH_REQUESTS)
        self.translator.take_over(standing.turn, standing)
        for held in standing.requests:
            asked = asked_again(held)
            self._requests.take_over(asked)
            call = self.translator.calls.get(asked.call) if asked.call else None
            if call is not None:
                call.questions = asked.request.questions
            if held.answer is not None:
                self.answer(AnswerRequest(key="", request=asked.request.id, answer=held.answer))

    # -------------------------------------------------------------------------------------------- turns

    def begin_turn(self, turn: Turn) -> None:
        """A prompt goes out."""
        self.turn = turn
        self.translator.begin(turn.id)

    def end_turn(self, outcome: ToolOutcome, note: str) -> None:
        """The prompt was answered: what the turn has open is closed."""
        text = self.translator.close_text()
        self.events += text + self._requests.end_turn("the turn ended") + self.translator.end(outcome, note)

    def lose_turn(self, reason: str) -> None:
        """The agent died: what the turn has open is lost."""
        text = self.translator.close_text()
        self.events += text + self._requests.lose(reason) + self.translator.end("lost", reason)

    def cancel(self) -> None:
        """The turn is to stop: nobody answers its requests any more."""
        if self.turn is not None:
            self.turn.interrupted = True
        events, frames = self._requests.cancel("interrupted")
        self.events += events
        self.frames += frames

    def check_answer(self, request: RequestId, answer: Answer) -> None:
        """Raise `RequestError` for an answer that `answer` would not take."""
        self._requests.respond(self._engine, request, answer)

    def answer(self, command: AnswerRequest) -> None:
        """Hand a person's answer to the agent; that it was applied shows in what the agent does next."""
        asked, response, goes_on = self._requests.answer(self._engine, command.request, command.answer)
        call = self.translator.calls.get(asked.call) if asked.call else None
        if call is not None and not goes_on and asked.form is None:
            self._deny(call)
        if call is not None and isinstance(command.answer, Reply):
            said = command.answer.answers.items()
            call.answers = {text: ", ".join(words) if isinstance(words, list) else words for text, words in said}
        self.frames.append(jsonrpc.encode_response(asked.id, response))

    def _deny(self, call: Call) -> None:
        call.denied = True
        if self.turn is not None:
            self.turn.denials.append(Denial(tool=call.name, call=call.id, input=call.input))

    # -------------------------------------------------------------------------------------------- lines

    def feed(self, block: Block) -> Iterator[Envelope]:
        """Take every line; gives out the responses, in order, for whoever asked."""
        for frame in self.read(block):
            if frame.kind == "response":
                yield frame
            elif frame.kind == "notification":
                self._notification(frame)
            else:
                self._request(frame)

    def _notification(self, envelope: Envelope) -> None:
        params = envelope.params if envelope.params is not None else b"null"
        try:
            if envelope.method == "session/update":
                self._updated(params)
            elif envelope.method == "$/cancel_request":
                rpc_id = msgspec.json.decode(params, type=CancelRequest).request_id
                self.events += self._requests.withdraw(rpc_id, "the agent does not ask any more")
            else:
                self.keep(f"an unknown notification: {envelope.method}")
        except (msgspec.ValidationError, RecursionError) as problem:
            self.keep(f"not as ACP says: {problem}")

    def _updated(self, params: msgspec.Raw | bytes) -> None:
        told = read_update(params)
        if self.session and told.session_id != self.session:
            self.keep("an update of another session")
        elif isinstance(told, UnknownUpdate):
            self.keep(f"an unknown update: {told.kind}")
        else:
            self._update(told.update)

    def _update(self, update: SessionUpdate) -> None:
        if isinstance(update, UNPLACED):
            self.keep(f"an update without a place here: {type(update).__name__}")
        elif not isinstance(update, TURN_UPDATES):
            self.tell(self.state.feed(update))
        elif self.session:
            interrupted = self.turn is not None and self.turn.interrupted
            if isinstance(update, AgentMessageChunk | AgentThoughtChunk):
                self.state.meter.count(update.meta)
            self.tell(self._requests.applied_by(update))
            try:
                self.tell(self.translator.feed(update, interrupted=interrupted))
            except MisplacedError as problem:
                self.keep(str(problem))

    # ----------------------------------------------------------------------------------------- requests

    def _request(self, envelope: Envelope) -> None:
        rpc_id = None if isinstance(envelope.id, UnsetType) else envelope.id
        params = envelope.params if envelope.params is not None else b"null"
        try:
            if envelope.method == "session/request_permission":
                self._permission(rpc_id, msgspec.json.decode(params, type=RequestPermissionRequest))
            elif envelope.method == "elicitation/create":
                self._question(rpc_id, msgspec.json.decode(params, type=CreateElicitationRequest))
            else:
                self.frames.append(
                    jsonrpc.encode_error(rpc_id, jsonrpc.METHOD_NOT_FOUND, f"Method not found: {envelope.method}")
                )
                self.keep(f"the agent asked for what we do not offer: {envelope.method}")
        except (msgspec.ValidationError, RecursionError) as problem:
            self.frames.append(jsonrpc.encode_error(rpc_id, jsonrpc.INVALID_PARAMS, f"Invalid params: {problem}"))
            self.keep(f"not as ACP says: {problem}")

    def _permission(self, rpc_id: RpcId, params: RequestPermissionRequest) -> None:
        turn = self.turn
        if turn is None or turn.interrupted:
            self.frames.append(jsonrpc.encode_response(rpc_id, cancelled()))
            return
        call = self._sight(params.tool_call)
        if is_denied(self._options, call) or not (self._options.asks or is_allowed(self._options, call)):
            self._deny(call)
            self.frames.append(jsonrpc.encode_response(rpc_id, reject(params.options)))
        elif self._options.asks:
            asked = open_permission(rpc_id, self._name(turn, rpc_id), params, call)
            self.events.append(self._requests.open(asked, call.parent))
        else:
            self._allow(rpc_id, params, call)

    def _allow(self, rpc_id: RpcId, params: RequestPermissionRequest, call: Call) -> None:
        """The settings allow the tool and nobody can be asked: once, and never for longer."""
        option = find_option(params.options, ("allow_once",))
        if option is None:
            self._deny(call)
        response = reject(params.options) if option is None else select(option)
        self.frames.append(jsonrpc.encode_response(rpc_id, response))

    def _sight(self, fields: ToolFields) -> Call:
        """The call that is asked about; the request may be the first that we hear of it."""
        if fields.kind == "execute":
            fields = msgspec.structs.replace(fields, content=None)  # words about the command: it has no output yet
        known = self.translator.calls.get(fields.tool_call_id)
        if known is None:
            call, events = self.translator.begin_call(fields)
        else:
            call, events = known, self.translator.close_text() + self.translator.update_call(known, fields)
        self.events += events
        return call

    def _question(self, rpc_id: RpcId, params: CreateElicitationRequest) -> None:
        turn = self.turn
        if turn is None or turn.interrupted:
            self.frames.append(jsonrpc.encode_response(rpc_id, CreateElicitationResponse(action="cancel")))
            return
        call = self.translator.calls.get(params.tool_call_id) if params.tool_call_id else None
        asked = open_question(rpc_id, self._name(turn, rpc_id), params, call)
        if call is not None:
            call.questions = asked.request.questions
        if self._options.asks and params.mode == "form" and params.requested_schema is not None:
            self.events += self.translator.close_text()
            self.events.append(self._requests.open(asked, call.parent if call else None))
        else:
            self.frames.append(jsonrpc.encode_response(rpc_id, CreateElicitationResponse(action="decline")))
            why = "nobody can be asked" if params.mode == "form" else f"it is of the kind {params.mode!r}"
            text = f"a question was declined, because {why}: {params.message}"
            self.events.append(Notice(level="warning", text=text, code="question_declined"))

    def _name(self, turn: Turn, rpc_id: RpcId) -> RequestId:
        turn.requests += 1
        return name_request(turn.id, turn.requests, rpc_id)
