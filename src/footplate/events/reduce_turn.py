"""How the events of a turn change a session's view: the turn itself, messages, thoughts, calls, tasks, requests."""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from footplate.events import model as m
from footplate.events.draft import Draft, Stamp
from footplate.events.ids import PromptId, TurnId
from footplate.events.requests import RequestState
from footplate.events.usage import Usage
from footplate.events.view import (
    MessageItem,
    RequestView,
    TaskView,
    TextPart,
    ThoughtItem,
    ToolItem,
    Totals,
    TurnView,
    UserItem,
)


def turn_started(draft: Draft, event: m.TurnStarted, at: Stamp) -> None:
    draft.turns[event.turn] = TurnView(
        id=event.turn,
        started_at=at.time,
        prompts=event.prompts,
        unconfirmed=draft.take_queued(event.prompts),
        origin=event.origin,
    )
    draft.facts = replace(draft.facts, turn=event.turn)
    draft.accepted.update(event.prompts)


def prompt_steered(draft: Draft, event: m.PromptSteered, _at: Stamp) -> None:
    """The prompt belongs to the turn that runs from here on."""
    taken = draft.take_queued((event.prompt,))
    running = draft.turns.get(draft.facts.turn) if draft.facts.turn is not None else None
    if running is not None and event.prompt not in running.prompts:
        draft.turns[running.id] = replace(
            running, prompts=(*running.prompts, event.prompt), unconfirmed=(*running.unconfirmed, *taken)
        )


def turn_ended(draft: Draft, event: m.TurnEnded, at: Stamp) -> None:
    """A turn's figures are added to the session's once; what its messages left unfinished goes."""
    before = draft.turns.get(event.turn) or TurnView(id=event.turn, started_at=at.time)
    if before.ok is not None:
        return
    taken = draft.take_queued(event.prompts)
    draft.turns[event.turn] = replace(
        before,
        prompts=event.prompts or before.prompts,
        unconfirmed=() if event.ok else (*before.unconfirmed, *taken),
        origin=event.origin or before.origin,
        ok=event.ok,
        answer=event.answer,
        error=event.error,
        error_kind=event.error_kind,
        stop_reason=event.stop_reason,
        structured_output=event.structured_output,
        usage=event.usage,
        denials=event.denials,
        ended_at=at.time,
    )
    draft.facts = replace(
        draft.facts,
        turn=None if draft.facts.turn == event.turn else draft.facts.turn,
        resume=event.resume or draft.facts.resume,
        usage=_add(draft.facts.usage, event.usage or Usage()),
    )
    draft.drop_live(main_only=True)


def _add(total: Totals, usage: Usage) -> Totals:
    cost = total.cost_usd
    if usage.cost_usd is not None:
        cost = usage.cost_usd if cost is None else cost + usage.cost_usd
    return Totals(
        turns=total.turns + 1,
        input_tokens=total.input_tokens + usage.input_tokens,
        output_tokens=total.output_tokens + usage.output_tokens,
        cache_read_tokens=total.cache_read_tokens + usage.cache_read_tokens,
        cache_write_tokens=total.cache_write_tokens + usage.cache_write_tokens,
        reasoning_tokens=total.reasoning_tokens + usage.reasoning_tokens,
        duration_ms=total.duration_ms + (usage.duration_ms or 0),
        cost_usd=cost,
    )


# --------------------------------------------------------------------------------------- messages, thoughts


def user_message(draft: Draft, event: m.UserMessage, at: Stamp) -> None:
    draft.put(
        UserItem(
            id=event.message,
            turn=draft.turn_of(at),
            at=at.time,
            content=event.content,
            prompt=event.prompt,
            synthetic=event.synthetic,
            parent=event.parent,
        )
    )
    if event.prompt is not None:
        draft.leave_queue((event.prompt,))
        _confirm(draft, event.prompt, draft.turn_of(at))


def _confirm(draft: Draft, prompt: PromptId, turn: TurnId | None) -> None:
    held = draft.turns.get(turn) if turn is not None else None
    if held is not None and held.unconfirmed:
        left = tuple(each for each in held.unconfirmed if each.id != prompt)
        draft.turns[held.id] = replace(held, unconfirmed=left)


