"""Prompts that wait over a restart: whether they may begin by themselves, and the notice when they may not."""

from __future__ import annotations

from typing import Final

from footplate.engines.base import Engine, Options
from footplate.events import model as m
from footplate.events.ids import SessionId
from footplate.events.view import NoticeItem, SessionView
from footplate.runtime.records import Doubts
from footplate.runtime.rejoining import read_record
from footplate.runtime.services import Services

PAUSED_CODE: Final = "prompts_paused"
LOST_BEFORE: Final = "the turn before was lost. Send a prompt or continue the session to start them."
PERHAPS_BEGUN: Final = (
    "an agent that is gone may have begun with the first one. Withdraw what must not run twice, "
    "then send a prompt or continue the session."
)


async def find_reason(
    services: Services, session: SessionId, view: SessionView, doubts: Doubts, engine: Engine, options: Options
) -> str:
    """Why what waits must not run unattended; empty when it may.

    A follow-up must not run on a turn with an unknown result, and a prompt that an agent may have begun must not
    run a second time, unless the engine's transcript shows whether it did.
    """
    if view.turns and view.turns[-1].stop_reason == "lost":
        return LOST_BEFORE
    if is_announced(view):
        return PERHAPS_BEGUN  # the doubt of the service before: its state is no longer in the log
    if not doubts.handed_over:
        return ""
    record = await read_record(services, session)
    if record is not None:
        doubts.started_in = record.options.session_id or record.options.resume
    return "" if doubts.can_tell(engine, options) else PERHAPS_BEGUN


def is_announced(view: SessionView) -> bool:
    """Whether the last item is the notice about paused prompts: nothing was begun since."""
    last = view.items[-1] if view.items else None
    return isinstance(last, NoticeItem) and last.code == PAUSED_CODE


def announce(view: SessionView, count: int, reason: str) -> tuple[m.Notice, ...]:
    """The notice about paused prompts, unless the service before has given it."""
    if is_announced(view):
        return ()
    text = f"{count} {'prompt waits' if count == 1 else 'prompts wait'}: {reason}"
    return (m.Notice(level="warning", text=text, code=PAUSED_CODE),)
