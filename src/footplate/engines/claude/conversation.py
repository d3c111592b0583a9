"""One conversation with a Claude process: the translator for what it says, frames for what is asked of it.

Whatever is asked gets one reply, by its key: commands when the CLI has answered their control request, the others at
once. Prompts are held back until the CLI knows the tools of our process and what the session allows, or it would begin
without them.
"""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.engines.base import Exit, HostCall, Options, Query, Reaction, Reply
from footplate.engines.claude import control, features
from footplate.engines.claude.asking import ASKED
from footplate.engines.claude.grants import Grants
from footplate.engines.claude.hosting import Hosting
from footplate.engines.claude.lenient import read, read_struct
from footplate.engines.claude.modes import wire_mode
from footplate.engines.claude.offers import Offers
from footplate.engines.claude.orders import Orders
from footplate.engines.claude.outgoing import MUTE, Outgoing, Verdict, encoded, reading
from footplate.engines.claude.prompts import clears
from footplate.engines.claude.queries import QUESTIONS
from footplate.engines.claude.switches import Switches
from footplate.engines.claude.translate import CONTROL, ControlLine, Translator
from footplate.engines.claude.wire import LINES, RAWS, ControlCancel, ControlRequest, ControlResponse
from footplate.errors import UnsupportedOption
from footplate.events import commands as c
from footplate.events.commands import Command
from footplate.events.content import text_of
from footplate.events.facts import Tasks
from footplate.events.ids import RequestId
from footplate.events.model import Event
from footplate.events.requests import Answer
from footplate.host.lines import Block

ENGINE: Final = "claude"
ANSWER: Final = b'"control_response"'
UNREADABLE: Final = "The control request cannot be read"


