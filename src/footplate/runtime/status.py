"""The state that a session shows, as a function of its view and of what only this service knows. Pure."""

from __future__ import annotations

import msgspec

from footplate.events import model as m
from footplate.events.view import SessionView


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """What the view does not say.

    `busy`: a turn runs or is about to. `starting`: a process starts, or one is waited for that still has the
    conversation. `until`: the end of the usage limit. `paused`: waiting prompts need a person. `halted`: a limit of
    the session is reached.
    """

    busy: bool
    starting: bool
    in_tool: bool
    until: float | None
    paused: bool
    halted: bool


def state_of(view: SessionView, now: Situation) -> m.StateChanged:
    """The state, and what the session waits for."""
    if any(each.state == "open" for each in view.requests):
        return m.StateChanged(state="waiting", waiting_for="you")
    if now.busy and not now.starting:
        return m.StateChanged(state="running", waiting_for="tool" if now.in_tool else "model")
    if now.starting:
        return m.StateChanged(state="starting")
    if now.until is not None:
        return m.StateChanged(state="parked", waiting_for="limit", until=now.until)
    if now.paused and view.queue:
        return m.StateChanged(state="interrupted")
    if view.queue and now.halted:
        return m.StateChanged(state="idle", waiting_for="limit")
    lost = bool(view.turns) and view.turns[-1].stop_reason == "lost"
    return m.StateChanged(state="interrupted" if lost else "idle")


def is_shown(view: SessionView, state: m.StateChanged) -> bool:
    """Whether the log says so already."""
    return (view.state, view.waiting_for, view.until) == (state.state, state.waiting_for, state.until)
