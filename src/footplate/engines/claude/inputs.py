"""Messages to the model: results of tools, echoes of prompts, and the CLI's own words."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from footplate.engines.claude.ledger import Call, Ledger
from footplate.engines.claude.lenient import present, read, read_whole
from footplate.engines.claude.outcomes import Ending, complete_detail, judge, read_block, read_ending
from footplate.engines.claude.prompts import Prompts
from footplate.engines.claude.todos import Todos
from footplate.engines.claude.wire import BLOCK, CONTENT, Block, User
from footplate.events.base import Level
from footplate.events.content import ContentBlock, TextBlock, text_of
from footplate.events.ids import MessageId, ToolCallId
from footplate.events.model import PlanChanged, TaskUpdated, ToolStarted, UserMessage

LOCAL_COMMAND: Final = re.compile(r"\s*<local-command-(stdout|stderr)>(.*)</local-command-\1>\s*", re.DOTALL)
LOCAL_LEVELS: Final[dict[str, Level]] = {"stdout": "info", "stderr": "warning"}
INTERRUPTED: Final = "[Request interrupted by user"
REASON_LIMIT: Final = 2000
REPEATED: Final = (
    "the agent had this message before the service was restarted, and does not run it again; what it did for it is not "
    "known. Send it again if it is still wanted"
)
UNKNOWN_BLOCK: Final = "an unknown content block"
UNREADABLE_BLOCK: Final = "a content block that does not fit its kind"


class Inputs:
    """Everything that is said to the model.

    `live`: the lines come from a process, which announces each turn before it echoes a prompt of it. A transcript has
    no announcements.
    """

    def __init__(self, ledger: Ledger, prompts: Prompts, *, live: bool) -> None:
        self._live = live
        self._ledger = ledger
        self._prompts = prompts
        self._todos = Todos()

    def user(self, line: User) -> bool:
        """One line; False when its content cannot be read at all."""
        raw = line.message.content
        blocks = read(CONTENT, raw)
        if blocks is None:
            return present(raw) is None and self._nothing()
        if isinstance(blocks, str):
            return self._say(line, (TextBlock(text=blocks),))
        spoken, results = self._sort(blocks)
        structured = line.tool_use_result if len(results) == 1 else None
        for block in results:
            ending = read_ending(block, structured, line.tool_result_meta)
            self.result(block.tool_use_id, ending, line.parent_tool_use_id)
        if spoken:
            return self._say(line, tuple(spoken))
        return bool(blocks) or self._nothing()

    def _sort(self, blocks: list[msgspec.Raw]) -> tuple[list[ContentBlock], list[Block]]:
        """What is said, and the results of calls; what is neither is kept as it came."""
        spoken: list[ContentBlock] = []
        results: list[Block] = []
        for raw in blocks:
            block, whole = read_whole(BLOCK, raw)
            if block is not None and block.type.endswith("tool_result") and block.tool_use_id:
                results.append(block)
            elif block is not None and block.type and whole:
                spoken.append(read_block(raw))
            else:
                whole = False
            if not whole:
                self._ledger.unparsed(raw, UNREADABLE_BLOCK)
        return spoken, results

    def result(self, name: str, ending: Ending, parent: str | None) -> None:
        """The result of one call."""
        if name in self._ledger.ended:
            note = f"a second result of call {name}"
            self._ledger.notice("debug", note, code="late_result", detail=ending.text[:REASON_LIMIT])
            return
        if parent is None:
            self._ledger.open_turn()
        call = self._ledger.calls.get(name) or self._unknown(name, parent)
        asked = self._settle_request(name, ending)
        outcome = judge(ending, denied=call.denied, asked=asked)
        detail = complete_detail(call.detail, ending)
        self._background(ending, call)
        self._ledger.end_call(call, outcome=outcome, content=ending.content, detail=detail)
        if call.kind == "todo" and not ending.is_error:
            entries = self._todos.after(ending.outcome, call.detail)
            if entries is not None:
                self._ledger.out.append(PlanChanged(entries=entries, parent=call.parent))

    def _settle_request(self, call: str, ending: Ending) -> bool:
        """The call that was asked about has its result: the answer was used, or refused, or none was waited for."""
        asked = self._ledger.asked_about(call)
        if asked is None:
            return False
        request = asked.request.id
        if not asked.answered or ending.nobody_answered:
            self._ledger.withdraw_request(request, "the agent went on without an answer")
        elif ending.refused_answer:
            self._ledger.reject_request(request, ending.error_text[:REASON_LIMIT])
        else:
            self._ledger.apply_request(request)
        return True

    def _background(self, ending: Ending, call: Call) -> None:
        """The call's work goes on beside the turn (2.1.197 says so only here)."""
        task = self._ledger.tasks.get(ending.outcome.background_task)
        if task is not None and not task.background:
            task.background = True
            task.call = task.call or call.id
            self._ledger.out.append(TaskUpdated(task=task.id, background=True))

    def _unknown(self, name: str, above: str | None) -> Call:
        """A call that was made before we read: a resumed or parked one."""
        call = ToolCallId(name)
        parent = None if above is None else ToolCallId(above)
        started = ToolStarted(call=call, name="", kind="other", title="a call made earlier", parent=parent)
        return self._ledger.start_call(started) or Call(call, "", "other", parent)

    def _say(self, line: User, content: tuple[ContentBlock, ...]) -> bool:
        text = text_of(content)
        local = LOCAL_COMMAND.fullmatch(text) if line.parent_tool_use_id is None else None
        if local is not None:
            self._ledger.notice(LOCAL_LEVELS[local[1]], local[2].strip(), code="local_command")
            return True
        echo = bool(line.replay) and not line.synthetic
        prompt, fresh = self._prompts.echoed(line.uuid) if echo and line.uuid else (None, True)
        if not fresh:
            self._ledger.ignore("user/repeat")
            return True
        parent = None if line.parent_tool_use_id is None else ToolCallId(line.parent_tool_use_id)
        repeated = self._live and echo and prompt is not None and parent is None and self._ledger.between_turns
        if parent is None:
            turn = self._ledger.open_turn(prompts=[prompt] if prompt else None)
            turn.interrupted = turn.interrupted or text.startswith(INTERRUPTED)
        self._ledger.out.append(
            UserMessage(message=MessageId(line.uuid), content=content, prompt=prompt, synthetic=not echo, parent=parent)
        )
        if repeated:
            self._ledger.lose_turn(REPEATED)
        return True

    def _nothing(self) -> bool:
        self._ledger.ignore("user/empty")
        return True
