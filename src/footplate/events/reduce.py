"""State = fold(events): the one reducer behind web, Telegram, command line and SDK.

`SessionReducer` takes envelopes one by one, at a cost that does not grow with the session, and hands out frozen
`SessionView`s when asked. A view is the whole state: a reducer made from a stored view goes on where that one stopped.

What a reader may rely on:

- Delivered twice is seen once. A durable event whose number is not above `last_seq` is dropped, and so is an ephemeral
  one that is older than the last durable event.
- Deltas only ever touch `live`. The timeline is made of durable events alone, so a log without its deltas gives the
  same view once everything that was being written is finished.
- A delta with `reset` replaces the text so far: that is how the live tail is sent again after a reconnect. One without
  it is appended, so a plain delta must not be sent twice.
- A type that this version does not know is counted and changes nothing else.
- After an explicit reset of the log (a new epoch with lower numbers) start again from `initial()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from typing import TypeVar, cast

from msgspec.structs import replace

from footplate.events import model as m
from footplate.events import reduce_session as session
from footplate.events import reduce_turn as turn
from footplate.events.draft import Draft, Stamp
from footplate.events.ids import PromptId
from footplate.events.model import Event, Unknown, is_ephemeral
from footplate.events.view import SessionView

__all__ = ["SessionReducer", "SessionView", "fold", "initial", "reduce"]

_E = TypeVar("_E")
_Handler = Callable[[Draft, Event, Stamp], None]


def _on(kind: type[_E], handler: Callable[[Draft, _E, Stamp], None]) -> tuple[type, _Handler]:
    """One line of the table; the handler must take events of that kind."""
    return kind, cast("_Handler", handler)


_TABLE: dict[type, _Handler] = dict(
    (
        _on(m.SessionOpened, session.session_opened),
        _on(m.EngineAttached, session.engine_attached),
        _on(m.EngineDetached, session.engine_detached),
        _on(m.StateChanged, session.state_changed),
        _on(m.ModeChanged, session.mode_changed),
        _on(m.ModelChanged, session.model_changed),
        _on(m.EffortChanged, session.effort_changed),
        _on(m.ConfigChanged, session.config_changed),
        _on(m.CommandsChanged, session.commands_changed),
        _on(m.TitleChanged, session.title_changed),
        _on(m.SessionClosed, session.session_closed),
        _on(m.PromptQueued, session.prompt_queued),
        _on(m.PromptWithdrawn, session.prompt_left),
        _on(m.PromptSteered, turn.prompt_steered),
        _on(m.TurnStarted, turn.turn_started),
        _on(m.UserMessage, turn.user_message),
        _on(m.MessageDelta, turn.message_delta),
        _on(m.Message, turn.message),
        _on(m.ThoughtDelta, turn.thought_delta),
        _on(m.Thought, turn.thought),
        _on(m.ToolStarted, turn.tool_started),
        _on(m.ToolUpdated, turn.tool_updated),
        _on(m.ToolEnded, turn.tool_ended),
        _on(m.PlanChanged, turn.plan_changed),
        _on(m.TaskStarted, turn.task_started),
        _on(m.TaskUpdated, turn.task_updated),
        _on(m.TaskEnded, turn.task_ended),
        _on(m.UsageReported, session.usage_reported),
        _on(m.TurnEnded, turn.turn_ended),
        _on(m.RequestOpened, turn.request_opened),
        _on(m.RequestAnswered, turn.request_answered),
        _on(m.RequestSent, turn.request_sent),
        _on(m.RequestApplied, turn.request_applied),
        _on(m.RequestRejected, turn.request_rejected),
        _on(m.RequestWithdrawn, turn.request_withdrawn),
        _on(m.RequestUnanswered, turn.request_unanswered),
        _on(m.RuleAdded, session.rule_added),
        _on(m.RuleRevoked, session.rule_revoked),
        _on(m.CompactionStarted, session.compaction_started),
        _on(m.CompactionEnded, session.compaction_ended),
        _on(m.LimitReached, session.limit_reached),
        _on(m.Parked, session.parked),
        _on(m.CommandRan, session.command_ran),
        _on(m.FilesRewound, session.files_rewound),
        _on(m.Notice, session.notice),
        _on(m.Unparsed, session.unparsed),
    )
)


class SessionReducer:
    """Folds envelopes as they come. `apply` costs the same however long the session is; `view` a copy of its lists."""

    def __init__(self, view: SessionView | None = None) -> None:
        """Start empty, or where a view stopped."""
        self._draft = Draft(view or initial())
        self._outline: SessionView | None = None

    @property
    def last_seq(self) -> int:
        """The number of the last durable event taken in: the cursor to go on from."""
        return self._draft.last_seq

    @property
    def accepted(self) -> Set[PromptId]:
        """Every prompt that was ever queued or begun, also those that were withdrawn. It grows with the events."""
        return self._draft.accepted

    def apply(self, envelope: Stamp) -> bool:
        """Take in one envelope; False when it was seen before and changed nothing."""
        draft, event = self._draft, envelope.event
        self._outline = None
        if not isinstance(event, Unknown) and is_ephemeral(event):
            if envelope.seq < draft.last_seq:
                return False
        elif envelope.seq <= draft.last_seq:
            return False
        else:
            draft.last_seq, draft.updated_at, draft.epoch = envelope.seq, envelope.time, envelope.epoch
        if isinstance(event, Unknown):
            draft.facts = replace(draft.facts, unknown=draft.facts.unknown + 1)
        else:
            _TABLE[type(event)](draft, event, envelope)
        return True

    def view(self) -> SessionView:
        """The session as it stands. Later events do not change a view that was handed out."""
        return self._draft.snapshot()

    def outline(self) -> SessionView:
        """The session without its history: no items, tasks or live texts, and of the turns the last one.

        It costs the same however long the session is, and nothing when nothing was taken in since.
        """
        if self._outline is None:
            self._outline = self._draft.outline()
        return self._outline


def initial() -> SessionView:
    """The view of a session of which nothing is known yet."""
    return SessionView()


def fold(envelopes: Iterable[Stamp], view: SessionView | None = None) -> SessionView:
    """The view after all these envelopes, from the beginning or on top of a view."""
    reducer = SessionReducer(view)
    for envelope in envelopes:
        reducer.apply(envelope)
    return reducer.view()


def reduce(view: SessionView, envelope: Stamp) -> SessionView:
    """One step as a pure function. It copies the view's lists: a stream goes through a `SessionReducer`."""
    return fold((envelope,), view)
