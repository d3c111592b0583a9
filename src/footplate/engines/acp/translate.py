"""What an ACP agent does in a turn, as events: text and its boundaries, tool calls, plans. Pure.

ACP streams messages in chunks and never says that one is over. It is over when a chunk of another kind, of another
message or of another sub-agent comes, when a call or a request begins, or when the turn ends.
"""

from __future__ import annotations

from typing import Final, Literal, assert_never

from footplate.acp.content import text_in_message
from footplate.acp.reading import ToolFields
from footplate.acp.schema.tools import ToolCall
from footplate.acp.schema.updates import AgentMessageChunk, AgentThoughtChunk, Plan, ToolCallChange, UserMessageChunk
from footplate.engines.acp.calls import Call, is_streaming, parent_of
from footplate.engines.acp.rejoining import call_again, wire_name
from footplate.engines.standing import Standing
from footplate.events.content import TextBlock, text_of
from footplate.events.ids import MessageId, ToolCallId, TurnId
from footplate.events.model import (
    Event,
    Message,
    MessageDelta,
    PlanChanged,
    Thought,
    ThoughtDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    UserMessage,
)
from footplate.events.tools import EntryStatus, PlanEntry, ToolOutcome

Chunk = AgentMessageChunk | AgentThoughtChunk | UserMessageChunk
TurnUpdate = Chunk | ToolCall | ToolCallChange | Plan
"""Updates that belong to a turn; the others may come at any time."""

Speaker = Literal["message", "thought", "user"]
SPEAKERS: Final[dict[type, Speaker]] = {
    AgentMessageChunk: "message",
    AgentThoughtChunk: "thought",
    UserMessageChunk: "user",
}
STATUSES: Final[dict[str, EntryStatus]] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "completed": "completed",
}
PRIORITIES: Final[dict[str, Literal["high", "medium", "low"]]] = {"high": "high", "medium": "medium", "low": "low"}
OVER: Final = ("completed", "failed")


class MisplacedError(Exception):
    """An update that has no place where it came; whoever has the line keeps it."""


class OpenText:
    """A part of a message that is still written."""

    def __init__(self, key: tuple[Speaker, str, ToolCallId | None], message: MessageId, part: int) -> None:
        self.key = key
        self.message = message
        self.part = part
        self.pieces: list[str] = []


