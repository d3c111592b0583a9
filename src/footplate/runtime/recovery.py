"""What a process that stopped has left open in a session's log, and the events that close it honestly. Pure.

What the session itself asks waits on: no process is needed to answer it.
"""

from __future__ import annotations

from footplate.events import model as m
from footplate.events.model import Event
from footplate.events.view import CompactionItem, SessionView, ToolItem

STOPPED = "Footplate stopped while this was going on"


def close_what_was_left(view: SessionView) -> list[Event]:
    """Everything that is open and that no process works at any more. Nothing is run again."""
    events: list[Event] = []
    events += [
        m.RequestWithdrawn(request=each.request.id, reason=STOPPED)
        for each in view.requests
        if each.state in ("open", "answered") and not each.request.limit
    ]
    events += [
        m.ToolEnded(call=item.id, ok=False, outcome="lost", note=STOPPED)  # type: ignore[arg-type]
        for item in view.items
        if isinstance(item, ToolItem) and item.status == "running"
    ]
    events += [
        m.CompactionEnded(ok=False, trigger=item.trigger, error=STOPPED)
        for item in view.items
        if isinstance(item, CompactionItem) and item.status == "running"
    ]
    events += [
        m.TaskEnded(task=task.id, status="lost", summary=STOPPED) for task in view.tasks if task.status == "running"
    ]
    if view.turn is not None:
        events.append(m.TurnEnded(turn=view.turn, ok=False, error=STOPPED, stop_reason="lost", resume=view.resume))
    if view.attached:
        events.append(m.EngineDetached(reason=STOPPED))
    return events
