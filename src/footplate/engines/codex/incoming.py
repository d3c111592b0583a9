"""What comes from `codex app-server`: notifications, requests and responses, and the events they mean. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from footplate.acp import jsonrpc
from footplate.acp.jsonrpc import Envelope, RpcId
from footplate.acp.schema.asking import CreateElicitationRequest
from footplate.engines.base import Options
from footplate.engines.codex.control import (
    NAME,
    TOOLS,
    Open,
    answer_request,
    is_allowed,
    is_denied,
    leave,
    open_form,
    open_request,
    open_tool,
    refusal,
)
from footplate.engines.codex.translate import Call, MisplacedError, Translator
from footplate.engines.codex.turns import Turn, add_counts, word_error
from footplate.engines.codex.wire import (
    ELICITATION,
    WANTS,
    Asked,
    Told,
    Wants,
    asked_decoder,
    elicitation_decoder,
    item_decoder,
    told_decoder,
)
from footplate.engines.rpc import RpcLines
from footplate.errors import InvalidValue
from footplate.events.commands import AnswerRequest
from footplate.events.ids import EngineSessionId, RequestId, ToolCallId
from footplate.events.model import (
    Denial,
    ModelChanged,
    Notice,
    RequestApplied,
    RequestOpened,
    RequestWithdrawn,
    TitleChanged,
    UsageReported,
)
from footplate.events.requests import Answer, Deny
from footplate.events.tools import ToolOutcome
from footplate.host.lines import Block

IGNORED: Final = frozenset(
    {
        "account/rateLimits/updated",
        "account/updated",
        "app/list/updated",
        "deprecationNotice",
        "hook/started",
        "hook/completed",
        "item/commandExecution/terminalInteraction",
        "item/fileChange/outputDelta",
        "item/reasoning/summaryPartAdded",
        "item/reasoning/textDelta",
        "mcpServer/startupStatus/updated",
        "remoteControl/status/changed",
        "skills/changed",
        "thread/closed",
        "thread/compacted",
        "thread/environment/connected",
        "thread/environment/disconnected",
        "thread/goal/cleared",
        "thread/goal/updated",
        "thread/queue/changed",
        "thread/readState/changed",
        "thread/settings/updated",
        "thread/started",
        "thread/status/changed",
        "turn/diff/updated",
    }
)
"""What says nothing that another message does not say: states, echoes of our own settings, the sum of all diffs."""


class Incoming(RpcLines):
    """The agent's side of the wire, folded into events; answers that need no person go out at once."""

    def __init__(self, options: Options) -> None:
        super().__init__()
        self.thread = EngineSessionId("")
        self.translator = Translator()
        self.turn: Turn | None = None
        self.ended: Told | None = None
        """The end of the turn, once it was told."""
        self._options = options
        self._requests: dict[RequestId, Open] = {}

    def attach(self, thread: EngineSessionId) -> None:
        """This is the thread that we drive."""
        self.thread = self.translator.own = thread

    # --------------------------------------------------------------------------------------------- lines

    def feed(self, block: Block) -> Iterator[Envelope]:
        """Take every line; gives out the responses, and the end of a turn as a notification, in order."""
        for frame in self.read(block):
            if frame.kind == "request":
                self._request(frame)
                continue
            if frame.kind == "notification":
                self._notification(frame)
            if frame.kind == "response" or self.ended is not None:
                yield frame

    def _notification(self, envelope: Envelope) -> None:
        method = envelope.method or ""
        if method in IGNORED:
            return
        try:
            told = told_decoder.decode(envelope.params if envelope.params is not None else b"{}")
            self._tell(method, told)
        except (msgspec.ValidationError, RecursionError) as problem:
            self.keep(f"not as we know it: {problem}")
        except MisplacedError as problem:
            self.keep(str(problem))

    def _tell(self, method: str, told: Told) -> None:
        foreign = told.thread_id not in ("", self.thread)
        if foreign and told.thread_id not in self.translator.threads:
            self.keep("of a thread that nobody has started here")
        elif method.startswith("item/"):
            self._item(method, told)
        elif method == "turn/plan/updated":
            self.events.append(self.translator.plan(told.plan, told.thread_id))
        elif foreign:
            return  # a turn of an agent of the agent: its calls tell the story
        elif method in ("turn/started", "turn/completed"):
            self._turn(method, told)
        else:
            self._about(method, told)

    def _turn(self, method: str, told: Told) -> None:
        if told.turn is None or self.turn is None or self.turn.wire_id not in ("", told.turn.id):
            self.keep("a turn that nobody has asked for")
        elif method == "turn/started":
            self.turn.wire_id = told.turn.id
        else:
            self.ended = told

    def _about(self, method: str, told: Told) -> None:
        match method:
            case "thread/tokenUsage/updated":
                self._count(told)
            case "error" if told.error is not None:
                words = word_error(told.error)
                if self.turn is not None and not told.will_retry:
                    self.turn.error = words
                self.events.append(Notice(level="warning" if told.will_retry else "error", text=words, code="codex"))
            case "warning" | "configWarning" | "guardianWarning":
                text = told.message or told.summary
                self.events.append(Notice(level="warning", text=text, code="codex", detail=told.details or ""))
            case "serverRequest/resolved":
                self._resolved(told.request_id)
            case "thread/name/updated":
                self.events += [TitleChanged(title=told.thread_name)] if told.thread_name else []
            case "model/rerouted":
                self.events.append(ModelChanged(model=told.to_model, fallback_from=told.from_model))
            case _:
                self.keep(f"an unknown notification: {method}")

    def _item(self, method: str, told: Told) -> None:
        if method not in ("item/started", "item/completed"):
            self.events += self.translator.delta(method, told)
            return
        if told.item is None:
            self.keep("an item without an item")
            return
        item = item_decoder.decode(told.item)
        fold = self.translator.begin_item if method == "item/started" else self.translator.end_item
        self.events += fold(item, told.thread_id)

    def _count(self, told: Told) -> None:
        """Tokens of one call of the model; figures of another turn, as a resumed thread tells them, are not ours."""
        usage = told.token_usage
        if usage is None:
            return
        if self.turn is not None and told.turn_id in ("", self.turn.wire_id):
            self.turn.counts = add_counts(self.turn.counts, usage.last)
        self.events.append(UsageReported(context_used=usage.last.total_tokens, context_size=usage.model_context_window))

    # ------------------------------------------------------------------------------------------ requests

    def _request(self, envelope: Envelope) -> None:
        rpc_id, method = jsonrpc.id_of(envelope), envelope.method or ""
        params = envelope.params if envelope.params is not None else msgspec.Raw(b"null")
        try:
            if method == ELICITATION:
                self._elicit(rpc_id, params)
            elif method in WANTS:
                self._ask(rpc_id, WANTS[method], asked_decoder.decode(params))
            else:
                self.frames.append(
                    jsonrpc.encode_error(rpc_id, jsonrpc.METHOD_NOT_FOUND, f"Method not found: {method}")
                )
                self.keep(f"the agent asked for what we do not offer: {method}")
        except (msgspec.ValidationError, RecursionError) as problem:
            self.frames.append(jsonrpc.encode_error(rpc_id, jsonrpc.INVALID_PARAMS, f"Invalid params: {problem}"))
            self.keep(f"not as we know it: {problem}")

    def _ask(self, rpc_id: RpcId, wants: Wants, asked: Asked) -> None:
        call = self.translator.find(asked.thread_id, asked.item_id)
        parent = call.parent if call is not None else self.translator.threads.get(asked.thread_id)
        if self._decide(rpc_id, wants, TOOLS[wants], call):
            self._open(open_request(rpc_id, self._name(), wants, asked, call), parent)

    def _elicit(self, rpc_id: RpcId, params: msgspec.Raw) -> None:
        """A form of an MCP server; Codex also asks by one whether a tool of a server may be called."""
        asked = elicitation_decoder.decode(params)
        if asked.meta is not None and asked.meta.codex_approval_kind == "mcp_tool_call":
            call = self.translator.find_server(asked.server_name)
            tool = call.read.name if call is not None else f"mcp__{asked.server_name}"
            if self._decide(rpc_id, "mcp", tool, call):
                parent = call.parent if call is not None else None
                self._open(open_tool(rpc_id, self._name(), asked, call, tool=tool), parent)
        elif asked.mode == "form":
            if self._decide(rpc_id, "form", TOOLS["form"], None):
                form = msgspec.json.decode(params, type=CreateElicitationRequest)
                self._open(open_form(rpc_id, self._name(), form), None)
        else:
            self.frames.append(jsonrpc.encode_response(rpc_id, refusal("form")))
            text = (
                f"a question of an MCP server was declined, because it is of the kind {asked.mode!r}: {asked.message}"
            )
            self.events.append(Notice(level="warning", text=text, code="question_declined"))

    def _decide(self, rpc_id: RpcId, wants: Wants, tool: str, call: Call | None) -> bool:
        """Whether a person is to be asked. Nothing is allowed that nobody allowed: else the settings name the tool."""
        turn = self.turn
        denied = turn is None or turn.interrupted or is_denied(self._options, wants, tool)
        if self._options.asks and not denied:
            return True
        if not denied and is_allowed(self._options, wants, tool):
            self.frames.append(jsonrpc.encode_response(rpc_id, leave(wants)))
            return False
        if call is not None:
            call.denied = True
        if turn is not None:
            given = call.read.input if call is not None else None
            turn.denials.append(Denial(tool=tool, call=call.id if call is not None else None, input=given))
        self.frames.append(jsonrpc.encode_response(rpc_id, refusal(wants)))
        return False

    def _open(self, made: Open, parent: ToolCallId | None) -> None:
        self._requests[made.request.id] = made
        self.events.append(RequestOpened(request=made.request, parent=parent))

    def _name(self) -> RequestId:
        if self.turn is None:
            return RequestId("")
        self.turn.requests += 1
        return RequestId(f"{self.turn.id}.r{self.turn.requests}")

    def check_answer(self, request: RequestId, answer: Answer) -> None:
        """Raise `RequestError` for an answer that `answer` would not take."""
        answer_request(self._open_request(request), answer)

    def _open_request(self, request: RequestId) -> Open:
        asked = self._requests.get(request)
        if asked is None or asked.answered:
            raise InvalidValue("request", request, "a request that is open; this one is answered or over")
        return asked

    def answer(self, command: AnswerRequest) -> None:
        """Hand a person's answer to the agent. Raises `RequestError` for one that cannot be."""
        asked = self._open_request(command.request)
        result, asked.denied = answer_request(asked, command.answer)
        asked.answered = True
        self.frames.append(jsonrpc.encode_response(asked.id, result))
        call = asked.request.call
        if asked.denied and asked.wants not in ("question", "form"):
            for each in self.translator.calls.values():
                each.denied = each.denied or each.id == call
            if self.turn is not None:
                self.turn.denials.append(Denial(tool=asked.request.tool, call=call, input=asked.request.input))
        if isinstance(command.answer, Deny) and command.answer.message:
            text = f"{NAME} takes no words with a denial; send them as a prompt: {command.answer.message}"
            self.events.append(Notice(level="info", text=text, code="words_not_sent"))

    def _resolved(self, rpc_id: int | str | None) -> None:
        """Codex has done with a request: by the answer, or because it does not ask any more."""
        for asked in [*self._requests.values()]:
            if asked.id == rpc_id:
                self._end(asked, "the agent does not ask any more")

    def _end(self, asked: Open, reason: str) -> None:
        del self._requests[asked.request.id]
        if asked.answered:
            self.events.append(RequestApplied(request=asked.request.id))
        else:
            self.events.append(RequestWithdrawn(request=asked.request.id, reason=reason))

    # --------------------------------------------------------------------------------------------- turns

    def begin_turn(self, turn: Turn) -> None:
        """A prompt goes out."""
        self.turn = turn
        self.translator.begin(turn.id)

    def close_turn(self, outcome: ToolOutcome, note: str) -> None:
        """The turn is over: what it has open is closed."""
        for asked in [*self._requests.values()]:
            self._end(asked, note or "the turn ended")
        self.events += self.translator.end(outcome, note)
        self.ended = None

    def lose_turn(self, reason: str) -> None:
        """The agent died: nothing can be known of an answer that it did not act on."""
        for asked in [*self._requests.values()]:
            asked.answered = False
        self.close_turn("lost", reason)

    def cancel(self) -> None:
        """The turn is to stop: nobody answers its requests any more; Codex ends them by itself."""
        if self.turn is not None:
            self.turn.interrupted = True
        for asked in [*self._requests.values()]:
            if not asked.answered:
                self._end(asked, "interrupted")
