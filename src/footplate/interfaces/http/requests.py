"""Requests: everything the agents of all sessions ask of a person, and the answers."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from footplate.errors import FootplateError, UnknownRequest, WrongShape
from footplate.events.ids import RequestId, SessionId
from footplate.events.requests import (
    Allow,
    Answer,
    Choose,
    Decline,
    Deny,
    Reply,
    RequestKind,
    RequestState,
    Scope,
)
from footplate.interfaces.http.call import Call
from footplate.interfaces.http.problem import Problem, problem_of
from footplate.interfaces.http.request_shapes import RequestInfo, load_request
from footplate.interfaces.http.routing import Routes
from footplate.store.projection import RequestRow
from footplate.store.values import RequestFilter

routes = Routes("requests")


class RequestList(msgspec.Struct, frozen=True, kw_only=True):
    """Some of the requests, the oldest first. `after` is where the next page begins, if there is one."""

    requests: tuple[RequestInfo, ...]
    after: str | None = None


class RequestsQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which requests to list; what is not given does not matter."""

    state: tuple[RequestState, ...] = ()
    kind: tuple[RequestKind, ...] = ()
    session: SessionId | None = None
    after: str | None = None
    limit: Annotated[int, Meta(ge=1, le=500)] = 100


class AnswerBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of: `option`; `behavior` with what belongs to it; `answers` to questions; `decline`."""

    option: str | None = None
    behavior: Literal["allow", "deny"] | None = None
    scope: Scope = "once"
    suggestion: Annotated[int, Meta(ge=0)] | None = None
    updated_input: dict[str, msgspec.Raw] | None = None
    mode: str = ""
    prompts: tuple[Annotated[int, Meta(ge=0)], ...] = ()
    message: str = ""
    interrupt: bool = False
    answers: dict[str, str | list[str]] | None = None
    decline: bool = False

    def answer(self) -> Answer:
        """As the session takes it. Raises `WrongShape` unless it is exactly one kind of answer."""
        given = (self.option is not None, self.behavior is not None, self.answers is not None, self.decline)
        if sum(given) != 1:
            raise WrongShape("give exactly one of `option`, `behavior`, `answers`, `decline: true`")
        if self.option is not None:
            return Choose(option=self.option)
        if self.answers is not None:
            return Reply(answers=self.answers)
        if self.decline:
            return Decline(message=self.message)
        if self.behavior == "deny":
            return Deny(message=self.message, interrupt=self.interrupt)
        updated = None if self.updated_input is None else msgspec.Raw(msgspec.json.encode(self.updated_input))
        return Allow(
            scope=self.scope,
            suggestion=self.suggestion,
            updated_input=updated,
            mode=self.mode,
            prompts=self.prompts,
        )


class SeveralBody(AnswerBody, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The same answer to several requests."""

    requests: Annotated[tuple[RequestId, ...], Meta(min_length=1, max_length=500)]


class Outcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one of several answers: the request, or the problem."""

    id: RequestId
    request: RequestInfo | None = None
    problem: Problem | None = None


class Outcomes(msgspec.Struct, frozen=True, kw_only=True):
    """What became of several answers, in the order of the ids."""

    results: tuple[Outcome, ...]


@routes.get("/api/requests", scope="read", summary="What waits for a person, across all sessions", answer=RequestList)
async def list_requests(call: Call, query: RequestsQuery) -> RequestList:
    only = RequestFilter(session=query.session, states=query.state, kinds=query.kind)
    page = await call.api.store.projections.requests(only, after=query.after, limit=query.limit)
    rows = [row for row in page.items if await _reaches(call, row)]
    return RequestList(requests=tuple([await load_request(call.api.store, row) for row in rows]), after=page.after)


async def _reaches(call: Call, row: RequestRow) -> bool:
    if not call.grant.limited:
        return True
    session = await call.api.store.projections.session(row.session)
    return session is not None and call.grant.reaches(row.session, session.cwd)


@routes.get("/api/requests/{request}", scope="read", summary="One request, whole", answer=RequestInfo, problems=(404,))
async def get_request(call: Call) -> RequestInfo:
    return await load_request(call.api.store, await _find(call, RequestId(call.params["request"])))


async def _find(call: Call, request: RequestId) -> RequestRow:
    page = await call.api.store.projections.requests(RequestFilter(request=request))
    for row in page.items:
        if await _reaches(call, row):
            return row
    raise UnknownRequest(request)


@routes.post(
    "/api/requests/{request}/answer",
    scope="answer",
    summary="Answer a request; the first answer wins",
    answer=RequestInfo,
    problems=(404, 409, 502, 504),
)
async def answer_request(call: Call, body: AnswerBody) -> RequestInfo:
    return await _answer(call, RequestId(call.params["request"]), body.answer())


@routes.post(
    "/api/requests/answer",
    scope="answer",
    summary="Give several requests the same answer; each is told what became of it",
    answer=Outcomes,
)
async def answer_several(call: Call, body: SeveralBody) -> Outcomes:
    answer = body.answer()
    results: list[Outcome] = []
    for request in body.requests:
        try:
            results.append(Outcome(id=request, request=await _answer(call, request, answer)))
        except FootplateError as problem:
            results.append(Outcome(id=request, problem=problem_of(problem)))
    return Outcomes(results=tuple(results))


async def _answer(call: Call, request: RequestId, answer: Answer) -> RequestInfo:
    row = await _find(call, request)
    live = await call.reach(row.session)
    await live.answer(request, answer, **msgspec.structs.asdict(call.principal))
    return await load_request(call.api.store, await _find(call, request))