def message_delta(draft: Draft, event: m.MessageDelta, _at: Stamp) -> None:
    """A delta of a part that is finished already is late and says nothing new."""
    if not _has_part(draft.item(MessageItem, event.message), event.part):
        draft.stream(("message", event.message, event.part), event.text, parent=event.parent, reset=event.reset)


def message(draft: Draft, event: m.Message, at: Stamp) -> None:
    item = draft.item(MessageItem, event.message) or MessageItem(
        id=event.message, turn=draft.turn_of(at), at=at.time, parts=(), parent=event.parent
    )
    draft.put(
        replace(
            item,
            parts=_with_part(item.parts, TextPart(part=event.part, text=event.text)),
            model=event.model or item.model,
            synthetic=event.synthetic,
        )
    )
    draft.settle(("message", event.message, event.part))


def thought_delta(draft: Draft, event: m.ThoughtDelta, _at: Stamp) -> None:
    """A delta of a part that is finished already is late and says nothing new."""
    if not _has_part(draft.item(ThoughtItem, event.message), event.part):
        draft.stream(("thought", event.message, event.part), event.text, parent=event.parent, reset=event.reset)


def thought(draft: Draft, event: m.Thought, at: Stamp) -> None:
    item = draft.item(ThoughtItem, event.message) or ThoughtItem(
        id=event.message, turn=draft.turn_of(at), at=at.time, parts=(), parent=event.parent
    )
    draft.put(
        replace(
            item,
            parts=_with_part(item.parts, TextPart(part=event.part, text=event.text)),
            redacted=item.redacted or event.redacted,
        )
    )
    draft.settle(("thought", event.message, event.part))


def _has_part(item: MessageItem | ThoughtItem | None, part: int) -> bool:
    return item is not None and any(known.part == part for known in item.parts)


def _with_part(parts: tuple[TextPart, ...], new: TextPart) -> tuple[TextPart, ...]:
    """The parts in order of their numbers; the new one replaces one of its number."""
    below = tuple(known for known in parts if known.part < new.part)
    above = tuple(known for known in parts if known.part > new.part)
    return (*below, new, *above)


# ---------------------------------------------------------------------------------------------- tool calls


def tool_started(draft: Draft, event: m.ToolStarted, at: Stamp) -> None:
    """A parent that is not known is no parent: so nesting never goes in circles."""
    if draft.item(ToolItem, event.call) is not None:
        return
    parent = event.parent if event.parent is not None and draft.item(ToolItem, event.parent) else None
    draft.put(
        ToolItem(
            id=event.call,
            turn=draft.turn_of(at),
            at=at.time,
            name=event.name,
            kind=event.kind,
            title=event.title,
            message=event.message,
            input=event.input,
            detail=event.detail,
            parent=parent,
        )
    )
    if parent is not None:
        draft.adopt(event.call, parent)
        draft.count(parent, calls=1, running=1)


def tool_updated(draft: Draft, event: m.ToolUpdated, _at: Stamp) -> None:
    """What is absent stays. The whole input replaces the pieces of it."""
    item = draft.item(ToolItem, event.call)
    if item is None or item.ok is not None:
        return
    if event.input_delta:
        _stream(draft, item, "tool_input", event.input_delta, reset=event.reset)
    if event.output_delta:
        _stream(draft, item, "tool_output", event.output_delta, reset=event.reset)
    if m.is_ephemeral(event):
        return
    draft.put(
        replace(
            item,
            title=event.title or item.title,
            input=item.input if event.input is None else event.input,
            detail=event.detail or item.detail,
            elapsed_s=item.elapsed_s if event.elapsed_s is None else event.elapsed_s,
            note=event.note or item.note,
        )
    )
    if event.input is not None:
        draft.settle(("tool_input", item.id, 0))


def _stream(
    draft: Draft, item: ToolItem, kind: Literal["tool_input", "tool_output"], text: str, *, reset: bool
) -> None:
    draft.stream((kind, item.id, 0), text, parent=item.parent, reset=reset)


