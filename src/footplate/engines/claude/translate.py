"""The translator: lines of the Claude CLI in, events out. No await, clock, uuid, environment or log.

Each line ends in at least one of three ways: in events, in a count in `ignored` (by a kind that stands in the table
`IGNORED`), or as `Unparsed`. Cut the stream off anywhere and call `finish`: everything closes.

The hot line is a `stream_event` with a piece of text: from the decoded block it goes straight to `Messages.stream`
and becomes a `MessageDelta`. Lines that need their own bytes once more (they are rare) get them by their place in
the block.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from footplate.engines.base import Exit, oversize_notice
from footplate.engines.claude import remarks, wire
from footplate.engines.claude.asking import ASKED, CanUseTool, read_request
from footplate.engines.claude.attachment import Attachment
from footplate.engines.claude.control import denies
from footplate.engines.claude.inputs import Inputs
from footplate.engines.claude.ledger import Ledger
from footplate.engines.claude.lenient import read, read_leniently, read_whole
from footplate.engines.claude.messages import Messages
from footplate.engines.claude.prompts import Prompts, clears
from footplate.engines.claude.system_lines import SystemLines
from footplate.engines.claude.tasks import Tasks
from footplate.engines.claude.turns import Turns
from footplate.engines.standing import Standing
from footplate.events.facts import TaskInfo
from footplate.events.ids import EngineSessionId, PromptId, RequestId, ToolCallId
from footplate.events.model import Event, Notice, ToolUpdated
from footplate.events.requests import Request
from footplate.host.lines import BLANK, BadLine, Block, decode_block, read_head

CONTROL: Final = frozenset({"hook_callback", "mcp_message"})
"""Control requests of the CLI that only the conversation answers."""

RESULT: Final = b'{"type":"result"'
"""How the line that ends a turn begins, which has the whole answer once more."""

INFO: Final = msgspec.json.Decoder(wire.RateLimitInfo)
ControlLine = wire.ControlRequest | wire.ControlResponse | wire.ControlCancel


class SessionHint(wire.Part, frozen=True, kw_only=True):
    """The session that a line belongs to."""

    session_id: str = ""


HINT: Final = msgspec.json.Decoder(SessionHint)


class Translator:
    """One process's stream as events."""

    def __init__(
        self,
        *,
        engine: str = "claude",
        cwd: str = "",
        resume: EngineSessionId | None = None,
        fork: bool = False,
        turn_prefix: str = "turn-",
        first_turn: int = 1,
        prompted: bool = False,
        clears: bool = False,
    ) -> None:
        """`resume` and `fork` say which session to expect, `prompted` that the prompt is in the arguments.

        `clears`: that prompt begins a new session.
        """
        self._ledger = Ledger(cwd=cwd, turn_prefix=turn_prefix, first_turn=first_turn)
        self._attachment = Attachment(self._ledger, engine=engine, resume=resume, fork=fork)
        self._prompts = Prompts(self._ledger)
        self._tasks = Tasks(self._ledger)
        self._inputs = Inputs(self._ledger, self._prompts, live=True)
        self._messages = Messages(self._ledger, self._inputs, self._raw_line)
        self._turns = Turns(self._ledger, self._attachment, self._prompts, self._tasks, self._messages)
        self._system = SystemLines(self._ledger, self._attachment, self._tasks, self._turns)
        self._attachment.clearing = clears
        self._prompted = prompted
        self._over = False
        self._limits_clear = True
        self._lines = b""
        self._split: list[bytes] | None = None
        self._at = 0
        self.on_control: Callable[[ControlLine], None] = _unheard
        self._handlers: dict[type[wire.Line], Callable[..., bool]] = {
            wire.StreamEvent: self._messages.stream,
            wire.Assistant: self._assistant,
            wire.User: self._inputs.user,
            wire.Result: self._result,
            wire.System: self._system_line,
            wire.RateLimit: self._rate_limit,
            wire.ToolProgress: self._tool_progress,
            wire.Progress: self._progress,
            wire.ToolUseSummary: self._tool_summary,
            wire.CommandLifecycle: self._lifecycle,
            wire.ConversationReset: self._reset,
            wire.AuthStatus: self._auth_status,
            wire.PromptSuggestion: self._silent("prompt_suggestion"),
            wire.ActiveGoal: self._silent("active_goal"),
            wire.KeepAlive: self._silent("keep_alive"),
            wire.ControlRequest: self._control_request,
            wire.ControlResponse: self._control_response,
            wire.ControlCancel: self._control_cancel,
        }

    # ------------------------------------------------------------------------------------------- outside

    @property
    def ignored(self) -> Counter[str]:
        """How many lines meant no event, by kind; every kind stands in the table with its reason."""
        return self._ledger.ignored

    def feed(self, block: Block) -> list[Event]:
        """Whole lines, in order. Any cutting of the same lines into blocks gives the same events."""
        out = self._ledger.out = []
        self._lines, self._split = block.lines, None
        handlers = self._handlers
        stranger = self._attachment.token is None
        lines: list[wire.Line | BadLine] = decode_block(wire.LINES, block.lines)
        for self._at, line in enumerate(lines):
            if stranger:
                self._learn_session(line)
                stranger = self._attachment.token is None
            if self._attachment.mismatch:
                self._ledger.ignore("session_id_mismatch")
            elif isinstance(line, BadLine):
                self._bad(line)
            elif not handlers[type(line)](line):
                self._ledger.unparsed(self._raw_line(), "a line of an unknown kind")
        for oversize in block.oversize:
            out.append(oversize_notice(oversize))
            if oversize.head.startswith(RESULT):  # the turn has ended all the same
                self._result(wire.Result(is_error=b'"is_error":true' in oversize.head))
            self._refuse(oversize.head)
        self._lines, self._split = b"", None
        return out

    def finish(self, ending: Exit) -> list[Event]:
        """The process is gone. Closes everything; nothing comes after."""
        out = self._ledger.out = []
        if not self._over:
            self._over = True
            self._turns.lose(ending, prompted=self._prompted)
        return out

    def take_over(self, standing: Standing, *, version: str = "") -> None:
        """Go on with what is open in the log. A living process, of that version, is attached again at once."""
        self._ledger.take_over(standing)
        self._prompts.take_over(standing)
        self._messages.take_over(standing)
        self._turns.take_over(standing.cost_usd)
        for asked in standing.requests:
            if asked.answer is not None:
                self.answered(asked.request.id, denied=denies(asked.request, asked.answer))
        if standing.living:
            self._attachment.rejoin(version=version, model=standing.model, mode=standing.mode)
            self._attachment.clearing = any(map(clears, standing.commands))

    def sent(self, prompt: PromptId, *, clears: bool = False) -> None:
        """A prompt was written to the CLI; `clears` when it is `/clear`, which begins a new session."""
        self._prompts.sent(prompt)
        self._attachment.clearing = self._attachment.clearing or clears

    def open_request(self, request: RequestId) -> Request | None:
        """The request as it was asked, while it is open."""
        asked = self._ledger.requests.get(request)
        return None if asked is None else asked.request

    def answered(self, request: RequestId, *, denied: bool = False) -> None:
        """An answer was written to the CLI: what the call does next is its effect; after a no, an error is a denial."""
        asked = self._ledger.requests.get(request)
        if asked is None:
            return
        asked.answered = True
        call = self._ledger.calls.get(asked.request.call or "")
        if call is not None:
            call.denied = denied

    def fresh(self) -> list[Event]:
        """Begin a batch of events of its own: what is told from here on, until the next line."""
        out = self._ledger.out = []
        return out

    def tell(self, *events: Event) -> None:
        """Add events that no line tells."""
        self._ledger.out.extend(events)

    @property
    def mismatch(self) -> str:
        """Why the stream cannot be translated further: it is of another conversation. Empty while it is not."""
        return self._attachment.mismatch

    @property
    def mode(self) -> str:
        """The mode in force, once it is known."""
        return self._attachment.mode

    @property
    def fast(self) -> tuple[str, str]:
        """How fast mode stands, and why not; the same object until it changes."""
        return self._attachment.fast

    def mode_is(self, mode: str) -> None:
        """The mode that an answer says is in force."""
        self._attachment.mode_is(mode)

    def model_is(self, model: str) -> None:
        """The model that an answer says is in force."""
        self._attachment.model_is(model)

    def withdrawn(self, prompt: PromptId) -> None:
        """The CLI says that it took a waiting prompt back."""
        self._prompts.withdraw(prompt, "taken back")

    def waiting_prompts(self) -> list[PromptId]:
        """Prompts that were sent and not taken up."""
        return self._prompts.outstanding

    def named_prompts(self, names: Iterable[str]) -> tuple[PromptId, ...]:
        """Prompts by their ids on the wire."""
        return tuple(map(self._prompts.named, names))

    def open_tasks(self) -> tuple[TaskInfo, ...]:
        """Work beside the turn that has not ended."""
        return tuple(
            TaskInfo(task=task.id, background=task.background, call=task.call) for task in self._ledger.tasks.values()
        )

    def still_open(self, raws: msgspec.Raw | None) -> None:
        """Requests that are open in the CLI, as it lists them to whoever comes (back): those not known are asked."""
        for raw in read(wire.RAWS, raws) or ():
            line = read(wire.LINES, raw)
            if isinstance(line, wire.ControlRequest):
                self._control_request(line)

    # ------------------------------------------------------------------------------------------- lines

    def _raw_line(self) -> bytes:
        """The bytes of the line that is being translated."""
        if self._split is None:
            self._split = [line for line in self._lines.split(b"\n") if line.strip(BLANK)]
        return self._split[self._at]

    def _learn_session(self, line: wire.Line | BadLine) -> None:
        """Words or work before any init: we joined in the middle, and the line itself names the session.

        What comes before the first init otherwise (hooks, the life of prompts) is left to that init, which announces
        the session with all that is known of it.
        """
        task = isinstance(line, wire.System) and line.subtype.startswith("task_")
        if task or isinstance(line, wire.StreamEvent | wire.Assistant | wire.User | wire.Progress):
            hint = read(HINT, self._raw_line())
            if hint is not None:
                self._attachment.saw(hint.session_id)

    def _bad(self, bad: BadLine) -> None:
        """What can be read of a line that does not fit is used; the line is kept as it came all the same."""
        line = read_leniently(bad.raw.decode("utf-8", "replace").encode())
        if line is not None:
            self._handlers[type(line)](line)
        else:
            self._refuse(bad.raw)
        self._ledger.unparsed(bad.raw, bad.reason)

    def _refuse(self, raw: bytes) -> None:
        """The CLI waits for the answer to a control request also when we cannot read it."""
        head = read_head(raw)
        name = read(wire.TEXT, head.get("request_id"))
        if name and read(wire.TEXT, head.get("type")) == "control_request":
            self.on_control(wire.ControlRequest(request_id=name))

    def _result(self, line: wire.Result) -> bool:
        self._turns.end(line)
        return True

    def _assistant(self, line: wire.Assistant) -> bool:
        return not self._attachment.accepts(line.session_id) or self._messages.assistant(line)

    def _system_line(self, line: wire.System) -> bool:
        return self._system.take(line.subtype, self._raw_line)

    def _rate_limit(self, line: wire.RateLimit) -> bool:
        info, whole = read_whole(INFO, line.rate_limit_info)
        if info is None:
            return False
        self._limits_clear = remarks.limit(self._ledger, info, clear_before=self._limits_clear)
        return whole

    def _tool_progress(self, line: wire.ToolProgress) -> bool:
        call = ToolCallId(line.parent_tool_use_id or "")
        if not self._ledger.update_call(ToolUpdated(call=call, elapsed_s=line.elapsed_time_seconds)):
            self._ledger.ignore("tool_progress")
        return True

    def _progress(self, line: wire.Progress) -> bool:
        """A wrapped line of a sub-agent is what it would be without the wrapping."""
        if line.data.type == "hook_progress":
            remarks.remark(self._ledger, "hook_progress", self._raw_line())
            return True
        inner = read(wire.LINES, line.data.message)
        if not isinstance(inner, wire.Assistant | wire.User) or line.parent is None:
            return False
        unwrapped = msgspec.structs.replace(inner, parent_tool_use_id=line.parent)
        return self._handlers[type(unwrapped)](unwrapped)

    def _tool_summary(self, line: wire.ToolUseSummary) -> bool:
        named = [ToolCallId(name) for name in read(wire.TEXTS, line.preceding_tool_use_ids) or () if name]
        latest = self._ledger.latest_call
        calls = tuple(dict.fromkeys(named)) or (() if latest is None else (latest,))
        self._ledger.out.append(Notice(level="info", text=line.summary, code="tool_use_summary", calls=calls))
        return True

    def _lifecycle(self, line: wire.CommandLifecycle) -> bool:
        self._prompts.lifecycle(line)
        return True

    def _reset(self, line: wire.ConversationReset) -> bool:
        self._attachment.clearing = True
        self._ledger.ignore("conversation_reset")
        return True

    def _auth_status(self, line: wire.AuthStatus) -> bool:
        remarks.remark(self._ledger, "auth_status", self._raw_line())
        return True

    def _silent(self, kind: str) -> Callable[[wire.Line], bool]:
        def ignore(line: wire.Line) -> bool:  # noqa: ARG001
            self._ledger.ignore(kind)
            return True

        return ignore

    # ----------------------------------------------------------------------------------------- control

    def _control_request(self, line: wire.ControlRequest) -> bool:
        asked, whole = read_whole(ASKED, line.request)
        if asked is None and line.request_id:
            self.on_control(line)
        if asked is None or not line.request_id:
            return False
        if asked.subtype == "can_use_tool":
            return self._ask(line.request_id, asked) and whole
        self.on_control(line)
        if asked.subtype in CONTROL:
            self._ledger.ignore(f"control_request/{asked.subtype}")
        else:
            text = f"the agent asked for {asked.subtype!r}, which is not supported"
            self._ledger.notice("warning", text, code="unsupported_control_request")
        return True

    def _ask(self, name: str, asked: CanUseTool) -> bool:
        request = msgspec.structs.replace(read_request(name, asked, self._ledger.cwd), mode=self._attachment.mode)
        call = self._ledger.calls.get(asked.tool_use_id)
        parent = call.parent if call is not None else self._tasks.agent_call(asked.agent_id)
        if parent is None and not asked.agent_id:
            self._attachment.assume()
            self._ledger.open_turn()
        if not self._ledger.open_request(request, parent):
            self._ledger.ignore("control_request/can_use_tool")
        return True

    def _control_response(self, line: wire.ControlResponse) -> bool:
        self._ledger.ignore("control_response")
        self.on_control(line)
        return True

    def _control_cancel(self, line: wire.ControlCancel) -> bool:
        self.on_control(line)
        if not self._ledger.withdraw_request(RequestId(line.request_id), "the agent no longer asks"):
            self._ledger.ignore("control_cancel_request")
        return True


def _unheard(line: ControlLine) -> None:
    """What a translator without a conversation does with control lines."""
