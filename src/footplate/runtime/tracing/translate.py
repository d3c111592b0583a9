"""Stored events in, finished spans out: a turn, in it calls and requests, those of a sub-agent under its call.

Pure: no clock, no I/O; times are those of the events. Names follow the semantic conventions for generative AI where
those have one, else they begin with `footplate.`. A turn that was under way when this process began is begun anew: its
span starts with the first event that is seen of it and says `footplate.taken_over`. Ids are made from the names of
session, turn, call and request, so what the process before has exported hangs under it. What is asked or ends outside
a turn, and has not begun in it, is left out.
"""

from __future__ import annotations

import msgspec

from footplate.events import model as m
from footplate.events.content import ContentBlock, text_of
from footplate.events.ids import RequestId, SessionId, ToolCallId, TurnId
from footplate.events.usage import Usage
from footplate.runtime.tracing.span import Attributes, OpenSpan, Span, span_id, trace_id

TEXT_LIMIT = 8_000
"""How many characters of any text are exported."""
TAKEN_OVER = "footplate.taken_over"
ENDS = {
    m.RequestApplied: "applied",
    m.RequestRejected: "rejected",
    m.RequestWithdrawn: "withdrawn",
    m.RequestUnanswered: "unanswered",
}
Written = str | msgspec.Raw | tuple[ContentBlock, ...] | None
RequestEnd = m.RequestApplied | m.RequestRejected | m.RequestWithdrawn | m.RequestUnanswered


class _Turn(msgspec.Struct, kw_only=True):
    """A turn that runs, with the calls and requests that are open in it. `known` are all calls it has had."""

    span: OpenSpan
    taken_over: bool
    calls: dict[ToolCallId, OpenSpan] = {}
    known: set[ToolCallId] = set()
    requests: dict[RequestId, OpenSpan] = {}
    heard: list[str] = []
    model: str = ""

    def call_id(self, call: ToolCallId) -> int:
        return span_id(self.span.trace, "call", call)

    def above(self, *calls: ToolCallId | None) -> int:
        """The first of these calls that is of this turn, else the turn."""
        for call in calls:
            if call is not None and (call in self.known or self.taken_over):
                return self.call_id(call)
        return self.span.id


class _Session(msgspec.Struct, kw_only=True):
    """What is known of a session beside its turn."""

    engine: str = ""
    model: str = ""
    turn: _Turn | None = None


