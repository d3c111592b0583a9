"""What a reader of a session's log knows at a point of it: which turn runs, which calls, requests and tasks are open.

The invariants are stated against this. It takes any event and never complains; judging is the invariants' part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal, TypeVar, cast

import msgspec

from footplate.events import model as m
from footplate.events.ids import EngineSessionId, PromptId, RequestId, TaskId, ToolCallId, TurnId
from footplate.events.model import Event
from footplate.events.requests import RequestState

_E = TypeVar("_E")
_Handler = Callable[["Ledger", Event], None]
PartKey = tuple[Literal["message", "thought"], str, int]
"""A message's part: its kind, its message, its number."""


class CallEntry(msgspec.Struct, kw_only=True):
    """A tool call: whose it is, whether it runs, the turn it began in, and whether the agent told its result."""

    parent: ToolCallId | None
    turn: TurnId | None
    open: bool = True
    has_result: bool = False


class RequestEntry(msgspec.Struct, kw_only=True):
    """A request and how far it got."""

    parent: ToolCallId | None
    turn: TurnId | None
    call: ToolCallId | None = None
    state: RequestState = "open"
    detached: bool = False

    @property
    def open(self) -> bool:
        """Whether it has no end state yet."""
        return self.state in ("open", "answered")


class TaskEntry(msgspec.Struct, kw_only=True):
    """A task and the call it belongs to."""

    call: ToolCallId | None
    open: bool = True


def _on(kind: type[_E], handler: Callable[[Ledger, _E], None]) -> tuple[type, _Handler]:
    """One line of the table; the handler must take events of that kind."""
    return kind, cast("_Handler", handler)


def part_of(event: m.MessageDelta | m.Message | m.ThoughtDelta | m.Thought) -> PartKey:
    """Which part of which message the event is about."""
    kind: Literal["message", "thought"] = "message" if isinstance(event, m.MessageDelta | m.Message) else "thought"
    return (kind, event.message, event.part)


