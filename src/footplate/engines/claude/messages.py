"""Messages of the model as they are written and once they stand: text, thoughts, calls of tools.

With partial messages deltas draw and the assistant line replaces; it comes before the `content_block_stop`. Each
assistant line holds one block of its message; parts are numbered as the API numbers the blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

import msgspec

from footplate.engines.claude.inputs import UNKNOWN_BLOCK, UNREADABLE_BLOCK, Inputs
from footplate.engines.claude.ledger import Ledger
from footplate.engines.claude.lenient import present, read, read_whole
from footplate.engines.claude.outcomes import read_ending
from footplate.engines.claude.toolbox import describe_call, kind_of
from footplate.engines.claude.wire import (
    BLOCK,
    CONTENT,
    ApiEvent,
    Assistant,
    Block,
    MessageHint,
    StreamEvent,
    Tokens,
)
from footplate.engines.standing import Standing
from footplate.events.ids import MessageId, ToolCallId
from footplate.events.model import Message, MessageDelta, Thought, ThoughtDelta, ToolStarted, ToolUpdated

SYNTHETIC: Final = "<synthetic>"
"""The model's name in lines that the CLI wrote itself."""

KEPT: Final = 64
"""How many messages are remembered, so that a further block of one gets the next number."""

PartKind = Literal["text", "thought", "call"]
HINT: Final = msgspec.json.Decoder(MessageHint)
TOKENS: Final = msgspec.json.Decoder(Tokens)


class Part(msgspec.Struct):
    """One block of a message while it is written."""

    kind: PartKind
    pieces: list[str] = []
    call: ToolCallId | None = None
    done: bool = False


class Written(msgspec.Struct):
    """A message of which at least one block was seen."""

    id: MessageId
    parent: ToolCallId | None = None
    parts: dict[int, Part] = {}


