"""What is open: the turn, calls, tasks, requests, a compaction. The one place that opens and closes them.

Every event that has to be balanced by another one is made here, so that the promises hold whatever the stream says:
nothing is opened twice, nothing is said of an id after its end, and `close_turn` and `close_all` leave nothing open.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, Literal

import msgspec

from footplate.engines.claude.lenient import size_of
from footplate.engines.standing import Standing
from footplate.events.base import Level
from footplate.events.content import ContentBlock
from footplate.events.ids import PromptId, RequestId, TaskId, ToolCallId, TurnId
from footplate.events.model import (
    CompactionEnded,
    CompactionStarted,
    Event,
    Notice,
    RequestApplied,
    RequestOpened,
    RequestRejected,
    RequestWithdrawn,
    TaskEnded,
    TaskStarted,
    TaskStatus,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    TurnEnded,
    TurnOrigin,
    TurnStarted,
    Unparsed,
)
from footplate.events.requests import Request
from footplate.events.tools import ToolDetail, ToolKind, ToolOutcome

RAW_LIMIT: Final = 64 * 1024
"""How much of a line that we cannot read is kept; its whole size is told beside it."""

REMEMBERED: Final = 4096
"""How many ended ids are remembered, so that a straggler is known as one."""

Trigger = Literal["manual", "auto", ""]


class Call(msgspec.Struct):
    """A call that has not ended."""

    id: ToolCallId
    name: str
    kind: ToolKind
    parent: ToolCallId | None
    detail: ToolDetail | None = None
    denied: bool = False


class Task(msgspec.Struct):
    """A task that has not ended. `status` is how it will end, once that was told."""

    id: TaskId
    call: ToolCallId | None
    background: bool = False
    status: TaskStatus | None = None


class Asked(msgspec.Struct):
    """A request that has no end state, the call whose sub-agent asks, and whether somebody answered."""

    request: Request
    parent: ToolCallId | None
    answered: bool = False


class Turn(msgspec.Struct):
    """The turn that is open."""

    id: TurnId
    prompts: list[PromptId] = []
    origin: TurnOrigin = ""
    interrupted: bool = False
    error_kind: str = ""


class Recent:
    """A set of the ids that came last."""

    def __init__(self) -> None:
        self._ids: dict[str, None] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._ids

    def add(self, name: str) -> None:
        """Remember one more, forget the oldest."""
        self._ids[name] = None
        if len(self._ids) > REMEMBERED:
            del self._ids[next(iter(self._ids))]


class Ledger:
    """The state of one process's conversation, and the events that came of the lines so far."""

    def __init__(self, *, cwd: str, turn_prefix: str, first_turn: int) -> None:
        self.cwd = cwd
        self.out: list[Event] = []
        self.ignored: Counter[str] = Counter()
        self.turn: Turn | None = None
        self.turns = 0
        self.calls: dict[str, Call] = {}
        self.latest_call: ToolCallId | None = None
        self.tasks: dict[str, Task] = {}
        self.requests: dict[str, Asked] = {}
        self.ended = Recent()
        self.ended_tasks = Recent()
        self.ended_requests = Recent()
        self._lineage: dict[str, ToolCallId] = {}
        self._compaction: str | None = None
        self._turn_prefix = turn_prefix
        self._next_turn = first_turn

    def take_over(self, standing: Standing) -> None:
        """Go on with what is open in the log: nothing of it is told again."""
        if standing.turn is not None:
            self.turn = Turn(standing.turn, list(standing.prompts), standing.origin)
            self.turns = 1
        for name in standing.past_calls:
            self.ended.add(name)
        for call in standing.calls:
            self.latest_call = call.id
            if call.ended:
                self.ended.add(call.id)
            else:
                self.calls[call.id] = Call(call.id, call.name, call.kind, call.parent, call.detail)
            if call.parent is not None and call.kind == "subagent":
                self._lineage[call.id] = call.parent
        for task in standing.tasks:
            if task.ended:
                self.ended_tasks.add(task.id)
            else:
                self.tasks[task.id] = Task(task.id, task.call, task.background)
        for asked in standing.requests:
            self.requests[asked.request.id] = Asked(asked.request, asked.parent, asked.answer is not None)
        self._compaction = "" if standing.compacting else None

    # ------------------------------------------------------------------------------------------ lines

    def ignore(self, kind: str) -> None:
        """Count a line that means no event, by its entry in the table of ignored kinds."""
        self.ignored[kind] += 1

    def notice(self, level: Level, text: str, *, code: str, detail: str = "", call: ToolCallId | None = None) -> None:
        """Tell something that is no event of its own."""
        self.out.append(Notice(level=level, text=text, code=code, detail=detail, call=call))

    def unparsed(self, raw: bytes | msgspec.Raw, reason: str) -> None:
        """Keep what we cannot read."""
        size = size_of(raw) if isinstance(raw, msgspec.Raw) else len(raw)
        text = bytes(memoryview(raw)[:RAW_LIMIT]).decode("utf-8", "replace")
        self.out.append(Unparsed(raw=text, reason=reason, size=size))

    # ------------------------------------------------------------------------------------------ turns

    def open_turn(self, *, prompts: list[PromptId] | None = None, origin: TurnOrigin = "") -> Turn:
        """The open turn, started now if there is none."""
        if self.turn is None:
            named = prompts or []
            origin = "prompt" if named else origin
            self.turn = Turn(TurnId(f"{self._turn_prefix}{self._next_turn}"), list(named), origin)
            self._next_turn += 1
            self.turns += 1
            self.out.append(TurnStarted(turn=self.turn.id, prompts=tuple(named), origin=origin))
        return self.turn

    @property
    def between_turns(self) -> bool:
        """Whether a turn has ended here and no other has begun.

        The CLI announces each turn before it echoes a prompt. So an echo in between is of a prompt that the CLI has had
        before, which begins no turn.
        """
        return self.turn is None and self.turns > 0

    def lose_turn(self, error: str) -> None:
        """End the open turn, of which no result will come."""
        turn = self.open_turn()
        self.close_turn(interrupted=False)
        self.out.append(
            TurnEnded(
                turn=turn.id,
                ok=False,
                error=error,
                error_kind="lost",
                stop_reason="lost",
                origin=turn.origin,
                prompts=tuple(turn.prompts),
            )
        )
        self.turn = None

    def close_turn(self, *, interrupted: bool) -> None:
        """Close what belongs to the turn. Work that runs in the background stays; so does what it has open."""
        for asked in [*self.requests.values()]:
            if not self._in_background(asked.request.call, asked.parent):
                self.withdraw_request(asked.request.id, "the turn ended")
        for call in [*self.calls.values()]:
            if call.id in self.calls and not self._in_background(call.id, call.parent):
                self.end_call(call, outcome="cancelled", note="the turn ended before its result came")
        for task in [*self.tasks.values()]:
            if not task.background:
                self.end_task(task, task.status or ("stopped" if interrupted else "completed"))
        self.end_compaction(ok=self._compaction == "success", error=self._failure())

    def close_all(self, reason: str) -> None:
        """Close everything: the process is gone."""
        for asked in [*self.requests.values()]:
            self.withdraw_request(asked.request.id, reason)
        for call in [*self.calls.values()]:
            if call.id in self.calls:
                self.end_call(call, outcome="lost", note=reason)
        for task in [*self.tasks.values()]:
            self.end_task(task, task.status or "lost")
        self.end_compaction(ok=False, error=reason)

    # ------------------------------------------------------------------------------------------ calls

    def start_call(self, started: ToolStarted) -> Call | None:
        """A call is seen for the first time; None when it was seen before."""
        if started.call in self.calls or started.call in self.ended:
            return None
        call = Call(started.call, started.name, started.kind, started.parent, started.detail)
        self.calls[started.call] = call
        self.latest_call = started.call
        if started.parent is not None and started.kind == "subagent":
            self._lineage[started.call] = started.parent
        self.out.append(started)
        return call

    def update_call(self, updated: ToolUpdated) -> bool:
        """More is known of a running call; False when it does not run."""
        call = self.calls.get(updated.call)
        if call is None:
            return False
        call.detail = updated.detail or call.detail
        self.out.append(updated)
        return True

    def end_call(
        self,
        call: Call,
        *,
        outcome: ToolOutcome,
        content: tuple[ContentBlock, ...] = (),
        detail: ToolDetail | None = None,
        note: str = "",
    ) -> None:
        """A call is over, and so is everything that its sub-agent still had open in the foreground."""
        if self.calls.pop(call.id, None) is None:
            return
        if not self._has_background_task(call.id):
            self._end_children(call.id, "lost" if outcome == "lost" else "cancelled")
        self._end(call, outcome, content, detail, note)

    def _end(
        self,
        call: Call,
        outcome: ToolOutcome,
        content: tuple[ContentBlock, ...] = (),
        detail: ToolDetail | None = None,
        note: str = "",
    ) -> None:
        self.ended.add(call.id)
        ok = outcome == "completed"
        self.out.append(ToolEnded(call=call.id, ok=ok, outcome=outcome, content=content, detail=detail, note=note))

    def _end_children(self, parent: ToolCallId, outcome: ToolOutcome) -> None:
        """End everything below a call, the deepest first."""
        below = [parent]
        doomed: list[Call] = []
        for above in below:
            for child in [call for call in self.calls.values() if call.parent == above]:
                doomed.append(self.calls.pop(child.id))
                below.append(child.id)
        for asked in [*self.requests.values()]:
            if asked.parent in below:
                self.withdraw_request(asked.request.id, "the sub-agent ended")
        for call in reversed(doomed):
            self._end(call, outcome, note="the sub-agent ended before its result came")

    def _has_background_task(self, call: ToolCallId) -> bool:
        return any(task.background and task.call == call for task in self.tasks.values())

    def _in_background(self, call: ToolCallId | None, parent: ToolCallId | None) -> bool:
        """Whether the call is made by an agent that runs in the background."""
        known = self.calls.get(call) if call is not None else None
        above = parent or (known.parent if known is not None else None)
        for _ in range(REMEMBERED):
            if above is None:
                return False
            if self._has_background_task(above):
                return True
            above = self._lineage.get(above)
        return False

    # ------------------------------------------------------------------------------------------ tasks

    def start_task(self, started: TaskStarted) -> bool:
        """Work beside the turn began; False when it was known."""
        if started.task in self.tasks or started.task in self.ended_tasks:
            return False
        self.tasks[started.task] = Task(started.task, started.call, started.background)
        self.out.append(started)
        return True

    def end_task(self, task: Task, status: TaskStatus, *, summary: str = "", output_file: str = "") -> None:
        """A task is over, and so is everything that it had open."""
        if self.tasks.pop(task.id, None) is None:
            return
        self.ended_tasks.add(task.id)
        if task.background and task.call is not None:
            self._end_children(task.call, "lost" if status == "lost" else "cancelled")
        self.out.append(
            TaskEnded(task=task.id, status=status, summary=summary, output_file=output_file, call=task.call)
        )

    # --------------------------------------------------------------------------------------- requests

    def open_request(self, request: Request, parent: ToolCallId | None) -> bool:
        """The agent asks; False when it asked this before."""
        if request.id in self.requests or request.id in self.ended_requests:
            return False
        self.requests[request.id] = Asked(request, parent)
        self.out.append(RequestOpened(request=request, parent=parent))
        return True

    def asked_about(self, call: str) -> Asked | None:
        """The open request about a call."""
        for asked in self.requests.values():
            if asked.request.call == call:
                return asked
        return None

    def apply_request(self, request: RequestId) -> None:
        """The engine acted on the answer."""
        if self._end_request(request):
            self.out.append(RequestApplied(request=request))

    def reject_request(self, request: RequestId, reason: str) -> None:
        """The engine refused the answer."""
        if self._end_request(request):
            self.out.append(RequestRejected(request=request, reason=reason))

    def withdraw_request(self, request: RequestId, reason: str) -> bool:
        """The engine no longer asks; False when it did not."""
        if not self._end_request(request):
            return False
        self.out.append(RequestWithdrawn(request=request, reason=reason))
        return True

    def _end_request(self, request: RequestId) -> bool:
        if self.requests.pop(request, None) is None:
            return False
        self.ended_requests.add(request)
        return True

    # ------------------------------------------------------------------------------------- compaction

    def start_compaction(self, trigger: Trigger = "") -> bool:
        """The engine shortens its context; False when it is at it already."""
        if self._compaction is not None:
            return False
        self._compaction = ""
        self.out.append(CompactionStarted(trigger=trigger))
        return True

    def compaction_said(self, result: str) -> None:
        """How the compaction went; its figures may follow."""
        if self._compaction is not None:
            self._compaction = result

    def end_compaction(
        self,
        *,
        ok: bool,
        trigger: Trigger = "",
        before: int | None = None,
        after: int | None = None,
        error: str = "",
    ) -> None:
        """The compaction is over, if one was going on."""
        if self._compaction is None:
            return
        self._compaction = None
        self.out.append(
            CompactionEnded(ok=ok, trigger=trigger, tokens_before=before, tokens_after=after, error="" if ok else error)
        )

    def _failure(self) -> str:
        return self._compaction or "the turn ended before the compaction did"
