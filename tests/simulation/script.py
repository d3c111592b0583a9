"""The scripted engine as the service sees it: its conversation, how its requests are parked, how it is taken over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from footplate.engines.base import Capabilities, Conversation, Exit, Installed, Launch, Options, Reaction, Spawn
from footplate.engines.parking import Pending, Place, Recorded, Way
from footplate.engines.rejoining import NOTHING, Rejoining, Where
from footplate.engines.standing import Standing
from footplate.errors import EngineGone, InvalidValue, UnsupportedOption
from footplate.events import commands as c
from footplate.events import model as m
from footplate.events.base import ResumeToken
from footplate.events.content import TextBlock, text_of
from footplate.events.ids import EngineSessionId, MessageId, PromptId, RequestId, TaskId, ToolCallId, TurnId
from footplate.events.model import Event
from footplate.events.requests import Allow, Answer, Choose, Deny, Request, RequestOption
from footplate.host.lines import Block
from tests.simulation.script_agent import AGAIN, Line, Transcript, encode, read_line

if TYPE_CHECKING:
    from tests.simulation.world import World

NAME = "script"
TOOL = "Deed"


class ScriptConversation:
    """The wire's lines as events: a pure state machine, as the engines' conversations are."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._session = options.session_id or options.resume or EngineSessionId("")
        self._turns = options.first_turn - 1
        self._turn: TurnId | None = None
        self._attached = False
        self._gone = False
        self._open: dict[RequestId, bool] = {}
        """Requests without an end, and whether they are answered."""
        self._calls: dict[ToolCallId, None] = {}
        self._ended: set[ToolCallId] = set()
        self._tasks: dict[TaskId, None] = {}
        self._sent: dict[PromptId, tuple[TextBlock, ...]] = {}
        self._taken: frozenset[PromptId] = frozenset()
        self._text = ""
        self._messages = 0
        self._prefix = ""
        if options.standing is not None:
            self._take_over(options.standing)

    def _take_over(self, standing: Standing) -> None:
        self._turn = standing.turn
        self._calls = dict.fromkeys(call.id for call in standing.calls if not call.ended)
        self._ended = {call.id for call in standing.calls if call.ended}
        self._tasks = dict.fromkeys(task.id for task in standing.tasks if not task.ended)
        self._taken = frozenset(standing.taken)
        self._prefix = f"{self._options.epoch}-{len(standing.messages)}-"
        if standing.living:
            self._open = {each.request.id: each.answer is not None for each in standing.requests}
            self._attached = True

    @property
    def at_rest(self) -> bool:
        return not self._text and self._attached

    def pause(self) -> Reaction:
        return Reaction(events=self._close_text())

    def begin(self) -> Reaction:
        standing = self._options.standing
        if standing is None or not standing.living:
            return Reaction()
        attached = m.EngineAttached(
            engine=NAME, engine_session_id=self._session, reason="reattached", version="1", cwd=self._options.cwd
        )
        return Reaction(events=[attached])

    def feed(self, block: Block) -> Reaction:
        events: list[Event] = []
        for raw in block.lines.splitlines():
            try:
                line = read_line(raw)
            except msgspec.MsgspecError:
                continue  # the rest of a line whose beginning another has read
            events += self._take(line)
        return Reaction(events=events)

    def _take(self, line: Line) -> list[Event]:
        match line.type:
            case "ready":
                reason = "resumed" if self._options.resume else "started"
                self._attached = True
                return [m.EngineAttached(engine=NAME, engine_session_id=self._session, reason=reason, version="1")]  # type: ignore[arg-type]
            case "turn":
                return self._begin_turn(line)
            case "delta":
                self._text += line.text
                return [m.MessageDelta(message=self._message(), part=0, text=line.text)]
            case "message":
                events = self._close_text()
                self._text = line.text
                return [*events, *self._close_text()]
            case "call":
                call = ToolCallId(line.call)
                self._calls[call] = None
                started = m.ToolStarted(call=call, name=TOOL, kind="command", title=line.input, input=_raw(line.input))
                return [*self._close_text(), started]
            case "ask":
                return self._ask(line)
            case "applied":
                known = self._open.pop(RequestId(line.id), None)
                return [] if known is None else [m.RequestApplied(request=RequestId(line.id))]
            case "result":
                call = ToolCallId(line.call)
                if call not in self._calls:
                    return []
                del self._calls[call]
                outcome = "completed" if line.ok else line.stop
                return [m.ToolEnded(call=call, ok=line.ok, outcome=outcome, content=(TextBlock(text=line.text),))]  # type: ignore[arg-type]
            case "end":
                return self._end_turn(line)
            case _:
                return self._take_other(line)

    def _take_other(self, line: Line) -> list[Event]:
        match line.type:
            case "steered":
                return self._join(PromptId(line.id))
            case "withdrawn":
                self._sent.pop(PromptId(line.id), None)
                return [m.PromptWithdrawn(prompt=PromptId(line.id), reason="withdrawn")]
            case "task":
                self._tasks[TaskId(line.id)] = None
                return [m.TaskStarted(task=TaskId(line.id), title=line.id, background=True)]
            case "task_end":
                self._tasks.pop(TaskId(line.id), None)
                return [m.TaskEnded(task=TaskId(line.id), status="completed")]
            case "limit":
                return [m.LimitReached(kind="usage", status="reached", resets_at=line.at)]
            case _:
                return []

    def _begin_turn(self, line: Line) -> list[Event]:
        prompt = PromptId(line.id)
        if self._turn is not None:
            return [] if prompt in self._taken else self._join(prompt)
        self._turns += 1
        self._turn = TurnId(f"turn-{self._turns}")
        self._messages = 0
        self._prefix = ""
        content = self._sent.pop(prompt, (TextBlock(text=line.text),))
        return [
            m.TurnStarted(turn=self._turn, prompts=(prompt,), origin="prompt"),
            m.UserMessage(message=MessageId(f"{self._turn}.user"), content=content, prompt=prompt),
        ]

    def _join(self, prompt: PromptId) -> list[Event]:
        """A prompt that became part of the running turn."""
        content = self._sent.pop(prompt, (TextBlock(text=""),))
        said = m.UserMessage(message=MessageId(f"{prompt}.user"), content=content, prompt=prompt)
        return [m.PromptSteered(prompt=prompt), said]

    def _ask(self, line: Line) -> list[Event]:
        name = RequestId(line.id)
        self._open[name] = False
        request = Request(
            id=name,
            kind="permission",
            title=line.input,
            tool=TOOL,
            call=ToolCallId(line.call),
            input=_raw(line.input),
            options=(
                RequestOption(id="yes", label="Yes", kind="allow_once", means=Allow()),
                RequestOption(id="no", label="No", kind="deny", means=Deny()),
            ),
        )
        return [*self._close_text(), m.RequestOpened(request=request)]

    def _end_turn(self, line: Line) -> list[Event]:
        turn, self._turn = self._turn, None
        if turn is None:
            return []
        stop: m.StopReason = "interrupted" if line.stop else "end_turn" if line.ok else "error"
        error = "" if line.ok else line.stop or "it failed"
        ended = m.TurnEnded(
            turn=turn,
            ok=line.ok,
            error=error,
            error_kind="" if line.ok else stop,
            stop_reason=stop,
            resume=self._token(),
        )
        return [*self._close_text(), *self._close("the turn ended", "cancelled" if line.stop else "lost"), ended]

    def _close(self, reason: str, outcome: str) -> list[Event]:
        events: list[Event] = [m.RequestWithdrawn(request=name, reason=reason) for name in self._open]
        events += [m.ToolEnded(call=call, ok=False, outcome=outcome, note=reason) for call in self._calls]  # type: ignore[arg-type]
        self._open.clear()
        self._calls.clear()
        return events

    def _close_text(self) -> list[Event]:
        if not self._text:
            return []
        done = m.Message(message=self._message(), part=0, text=self._text)
        self._text = ""
        self._messages += 1
        return [done]

    def _message(self) -> MessageId:
        return MessageId(f"{self._turn}.{self._prefix}{self._messages}")

    def _token(self) -> ResumeToken | None:
        return ResumeToken(engine=NAME, value=self._session) if self._attached else None

    def command(self, command: c.Command) -> Reaction:
        if self._gone:
            raise EngineGone(NAME, "its process has ended")
        match command:
            case c.SendPrompt():
                content = tuple(block for block in command.content if isinstance(block, TextBlock))
                self._sent[command.prompt] = content
                line = Line(type="prompt", id=command.prompt, text=text_of(command.content), when=command.when)
            case c.Interrupt():
                withdrawn: list[Event] = [
                    m.RequestWithdrawn(request=name, reason="interrupted")
                    for name, answered in self._open.items()
                    if not answered
                ]
                self._open = {name: answered for name, answered in self._open.items() if answered}
                return Reaction(events=withdrawn, frames=(encode(Line(type="interrupt")),))
            case c.AnswerRequest():
                if self._open.get(command.request) is not False:
                    raise InvalidValue("request", command.request, "a request that is open")
                self._open[command.request] = True
                line = Line(type="answer", id=command.request, ok=allows(command.answer))
            case c.WithdrawPrompt():
                line = Line(type="withdraw", id=command.prompt)
            case _:
                raise UnsupportedOption(NAME, type(command).__name__, "it takes prompts, answers and interrupts")
        return Reaction(frames=(encode(line),))

    def check_answer(self, request: RequestId, answer: Answer) -> None:
        if self._open.get(request) is not False:
            raise InvalidValue("request", request, "a request that is open")

    def finish(self, ending: Exit) -> Reaction:
        self._gone = True
        events = self._close_text()
        events += self._close("the agent is gone", "lost")
        events += [m.TaskEnded(task=task, status="lost") for task in self._tasks]
        if self._turn is not None:
            why = ending.reason or "the agent ended"
            events.append(
                m.TurnEnded(
                    turn=self._turn, ok=False, error=why, error_kind="lost", stop_reason="lost", resume=self._token()
                )
            )
        events.append(m.EngineDetached(reason=ending.reason or "it ended", exit_code=ending.code, signal=ending.signal))
        return Reaction(events=events)


