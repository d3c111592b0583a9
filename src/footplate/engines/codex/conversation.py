"""The conversation with `codex app-server` as a pure state machine: lines in, events and lines out.

    starting --initialize, thread/start, resume or fork--> ready
        `--Codex refuses--> failed                all of them --finish--> gone

A process can hold many threads; a session of ours has one of its own, and hears of those that its agent starts.
Prompts wait until the thread is there and go out one at a time, or into the turn that runs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Final, Literal

import msgspec

from footplate.acp import jsonrpc
from footplate.acp.jsonrpc import Envelope, RpcId
from footplate.engines.base import Exit, Installed, Options, Reaction
from footplate.engines.codex.control import NAME
from footplate.engines.codex.incoming import Incoming
from footplate.engines.codex.modes import check_effort, find_mode, name_mode
from footplate.engines.codex.opening import INITIALIZE, first_choices, list_options, open_thread, read_prompt
from footplate.engines.codex.turns import INTERRUPTED, Turn, Verdict, end_turn, judge
from footplate.engines.codex.wire import ModelList, ThreadOpened, TurnAnswer
from footplate.engines.declared import Declared
from footplate.errors import EngineGone, UnsupportedOption
from footplate.events.base import ResumeToken
from footplate.events.commands import (
    AnswerRequest,
    Command,
    Interrupt,
    SendPrompt,
    SetEffort,
    SetMode,
    SetModel,
    WithdrawPrompt,
)
from footplate.events.ids import EngineSessionId, MessageId, PromptId, RequestId, TurnId
from footplate.events.model import (
    ConfigChanged,
    EngineAttached,
    EngineDetached,
    ModeChanged,
    ModelChanged,
    Notice,
    PromptSteered,
    PromptWithdrawn,
    TurnStarted,
    UserMessage,
)
from footplate.events.requests import Answer
from footplate.events.run_notes import word_exit
from footplate.host.lines import Block

Phase = Literal["starting", "ready", "failed", "gone"]
Answered = Callable[[Envelope], None]
NO_SERVERS: Final[Mapping[str, Declared]] = {}
CAN: Final = "prompts, steering, interrupts, answers, mode, model and effort"


class AppServerConversation:
    """One `codex app-server` and one thread of it."""

    def __init__(self, options: Options, installed: Installed, *, servers: Mapping[str, Declared] = NO_SERVERS) -> None:
        self._options = options
        self._servers = servers
        self._version = installed.version
        self._turns = options.first_turn - 1
        self._phase: Phase = "starting"
        self._failure: Verdict | None = None
        self._in = Incoming(options)
        self._queue: deque[SendPrompt] = deque()
        self._steering: list[SendPrompt] = []
        self._early: list[SetMode | SetModel | SetEffort] = []
        self._choices = first_choices(options)
        self._model = self._mode = self._effort = ""
        self._models = ModelList()
        self._waiting: dict[RpcId, Answered] = {}
        self._requests = 0

    # ------------------------------------------------------------------------------------- the protocol

    def begin(self) -> Reaction:
        """Introduce ourselves."""
        self._request("initialize", INITIALIZE, self._initialized)
        return self._in.react()

    def feed(self, block: Block) -> Reaction:
        """Whole lines of the agent's output, in order."""
        for frame in self._in.feed(block):
            if frame.kind == "notification":
                self._settle()
                continue
            answered = self._waiting.pop(jsonrpc.id_of(frame), None)
            if answered is None:
                self._in.keep("an answer to nothing that was asked")
            else:
                answered(frame)
        return self._in.react()

    def command(self, command: Command) -> Reaction:
        """Something asked of the session. Raises `RequestError` where Codex cannot."""
        if self._phase == "gone":
            raise EngineGone(NAME, "its process has ended")
        match command:
            case SendPrompt():
                self._prompt(command)
            case WithdrawPrompt():
                self._withdraw(command.prompt, "withdrawn")
            case Interrupt():
                self._interrupt(command)
            case AnswerRequest():
                self._in.answer(command)
            case SetMode() | SetModel() | SetEffort():
                self._choose(command)
                if self._phase == "starting":
                    self._early.append(command)
            case _:
                raise UnsupportedOption(NAME, type(command).__name__, f"Codex takes {CAN}")
        return self._in.react()

    def check_answer(self, request: RequestId, answer: Answer) -> None:
        """Raise `RequestError` for an answer that does not fit, or that comes too late."""
        self._in.check_answer(request, answer)

    def finish(self, ending: Exit) -> Reaction:
        """The agent is gone: everything it had open is closed."""
        gone = EngineDetached(
            reason=ending.reason or "the agent ended", exit_code=ending.code, signal=ending.signal, stderr=ending.stderr
        )
        if self._in.turn is not None:
            verdict = Verdict(ok=False, stop_reason="lost", error=word_exit(gone), error_kind="lost")
            self._in.lose_turn("the agent is gone")
            self._end_turn(self._in.turn, verdict)
        if self._phase == "starting" and self._queue:
            self._fail(word_exit(gone))
        for prompt in [*self._queue, *self._steering]:
            self._in.events.append(PromptWithdrawn(prompt=prompt.prompt, reason="the agent is gone"))
        self._phase = "gone"
        self._in.events.append(gone)
        return self._in.react()

    # ----------------------------------------------------------------------------------------- starting

    def _initialized(self, response: Envelope) -> None:
        if response.error is not None:
            self._fail(response.error.message)
            return
        self._in.frames.append(jsonrpc.encode_notification("initialized", {}))
        method, params = open_thread(self._options, self._servers)
        self._request(method, params, self._opened)

    def _opened(self, response: Envelope) -> None:
        if response.error is not None or response.result is None:
            self._fail(response.error.message if response.error is not None else "Codex opened no thread")
            return
        try:
            opened = msgspec.json.decode(response.result, type=ThreadOpened)
        except msgspec.ValidationError as problem:
            self._fail(f"Codex answered with something that we do not know: {problem}")
            return
        options = self._options
        if options.resume not in (None, opened.thread.id) and not options.fork:
            wanted, thread = options.resume, opened.thread.id
            self._fail(
                f"asked to resume session {wanted}, but the agent answers as session {thread}",
                kind="session_id_mismatch",
            )
            return
        self._model, self._effort = opened.model, opened.reasoning_effort or ""
        self._mode = "plan" if options.mode == "plan" else name_mode(opened)
        self._in.attach(EngineSessionId(opened.thread.id))
        self._in.events.append(
            EngineAttached(
                engine=NAME,
                engine_session_id=self._in.thread,
                reason="started" if options.resume is None else "forked" if options.fork else "resumed",
                version=opened.thread.cli_version or self._version,
                model=self._model,
                mode=self._mode,
                cwd=options.cwd,
            )
        )
        for command in self._early:
            self._choose(command)  # the thread has been opened with what held before
        if options.plugins:
            text = "codex cannot be given the skills of the folder; it goes on without"
            self._in.events.append(Notice(level="warning", text=text, code="folder_config"))
        self._request("model/list", {}, self._listed)
        self._phase = "ready"
        self._advance()

    def _listed(self, response: Envelope) -> None:
        """The models; without them the rest can still be chosen."""
        try:
            self._models = msgspec.json.decode(response.result or b"{}", type=ModelList)
        except msgspec.ValidationError as problem:
            self._in.keep(f"models not as we know them: {problem}")
        self._tell_options()

    def _tell_options(self) -> None:
        options = list_options(self._models, model=self._model, mode=self._mode, effort=self._effort)
        self._in.events.append(ConfigChanged(options=options))

    def _fail(self, reason: str, *, kind: str = "start") -> None:
        """There will be no thread: whoever asks gets to know why."""
        self._phase = "failed"
        self._failure = Verdict(ok=False, stop_reason="error", error=reason, error_kind=kind)
        if self._queue:
            self._advance()
        else:
            self._in.events.append(Notice(level="error", text=reason, code=kind))

    # ----------------------------------------------------------------------------------------- commands

    def _prompt(self, command: SendPrompt) -> None:
        read_prompt(command.content)
        if command.when == "steer" and self._in.turn is not None:
            self._steering.append(command)
            self._steer()
            return
        if command.when == "now":
            self._queue.appendleft(command)
            self._cancel()
        else:
            self._queue.append(command)
        self._advance()

    def _steer(self) -> None:
        """Hand over what is for the turn that runs, once Codex has named it."""
        turn = self._in.turn
        if turn is None or not turn.wire_id:
            return
        waiting, self._steering = self._steering, []
        for command in waiting:
            self._hand_over(turn, command)

    def _hand_over(self, turn: Turn, command: SendPrompt) -> None:
        def answered(response: Envelope) -> None:
            if response.error is not None:
                self._queue.append(command)  # a turn that takes nothing more: it waits for the next
                self._advance()
                return
            turn.requests += 1
            message = MessageId(f"{turn.id}.user{turn.requests}")
            self._in.events += [
                PromptSteered(prompt=command.prompt),
                UserMessage(message=message, content=command.content, prompt=command.prompt),
            ]

        params = {"threadId": self._in.thread, "expectedTurnId": turn.wire_id, "input": read_prompt(command.content)}
        self._request("turn/steer", params, answered)

    def _withdraw(self, prompt: PromptId, reason: str) -> None:
        for waiting in [*self._queue]:
            if waiting.prompt == prompt:
                self._queue.remove(waiting)
                self._in.events.append(PromptWithdrawn(prompt=prompt, reason=reason))

    def _interrupt(self, command: Interrupt) -> None:
        if command.withdraw_queued:
            for waiting in [*self._queue]:
                self._withdraw(waiting.prompt, "interrupted")
        if self._phase == "starting" and self._queue:
            self._give_up(self._queue.popleft(), INTERRUPTED)
        self._cancel()

    def _cancel(self) -> None:
        turn = self._in.turn
        if turn is None or self._phase != "ready":
            return
        asked, named = turn.interrupted, bool(turn.wire_id)
        self._in.cancel()
        if named and not asked:
            self._send_interrupt(turn)

    def _send_interrupt(self, turn: Turn) -> None:
        def answered(response: Envelope) -> None:
            if response.error is not None:
                self._in.events.append(Notice(level="warning", text=response.error.message, code="interrupt"))

        params = {"threadId": self._in.thread, "turnId": turn.wire_id}
        self._request("turn/interrupt", params, answered)

    def _choose(self, command: SetMode | SetModel | SetEffort) -> None:
        """Codex takes these with its next turn."""
        match command:
            case SetMode():
                mode = find_mode(command.mode)
                if mode is None:
                    raise UnsupportedOption(NAME, "going back to its own settings in a session", "name another mode")
                self._choices.mode, self._mode = mode, command.mode
                self._in.events.append(ModeChanged(mode=command.mode))
            case SetModel():
                self._choices.model = self._model = command.model
                self._in.events.append(ModelChanged(model=command.model))
            case SetEffort():
                self._choices.effort = self._effort = check_effort(command.effort)
        if self._phase == "ready":
            self._tell_options()

    # -------------------------------------------------------------------------------------------- turns

    def _advance(self) -> None:
        """Send the next prompt when nothing stands in its way; without a thread it fails at once."""
        while self._queue and self._in.turn is None and self._phase in ("ready", "failed"):
            command = self._queue.popleft()
            if self._failure is not None:
                self._give_up(command, self._failure)
            else:
                self._send(self._begin_turn(command), command)

    def _begin_turn(self, command: SendPrompt) -> Turn:
        self._turns += 1
        turn = Turn(TurnId(f"turn-{self._turns}"), (command.prompt,))
        self._in.begin_turn(turn)
        self._in.events += [
            TurnStarted(turn=turn.id, prompts=turn.prompts, origin="prompt"),
            UserMessage(message=MessageId(f"{turn.id}.user"), content=command.content, prompt=command.prompt),
        ]
        return turn

    def _give_up(self, command: SendPrompt, verdict: Verdict) -> None:
        """A prompt that the agent will never see: a turn with nothing in it but its end."""
        turn = self._begin_turn(command)
        self._in.close_turn("failed", "")
        self._end_turn(turn, verdict)

    def _send(self, turn: Turn, command: SendPrompt) -> None:
        def answered(response: Envelope) -> None:
            if response.error is not None:
                self._in.close_turn("lost", "the turn did not start")
                self._end_turn(turn, Verdict(ok=False, stop_reason="error", error=response.error.message))
                self._advance()
                return
            self._named(turn, response)

        params: dict[str, object] = {"threadId": self._in.thread, "input": read_prompt(command.content)}
        if self._options.json_schema:
            params["outputSchema"] = msgspec.Raw(self._options.json_schema.encode())
        self._request("turn/start", params | self._choices.take(self._model), answered)

    def _named(self, turn: Turn, response: Envelope) -> None:
        """Codex has named the turn: what was asked of it meanwhile can be said now."""
        try:
            turn.wire_id = turn.wire_id or msgspec.json.decode(response.result or b"{}", type=TurnAnswer).turn.id
        except msgspec.ValidationError as problem:
            self._in.keep(f"not as we know it: {problem}")
            return
        if self._in.turn is turn:
            if turn.interrupted:
                self._send_interrupt(turn)
            self._steer()

    def _settle(self) -> None:
        turn, told = self._in.turn, self._in.ended
        if turn is None or told is None or told.turn is None:
            return
        verdict = judge(turn, told.turn)
        stopped = verdict.stop_reason == "interrupted"
        self._in.close_turn("cancelled" if stopped else "lost", "" if stopped else "the turn ended before the call")
        self._end_turn(turn, verdict, duration_ms=told.turn.duration_ms)
        self._queue.extend(self._steering)
        self._steering.clear()
        self._advance()

    def _end_turn(self, turn: Turn, verdict: Verdict, *, duration_ms: int | None = None) -> None:
        thread = self._in.thread
        self._in.events.append(
            end_turn(
                turn,
                verdict,
                answer=self._in.translator.answer,
                resume=ResumeToken(engine=NAME, value=thread) if thread else None,
                duration_ms=duration_ms,
                structured=bool(self._options.json_schema),
            )
        )
        self._in.turn = None

    def _request(self, method: str, params: object, answered: Answered) -> None:
        self._requests += 1
        self._waiting[self._requests] = answered
        self._in.frames.append(jsonrpc.encode_request(self._requests, method, params))
