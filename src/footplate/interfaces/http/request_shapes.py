"""The shape of a request on the wire of the native API, made of the store's row and the event that opened it."""

from __future__ import annotations

import msgspec

from footplate.events.base import OptionalRaw
from footplate.events.content import ContentBlock
from footplate.events.ids import RequestId, SessionId, ToolCallId
from footplate.events.model import Event, RequestAnswered, RequestOpened, Unknown
from footplate.events.requests import Answer, Request, RequestKind, RequestOption, RequestState, Suggestion
from footplate.events.tools import Question, ToolDetail
from footplate.store.base import Store
from footplate.store.projection import RequestRow


class RequestInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an agent asks, and how far it got. `detached`: no process waits for it now; an answer wakes the agent."""

    id: RequestId
    session: SessionId
    kind: RequestKind
    state: RequestState
    opened_at: float
    title: str
    options: tuple[RequestOption, ...]
    suggestions: tuple[Suggestion, ...]
    detached: bool
    tool: str = ""
    tool_call: ToolCallId | None = None
    agent: str = ""
    description: str = ""
    reason: str = ""
    reason_type: str = ""
    blocked_path: str = ""
    input: OptionalRaw = None
    """What the call is given, in the engine's own form."""
    detail: ToolDetail | None = None
    """What the call does, typed: the whole change of files or the command."""
    content: tuple[ContentBlock, ...] = ()
    """What the agent shows of it beside texts and changes: links, pictures, files, blocks of an unknown kind."""
    questions: tuple[Question, ...] = ()
    plan: str = ""
    plan_file: str = ""
    allowed_prompts: tuple[str, ...] = ()
    plan_prompt: str = ""
    replaces: RequestId | None = None
    """The request that this one came in place of, after its process was gone."""
    rerun: bool = False
    """It was allowed before, and nobody knows whether it ran: to allow it is to run it, perhaps again."""
    limit: str = ""
    """The limit of the session that is reached: then it is Footplate that asks and not the agent."""
    answer: Answer | None = None
    """What was answered. None while nobody has, and for requests that an older version of Footplate stored."""
    answered_by: str = ""
    answered_from: str = ""
    answered_at: float | None = None
    ended_at: float | None = None
    ended_reason: str = ""


async def load_request(store: Store, row: RequestRow) -> RequestInfo:
    """The row with the whole of what was asked and answered, which stands in the events of both."""
    opened = await _load_event(store, row, row.seq)
    answered = await _load_event(store, row, row.answer_seq)
    return describe_request(
        row,
        opened.request if isinstance(opened, RequestOpened) else None,
        answered.answer if isinstance(answered, RequestAnswered) else None,
    )


async def _load_event(store: Store, row: RequestRow, seq: int) -> Event | Unknown | None:
    stored = await store.read(row.session, seq - 1, 1) if seq else ()
    return stored[0].envelope().event if stored else None


def describe_request(row: RequestRow, asked: Request | None, answer: Answer | None) -> RequestInfo:
    """A request as the wire has it."""
    whole = asked or Request(id=row.id, kind=row.kind, title=row.title, tool=row.tool)
    return RequestInfo(
        id=row.id,
        session=row.session,
        kind=row.kind,
        state=row.state,
        detached=row.detached,
        opened_at=row.opened_at,
        title=whole.title,
        tool=whole.tool,
        tool_call=whole.call,
        agent=whole.agent,
        description=whole.description,
        reason=whole.reason,
        reason_type=whole.reason_type,
        blocked_path=whole.blocked_path,
        input=whole.input,
        detail=whole.detail,
        content=whole.content,
        options=whole.options,
        suggestions=whole.suggestions,
        questions=whole.questions,
        plan=whole.plan,
        plan_file=whole.plan_file,
        allowed_prompts=whole.allowed_prompts,
        plan_prompt=whole.plan_prompt,
        replaces=whole.replaces,
        rerun=whole.rerun,
        limit=whole.limit,
        answer=answer,
        answered_by=row.answered_by,
        answered_from=row.answered_from,
        answered_at=row.answered_at,
        ended_at=row.ended_at,
        ended_reason=row.reason,
    )