def allows(answer: Answer) -> bool:
    """Whether an answer is a yes."""
    return isinstance(answer, Allow) or (isinstance(answer, Choose) and answer.option == "yes")


def _raw(text: str) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode({"deed": text}))


class NothingLost:
    """All that the agent said is in the log or still to be read."""

    over = True

    def lost(self) -> Block:
        return NOTHING

    def sift(self, block: Block) -> Block:
        return block

    def silence(self) -> Block:
        return NOTHING


class ScriptParking:
    """How a request comes back whose process is gone: by the agent's transcript."""

    def __init__(self, world: World) -> None:
        self._world = world

    def _find(self, place: Place) -> Transcript | None:
        return self._world.machine.scripts.get(place.session or "")

    def knows(self, place: Place) -> bool:
        return self._find(place) is not None

    def has_begun(self, place: Place, prompt: PromptId) -> bool:
        found = self._find(place)
        return found is not None and prompt in found.begun

    def sum_rules(self, place: Place) -> str:
        return "none"

    def check(self, request: Request, answer: Answer) -> None:
        if not isinstance(answer, Allow | Deny | Choose):
            raise InvalidValue("answer", type(answer).__name__, "yes or no")

    def look(self, place: Place, pending: Pending) -> Way:
        return self._way(place, pending, by_message=False)

    def prepare(self, place: Place, pending: Pending, *, by_message: bool = False) -> Way:
        way = self._way(place, pending, by_message=by_message)
        found = self._find(place)
        deed = found.deeds.get(pending.request.call or "") if found is not None else None
        if way.kind == "tell" and deed is not None:
            deed.result, deed.is_error = way.text or "not run", True
        elif way.kind == "ask" and deed is not None:
            deed.running, deed.parked = False, True
        return way

    def _way(self, place: Place, pending: Pending, *, by_message: bool) -> Way:
        found = self._find(place)
        if place.session is not None and self._world.has_agent(place.session):
            return Way(kind="impossible", busy=True, reason="another process has the conversation")
        allowed = pending.answer is not None and allows(pending.answer)
        risky = pending.state == "sending" and allowed
        if found is None:
            return Way(kind="anew", unknown=risky)
        deed = found.deeds.get(pending.request.call or "")
        if deed is not None and deed.result is not None and not by_message:
            return Way(kind="settled", text=deed.result, is_error=deed.is_error)
        if risky:
            return Way(kind="tell", message="it is unknown whether it ran", unknown=True, text="unknown", is_error=True)
        if deed is None or by_message:
            given = msgspec.json.decode(pending.request.input or b"{}").get("deed", "")
            return Way(kind="tell", message=f"{AGAIN}{given}" if allowed else "it was refused", again=allowed)
        return Way(kind="ask")

    def record(self, place: Place, results: tuple[Recorded, ...]) -> bool:
        found = self._find(place)
        if place.session is not None and self._world.has_agent(place.session):
            return False
        for each in results:
            deed = found.deeds.get(each.call) if found is not None else None
            if deed is not None and deed.result is None:
                deed.result, deed.is_error = each.text, each.is_error
        return True

    def is_same(self, pending: Pending, request: Request, *, by_id: bool) -> bool:
        same = request.tool == pending.request.tool and request.input == pending.request.input
        return same and (not by_id or request.call == pending.request.call)


