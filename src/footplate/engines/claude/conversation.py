"""One conversation with a Claude process: the translator for what it says, frames for what is asked of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final, cast

from footplate.engines.base import Exit, Options, Reaction
from footplate.engines.claude import control
from footplate.engines.claude.asking import ASKED
from footplate.engines.claude.lenient import read_struct
from footplate.engines.claude.prompts import prompt_uuid
from footplate.engines.claude.translate import CONTROL, Translator
from footplate.engines.claude.wire import ControlRequest
from footplate.errors import InvalidValue, UnsupportedOption
from footplate.events import commands as c
from footplate.events.commands import Command
from footplate.events.content import text_of
from footplate.host.lines import Block

ENGINE: Final = "claude"
CLEARING: Final = ("/clear", "/reset", "/new")
"""Commands of the CLI that begin a new session."""


class ClaudeConversation:
    """Pure: whole lines and commands in, events and whole lines out."""

    def __init__(self, options: Options, *, turn_prefix: str = "turn-") -> None:
        self._one_shot = options.one_shot
        self._requests = control.Requests()
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

    @property
    def translator(self) -> Translator:
        """The reading half, for what only it knows."""
        return self._translator

    def begin(self) -> Reaction:
        """`initialize`: its answer tells that the CLI is ready. A one-shot has its prompt already."""
        return Reaction() if self._one_shot else Reaction(frames=(self._requests.frame("initialize"),))

    def feed(self, block: Block) -> Reaction:
        """What the CLI said. A control request that nobody here serves is refused: unanswered it hangs the turn."""
        events = self._translator.feed(block)
        waiting, self._translator.control = self._translator.control, []
        frames = [frame for line in waiting if isinstance(line, ControlRequest) for frame in _refuse(line)]
        return Reaction(events=events, frames=tuple(frames))

    def command(self, command: Command) -> Reaction:
        """Something asked of the session, as a frame."""
        handler = self._table.get(type(command))
        if handler is None or self._one_shot:
            form = "in the one-shot form" if self._one_shot else "yet"
            raise UnsupportedOption(ENGINE, f"{type(command).__name__} {form}", "use the live form or another command")
        return Reaction(frames=(handler(self, command),))

    def finish(self, ending: Exit) -> Reaction:
        """The process is gone."""
        return Reaction(events=self._translator.finish(ending))

    # ---------------------------------------------------------------------------------------- commands

    def _send(self, command: c.SendPrompt) -> bytes:
        self._translator.sent(command.prompt, clears=clears(text_of(command.content)))
        return control.prompt_frame(command.prompt, command.content, now=command.when == "now")

    def _withdraw(self, command: c.WithdrawPrompt) -> bytes:
        return self._requests.frame("cancel_async_message", message_uuid=prompt_uuid(command.prompt))

    def _interrupt(self, command: c.Interrupt) -> bytes:
        return self._requests.frame("interrupt", cancel_queued=command.withdraw_queued or None)

    def _answer(self, command: c.AnswerRequest) -> bytes:
        request = self._translator.open_request(command.request)
        if request is None:
            raise InvalidValue("request", command.request, "a request that is open")
        frame = control.answer_frame(request, command.answer)
        self._translator.answered(request.id, denied=control.denies(request, command.answer))
        return frame

    def _set_mode(self, command: c.SetMode) -> bytes:
        return self._requests.frame("set_permission_mode", mode=wire_mode(command.mode))

    def _set_model(self, command: c.SetModel) -> bytes:
        return self._requests.frame("set_model", model=command.model or None)

    def _stop_task(self, command: c.StopTask) -> bytes:
        return self._requests.frame("stop_task", task_id=command.task)

    def _rename(self, command: c.Rename) -> bytes:
        return self._requests.frame("rename_session", title=command.title)

    def _close(self, command: c.CloseSession) -> bytes:
        return self._requests.frame("end_session")

    _table: ClassVar[dict[type, Callable[[ClaudeConversation, Command], bytes]]] = {
        kind: cast("Callable[[ClaudeConversation, Command], bytes]", handler)
        for kind, handler in (
            (c.SendPrompt, _send),
            (c.WithdrawPrompt, _withdraw),
            (c.Interrupt, _interrupt),
            (c.AnswerRequest, _answer),
            (c.SetMode, _set_mode),
            (c.SetModel, _set_model),
            (c.StopTask, _stop_task),
            (c.Rename, _rename),
            (c.CloseSession, _close),
        )
    }


def clears(prompt: str) -> bool:
    """Whether the prompt is a command that begins a new session."""
    words = prompt.split(maxsplit=1)
    return bool(words) and words[0] in CLEARING


def wire_mode(mode: str) -> str:
    """The mode as both versions know it: `manual` is 2.1.325's name of `default`, which it knows too."""
    return "default" if mode == "manual" else mode


def _refuse(line: ControlRequest) -> tuple[bytes, ...]:
    asked = read_struct(ASKED, line.request)
    if asked is None or asked.subtype in CONTROL:
        return ()
    return (control.refusal_frame(line.request_id, f"Unsupported control request subtype: {asked.subtype}"),)
