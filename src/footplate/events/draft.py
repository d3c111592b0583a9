"""A session's view in the making: the same facts in lists and maps that grow by one without being copied."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from footplate.events.codec import ReadEnvelope
from footplate.events.ids import PromptId, RequestId, TaskId, ToolCallId, TurnId
from footplate.events.model import Envelope
from footplate.events.view import (
    CompactionItem,
    Counts,
    Item,
    LimitView,
    LiveKind,
    LivePart,
    QueuedPrompt,
    RequestView,
    SessionView,
    TaskView,
    ToolItem,
    TurnView,
)

CLOSED_KEPT = 50
"""How many requests that ended stay in the view."""

_I = TypeVar("_I", bound=Item)
LiveKey = tuple[LiveKind, str, int]
Stamp = Envelope | ReadEnvelope
"""What the envelope around an event tells: its number, its time, its turn."""


class _Stream:
    """Text that arrives in pieces; they are joined when somebody looks."""

    def __init__(self, text: str, parent: ToolCallId | None) -> None:
        self.pieces = [text]
        self.parent = parent

    def text(self) -> str:
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0]


class Draft:
    """The working state of one reducer. `facts` holds what is neither list nor map; `snapshot` puts all together."""

    def __init__(self, view: SessionView) -> None:
        self.facts = msgspec.structs.replace(view, items=(), turns=(), tasks=())
        self.last_seq = view.last_seq
        self.updated_at = view.updated_at
        self.epoch = view.epoch
        self.turns: dict[TurnId, TurnView] = {turn.id: turn for turn in view.turns}
        self.tasks: dict[TaskId, TaskView] = {task.id: task for task in view.tasks}
        self.requests: dict[RequestId, RequestView] = {held.request.id: held for held in view.requests}
        self.closed: list[RequestView] = list(view.closed_requests)
        self.queue: list[QueuedPrompt] = list(view.queue)
        self.accepted: set[PromptId] = {held.id for held in view.queue}
        self.limits: dict[tuple[str, str], LimitView] = {(limit.kind, limit.name): limit for limit in view.limits}
        self._items: list[Item] = list(view.items)
        self._places: dict[tuple[type, str], int] = {
            (type(item), item.id): place for place, item in enumerate(view.items)
        }
        self._children: dict[ToolCallId, list[ToolCallId]] = {}
        self._grown: set[ToolCallId] = set()
        self._live: dict[LiveKey, _Stream] = {
            (part.kind, part.id, part.part): _Stream(part.text, part.parent) for part in view.live
        }

    def snapshot(self) -> SessionView:
        """The view as it stands, frozen: later events do not touch it."""
        for call in self._grown:
            item = self.item(ToolItem, call)
            if item is not None:
                self.put(msgspec.structs.replace(item, children=tuple(self._children[call])))
        self._grown.clear()
        return msgspec.structs.replace(
            self.facts,
            last_seq=self.last_seq,
            updated_at=self.updated_at,
            epoch=self.epoch,
            turns=tuple(self.turns.values()),
            tasks=tuple(self.tasks.values()),
            requests=tuple(self.requests.values()),
            closed_requests=tuple(self.closed),
            queue=tuple(self.queue),
            limits=tuple(self.limits.values()),
            items=tuple(self._items),
            live=tuple(
                LivePart(kind=kind, id=name, part=part, text=stream.text(), parent=stream.parent)
                for (kind, name, part), stream in self._live.items()
            ),
        )

    def outline(self) -> SessionView:
        """The view without its history: no items, tasks or live texts, and of the turns the last one."""
        return msgspec.structs.replace(
            self.facts,
            last_seq=self.last_seq,
            updated_at=self.updated_at,
            epoch=self.epoch,
            turns=(next(reversed(self.turns.values())),) if self.turns else (),
            requests=tuple(self.requests.values()),
            closed_requests=tuple(self.closed),
            queue=tuple(self.queue),
            limits=tuple(self.limits.values()),
            live=(),
        )

    def turn_of(self, at: Stamp) -> TurnId | None:
        """The turn that an event belongs to: its envelope's, else the running one."""
        return at.turn if at.turn is not None else self.facts.turn

    # ------------------------------------------------------------------------------------------ timeline

    def item(self, kind: type[_I], name: str) -> _I | None:
        """The item of that type and id, when there is one."""
        place = self._places.get((kind, name))
        found = None if place is None else self._items[place]
        return found if isinstance(found, kind) else None

    def put(self, item: Item) -> None:
        """Append the item to the timeline, or put it in the place of the one with its type and id."""
        key = (type(item), item.id)
        place = self._places.get(key)
        if place is None:
            self._places[key] = len(self._items)
            self._items.append(item)
        else:
            self._items[place] = item

    def running_compaction(self) -> CompactionItem | None:
        """The compaction that has not ended; it is the latest one or none."""
        for item in reversed(self._items):
            if isinstance(item, CompactionItem):
                return item if item.status == "running" else None
        return None

    def adopt(self, call: ToolCallId, parent: ToolCallId) -> None:
        """Note a call as child of another."""
        item = self.item(ToolItem, parent)
        if item is not None:
            self._children.setdefault(parent, list(item.children)).append(call)
            self._grown.add(parent)

    def count(self, parent: ToolCallId | None, *, calls: int = 0, running: int = 0, failed: int = 0) -> None:
        """Add to the counts of the call and of all above it."""
        while parent is not None:
            item = self.item(ToolItem, parent)
            if item is None:
                return
            counts = Counts(
                calls=item.counts.calls + calls,
                running=item.counts.running + running,
                failed=item.counts.failed + failed,
            )
            self.put(msgspec.structs.replace(item, counts=counts))
            parent = item.parent

    # ---------------------------------------------------------------------------------------------- live

    def stream(self, key: LiveKey, text: str, *, parent: ToolCallId | None, reset: bool) -> None:
        """Add to a text that is being written, or replace what there is of it."""
        stream = self._live.get(key)
        if stream is None:
            self._live[key] = _Stream(text, parent)
        elif reset:
            stream.pieces = [text]
        else:
            stream.pieces.append(text)

    def settle(self, key: LiveKey) -> None:
        """The text is whole now and stands elsewhere."""
        self._live.pop(key, None)

    def drop_live(self, *, main_only: bool) -> None:
        """Let go of texts that will never be finished: all of them, or those of the main conversation's messages."""
        for key, stream in tuple(self._live.items()):
            if not main_only or (stream.parent is None and key[0] in ("message", "thought")):
                del self._live[key]

    # --------------------------------------------------------------------------------------------- queue

    def leave_queue(self, prompts: tuple[PromptId, ...]) -> None:
        """These prompts wait no longer."""
        if self.queue and prompts:
            self.queue = [waiting for waiting in self.queue if waiting.id not in prompts]

    def take_queued(self, prompts: tuple[PromptId, ...]) -> tuple[QueuedPrompt, ...]:
        """Remove these prompts from the queue and return those that were in it."""
        taken = tuple(waiting for waiting in self.queue if waiting.id in prompts)
        self.leave_queue(prompts)
        return taken

    def close_request(self, held: RequestView) -> None:
        """Move a request to those that ended."""
        self.requests.pop(held.request.id, None)
        self.closed.append(held)
        del self.closed[:-CLOSED_KEPT]