class ScriptEngine:
    """The engine of the scripted agent: it chooses session ids, parks requests, and its living process can be had."""

    name = NAME
    title = "Scripted agent"

    def __init__(self, world: World) -> None:
        self._world = world
        self.parking = ScriptParking(world)

    def capabilities(self, installed: Installed | None = None) -> Capabilities:
        return Capabilities(
            resume=True,
            interrupt=True,
            queue=True,
            steer=True,
            permissions=True,
            live=True,
            background=True,
            chooses_session_id=True,
        )

    async def locate(self, environ: Mapping[str, str]) -> Installed:
        return Installed(engine=NAME, program="script-agent", version="1")

    def launch(self, options: Options, installed: Installed, environ: Mapping[str, str]) -> Launch:
        session = options.session_id or options.resume or ""
        how = "resume" if options.resume is not None and not options.fork else "new"
        return Spawn(argv=("script-agent", session, how), env={}, cwd=options.cwd)

    def converse(self, options: Options, installed: Installed) -> Conversation:
        return ScriptConversation(options)

    def rejoin(self, standing: Standing, where: Where) -> Rejoining:
        if where.session is None or not where.whole:
            raise EngineGone(NAME, "what it said last is not known")
        return NothingLost()

    def format_resume(self, token: ResumeToken) -> str:
        return f"script --resume {token.value}"

    def extract_resume(self, text: str) -> ResumeToken | None:
        return None

    def is_resume_line(self, line: str) -> bool:
        return False