class Messages:
    """Everything the model says."""

    def __init__(self, ledger: Ledger, inputs: Inputs, raw_line: Callable[[], bytes]) -> None:
        self._ledger = ledger
        self._inputs = inputs
        self._raw_line = raw_line
        self._current: dict[str | None, Written] = {}
        self._written: dict[str, Written] = {}
        self.answer: list[str] = []
        self.context_used: int | None = None
        self._answering = ""
        self._joins = True

    def take_over(self, standing: Standing) -> None:
        """Number further blocks of a message after those that the log has.

        Deltas of a message that a living process is in the middle of are left: the beginning was for others.
        """
        self._joins = not standing.living
        for message in standing.messages[-KEPT:]:
            parts = {number: Part("text", done=True) for number in message.blocks}
            self._written[message.id] = Written(message.id, message.parent, parts)
            if message.parent is None:
                self._answering = message.id
        self.answer = list(standing.answer)

    # -------------------------------------------------------------------------------------- as it is written

    def stream(self, line: StreamEvent) -> bool:
        """One event of the API's stream; False when it is of a kind we do not know."""
        event = line.event
        delta = event.delta
        if delta is None or event.type != "content_block_delta":
            return self._boundary(line, event)
        written = self._current.get(line.parent_tool_use_id)
        part = written.parts.get(event.index) if written is not None else None
        if written is None or part is None or part.done:
            return self._stray(line, event, done=part is not None)
        if delta.type == "text_delta":
            text = delta.text
            part.pieces.append(text)
            self._ledger.out.append(
                MessageDelta(message=written.id, part=event.index, text=text, parent=written.parent)
            )
            return True
        if delta.type == "thinking_delta":
            part.pieces.append(delta.thinking)
            self._ledger.out.append(
                ThoughtDelta(message=written.id, part=event.index, text=delta.thinking, parent=written.parent)
            )
            return True
        if delta.type == "input_json_delta":
            return self._input_delta(part, delta.partial_json)
        return self._skip(delta.type, ("signature_delta", "citations_delta"))

    def abandon(self, parent: str | None = None) -> None:
        """The CLI gave up a message that it had begun to show: what was shown of it is kept, and is no answer."""
        written = self._current.pop(parent, None)
        if written is not None:
            self._keep(written)

    def flush(self) -> None:
        """The process is gone: keep what was written of every message; it is the last answer there is."""
        for written in self._current.values():
            for text in self._keep(written):
                self._remember(written, text)
        self._current.clear()

    def _keep(self, written: Written) -> list[str]:
        """Finish the parts of a message that nothing else will finish; gives back the texts among them."""
        texts: list[str] = []
        for index, part in written.parts.items():
            if part.done or not part.pieces:
                continue
            text = "".join(part.pieces)
            part.done = True
            part.pieces = []
            if part.kind == "thought":
                self._ledger.out.append(Thought(message=written.id, part=index, text=text, parent=written.parent))
            elif part.kind == "text":
                texts.append(text)
                self._ledger.out.append(Message(message=written.id, part=index, text=text, parent=written.parent))
        return texts

    def _boundary(self, line: StreamEvent, event: ApiEvent) -> bool:
        parent = line.parent_tool_use_id
        if event.type == "message_start" and event.message is not None:
            before = len(self._ledger.out)
            self._begin(event.message.id, parent)
            return len(self._ledger.out) > before or self._skip("message_start", ("message_start",))
        if event.type == "content_block_start" and event.content_block is not None:
            return self._begin_part(line, event)
        return self._skip(event.type, ("content_block_stop", "message_delta", "message_stop", "ping"))

    def _begin(self, name: str, parent: str | None) -> Written:
        if parent is None:
            self._ledger.open_turn()
        self.abandon(parent)
        written = self._current[parent] = self._message(name, parent)
        return written

    def _begin_part(self, line: StreamEvent, event: ApiEvent) -> bool:
        block = event.content_block
        written = self._current.get(line.parent_tool_use_id)
        if block is None or written is None:
            return self._skip("lost_delta", ("lost_delta",))
        kind = _part_kind(block.type)
        if event.index not in written.parts:
            written.parts[event.index] = Part(kind, call=ToolCallId(block.id) if kind == "call" else None)
        if kind != "call" or not block.id:
            return self._skip("content_block_start", ("content_block_start",))
        started = ToolStarted(
            call=ToolCallId(block.id),
            name=block.name,
            kind=kind_of(block.name),
            title=block.name,
            message=written.id,
            parent=written.parent,
        )
        return self._ledger.start_call(started) is not None or self._skip(
            "content_block_start", ("content_block_start",)
        )

    def _input_delta(self, part: Part, text: str) -> bool:
        if part.call is None or not self._ledger.update_call(ToolUpdated(call=part.call, input_delta=text)):
            self._ledger.ignore("stream_event/late_delta")
        return True

    def _stray(self, line: StreamEvent, event: ApiEvent, *, done: bool) -> bool:
        """A delta without a part: its block's start was missed, or even its message's, which 2.1.325 names."""
        parent = line.parent_tool_use_id
        kind = _PART_KINDS.get(event.delta.type if event.delta is not None else "")
        if not done and kind is not None:
            written = self._current.get(parent) or self._joined(parent)
            if written is not None and not written.parts.setdefault(event.index, Part(kind)).done:
                return self.stream(line)
        self._ledger.ignore("stream_event/late_delta" if done else "stream_event/lost_delta")
        return True

    def _joined(self, parent: str | None) -> Written | None:
        hint = read(HINT, self._raw_line()) if self._joins else None
        return self._begin(hint.api_message_id, parent) if hint is not None and hint.api_message_id else None

    def _skip(self, kind: str, known: tuple[str, ...]) -> bool:
        if kind not in known:
            return False
        self._ledger.ignore(f"stream_event/{kind}")
        return True

    # -------------------------------------------------------------------------------------- once it stands

    def assistant(self, line: Assistant) -> bool:
        """One line of a message; False when its content cannot be read at all."""
        content = read(CONTENT, line.message.content)
        if content is None:
            return present(line.message.content) is None and self._nothing()
        self._note(line)
        written = self._message(line.message.id or line.uuid, line.parent_tool_use_id)
        if isinstance(content, str):
            self._say(written, content, line)
            return True
        for raw in content:
            block, whole = read_whole(BLOCK, raw)
            if block is None or not (whole or block.type.endswith("tool_use")):
                self._ledger.unparsed(raw, UNREADABLE_BLOCK)
            elif not self._stand(written, block, line) or not whole:
                self._ledger.unparsed(raw, UNKNOWN_BLOCK)
        return bool(content) or self._nothing()

    def _nothing(self) -> bool:
        self._ledger.ignore("assistant/empty")
        return True

    def _note(self, line: Assistant) -> None:
        if line.parent_tool_use_id is not None:
            return
        turn = self._ledger.open_turn()
        turn.error_kind = line.error or turn.error_kind
        tokens = read(TOKENS, line.message.usage) if line.message.model != SYNTHETIC else None
        if tokens is not None:
            self.context_used = (
                tokens.input_tokens + tokens.cache_read_input_tokens + tokens.cache_creation_input_tokens
            ) or self.context_used

    def _stand(self, written: Written, block: Block, line: Assistant) -> bool:
        if block.type == "text":
            self._say(written, block.text, line)
        elif block.type in ("thinking", "redacted_thinking"):
            index = self._number(written, "thought")
            self._ledger.out.append(
                Thought(
                    message=written.id,
                    part=index,
                    text=block.thinking,
                    redacted=not block.thinking,
                    parent=written.parent,
                )
            )
        elif block.type.endswith("tool_result") and block.tool_use_id:
            self._inputs.result(block.tool_use_id, read_ending(block, None, None), line.parent_tool_use_id)
        elif block.type.endswith("tool_use") and block.id:
            self._number(written, "call", block.id)
            self._call(written, block)
        else:
            return False
        return True

    def _say(self, written: Written, text: str, line: Assistant) -> None:
        index = self._number(written, "text")
        self._remember(written, text)
        self._ledger.out.append(
            Message(
                message=written.id,
                part=index,
                text=text,
                model=line.message.model,
                synthetic=line.message.model == SYNTHETIC,
                parent=written.parent,
            )
        )

    def _remember(self, written: Written, text: str) -> None:
        if written.parent is None and text:
            if written.id != self._answering:
                self._answering = written.id
                self.answer = []
            self.answer.append(text)

    def _call(self, written: Written, block: Block) -> None:
        given = None if block.input is None else block.input.copy()
        call = ToolCallId(block.id)
        described = describe_call(block.name, given, self._ledger.cwd)
        started = ToolStarted(
            call=call,
            name=block.name,
            kind=described.kind,
            title=described.title,
            message=written.id,
            input=given,
            detail=described.detail,
            parent=written.parent,
        )
        if self._ledger.start_call(started) is None:
            updated = ToolUpdated(call=call, title=described.title, input=given, detail=described.detail)
            if not self._ledger.update_call(updated):
                self._ledger.notice("debug", f"call {call} was told again after its end", code="late_call")

    # --------------------------------------------------------------------------------------------- parts

    def _message(self, name: str, parent: str | None) -> Written:
        written = self._written.get(name)
        if written is None:
            written = Written(MessageId(name), None if parent is None else ToolCallId(parent))
            self._written[name] = written
            if len(self._written) > KEPT:
                del self._written[next(iter(self._written))]
        return written

    def _number(self, written: Written, kind: PartKind, call: str = "") -> int:
        """The number of a finished block: that of the streamed one it replaces, else the next."""
        for index, part in written.parts.items():
            if not part.done and part.kind == kind and (not call or part.call == call):
                part.done = True
                part.pieces = []
                return index
        index = max(written.parts, default=-1) + 1
        written.parts[index] = Part(kind, done=True)
        return index


_PART_KINDS: Final[dict[str, PartKind]] = {"text_delta": "text", "thinking_delta": "thought"}


def _part_kind(block: str) -> PartKind:
    if block.endswith("tool_use"):
        return "call"
    return "thought" if block.endswith("thinking") else "text"
