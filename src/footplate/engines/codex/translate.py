"""What a thread of `codex app-server` does in its turns, as events: words, thoughts, calls, plans. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.engines.codex.items import Read, read_changes, read_item, write_changes
from footplate.engines.codex.wire import (
    AgentMessage,
    AnyItem,
    CollabCall,
    Compaction,
    PlanItem,
    PlanStep,
    Reasoning,
    Told,
    ToolItem,
    UserMessage,
)
from footplate.events.ids import MessageId, ToolCallId, TurnId
from footplate.events.model import (
    CompactionEnded,
    CompactionStarted,
    Event,
    Message,
    MessageDelta,
    PlanChanged,
    Thought,
    ThoughtDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
)
from footplate.events.tools import EntryStatus, FileChangeDetail, McpDetail, PlanEntry, ToolOutcome

STATUSES: Final[dict[str, EntryStatus]] = {"inProgress": "in_progress", "completed": "completed"}


class MisplacedError(Exception):
    """Something that has no place where it came; whoever has the line keeps it."""


class Call(msgspec.Struct, kw_only=True):
    """A call that runs."""

    id: ToolCallId
    read: Read
    parent: ToolCallId | None = None
    denied: bool = False


class Draft(msgspec.Struct, kw_only=True):
    """A message or a thought while it is written: the pieces of each of its parts."""

    message: MessageId
    parent: ToolCallId | None
    said: list[str] = []
    thought: dict[int, list[str]] = {}

    def close(self) -> list[Event]:
        """What was written of it, when no more will come."""
        events: list[Event] = [
            Thought(message=self.message, part=part, text="".join(pieces), parent=self.parent)
            for part, pieces in self.thought.items()
        ]
        if self.said:
            events.append(Message(message=self.message, part=0, text="".join(self.said), parent=self.parent))
        return events


class Translator:
    """Folds the items of turns into events. Between `begin` and `end` there is a turn, and only then.

    Items of a thread that an agent of the agent is carry the call that started it. Codex may use an id again, also
    within a turn; our ids are used once.
    """

    def __init__(self) -> None:
        self.own = ""
        self.calls: dict[str, Call] = {}
        self.answer = ""
        self.threads: dict[str, ToolCallId] = {}
        self._turn: TurnId | None = None
        self._messages = 0
        self._drafts: dict[str, Draft] = {}
        self._seen: dict[str, int] = {}

    def begin(self, turn: TurnId) -> None:
        """A turn starts."""
        self._turn = turn
        self.answer = ""
        self._messages = 0

    def end(self, outcome: ToolOutcome, note: str) -> list[Event]:
        """The turn is over: what was being written is kept, calls that are still open end like this."""
        events: list[Event] = [event for draft in self._drafts.values() for event in draft.close()]
        said = [event.text for event in events if isinstance(event, Message) and event.parent is None]
        self.answer = said[-1] if said else self.answer
        events += [self._end(wire_id, outcome, note) for wire_id in [*self.calls]]
        self._drafts.clear()
        self._turn = None
        return events

    # ------------------------------------------------------------------------------------------- items

    def begin_item(self, item: AnyItem, thread: str) -> list[Event]:
        """An item begins."""
        if isinstance(item, ToolItem):
            return self._begin_call(item, thread)
        if isinstance(item, Compaction):
            return [CompactionStarted(trigger="auto")]
        return []

    def end_item(self, item: AnyItem, thread: str) -> list[Event]:
        """An item is whole."""
        match item:
            case UserMessage():
                return []
            case Compaction():
                return [CompactionEnded(ok=True, trigger="auto")]
            case AgentMessage() | PlanItem():
                return self._say(item, thread)
            case Reasoning():
                return self._think(item, thread)
            case _:
                return self._end_call(item, thread)

    def _say(self, item: AgentMessage | PlanItem, thread: str) -> list[Event]:
        draft = self._draft(thread, item.id)
        del self._drafts[self._key(thread, item.id)]
        text = item.text or "".join(draft.said)
        if not text:
            return []
        if draft.parent is None:
            self.answer = text
        whole = Message(message=draft.message, part=0, text=text, parent=draft.parent)
        if not draft.said or "".join(draft.said) == text:
            return [whole]
        # what was streamed is not quite what was said: who reads along gets it again
        return [MessageDelta(message=whole.message, part=0, text=text, parent=whole.parent, reset=True), whole]

    def _think(self, item: Reasoning, thread: str) -> list[Event]:
        draft = self._draft(thread, item.id)
        del self._drafts[self._key(thread, item.id)]
        parts = item.summary or item.content
        if not parts:
            return draft.close()
        return [
            Thought(message=draft.message, part=part, text=text, parent=draft.parent)
            for part, text in enumerate(parts)
            if text
        ]

    def _begin_call(self, item: ToolItem, thread: str) -> list[Event]:
        if self._turn is None:
            raise MisplacedError("a call outside of a turn")
        wire_id, read = self._key(thread, item.id), read_item(item)
        if wire_id in self.calls:
            return self._more(self.calls[wire_id], read)
        uses = self._seen[wire_id] = self._seen.get(wire_id, 0) + 1
        name = ToolCallId(wire_id if uses == 1 else f"{wire_id}#{uses}")
        call = self.calls[wire_id] = Call(id=name, read=read, parent=self.threads.get(thread))
        self._learn_threads(item, call)
        return [
            ToolStarted(
                call=call.id,
                name=read.name,
                kind=read.kind,
                title=read.title,
                input=read.input,
                detail=read.detail,
                parent=call.parent,
            )
        ]

    def _more(self, call: Call, read: Read) -> list[Event]:
        if read.detail == call.read.detail:
            return []
        call.read = read
        return [ToolUpdated(call=call.id, input=read.input, detail=read.detail)]

    def _end_call(self, item: ToolItem, thread: str) -> list[Event]:
        wire_id = self._key(thread, item.id)
        events = [] if wire_id in self.calls else self._begin_call(item, thread)
        call = self.calls[wire_id]
        call.read = read_item(item)
        self._learn_threads(item, call)
        return [*events, self._end(wire_id, call.read.outcome, "")]

    def _end(self, wire_id: str, outcome: ToolOutcome, note: str) -> ToolEnded:
        call = self.calls.pop(wire_id)
        if call.denied and outcome != "completed":
            outcome, note = "denied", ""
        return ToolEnded(
            call=call.id,
            ok=outcome == "completed",
            outcome=outcome,
            content=call.read.content,
            detail=call.read.detail,
            note=note,
        )

    def _learn_threads(self, item: ToolItem, call: Call) -> None:
        if isinstance(item, CollabCall):
            for thread in item.receiver_thread_ids:
                self.threads.setdefault(thread, call.id)

    # ------------------------------------------------------------------------------------------ deltas

    def delta(self, method: str, told: Told) -> list[Event]:
        """A piece of an item while it is written; empty for one that needs no event."""
        match method:
            case "item/agentMessage/delta" | "item/plan/delta" if told.delta:
                draft = self._draft(told.thread_id, told.item_id)
                draft.said.append(told.delta)
                return [MessageDelta(message=draft.message, part=0, text=told.delta, parent=draft.parent)]
            case "item/reasoning/summaryTextDelta" if told.delta:
                draft, part = self._draft(told.thread_id, told.item_id), told.summary_index
                draft.thought.setdefault(part, []).append(told.delta)
                return [ThoughtDelta(message=draft.message, part=part, text=told.delta, parent=draft.parent)]
            case "item/commandExecution/outputDelta":
                call = self.calls.get(self._key(told.thread_id, told.item_id))
                return [ToolUpdated(call=call.id, output_delta=told.delta)] if call is not None else []
            case "item/mcpToolCall/progress":
                call = self.calls.get(self._key(told.thread_id, told.item_id))
                return [ToolUpdated(call=call.id, note=told.message)] if call is not None else []
            case "item/fileChange/patchUpdated":
                return self._patched(told)
            case _:
                return []

    def _patched(self, told: Told) -> list[Event]:
        call = self.calls.get(self._key(told.thread_id, told.item_id))
        detail = FileChangeDetail(changes=read_changes(told.changes))
        if call is None or detail == call.read.detail:
            return []
        call.read = msgspec.structs.replace(call.read, detail=detail, input=write_changes(told.changes))
        return [ToolUpdated(call=call.id, input=call.read.input, detail=detail)]

    def find(self, thread: str, item: str) -> Call | None:
        """The call that runs under this id."""
        return self.calls.get(self._key(thread, item))

    def find_server(self, server: str) -> Call | None:
        """The last call of a tool of this MCP server that runs: a form of the server names no call."""
        named = [call for call in self.calls.values() if _server_of(call) == server]
        return named[-1] if named else None

    def plan(self, steps: tuple[PlanStep, ...], thread: str) -> PlanChanged:
        """The whole plan."""
        entries = tuple(PlanEntry(content=each.step, status=STATUSES.get(each.status, "pending")) for each in steps)
        return PlanChanged(entries=entries, parent=self.threads.get(thread))

    def _draft(self, thread: str, item: str) -> Draft:
        """The message that is being written; Codex's own id of it may come again."""
        if self._turn is None:
            raise MisplacedError("the agent spoke outside of a turn")
        key = self._key(thread, item)
        if key not in self._drafts:
            self._messages += 1
            message = MessageId(f"{self._turn}.m{self._messages}")
            self._drafts[key] = Draft(message=message, parent=self.threads.get(thread))
        return self._drafts[key]

    def _key(self, thread: str, item: str) -> str:
        """One name for an item of whichever thread; those of the thread that we drive keep their own."""
        return item if thread == self.own else f"{thread}/{item}"


def _server_of(call: Call) -> str | None:
    return call.read.detail.server if isinstance(call.read.detail, McpDetail) else None