class ClaudeConversation:
    """Pure: whole lines and commands in, events, replies and whole lines out."""

    def __init__(
        self,
        options: Options,
        *,
        version: str = "",
        mode: str = "",
        may_bypass: bool = False,
        turn_prefix: str = "turn-",
    ) -> None:
        """`version` is that of the CLI, `mode` the one it starts in, `may_bypass` whether it can stop asking."""
        self._one_shot = options.one_shot
        self._standing = options.standing
        self._rejoined = options.standing if options.standing is not None and options.standing.living else None
        self._granted = bool(options.grants or options.choices)
        self._installed = version
        self._version = features.parse_version(version)
        self._translator = Translator(
            engine=ENGINE,
            cwd=options.cwd,
            resume=options.resume,
            fork=options.fork,
            turn_prefix=turn_prefix,
            first_turn=options.first_turn,
            prompted=options.one_shot,
            clears=options.one_shot and clears(options.prompt),
        )
        self._translator.on_control = self._take_control
        self._outgoing = Outgoing(self._version, epoch=options.epoch)
        self._hosting = Hosting(options.hooks, options.servers)
        self._offers = Offers(
            version=version,
            mode=wire_mode(mode or options.mode),
            model=options.model,
            effort=options.effort,
            may_bypass=may_bypass,
            switches=Switches(options.choices),
        )
        self._orders = Orders(
            self._translator, self._outgoing, self._offers, self._version, grants=Grants(options.grants)
        )
        self._fast = self._translator.fast
        self._early: list[Query] = []
        self._held: list[bytes] = []
        self._frames: list[bytes] = []
        self._replies: list[Reply] = []
        self._calls: list[HostCall] = []
        self._dropped: list[str] = []

    @property
    def translator(self) -> Translator:
        """The reading half, for what only it knows."""
        return self._translator

    @property
    def ready(self) -> bool:
        """Whether the CLI has answered `initialize`; a one-shot has its prompt already."""
        return self._one_shot or self._offers.ready

    @property
    def awaits(self) -> bool:
        """Whether a control request of ours is unanswered."""
        return self._outgoing.open

    def sift(self, block: Block) -> tuple[Block, Block]:
        """Control responses, and the rest. In a text the quotes would be escaped, so a look at the bytes tells."""
        if ANSWER not in block.lines:
            return Block(), block
        lines = block.lines.splitlines(keepends=True)
        answers = b"".join(line for line in lines if ANSWER in line)
        return Block(answers), Block(b"".join(line for line in lines if ANSWER not in line), block.oversize)

    def begin(self) -> Reaction:
        """`initialize`: its answer tells that the CLI is ready, and what it offers."""
        events = self._translator.fresh()
        if self._standing is not None:
            self._translator.take_over(self._standing, version=self._installed)
        remark = features.remark(self._version)
        if remark is not None:
            self._translator.tell(remark)
        if not self._one_shot:
            said = self._hosting.registration()
            self._frames.append(self._outgoing.ask(MUTE, "initialize", self._initialized, **said))
            self._frames.extend(self._orders.begin())
        return self._react(events)

    def feed(self, block: Block) -> Reaction:
        """What the CLI said. A control request that nobody here serves is refused: unanswered it hangs the turn."""
        events = self._translator.feed(block)
        if self._translator.fast is not self._fast:
            self._fast = self._translator.fast
            if self._offers.ready and self._offers.switches.fast_is(*self._fast):
                self._orders.tell_choices()
        return self._react(events)

    def command(self, command: Command) -> Reaction:
        """Something asked of the session, as frames."""
        if self._one_shot or not self._orders.knows(command):
            form = "in the one-shot form" if self._one_shot else "through the engine"
            raise UnsupportedOption(ENGINE, f"{type(command).__name__} {form}", "use the live form or another command")
        events = self._translator.fresh()
        if isinstance(command, c.SendPrompt):
            self._send(command)
        elif isinstance(command, c.AnswerRequest):
            self._frames.extend(self._orders.answer(command))
            if self._standing is not None:
                self._frames.extend(self._orders.leave_plan(command))
        else:
            self._frames.extend(self._orders.ask(command))
            return self._react(events)
        self._replies.append(Reply(key=command.key))
        return self._react(events)

    def check_answer(self, request: RequestId, answer: Answer) -> None:
        """Raise `RequestError` for an answer that does not fit, or that comes too late."""
        self._orders.check_answer(request, answer)

    def query(self, query: Query) -> Reaction:
        """A question: asked of the CLI, or answered from what is known, once it is known."""
        if self._one_shot:
            raise UnsupportedOption(ENGINE, f"{query.name} in the one-shot form", "use the live form")
        events = self._translator.fresh()
        question = QUESTIONS.get(query.name)
        if question is not None:
            features.require(self._version, question.subtype)
            arguments = question.arguments(query.arguments)
            self._frames.append(self._outgoing.ask(query.key, question.subtype, reading(question.reads), **arguments))
        elif query.name == "tasks":
            self._replies.append(Reply(key=query.key, result=encoded(Tasks(tasks=self._translator.open_tasks()))))
        elif self._offers.ready:
            self._answer(query)
        else:
            self._early.append(query)
        return self._react(events)

    def give_up(self, key: str) -> None:
        """Nobody waits for the answer to this any more."""
        self._outgoing.give_up(key)

    def reply(self, key: str, result: msgspec.Raw | str, *, error: str = "") -> Reaction:
        """What a handler of ours made of a call."""
        return Reaction(frames=self._hosting.reply(key, result, error))

    def finish(self, ending: Exit) -> Reaction:
        """The process is gone."""
        return Reaction(events=self._translator.finish(ending))

    # ----------------------------------------------------------------------------------------- control

    def _take_control(self, line: ControlLine) -> None:
        if isinstance(line, ControlResponse):
            self._settle(line)
        elif isinstance(line, ControlCancel):
            if self._hosting.drop(line.request_id):
                self._dropped.append(line.request_id)
        else:
            self._serve(line)

    def _settle(self, line: ControlResponse) -> None:
        settled = self._outgoing.settle(line.response)
        if settled is None:
            return
        response, reply = settled
        self._translator.still_open(response.pending_permission_requests)
        self._frames.extend(self._repeat_answers(response.pending_permission_requests))
        self._frames.extend(self._orders.take_frames())
        if reply is not None:
            self._replies.append(reply)

    def _repeat_answers(self, raws: msgspec.Raw | None) -> list[bytes]:
        """Answers that were stored before we took over and that the CLI still waits for: they were never written."""
        standing, pending = self._rejoined, read(RAWS, raws)
        if standing is None or pending is None:
            return []
        self._rejoined = None
        lines = [line for raw in pending if isinstance(line := read(LINES, raw), ControlRequest)]
        waiting = {line.request_id for line in lines}
        return [
            control.answer_frame(asked.request, asked.answer)
            for asked in standing.requests
            if asked.answer is not None and asked.request.id in waiting
        ]

    def _serve(self, line: ControlRequest) -> None:
        asked = read_struct(ASKED, line.request)
        subtype = "" if asked is None else asked.subtype
        if subtype not in CONTROL:
            reason = f"Unsupported control request subtype: {subtype}" if asked else UNREADABLE
            self._frames.append(control.refusal_frame(line.request_id, reason))
            return
        served = self._hosting.take(line.request_id, line.request)
        self._calls.extend([served.call] if served.call is not None else [])
        self._frames.extend([served.frame] if served.frame else [])
        self._dropped.extend([served.dropped] if served.dropped else [])
        self._release()

    def _initialized(self, raw: msgspec.Raw) -> Verdict:
        self._offers.initialized(raw)
        self._translator.tell(self._offers.commands(), self._offers.config())
        if self._offers.switches.asks(self._offers.model_in_force()):
            self._frames.append(self._outgoing.ask(MUTE, "get_settings", self._settings_told))
        early, self._early = self._early, []
        for query in early:
            self._answer(query)
        self._release()
        return Verdict.DONE

    def _settings_told(self, raw: msgspec.Raw) -> Verdict:
        if self._offers.switches.learn_settings(raw):
            self._orders.tell_choices()
        return Verdict.DONE

    def _answer(self, query: Query) -> None:
        fact = self._offers.fact(query.name)
        if fact is None:
            self._replies.append(Reply(key=query.key, error=f"no such question: {query.name}"))
        else:
            self._replies.append(Reply(key=query.key, result=encoded(fact)))

    # ----------------------------------------------------------------------------------------- prompts

    def _send(self, command: c.SendPrompt) -> None:
        self._translator.sent(command.prompt, clears=clears(text_of(command.content)))
        frame = control.prompt_frame(command.prompt, command.content, now=command.when == "now")
        (self._frames if self._settled else self._held).append(frame)

    @property
    def _settled(self) -> bool:
        """Whether the CLI knows our tools, and was given what the session allows."""
        return self._hosting.introduced and (self._offers.ready or not self._granted)

    def _release(self) -> None:
        """The prompts that were held back, once the CLI has all that it needs."""
        if self._settled:
            held, self._held = self._held, []
            self._frames.extend(held)

    def _react(self, events: list[Event]) -> Reaction:
        reaction = Reaction(
            events=events,
            frames=tuple(self._frames),
            replies=tuple(self._replies),
            calls=tuple(self._calls),
            dropped=tuple(self._dropped),
            fatal=self._translator.mismatch,
        )
        if self._frames or self._replies or self._calls or self._dropped:
            self._frames, self._replies, self._calls, self._dropped = [], [], [], []
        return reaction
