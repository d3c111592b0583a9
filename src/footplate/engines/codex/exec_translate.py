"""The stream of `codex exec --json` as events: one process, one turn. Pure.

Two of its habits shape this: items of type `error` are warnings that may come before the turn, and a turn that fails
says so twice (`error`, then `turn.failed`). And its token counts are those of the whole thread: of a new thread they
are the turn's own, of a resumed one nobody can tell here, so that only `reported` holds them.
"""

from __future__ import annotations

from typing import Final, assert_never

import msgspec

from footplate.engines.base import Exit, oversize_notice
from footplate.engines.codex.exec_items import Told, ToolItem, entries_of, read_item
from footplate.engines.codex.exec_wire import (
    AgentMessage,
    CommandExecution,
    ErrorItem,
    FileChange,
    Line,
    McpToolCall,
    Reasoning,
    TodoList,
    TokenCounts,
    WebSearch,
    item_decoder,
    line_decoder,
    plain_words,
    read_counts,
    read_problem,
)
from footplate.events.base import OptionalRaw, ResumeToken
from footplate.events.ids import EngineSessionId, MessageId, ToolCallId, TurnId
from footplate.events.model import (
    EngineAttached,
    EngineDetached,
    Event,
    Message,
    Notice,
    PlanChanged,
    StopReason,
    Thought,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    TurnEnded,
    TurnStarted,
    Unparsed,
)
from footplate.events.run_notes import word_exit
from footplate.events.usage import Usage
from footplate.host.lines import BadLine, Block, decode_block

NAME: Final = "codex"
RAW_LIMIT: Final = 64 * 1024
ZERO: Final = TokenCounts()