def tool_ended(draft: Draft, event: m.ToolEnded, at: Stamp) -> None:
    item = draft.item(ToolItem, event.call)
    if item is None or item.ok is not None:
        return
    draft.put(
        replace(
            item,
            status=event.outcome,
            ok=event.ok,
            content=event.content,
            detail=event.detail or item.detail,
            note=event.note or item.note,
            ended_at=at.time,
        )
    )
    draft.settle(("tool_input", item.id, 0))
    draft.settle(("tool_output", item.id, 0))
    draft.count(item.parent, running=-1, failed=0 if event.ok else 1)


def plan_changed(draft: Draft, event: m.PlanChanged, _at: Stamp) -> None:
    """The session's plan, or a sub-agent's, which stands with the call that started it."""
    if event.parent is None:
        draft.facts = replace(draft.facts, plan=event.entries)
        return
    item = draft.item(ToolItem, event.parent)
    if item is not None:
        draft.put(replace(item, plan=event.entries))


# --------------------------------------------------------------------------------------------------- tasks


def task_started(draft: Draft, event: m.TaskStarted, at: Stamp) -> None:
    if event.task not in draft.tasks:
        draft.tasks[event.task] = TaskView(
            id=event.task,
            started_at=at.time,
            kind=event.kind,
            title=event.title,
            prompt=event.prompt,
            agent_type=event.agent_type,
            background=event.background,
            call=event.call,
        )


def task_updated(draft: Draft, event: m.TaskUpdated, _at: Stamp) -> None:
    task = draft.tasks.get(event.task)
    if task is not None and task.ended_at is None:
        draft.tasks[event.task] = replace(
            task,
            status=event.status or task.status,
            note=event.note or task.note,
            background=task.background if event.background is None else event.background,
        )


def task_ended(draft: Draft, event: m.TaskEnded, at: Stamp) -> None:
    task = draft.tasks.get(event.task)
    if task is not None and task.ended_at is None:
        draft.tasks[event.task] = replace(
            task,
            status=event.status,
            summary=event.summary,
            output_file=event.output_file,
            call=event.call or task.call,
            ended_at=at.time,
        )


# ------------------------------------------------------------------------------------------------ requests


def request_opened(draft: Draft, event: m.RequestOpened, at: Stamp) -> None:
    """A request that is asked again by a new process keeps its answer and when it was first asked."""
    held = draft.requests.get(event.request.id)
    if held is not None:
        draft.requests[event.request.id] = replace(held, request=event.request, detached=False)
        return
    draft.requests[event.request.id] = RequestView(
        request=event.request, opened_at=at.time, turn=draft.turn_of(at), parent=event.parent
    )


def request_answered(draft: Draft, event: m.RequestAnswered, at: Stamp) -> None:
    """The first answer counts."""
    held = draft.requests.get(event.request)
    if held is not None and held.state == "open":
        draft.requests[event.request] = replace(
            held,
            state="answered",
            answer=event.answer,
            answered_by=event.by,
            answered_from=event.surface,
            answered_at=at.time,
        )


def request_sent(draft: Draft, event: m.RequestSent, _at: Stamp) -> None:
    held = draft.requests.get(event.request)
    if held is not None:
        draft.requests[event.request] = replace(held, sent=True)


def request_applied(draft: Draft, event: m.RequestApplied, at: Stamp) -> None:
    _close(draft, event, at, state="applied", reason="")


def request_rejected(draft: Draft, event: m.RequestRejected, at: Stamp) -> None:
    _close(draft, event, at, state="rejected", reason=event.reason)


def request_withdrawn(draft: Draft, event: m.RequestWithdrawn, at: Stamp) -> None:
    _close(draft, event, at, state="withdrawn", reason=event.reason)


def request_unanswered(draft: Draft, event: m.RequestUnanswered, at: Stamp) -> None:
    _close(draft, event, at, state="unanswered", reason=event.reason)


def _close(
    draft: Draft,
    event: m.RequestApplied | m.RequestRejected | m.RequestWithdrawn | m.RequestUnanswered,
    at: Stamp,
    *,
    state: RequestState,
    reason: str,
) -> None:
    held = draft.requests.get(event.request)
    if held is not None:
        draft.close_request(replace(held, state=state, reason=reason, detached=False, ended_at=at.time))