class SpanTranslator:
    """The spans of all sessions of one process. `include_text` lets through what people and agents wrote."""

    def __init__(self, *, include_text: bool = False) -> None:
        self._include_text = include_text
        self._sessions: dict[SessionId, _Session] = {}

    def feed(self, envelope: m.Envelope) -> tuple[Span, ...]:
        """The spans that end with this event."""
        event = envelope.event
        session = self._sessions.pop(envelope.session, None) or _Session()
        match event:
            case m.SessionOpened() | m.EngineAttached():
                session.engine = event.engine
                session.model = event.model or session.model
            case m.ModelChanged():
                session.model = event.model
            case m.SessionClosed():
                return ()
            case m.EngineDetached() if session.turn is None:
                return ()  # the next process of it says again what it is
        turn = _find_turn(session, envelope)
        if session.engine or session.model or turn is not None:
            self._sessions[envelope.session] = session
        if turn is None:
            return ()
        if isinstance(event, m.TurnEnded):
            session.turn = None
            return self._end_turn(session, turn, event, envelope.time)
        return self._within(turn, event, envelope.time)

    def _within(self, turn: _Turn, event: m.Event, at: float) -> tuple[Span, ...]:
        """What happens inside a turn."""
        match event:
            case m.UserMessage(parent=None, synthetic=False):
                if self._include_text:
                    turn.heard.append(_words(event.content))
            case m.Message(parent=None, synthetic=False):
                turn.model = event.model or turn.model
            case m.ToolStarted():
                self._start_call(turn, event, at)
            case m.ToolUpdated() if event.call in turn.calls:
                self._tell(turn.calls[event.call].attributes, "gen_ai.tool.call.arguments", event.input)
            case m.ToolEnded():
                return self._end_call(turn, event, at)
            case m.RequestOpened():
                self._open_request(turn, event, at)
            case m.RequestAnswered():
                _answer_request(turn, event, at)
            case m.RequestApplied() | m.RequestRejected() | m.RequestWithdrawn() | m.RequestUnanswered():
                return _end_request(turn, event, at)
            case _:
                self._note(turn, event, at)
        return ()

    # ------------------------------------------------------------------------------------------------ turn

    def _end_turn(self, session: _Session, turn: _Turn, event: m.TurnEnded, at: float) -> tuple[Span, ...]:
        left = [span.end(at, error="lost") for span in (*turn.calls.values(), *turn.requests.values())]
        engine = session.engine or (event.resume.engine if event.resume is not None else "")
        span = turn.span
        span.name = f"invoke_agent {engine}".rstrip()
        span.attributes |= _without_empty({
            "gen_ai.agent.name": engine,
            "gen_ai.request.model": session.model,
            "gen_ai.response.model": turn.model or _only_model(event.usage),
            "gen_ai.response.finish_reasons": (event.stop_reason,),
            "footplate.turn.origin": event.origin,
            "error.type": "" if event.ok else event.error_kind or event.stop_reason,
        })  # fmt: skip
        span.attributes |= _usage_attributes(event.usage)
        if self._include_text:
            span.attributes["gen_ai.input.messages"] = _as_messages("user", turn.heard)
            span.attributes["gen_ai.output.messages"] = _as_messages("assistant", [_words(event.answer)])
        failed = None if event.ok else (_words(event.error) if self._include_text else "") or event.stop_reason
        return (*left, span.end(at, error=failed))

    # ----------------------------------------------------------------------------------------------- calls

    def _start_call(self, turn: _Turn, event: m.ToolStarted, at: float) -> None:
        if event.call in turn.calls:
            return
        span = OpenSpan(
            name=f"execute_tool {event.name}",
            trace=turn.span.trace,
            id=turn.call_id(event.call),
            parent=turn.above(event.parent if event.parent != event.call else None),
            start=at,
            attributes={
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": event.name,
                "gen_ai.tool.call.id": event.call,
                "footplate.tool.kind": event.kind,
            },
        )
        turn.calls[event.call] = span
        turn.known.add(event.call)
        self._tell(span.attributes, "footplate.tool.title", event.title)
        self._tell(span.attributes, "gen_ai.tool.call.arguments", event.input)

    def _end_call(self, turn: _Turn, event: m.ToolEnded, at: float) -> tuple[Span, ...]:
        span = turn.calls.pop(event.call, None)
        if span is None:
            if not turn.taken_over or event.call in turn.known:
                return ()
            turn.known.add(event.call)
            attributes: Attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.id": event.call}
            span = _begin_anew(turn, "execute_tool", turn.call_id(event.call), attributes)
        span.attributes |= {"footplate.tool.ok": event.ok, "footplate.tool.outcome": event.outcome}
        if not event.ok:
            span.attributes["error.type"] = event.outcome
        self._tell(span.attributes, "gen_ai.tool.call.result", event.content)
        return (span.end(at, error=None if event.ok else event.outcome),)

    # -------------------------------------------------------------------------------------------- requests

    def _open_request(self, turn: _Turn, event: m.RequestOpened, at: float) -> None:
        request = event.request
        again = turn.requests.get(request.id)
        if again is not None:
            again.note("footplate.asked_again", at, {})
            return
        span = OpenSpan(
            name=f"{request.kind} request",
            trace=turn.span.trace,
            id=span_id(turn.span.trace, "request", request.id),
            parent=turn.above(request.call, event.parent),
            start=at,
            attributes=_without_empty({
                "footplate.request.id": request.id,
                "footplate.request.kind": request.kind,
                "footplate.request.limit": request.limit,
                "gen_ai.tool.name": request.tool,
            }),
        )  # fmt: skip
        self._tell(span.attributes, "footplate.request.title", request.title)
        turn.requests[request.id] = span

    # ------------------------------------------------------------------------------------------------ else

    def _note(self, turn: _Turn, event: m.Event, at: float) -> None:
        """Retries, limits and the like, as events of the span that they fall into."""
        match event:
            case m.LimitReached():
                told: Attributes = {"footplate.limit.kind": event.kind, "footplate.limit.status": event.status}
                if event.utilization is not None:
                    told["footplate.limit.utilization"] = event.utilization
                turn.span.note("footplate.limit", at, told)
            case m.Notice(level="warning" | "error"):
                told = _without_empty({"footplate.notice.level": event.level, "footplate.notice.code": event.code})
                self._tell(told, "footplate.notice.text", event.text)
                span = turn.calls.get(event.call, turn.span) if event.call is not None else turn.span
                span.note("footplate.notice", at, told)
            case m.ModelChanged(fallback_from=before) if before:
                told = {"gen_ai.request.model": event.model, "footplate.fallback_from": before}
                turn.span.note("footplate.fallback", at, told)
            case m.CompactionEnded():
                turn.span.note("footplate.compaction", at, {"footplate.compaction.ok": event.ok})
            case _:
                pass

    def _tell(self, attributes: Attributes, name: str, written: Written) -> None:
        """What people or agents wrote: only where the operator wants that."""
        if self._include_text and (text := _words(written)):
            attributes[name] = text


