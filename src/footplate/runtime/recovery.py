"""What a process that stopped has left open in a session's log, and the events that close it honestly. Pure.

What a request that can still be answered needs stays open: see `journal`. What the session itself asks waits on: no
process is needed to answer it.
"""

from __future__ import annotations

from footplate.events import model as m
from footplate.events.ids import ToolCallId
from footplate.events.model import Event
from footplate.events.view import CompactionItem, SessionView, ToolItem
from footplate.runtime.journal import NOTHING, Kept

STOPPED = "Footplate stopped while this was going on"
BRIDGE = "bridge_"
"""How the id of a prompt begins that is ours and no person's: it is not sent a second time."""


def close_what_was_left(view: SessionView, kept: Kept = NOTHING) -> list[Event]:
    """Everything that is open and that no process works at any more, but for what is kept. Nothing is run again."""
    events = close_calls(view, kept, STOPPED)
    events += [m.PromptWithdrawn(prompt=each.id, reason=STOPPED) for each in view.queue if each.id.startswith(BRIDGE)]
    if view.turn is not None and not kept.requests:
        events.append(m.TurnEnded(turn=view.turn, ok=False, error=STOPPED, stop_reason="lost", resume=view.resume))
    if view.attached:
        events.append(m.EngineDetached(reason=STOPPED))
    return events


def close_calls(view: SessionView, kept: Kept, reason: str) -> list[Event]:
    """Everything but the turn itself."""
    events: list[Event] = []
    events += [
        m.RequestWithdrawn(request=each.request.id, reason=reason)
        for each in view.requests
        if each.state in ("open", "answered") and each.request.id not in kept.ids and not each.request.limit
    ]
    events += [
        m.ToolEnded(call=ToolCallId(item.id), ok=False, outcome="lost", note=reason)
        for item in reversed(view.items)
        if isinstance(item, ToolItem) and item.status == "running" and item.id not in kept.calls
    ]
    events += [
        m.CompactionEnded(ok=False, trigger=item.trigger, error=reason)
        for item in view.items
        if isinstance(item, CompactionItem) and item.status == "running"
    ]
    events += [
        m.TaskEnded(task=task.id, status="lost", summary=reason) for task in view.tasks if task.status == "running"
    ]
    return events