class Translator:
    """Folds the updates of turns into events. Between `begin` and `end` there is a turn, and only then."""

    def __init__(self) -> None:
        self.calls: dict[str, Call] = {}
        self.answer = ""
        self._turn: TurnId | None = None
        self._text: OpenText | None = None
        self._messages = 0
        self._parts: dict[str, int] = {}
        self._seen: dict[str, int] = {}
        self._names: dict[str, ToolCallId] = {}
        self._cut = ""
        """The message that may have been cut in two where another went on."""

    def begin(self, turn: TurnId) -> None:
        """A turn starts."""
        self._turn = turn
        self.answer = ""
        self._messages = 0
        self._parts.clear()

    def take_over(self, turn: TurnId, standing: Standing) -> None:
        """Go on with a turn of which another has read the first part: nothing that was said in it is begun anew."""
        self.begin(turn)
        self.answer = "".join(standing.answer)
        self._cut = standing.messages[-1].id if standing.messages else ""
        for message in standing.messages:
            self._parts[message.id] = len(message.blocks)
            self._messages += message.id.startswith(f"{turn}.m")
        for each in standing.calls:
            name = wire_name(each.id)
            self._seen[name] = self._seen.get(name, 0) + 1
            self._names[name] = each.id
            if not each.ended:
                self.calls[name] = call_again(each)

    @property
    def speaks(self) -> bool:
        """Whether a text is half told."""
        return self._text is not None

    def end(self, outcome: ToolOutcome, note: str) -> list[Event]:
        """The turn is over: what is still open is closed, calls with this outcome."""
        events = self.close_text()
        for wire_id in list(self.calls):
            events.append(self._end_call(wire_id, ok=False, outcome=outcome, note=note))
        self._turn = None
        return events

    def feed(self, update: TurnUpdate, *, interrupted: bool = False) -> list[Event]:
        """Events of one update. Raises `MisplacedError` for one that we can read but not place."""
        if self._turn is None:
            raise MisplacedError("the agent spoke outside of a turn")
        match update:
            case AgentMessageChunk() | AgentThoughtChunk() | UserMessageChunk():
                return self._chunk(self._turn, update)
            case ToolCall():
                return self._announce(update, interrupted=interrupted)
            case ToolCallChange():
                return self._progress(update, interrupted=interrupted)
            case Plan():
                return [self._plan(update)]
            case _:
                assert_never(update)

    # --------------------------------------------------------------------------------------------- text

    def close_text(self) -> list[Event]:
        """The part of a message that was being written is over."""
        text, self._text = self._text, None
        content = "".join(text.pieces) if text else ""
        if text is None or not content:
            return []
        speaker, _, parent = text.key
        if speaker == "thought":
            return [Thought(message=text.message, part=text.part, text=content, parent=parent)]
        if speaker == "user":
            said = (TextBlock(text=content),)
            return [UserMessage(message=text.message, content=said, synthetic=True, parent=parent)]
        if parent is None:
            self.answer = self.answer + content if text.message == self._cut else content
            self._cut = ""
        return [Message(message=text.message, part=text.part, text=content, parent=parent)]

    def _chunk(self, turn: TurnId, chunk: Chunk) -> list[Event]:
        content = text_in_message(chunk.content)
        if content is None:
            raise MisplacedError("a message can hold text only")
        if not content:
            return []
        speaker = SPEAKERS[type(chunk)]
        key = (speaker, chunk.message_id or "", self._parent(parent_of(chunk.meta)))
        events: list[Event] = []
        if self._text is None or self._text.key != key:
            events = self.close_text()
            self._text = self._open(turn, key)
        text = self._text
        text.pieces.append(content)
        if speaker == "message":
            events.append(MessageDelta(message=text.message, part=text.part, text=content, parent=key[2]))
        elif speaker == "thought":
            events.append(ThoughtDelta(message=text.message, part=text.part, text=content, parent=key[2]))
        return events

    def _open(self, turn: TurnId, key: tuple[Speaker, str, ToolCallId | None]) -> OpenText:
        wire_id = key[1]
        if not wire_id:
            self._messages += 1
            return OpenText(key, MessageId(f"{turn}.m{self._messages}"), 0)
        part = self._parts.get(wire_id, 0)
        self._parts[wire_id] = part + 1
        return OpenText(key, MessageId(wire_id), part)

    # -------------------------------------------------------------------------------------------- calls

    def begin_call(self, fields: ToolFields) -> tuple[Call, list[Event]]:
        """First sight of a call, by an announcement or by the permission that is asked for it."""
        events = self.close_text()
        wire_id = fields.tool_call_id
        uses = self._seen[wire_id] = self._seen.get(wire_id, 0) + 1
        name = self._names[wire_id] = ToolCallId(wire_id if uses == 1 else f"{wire_id}#{uses}")
        call = self.calls[wire_id] = Call(name, fields, self._parent(parent_of(fields.meta)))
        events.append(
            ToolStarted(
                call=call.id,
                name=call.name,
                kind=call.kind,
                title=call.title,
                input=call.input,
                detail=None if is_streaming(fields) else call.detail(ended=False),
                parent=call.parent,
                pending=fields.status == "pending",
            )
        )
        return call, events

    def update_call(self, call: Call, fields: ToolFields) -> list[Event]:
        """More of a call that runs: only what changed is told."""
        title, given, detail, output = call.title, call.input, call.detail(ended=False), text_of(call.content)
        call.learn(fields)
        new_detail, new_output = call.detail(ended=False), text_of(call.content)
        runs = call.kind == "command" and call.status == "in_progress"
        grown = new_output[len(output) :] if runs and new_output.startswith(output) else ""
        changed = ToolUpdated(
            call=call.id,
            title=call.title if call.title != title else "",
            input=call.input if call.input != given else None,
            detail=new_detail if new_detail != detail or (given is None and call.input is not None) else None,
            output_delta=grown,
        )
        return [changed] if changed != ToolUpdated(call=call.id) else []

    def _announce(self, fields: ToolCall, *, interrupted: bool) -> list[Event]:
        if fields.tool_call_id in self.calls:
            return self._go_on(self.calls[fields.tool_call_id], fields, interrupted=interrupted)
        call, events = self.begin_call(fields)
        return events + self._judge(call, fields, interrupted=interrupted)

    def _progress(self, fields: ToolCallChange, *, interrupted: bool) -> list[Event]:
        call = self.calls.get(fields.tool_call_id)
        if call is not None:
            return self._go_on(call, fields, interrupted=interrupted)
        if fields.tool_call_id in self._seen:
            raise MisplacedError("more of a call that was over")
        call, events = self.begin_call(fields)
        return events + self._judge(call, fields, interrupted=interrupted)

    def _go_on(self, call: Call, fields: ToolFields, *, interrupted: bool) -> list[Event]:
        return self.update_call(call, fields) + self._judge(call, fields, interrupted=interrupted)

    def _judge(self, call: Call, fields: ToolFields, *, interrupted: bool) -> list[Event]:
        if fields.status not in OVER:
            return []
        outcome: ToolOutcome = "completed"
        if fields.status == "failed":
            outcome = "denied" if call.denied else "cancelled" if interrupted else "failed"
        own_words = self._text is not None and self._text.key[2] == call.id
        ended = self._end_call(fields.tool_call_id, ok=outcome == "completed", outcome=outcome, note="")
        return [*(self.close_text() if own_words else ()), ended]

    def _end_call(self, wire_id: str, *, ok: bool, outcome: ToolOutcome, note: str) -> ToolEnded:
        call = self.calls.pop(wire_id)
        if call.denied and not ok:
            outcome, note = "denied", ""
        return ToolEnded(
            call=call.id, ok=ok, outcome=outcome, content=call.content, detail=call.detail(ended=True), note=note
        )

    def _parent(self, wire_id: str | None) -> ToolCallId | None:
        return self._names.get(wire_id) if wire_id else None

    def _plan(self, update: Plan) -> PlanChanged:
        entries = tuple(
            PlanEntry(
                content=entry.content,
                status=STATUSES.get(entry.status, "pending"),
                priority=PRIORITIES.get(entry.priority, ""),
            )
            for entry in update.entries
        )
        return PlanChanged(entries=entries, parent=self._parent(parent_of(update.meta)))