class Ledger:
    """The state of a log after some of its events."""

    def __init__(self) -> None:
        self.count = 0
        self.closed = False
        self.attached = False
        self.engine_session: EngineSessionId | None = None
        self.turn: TurnId | None = None
        self.turns: set[TurnId] = set()
        self.calls: dict[ToolCallId, CallEntry] = {}
        self.requests: dict[RequestId, RequestEntry] = {}
        self.tasks: dict[TaskId, TaskEntry] = {}
        self.queued: set[PromptId] = set()
        self.prompts: set[PromptId] = set()
        self.streams: dict[PartKey, str] = {}
        self.parts: set[PartKey] = set()
        self.compacting = False

    def take(self, event: Event) -> None:
        """Go one event further."""
        self.count += 1
        handler = self._table.get(type(event))
        if handler is not None:
            handler(self, event)

    def open_calls(self) -> list[ToolCallId]:
        """Calls that have not ended."""
        return [call for call, entry in self.calls.items() if entry.open]

    def open_tasks(self) -> list[TaskId]:
        """Tasks that have not ended."""
        return [task for task, entry in self.tasks.items() if entry.open]

    def open_requests(self) -> list[RequestId]:
        """Requests without an end state."""
        return [request for request, entry in self.requests.items() if entry.open]

    def waiting_calls(self) -> set[ToolCallId]:
        """The calls that requests without an end are about, and the calls above those."""
        found: set[ToolCallId] = set()
        for entry in self.requests.values():
            call = entry.call or entry.parent
            while entry.open and call is not None and call not in found:
                found.add(call)
                known = self.calls.get(call)
                call = (known.parent if known is not None else None) or (entry.parent if call == entry.call else None)
        return found

    def in_background(self, parent: ToolCallId | None) -> bool:
        """Whether something below this call may outlive the turn: the call, or one above it, is a running task's."""
        running = {entry.call for entry in self.tasks.values() if entry.open}
        seen: set[ToolCallId] = set()
        while parent is not None and parent not in seen:
            if parent in running:
                return True
            seen.add(parent)
            entry = self.calls.get(parent)
            parent = entry.parent if entry else None
        return False

    # ------------------------------------------------------------------------------------- session, turn

    def _attached(self, event: m.EngineAttached) -> None:
        self.attached = True
        self.engine_session = event.engine_session_id

    def _detached(self, event: m.EngineDetached) -> None:
        self.attached = False
        for entry in self.requests.values():
            entry.detached = True

    def _closed(self, event: m.SessionClosed) -> None:
        self.closed = True

    def _turn_started(self, event: m.TurnStarted) -> None:
        self.turn = event.turn
        self.turns.add(event.turn)
        self.queued.difference_update(event.prompts)

    def _turn_ended(self, event: m.TurnEnded) -> None:
        self.turn = None

    def _prompt_queued(self, event: m.PromptQueued) -> None:
        self.prompts.add(event.prompt)
        self.queued.add(event.prompt)

    def _prompt_left(self, event: m.PromptWithdrawn | m.PromptSteered) -> None:
        self.queued.discard(event.prompt)

    # -------------------------------------------------------------------------------------- text, things

    def _delta(self, event: m.MessageDelta | m.ThoughtDelta) -> None:
        key = part_of(event)
        self.streams[key] = event.text if event.reset else self.streams.get(key, "") + event.text

    def _part(self, event: m.Message | m.Thought) -> None:
        self.streams.pop(part_of(event), None)
        self.parts.add(part_of(event))

    def _tool_started(self, event: m.ToolStarted) -> None:
        self.calls[event.call] = CallEntry(parent=event.parent, turn=self.turn)

    def _tool_ended(self, event: m.ToolEnded) -> None:
        if event.call in self.calls:
            self.calls[event.call].open = False
            self.calls[event.call].has_result = event.outcome in ("completed", "failed", "denied")

    def _task_started(self, event: m.TaskStarted) -> None:
        self.tasks[event.task] = TaskEntry(call=event.call)

    def _task_ended(self, event: m.TaskEnded) -> None:
        if event.task in self.tasks:
            self.tasks[event.task].open = False

    def _request_opened(self, event: m.RequestOpened) -> None:
        before = self.requests.get(event.request.id)
        self.requests[event.request.id] = RequestEntry(
            parent=event.parent,
            turn=None if event.request.limit else self.turn,
            call=event.request.call,
            state=before.state if before is not None else "open",
        )

    def _request_moved(
        self,
        event: m.RequestAnswered | m.RequestApplied | m.RequestRejected | m.RequestWithdrawn | m.RequestUnanswered,
    ) -> None:
        if event.request in self.requests:
            self.requests[event.request].state = REQUEST_STATES[type(event)]

    def _compaction_started(self, event: m.CompactionStarted) -> None:
        self.compacting = True

    def _compaction_ended(self, event: m.CompactionEnded) -> None:
        self.compacting = False

    _table: ClassVar[dict[type, _Handler]] = dict(
        (
            _on(m.EngineAttached, _attached),
            _on(m.EngineDetached, _detached),
            _on(m.SessionClosed, _closed),
            _on(m.TurnStarted, _turn_started),
            _on(m.TurnEnded, _turn_ended),
            _on(m.PromptQueued, _prompt_queued),
            _on(m.PromptWithdrawn, _prompt_left),
            _on(m.PromptSteered, _prompt_left),
            _on(m.MessageDelta, _delta),
            _on(m.ThoughtDelta, _delta),
            _on(m.Message, _part),
            _on(m.Thought, _part),
            _on(m.ToolStarted, _tool_started),
            _on(m.ToolEnded, _tool_ended),
            _on(m.TaskStarted, _task_started),
            _on(m.TaskEnded, _task_ended),
            _on(m.RequestOpened, _request_opened),
            _on(m.RequestAnswered, _request_moved),
            _on(m.RequestApplied, _request_moved),
            _on(m.RequestRejected, _request_moved),
            _on(m.RequestWithdrawn, _request_moved),
            _on(m.RequestUnanswered, _request_moved),
            _on(m.CompactionStarted, _compaction_started),
            _on(m.CompactionEnded, _compaction_ended),
        )
    )


REQUEST_STATES: dict[type, RequestState] = {
    m.RequestAnswered: "answered",
    m.RequestApplied: "applied",
    m.RequestRejected: "rejected",
    m.RequestWithdrawn: "withdrawn",
    m.RequestUnanswered: "unanswered",
}
"""Which state each event about a request puts it in."""
