"""The agent's requests to a person that have no end yet: opened, answered, applied, withdrawn."""

from __future__ import annotations

from footplate.acp.jsonrpc import RpcId, encode_response
from footplate.acp.reading import ToolFields
from footplate.acp.schema.asking import CreateElicitationResponse, RequestPermissionResponse
from footplate.engines.acp.control import Asked, answer_permission, answer_question, cancelled
from footplate.engines.acp.translate import TurnUpdate
from footplate.errors import InvalidValue
from footplate.events.ids import RequestId, ToolCallId
from footplate.events.model import Event, RequestApplied, RequestOpened, RequestWithdrawn
from footplate.events.requests import Answer

Response = RequestPermissionResponse | CreateElicitationResponse


class Requests:
    """All requests of one connection; each ends in exactly one way."""

    def __init__(self) -> None:
        self._asked: dict[RequestId, Asked] = {}

    def open(self, asked: Asked, parent: ToolCallId | None) -> RequestOpened:
        """A person is asked."""
        self._asked[asked.request.id] = asked
        return RequestOpened(request=asked.request, parent=parent)

    def take_over(self, asked: Asked) -> None:
        """A request that was opened in the log by who talked to the agent before."""
        self._asked[asked.request.id] = asked

    def answer(self, engine: str, request: RequestId, answer: Answer) -> tuple[Asked, Response, bool]:
        """As `respond`; the request counts as answered from here on."""
        asked, response, goes_on = self.respond(engine, request, answer)
        asked.answered = True
        return asked, response, goes_on

    def respond(self, engine: str, request: RequestId, answer: Answer) -> tuple[Asked, Response, bool]:
        """The response to write, and whether it lets the agent go on. Raises `RequestError` for what cannot be."""
        asked = self._asked.get(request)
        if asked is None or asked.answered:
            raise InvalidValue("request", request, "a request that is open; this one is answered or over")
        response: Response
        if asked.form is None:
            response, goes_on = answer_permission(engine, asked, answer)
        else:
            response, goes_on = answer_question(asked, answer)
        return asked, response, goes_on

    def applied_by(self, update: TurnUpdate) -> list[Event]:
        """Answers that the agent has acted on, as this update shows."""
        call = update.tool_call_id if isinstance(update, ToolFields) else None
        return [
            self._end(asked, RequestApplied(request=asked.request.id))
            for asked in [*self._asked.values()]
            if asked.answered and asked.call in (None, call)
        ]

    def end_turn(self, reason: str) -> list[Event]:
        """The turn is over: what was answered is applied, what was not is withdrawn."""
        applied: list[Event] = [
            self._end(asked, RequestApplied(request=asked.request.id))
            for asked in [*self._asked.values()]
            if asked.answered
        ]
        return applied + self.lose(reason)

    def lose(self, reason: str) -> list[Event]:
        """The agent is gone, or does not ask any more: nothing can be known of answers it did not act on."""
        return [
            self._end(asked, RequestWithdrawn(request=asked.request.id, reason=reason))
            for asked in [*self._asked.values()]
        ]

    def cancel(self, reason: str) -> tuple[list[Event], list[bytes]]:
        """Withdraw what is not answered, and tell the agent so, as ACP demands of whoever cancels a turn."""
        events: list[Event] = []
        frames: list[bytes] = []
        for asked in [*self._asked.values()]:
            if not asked.answered:
                events.append(self._end(asked, RequestWithdrawn(request=asked.request.id, reason=reason)))
                response = cancelled() if asked.form is None else CreateElicitationResponse(action="cancel")
                frames.append(encode_response(asked.id, response))
        return events, frames

    def withdraw(self, rpc_id: RpcId, reason: str) -> list[Event]:
        """The agent takes one of its requests back."""
        return [
            self._end(asked, RequestWithdrawn(request=asked.request.id, reason=reason))
            for asked in [*self._asked.values()]
            if asked.id == rpc_id
        ]

    def _end(self, asked: Asked, event: Event) -> Event:
        del self._asked[asked.request.id]
        return event
