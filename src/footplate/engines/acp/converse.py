"""The conversation with an ACP agent as a pure state machine: lines in, events and lines out.

    starting --initialize, logged in if need be, session/new or load, options set--> ready
        `--the agent refuses--> failed                   all of them --finish--> gone
              `--an option of the open session was refused, and one is chosen--> starting

The session is announced (`EngineAttached`) when it is ready: in one whose options were refused nothing was said, so
nobody need go on with it. Prompts wait until the session is ready and go out one at a time; ACP has no queue of its
own. What the agent tells again while it loads a session is history that the log has already, and is passed over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeVar

import msgspec

from footplate.acp import jsonrpc
from footplate.acp.content import prompt_blocks
from footplate.acp.jsonrpc import AUTH_REQUIRED, METHOD_NOT_FOUND, Envelope, RpcId
from footplate.acp.schema.sessions import (
    CancelNotification,
    PromptRequest,
    PromptResponse,
    SetSessionConfigOptionResponse,
)
from footplate.acp.schema.start import InitializeResponse
from footplate.engines.acp.auth import Login, read_methods
from footplate.engines.acp.incoming import Incoming
from footplate.engines.acp.settle import Turn, Verdict, end_turn, judge_error, judge_stop, word_error
from footplate.engines.acp.startup import (
    Call,
    Opened,
    can_reopen,
    find_option,
    initialize,
    open_session,
    set_option,
    tell_servers,
    wanted_options,
)
from footplate.engines.base import Exit, Installed, Options, Reaction
from footplate.engines.declared import Declared
from footplate.engines.standing import Standing
from footplate.errors import EngineGone, RequestError, UnsupportedOption
from footplate.events.base import ResumeToken
from footplate.events.commands import (
    AnswerRequest,
    Command,
    Interrupt,
    SendPrompt,
    SetEffort,
    SetMode,
    SetModel,
    SetOption,
    WithdrawPrompt,
)
from footplate.events.ids import EngineSessionId, MessageId, PromptId, RequestId, TurnId
from footplate.events.model import (
    EngineAttached,
    EngineDetached,
    ModeChanged,
    ModelChanged,
    Notice,
    PromptWithdrawn,
    TurnStarted,
    UserMessage,
)
from footplate.events.requests import Answer, Deny
from footplate.events.run_notes import word_exit
from footplate.events.usage import Usage
from footplate.host.lines import Block

Shape = TypeVar("Shape", InitializeResponse, Opened)
Phase = Literal["starting", "ready", "failed", "gone"]
Answered = Callable[[Envelope], None]
EPOCH_IDS: Final = 1_000_000
"""The ids of our requests begin here, times the number of those who talked to the agent before."""

CAN: Final = "prompts, interrupts, answers, mode, model, effort and its own options"
NO_SERVERS: Final[Mapping[str, Declared]] = {}


class AcpConversation:
    """One ACP agent and one session of it. Turn ids are `turn_prefix` and a number from `first_turn` on."""

    def __init__(
        self,
        engine: str,
        options: Options,
        installed: Installed | None = None,
        *,
        turn_prefix: str = "turn-",
        first_turn: int = 1,
        auth_method: str = "",
        servers: Mapping[str, Declared] = NO_SERVERS,
    ) -> None:
        self._engine = engine
        self._options = options
        self._version = installed.version if installed else ""
        self._prefix = turn_prefix
        self._turns = first_turn - 1
        self._phase: Phase = "starting"
        self._failure: Verdict | None = None
        self._agent: InitializeResponse | None = None
        self._auth_method = auth_method
        self._servers = servers
        self._keys = (*(installed.keys if installed else ()), *options.env)
        self._login = Login((), wanted="", present=())
        self._in = Incoming(engine, options)
        self._queue: deque[SendPrompt] = deque()
        self._settings: list[tuple[str, str]] = wanted_options(options)
        self._waiting: dict[RpcId, Answered] = {}
        self._requests = 0
        self._taken_over = (
            options.standing is not None and options.standing.living and options.standing.turn is not None
        )

    # -------------------------------------------------------------------------------------- the protocol

    def begin(self) -> Reaction:
        """Introduce ourselves, unless somebody has."""
        standing = self._options.standing
        if standing is not None and standing.living:
            self._take_over(standing)
            return self._in.react()
        self._request(initialize(), self._initialized)
        return self._in.react()

    def feed(self, block: Block) -> Reaction:
        """Whole lines of the agent's output, in order."""
        for response in self._in.feed(block):
            answered = self._waiting.pop(response.id, None) if not isinstance(response.id, msgspec.UnsetType) else None
            if answered is None:
                self._unasked(response)
            else:
                answered(response)
        return self._in.react()

    def command(self, command: Command) -> Reaction:
        """Something asked of the session. Raises `RequestError` where ACP or this agent cannot."""
        if self._phase == "gone":
            raise EngineGone(self._engine, "its process has ended")
        match command:
            case SendPrompt():
                self._prompt(command)
            case WithdrawPrompt():
                self._withdraw(command.prompt, "withdrawn")
            case Interrupt():
                self._interrupt(command)
            case AnswerRequest():
                self._in.answer(command)
                if isinstance(command.answer, Deny) and command.answer.interrupt:
                    self._cancel()
            case SetMode():
                self._set("mode", command.mode)
            case SetModel():
                self._set("model", command.model)
            case SetEffort():
                self._set("effort", command.effort)
            case SetOption():
                self._set(command.option, command.value)
            case _:
                raise UnsupportedOption(self._engine, type(command).__name__, f"an ACP agent takes {CAN}")
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
            self._end_turn(self._in.turn, verdict, usage=None)
        if self._phase == "starting" and self._queue:
            self._fail(word_exit(gone))
        for prompt in [*self._queue]:
            self._withdraw(prompt.prompt, "the agent is gone")
        self._phase = "gone"
        self._in.events.append(gone)
        return self._in.react()

    # --------------------------------------------------------------------------------------- taken over

    @property
    def at_rest(self) -> bool:
        """Whether the events tell all: no text is half told, and nothing is asked of the agent but its turn."""
        prompts = 0 if self._in.turn is None or self._taken_over else 1
        return self._phase == "ready" and not self._in.translator.speaks and len(self._waiting) == prompts

    def pause(self) -> Reaction:
        """Tell what is half told."""
        self._in.events += self._in.translator.close_text()
        return self._in.react()

    def _take_over(self, standing: Standing) -> None:
        """The agent goes on, and we with it. Our ids are not those of who talked to it before."""
        self._phase = "ready"
        self._settings = []
        self._requests = self._options.epoch * EPOCH_IDS
        session = self._options.resume or EngineSessionId("")
        attached = EngineAttached(
            engine=self._engine,
            engine_session_id=session,
            reason="reattached",
            version=self._version,
            resumable=self._options.resumable,
        )
        self._in.attach(attached)
        self._in.take_over(standing, epoch=self._options.epoch)

    def _unasked(self, response: Envelope) -> None:
        """The answer to what another asked, before us: the prompt of the turn that we have taken over, or nothing."""
        turn, number = self._in.turn, response.id
        ours = isinstance(number, int) and number <= self._options.epoch * EPOCH_IDS and self._taken_over
        if turn is None or not ours:
            self._in.keep("an answer to nothing that was asked")
            return
        self._taken_over = False
        self._settle(turn, response)
        self._advance()

    # ---------------------------------------------------------------------------------------- starting

    def _initialized(self, response: Envelope) -> None:
        agent = self._read(response, InitializeResponse)
        if agent is None:
            return
        self._agent = agent
        self._login = Login(read_methods(response.result), wanted=self._auth_method, present=self._keys)
        if self._auth_method:
            self._log_in("")
        else:
            self._open()

    def _log_in(self, refusal: str) -> None:
        """Try the next way to log in; with none left a person is told of all there are."""
        call = self._login.next()
        if call is None:
            self._fail("; ".join(filter(None, (refusal, self._login.advise()))), kind="auth")
            return

        def answered(response: Envelope) -> None:
            if response.error is None:
                self._open()
            else:
                self._log_in(word_error(response.error))

        self._request(call, answered)

    def _open(self, *, replays: bool = False) -> None:
        """Ask for the session; `replays`: in the way that every agent has which can take an old one up."""
        if self._agent is None:
            return
        try:
            servers, _ = tell_servers(self._servers, self._agent)
            call = open_session(self._engine, self._options, self._agent, servers, replays=replays)
        except RequestError as problem:
            self._fail(str(problem))
            return

        def answered(response: Envelope) -> None:
            code = response.error.code if response.error is not None else None
            if code == AUTH_REQUIRED and response.error is not None:
                self._log_in(word_error(response.error))
            elif code == METHOD_NOT_FOUND and call.method == "session/resume":
                self._open(replays=True)
            else:
                self._opened(response)

        self._request(call, answered)

    def _opened(self, response: Envelope) -> None:
        opened = self._read(response, Opened)
        if opened is None:
            return
        resume = self._options.resume
        if resume is None and not opened.session_id:
            self._fail("the agent opened a session without an id")
            return
        self._in.session = resume or EngineSessionId(opened.session_id)
        self._in.state.learn(opened.modes, opened.config_options, opened.models)
        self._tell_missing()
        self._configure()

    def _attach(self) -> None:
        told = self._agent.agent_info if self._agent else None
        attached = EngineAttached(
            engine=self._engine,
            engine_session_id=self._in.session,
            reason="started" if self._options.resume is None else "resumed",
            version=told.version if told else self._version,
            model=self._in.state.model,
            mode=self._in.state.mode,
            cwd=self._options.cwd,
            resumable=can_reopen(self._agent),
        )
        self._in.attach(attached)

    def _tell_missing(self) -> None:
        """What the session was to have and this agent cannot be given."""
        _, unreachable = tell_servers(self._servers, self._agent) if self._agent else ((), ())
        missing = [f"the MCP server {name!r}" for name in unreachable]
        missing += ["the skills of the folder"] if self._options.plugins else []
        for each in missing:
            text = f"{self._engine} cannot be given {each}; it goes on without"
            self._in.tell([Notice(level="warning", text=text, code="folder_config")])

    def _configure(self) -> None:
        """Set the next option that was asked for; with none left the session is ready."""
        if not self._settings:
            self._attach()
            self._phase = "ready"
            self._advance()
            return
        name, value = self._settings[0]
        option = find_option(self._in.state, name)
        has_it = option is not None and option.current_value in (value, value == "true")
        if option is None and name == "effort":  # a wish, not a rule: the session can do without
            text = f"{self._engine} has no choice of effort; it goes on without {value!r}"
            self._in.tell([Notice(level="warning", text=text, code=UnsupportedOption.code)])
        if has_it or (option is None and name not in ("model", "mode")):
            self._settings.pop(0)
            self._configure()
            return
        try:
            call = set_option(self._engine, self._in.session, self._in.state, name, value)
        except RequestError as problem:
            self._refused(str(problem))
            return

        def configured(response: Envelope) -> None:
            if response.error is not None:
                self._refused(f"{name} {value!r}: {word_error(response.error)}")
            else:
                self._was_set(response, name, value)
                self._settings.pop(0)
                self._configure()

        self._request(call, configured)

    def _refused(self, reason: str) -> None:
        """The first of the settings cannot be had: the start has failed, unless another was chosen meanwhile."""
        name, _ = self._settings[0]
        if name in dict(self._settings[1:]):
            self._settings.pop(0)
            self._configure()
        else:
            self._fail(reason)

    def _read(self, response: Envelope, shape: type[Shape]) -> Shape | None:
        """The answer to a step of the start; without it there is no session."""
        if response.error is not None:
            self._fail(word_error(response.error))
            return None
        try:
            return msgspec.json.decode(_object_of(response), type=shape)
        except msgspec.ValidationError as problem:
            self._fail(f"the agent answered with something that is not ACP: {problem}")
            return None

    def _fail(self, reason: str, *, kind: str = "start") -> None:
        """There will be no session: whoever asks gets to know why."""
        self._phase = "failed"
        self._failure = Verdict(ok=False, stop_reason="error", error=reason, error_kind=kind)
        if self._in.session:
            self._in.release()  # what can be chosen instead
        if self._queue:
            self._advance()
        else:
            self._in.events.append(Notice(level="error", text=reason, code=kind))

    # ---------------------------------------------------------------------------------------- commands

    def _prompt(self, command: SendPrompt) -> None:
        if command.when == "steer" and self._in.turn is not None:
            raise UnsupportedOption(self._engine, "steering a turn", "queue the prompt, or send it now")
        if command.when == "now":
            self._queue.appendleft(command)
            self._cancel()
        else:
            self._queue.append(command)
        self._advance()

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
            self._give_up(self._queue.popleft(), judge_stop("cancelled"))
        self._cancel()

    def _cancel(self) -> None:
        if self._in.turn is not None and self._phase == "ready":
            self._in.cancel()
            cancel = CancelNotification(session_id=self._in.session)
            self._in.frames.append(jsonrpc.encode_notification("session/cancel", cancel))

    def _set(self, name: str, value: str) -> None:
        if self._phase != "ready":
            self._set_at_start(name, value)
            return
        call = set_option(self._engine, self._in.session, self._in.state, name, value)

        def answered(response: Envelope) -> None:
            if response.error is not None:
                text = f"the agent did not set {name} to {value!r}: {word_error(response.error)}"
                self._in.events.append(Notice(level="error", text=text, code=f"set_{name}"))
            else:
                self._was_set(response, name, value)

        self._request(call, answered)

    def _set_at_start(self, name: str, value: str) -> None:
        """Choose it before there is a session; where a choice was refused, the start goes on with this one."""
        flying = self._settings[:1] if self._phase == "starting" else []
        self._settings = [*flying, *(dict(self._settings[len(flying) :]) | {name: value}).items()]
        if name == "mode":  # a process that never gets ready leaves it to the next one
            self._in.events.append(ModeChanged(mode=value))
        elif name == "model":
            self._in.events.append(ModelChanged(model=value))
        if self._phase == "failed" and self._in.session:
            self._phase, self._failure = "starting", None
            self._in.hold()
            self._configure()

    def _was_set(self, response: Envelope, name: str, value: str) -> None:
        """The agent took the value; the answer lists all options, or says nothing more."""
        try:
            options = msgspec.json.decode(
                response.result or b"null", type=SetSessionConfigOptionResponse
            ).config_options
        except msgspec.ValidationError:
            state = self._in.state
            change = {"mode": state.change_mode, "model": state.change_model}.get(name)
            self._in.tell(change(value) if change is not None else [])
        else:
            self._in.tell(self._in.state.change_options(options))

    # ------------------------------------------------------------------------------------------- turns

    def _advance(self) -> None:
        """Send the next prompt when nothing stands in its way; without a session it fails at once."""
        while self._queue and self._in.turn is None and self._phase in ("ready", "failed"):
            command = self._queue.popleft()
            if self._failure is not None:
                self._give_up(command, self._failure)
            else:
                self._send(self._begin_turn(command), command)

    def _begin_turn(self, command: SendPrompt) -> Turn:
        self._turns += 1
        turn = Turn(TurnId(f"{self._prefix}{self._turns}"), (command.prompt,))
        self._in.begin_turn(turn)
        self._in.events += [
            TurnStarted(turn=turn.id, prompts=turn.prompts, origin="prompt"),
            UserMessage(message=MessageId(f"{turn.id}.user"), content=command.content, prompt=command.prompt),
        ]
        return turn

    def _give_up(self, command: SendPrompt, verdict: Verdict) -> None:
        """A prompt that the agent will never see: a turn with nothing in it but its end."""
        turn = self._begin_turn(command)
        self._in.end_turn("failed", "")
        self._end_turn(turn, verdict, usage=None)

    def _send(self, turn: Turn, command: SendPrompt) -> None:
        params = PromptRequest(session_id=self._in.session, prompt=prompt_blocks(command.content))

        def answered(response: Envelope) -> None:
            self._settle(turn, response)
            self._advance()

        self._request(Call("session/prompt", params), answered)

    def _settle(self, turn: Turn, response: Envelope) -> None:
        usage = meta = None
        if response.error is not None:
            # some agents answer a prompt that was cancelled by an error
            verdict = judge_stop("cancelled") if turn.interrupted else judge_error(response.error)
        else:
            try:
                answer = msgspec.json.decode(response.result or b"null", type=PromptResponse)
                verdict, usage, meta = judge_stop(answer.stop_reason), answer.usage, answer.meta
            except msgspec.ValidationError as problem:
                verdict = Verdict(ok=False, stop_reason="error", error=f"no stop reason: {problem}", error_kind="wire")
        stopped = turn.interrupted or verdict.stop_reason == "interrupted"
        self._in.end_turn("cancelled" if stopped else "lost", "" if stopped else "the turn ended before the call")
        self._end_turn(turn, verdict, usage=self._in.state.meter.end_turn(usage, meta))

    def _end_turn(self, turn: Turn, verdict: Verdict, *, usage: Usage | None) -> None:
        session = self._in.session
        resume = ResumeToken(engine=self._engine, value=session) if self._in.attached else None
        self._in.events.append(end_turn(turn, verdict, answer=self._in.translator.answer, usage=usage, resume=resume))
        self._in.turn = None

    def _request(self, call: Call, answered: Answered) -> None:
        self._requests += 1
        self._waiting[self._requests] = answered
        self._in.frames.append(jsonrpc.encode_request(self._requests, call.method, call.params))


def _object_of(response: Envelope) -> msgspec.Raw | bytes:
    """What was answered; nothing at all is an object without a field."""
    return b"{}" if response.result is None or bytes(response.result) == b"null" else response.result