class Translator:
    """Folds the lines of one process into events.

    Codex counts its items anew in each process; our ids are the turn's and, behind it, the item's.
    """

    def __init__(
        self,
        *,
        cwd: str = "",
        version: str = "",
        model: str = "",
        mode: str = "",
        resumed: bool = False,
        prefix: str = "turn-",
    ) -> None:
        self.events: list[Event] = []
        self._attached = EngineAttached(
            engine=NAME,
            engine_session_id=EngineSessionId(""),
            reason="resumed" if resumed else "started",
            version=version,
            model=model,
            mode=mode,
            cwd=cwd,
        )
        self._prefix = prefix
        self._turns = 0
        self._turn: TurnId | None = None
        self._thread: EngineSessionId | None = None
        self._before: TokenCounts | None = None if resumed else ZERO
        self._calls: dict[str, Told] = {}
        self._over: set[ToolCallId] = set()
        self._answer = ""
        self._error = ""

    def feed(self, block: Block) -> list[Event]:
        """Events of whole lines, in order."""
        lines = decode_block(line_decoder, block.lines)
        for place, line in enumerate(lines):
            if isinstance(line, BadLine):
                self._keep(line.raw, line.reason)
            elif not self._line(line):
                self._keep(_line_at(block, place), f"an unknown line: {line.type}")
        for oversize in block.oversize:
            self.events.append(oversize_notice(oversize))
        return self._drain()

    def finish(self, ending: Exit) -> list[Event]:
        """The process is gone: a turn without its end is lost, or failed if Codex said why."""
        gone = EngineDetached(
            reason=ending.reason or "the agent ended",
            exit_code=ending.code,
            signal=ending.signal,
            stderr=ending.stderr,
        )
        if self._error and self._turns == 0:
            self._start_turn()
        if self._turn is not None:
            reason: StopReason = "error" if self._error else "lost"
            self._end_turn(ok=False, error=self._error or word_exit(gone), stop_reason=reason)
        self.events.append(gone)
        return self._drain()

    def _drain(self) -> list[Event]:
        events, self.events = self.events, []
        return events

    # -------------------------------------------------------------------------------------------- lines

    def _line(self, line: Line) -> bool:
        """The events of one line; False for one that we do not know."""
        match line.type:
            case "thread.started" if line.thread_id:
                self._thread = EngineSessionId(line.thread_id)
                self.events.append(msgspec.structs.replace(self._attached, engine_session_id=self._thread))
            case "turn.started":
                self._start_turn()
            case "item.started" | "item.updated" | "item.completed" if line.item is not None:
                return self._item(line.item, ended=line.type == "item.completed")
            case "turn.completed":
                self._end_turn(ok=True, usage=self._usage(line.usage))
            case "turn.failed":
                words = plain_words(read_problem(line.error))
                self._end_turn(ok=False, error=words or self._error or "the turn failed", stop_reason="error")
            case "error":
                self._error = plain_words(line.message)
                self.events.append(Notice(level="error", text=self._error, code="codex"))
            case _:
                return False
        return True

    def _keep(self, raw: bytes, reason: str) -> None:
        text = raw[:RAW_LIMIT].decode(errors="replace")
        self.events.append(Unparsed(raw=text, reason=reason, size=len(raw)))

    # -------------------------------------------------------------------------------------------- turns

    def _start_turn(self) -> TurnId:
        """The turn that runs; Codex speaks only in one, so that words without a turn start it."""
        if self._turn is None:
            self._turns += 1
            self._turn = TurnId(f"{self._prefix}{self._turns}")
            self._answer = ""
            self.events.append(TurnStarted(turn=self._turn, origin="prompt"))
        return self._turn

    def _end_turn(
        self, *, ok: bool, error: str = "", stop_reason: StopReason = "end_turn", usage: Usage | None = None
    ) -> None:
        """The one end of the turn; whatever comes twice finds nothing to end."""
        if self._turn is None and self._turns > 0:
            return
        turn = self._start_turn()
        for wire_id, told in [*self._calls.items()]:
            self._end_call(wire_id, msgspec.structs.replace(told, outcome="lost"))
        self.events.append(
            TurnEnded(
                turn=turn,
                ok=ok,
                answer=self._answer,
                error=error,
                stop_reason=stop_reason,
                usage=usage,
                resume=ResumeToken(engine=NAME, value=self._thread) if self._thread else None,
                origin="prompt",
            )
        )
        self._turn = None
        self._error = ""

    def _usage(self, reported: OptionalRaw) -> Usage | None:
        """The turn's share of the thread's counts; Codex counts cached tokens as input, we count them apart."""
        counts = read_counts(reported)
        if reported is None or counts is None:
            return None
        before, self._before = self._before, counts
        if before is None:
            text = "codex counts the tokens of the whole thread; the share of this turn is not known"
            self.events.append(Notice(level="info", text=text, code="usage_of_thread"))
            return Usage(reported=reported.copy())
        cached = counts.cached_input_tokens - before.cached_input_tokens
        written = counts.cache_write_input_tokens - before.cache_write_input_tokens
        return Usage(
            input_tokens=max(0, counts.input_tokens - before.input_tokens - cached - written),
            output_tokens=counts.output_tokens - before.output_tokens,
            cache_read_tokens=cached,
            cache_write_tokens=written,
            reasoning_tokens=counts.reasoning_output_tokens - before.reasoning_output_tokens,
            reported=reported.copy(),
        )

    # -------------------------------------------------------------------------------------------- items

    def _item(self, raw: msgspec.Raw, *, ended: bool) -> bool:
        try:
            item = item_decoder.decode(raw)
        except msgspec.ValidationError:
            return False
        match item:
            case ErrorItem():
                self.events.append(Notice(level="warning", text=plain_words(item.message), code="codex"))
            case AgentMessage() | Reasoning():
                self._speak(item, ended=ended)
            case TodoList():
                self._start_turn()
                self.events.append(PlanChanged(entries=entries_of(item)))
            case CommandExecution() | FileChange() | McpToolCall() | WebSearch():
                self._call(item, ended=ended)
            case _:
                assert_never(item)
        return True

    def _speak(self, item: AgentMessage | Reasoning, *, ended: bool) -> None:
        message = MessageId(f"{self._start_turn()}.{item.id}")
        if isinstance(item, AgentMessage):
            self._answer = item.text or self._answer
        if not ended or not item.text:
            return
        if isinstance(item, AgentMessage):
            self.events.append(Message(message=message, part=0, text=item.text))
        else:
            self.events.append(Thought(message=message, part=0, text=item.text))

    def _call(self, item: ToolItem, *, ended: bool) -> None:
        told, known = read_item(item), self._calls.get(item.id)
        call = self._name(item.id)
        if known is None:
            if call in self._over:
                self._keep(msgspec.json.encode(item), "more of a call that was over")
                return
            self.events.append(
                ToolStarted(
                    call=call, name=told.name, kind=told.kind, title=told.title, input=told.input, detail=told.detail
                )
            )
        elif not ended and told.detail != known.detail:
            self.events.append(ToolUpdated(call=call, detail=told.detail))
        self._calls[item.id] = told
        if ended:
            self._end_call(item.id, told)

    def _end_call(self, wire_id: str, told: Told) -> None:
        call = self._name(wire_id)
        self._over.add(call)
        del self._calls[wire_id]
        self.events.append(
            ToolEnded(
                call=call,
                ok=told.outcome == "completed",
                outcome=told.outcome,
                content=told.content,
                detail=told.detail,
            )
        )

    def _name(self, wire_id: str) -> ToolCallId:
        return ToolCallId(f"{self._start_turn()}.{wire_id}")


def _line_at(block: Block, place: int) -> bytes:
    """The line that a frame was decoded from: blank ones are no frames."""
    return [line for line in block.lines.split(b"\n") if line.strip()][place]
