"""What a conversation must know that takes over an open turn, read off the view. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from footplate.engines.standing import Standing, StandingCall, StandingMessage, StandingRequest, StandingTask
from footplate.events.ids import MessageId, PromptId, RequestId, ToolCallId
from footplate.events.view import (
    CompactionItem,
    MessageItem,
    RequestView,
    SessionView,
    ThoughtItem,
    ToolItem,
    UserItem,
)


def standing_of(view: SessionView, *, living: bool = False) -> Standing:
    """What is open. `living`: for the process that had it; it still has its requests, which a new one must ask anew."""
    return Standing(
        living=living,
        turn=view.turn,
        origin=next((each.origin for each in view.turns if each.id == view.turn), ""),
        prompts=_prompts(view),
        taken=tuple(prompt for each in view.turns for prompt in each.prompts),
        said=tuple(item.prompt for item in view.items if isinstance(item, UserItem) and item.prompt is not None),
        calls=_calls(view),
        past_calls=_past_calls(view),
        tasks=tuple(
            StandingTask(id=task.id, call=task.call, background=task.background, ended=task.ended_at is not None)
            for task in view.tasks
        ),
        requests=tuple(_request(each) for each in view.requests if not each.detached) if living else (),
        messages=_messages(view),
        answer=_answer(view),
        compacting=any(isinstance(item, CompactionItem) and item.status == "running" for item in view.items),
        model=view.model,
        mode=view.mode,
        options=view.options,
        cost_usd=(reported_cost(view) or 0.0) if living else 0.0,
    )


def reported_cost(view: SessionView) -> float | None:
    """The engine's running total when a turn last ended with one."""
    totals = (turn.usage.total_cost_usd for turn in reversed(view.turns) if turn.usage is not None)
    return next((total for total in totals if total is not None), None)


def _prompts(view: SessionView) -> tuple[PromptId, ...]:
    """The prompts of the open turn: those that it began with, and those that were said since."""
    begun = [prompt for turn in view.turns if turn.id == view.turn for prompt in turn.prompts]
    said = [item.prompt for item in view.items if isinstance(item, UserItem) and item.turn == view.turn and item.prompt]
    return tuple(dict.fromkeys((*said, *begun))) if view.turn is not None else ()


def _calls(view: SessionView) -> tuple[StandingCall, ...]:
    """Those that run, and all of the open turn."""
    return tuple(
        StandingCall(
            id=ToolCallId(item.id),
            name=item.name,
            kind=item.kind,
            parent=item.parent,
            title=item.title,
            input=item.input,
            detail=item.detail,
            ended=item.ok is not None,
        )
        for item in view.items
        if isinstance(item, ToolItem) and (item.ok is None or (item.turn is not None and item.turn == view.turn))
    )


def _past_calls(view: SessionView) -> tuple[ToolCallId, ...]:
    """Those of earlier turns that have ended."""
    return tuple(
        ToolCallId(item.id)
        for item in view.items
        if isinstance(item, ToolItem) and item.ok is not None and (item.turn is None or item.turn != view.turn)
    )


def _request(held: RequestView) -> StandingRequest:
    """The request under the engine's id; the session knows it by one of ours."""
    asked = replace(held.request, id=RequestId(held.request.engine_request or held.request.id), engine_request="")
    return StandingRequest(request=asked, parent=held.parent, answer=held.answer)


def _messages(view: SessionView) -> tuple[StandingMessage, ...]:
    """The messages of the open turn. A call has a number in its message, too, which the log does not have.

    So calls are given the lowest numbers that are free: the next block gets one that nobody has.
    """
    if view.turn is None:
        return ()
    parents: dict[str, ToolCallId | None] = {}
    blocks: dict[str, set[int]] = {}
    calls: dict[str, int] = {}
    for item in view.items:
        if item.turn != view.turn:
            continue
        if isinstance(item, MessageItem | ThoughtItem):
            parents.setdefault(item.id, item.parent)
            blocks.setdefault(item.id, set()).update(part.part for part in item.parts)
        elif isinstance(item, ToolItem) and item.message is not None:
            parents.setdefault(item.message, item.parent)
            calls[item.message] = calls.get(item.message, 0) + 1
    return tuple(
        StandingMessage(id=MessageId(name), parent=parent, blocks=_filled(blocks.get(name, set()), calls.get(name, 0)))
        for name, parent in parents.items()
    )


def _filled(known: set[int], more: int) -> tuple[int, ...]:
    free = (number for number in range(len(known) + more) if number not in known)
    return tuple(sorted((*known, *(next(free) for _ in range(more)))))


def _answer(view: SessionView) -> tuple[str, ...]:
    """The text of the last message of the open turn, part by part."""
    if view.turn is None:
        return ()
    for item in reversed(view.items):
        if isinstance(item, MessageItem) and item.parent is None and item.turn == view.turn:
            return tuple(part.text for part in item.parts)
    return ()