def _find_turn(session: _Session, envelope: m.Envelope) -> _Turn | None:
    """The turn that the event is of; begun with it, or begun anew where its beginning was not seen."""
    if isinstance(envelope.event, m.TurnStarted):
        session.turn = _begin_turn(envelope, envelope.event.turn, taken_over=False)
    elif session.turn is None:
        turn = envelope.event.turn if isinstance(envelope.event, m.TurnEnded) else envelope.turn
        if turn is not None:
            session.turn = _begin_turn(envelope, turn, taken_over=True)
    return session.turn


def _begin_turn(envelope: m.Envelope, turn: TurnId, *, taken_over: bool) -> _Turn:
    trace = trace_id(envelope.session, turn)
    attributes: Attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.conversation.id": envelope.session,
        "footplate.turn.id": turn,
    }
    if taken_over:
        attributes[TAKEN_OVER] = True
    span = OpenSpan(
        name="invoke_agent",
        trace=trace,
        id=span_id(trace, "turn", turn),
        parent=None,
        start=envelope.time,
        attributes=attributes,
    )
    return _Turn(span=span, taken_over=taken_over)


def _begin_anew(turn: _Turn, name: str, own: int, attributes: Attributes) -> OpenSpan:
    """Something of which only the end was seen: it has the beginning and the place of its turn."""
    return OpenSpan(
        name=name,
        trace=turn.span.trace,
        id=own,
        parent=turn.span.id,
        start=turn.span.start,
        attributes={**attributes, TAKEN_OVER: True},
    )


def _find_request(turn: _Turn, request: RequestId) -> OpenSpan | None:
    """The span of a request that is open; begun anew where its beginning may not have been seen."""
    span = turn.requests.get(request)
    if span is None and turn.taken_over:
        own = span_id(turn.span.trace, "request", request)
        span = turn.requests[request] = _begin_anew(turn, "request", own, {"footplate.request.id": request})
    return span


def _answer_request(turn: _Turn, event: m.RequestAnswered, at: float) -> None:
    span = _find_request(turn, event.request)
    if span is None:
        return
    span.attributes |= _without_empty({
        "footplate.request.answer": type(event.answer).__name__.lower(),
        "footplate.request.surface": event.surface,
    })  # fmt: skip
    if TAKEN_OVER not in span.attributes:
        span.attributes["footplate.request.waited_s"] = max(0.0, at - span.start)


def _end_request(turn: _Turn, event: RequestEnd, at: float) -> tuple[Span, ...]:
    span = _find_request(turn, event.request)
    if span is None:
        return ()
    del turn.requests[event.request]
    outcome = ENDS[type(event)]
    span.attributes["footplate.request.outcome"] = outcome
    return (span.end(at, error="rejected" if outcome == "rejected" else None),)


def _usage_attributes(usage: Usage | None) -> Attributes:
    """Tokens and money. The conventions count cached tokens as input; `Usage` counts them apart."""
    if usage is None:
        return {}
    found: Attributes = {
        "gen_ai.usage.input_tokens": usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
    }
    if usage.cost_usd is not None:
        found["footplate.usage.cost_usd"] = usage.cost_usd
    return found


def _only_model(usage: Usage | None) -> str:
    return usage.models[0].model if usage is not None and len(usage.models) == 1 else ""


def _words(written: Written) -> str:
    """As text that is not too long, and that UTF-8 has a form of."""
    if isinstance(written, msgspec.Raw):
        return bytes(written).decode("utf-8", "replace")[:TEXT_LIMIT]
    text = written if isinstance(written, str) else text_of(written or ())
    return text[:TEXT_LIMIT].encode("utf-8", "replace").decode()


def _as_messages(role: str, texts: list[str]) -> str:
    """Texts as the conventions write messages."""
    found = [{"role": role, "parts": [{"type": "text", "content": text}]} for text in texts if text]
    return msgspec.json.encode(found).decode()


def _without_empty(attributes: Attributes) -> Attributes:
    return {name: value for name, value in attributes.items() if value != ""}
