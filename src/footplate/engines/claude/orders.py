"""What can be asked of a live Claude process, command by command: the frame, and what its answer means. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, cast

import msgspec

from footplate.engines.claude import answers, control, features
from footplate.engines.claude.grants import Grants
from footplate.engines.claude.lenient import read_struct
from footplate.engines.claude.modes import BYPASS, DEFAULT, known_mode, thinking_tokens
from footplate.engines.claude.offers import Offers
from footplate.engines.claude.outgoing import MUTE, Meaning, Outgoing, Verdict
from footplate.engines.claude.prompts import prompt_uuid
from footplate.engines.claude.translate import Translator
from footplate.errors import InvalidValue
from footplate.events import commands as c
from footplate.events.commands import Command
from footplate.events.facts import Fact, Interrupted
from footplate.events.ids import PromptId, RequestId
from footplate.events.model import FilesRewound
from footplate.events.requests import Allow, Answer, Request
from footplate.events.rules import held_for_session

NOT_LAUNCHED = "the session was not launched with --dangerously-skip-permissions"
TOO_LATE = "the prompt does not wait any more: it was taken up, or never came"
Frames = tuple[bytes, ...]


class Orders:
    """Commands that the CLI answers, and the effect that their answers have."""

    def __init__(
        self,
        translator: Translator,
        outgoing: Outgoing,
        offers: Offers,
        version: features.Version,
        *,
        grants: Grants | None = None,
    ) -> None:
        self._translator = translator
        self._outgoing = outgoing
        self._offers = offers
        self._version = version
        self._grants = grants or Grants()
        self._frames: list[bytes] = []

    def knows(self, command: Command) -> bool:
        """Whether the CLI can be asked this."""
        return isinstance(command, c.SendPrompt | c.AnswerRequest) or type(command) in self._table

    def ask(self, command: Command) -> Frames:
        """The frames of a command; its reply comes with the answer."""
        return self._table[type(command)](self, command)

    def check_answer(self, request: RequestId, answer: Answer) -> None:
        """Raise `RequestError` for an answer that `answer` would not take."""
        found = self._open_request(request)
        control.decision(found, answer)
        self._check_answer_mode(control.chosen(found, answer))

    def _check_answer_mode(self, answer: Answer) -> None:
        """Refuse a mode of an approved plan that the CLI would not switch to: it says yes and stays where it is."""
        if not isinstance(answer, Allow) or known_mode(answer.mode or DEFAULT) != BYPASS:
            return
        if BYPASS not in self._offers.modes():
            raise InvalidValue("mode", answer.mode, f"one of {', '.join(self._offers.modes())}: {NOT_LAUNCHED}")

    def _open_request(self, request: RequestId) -> Request:
        found = self._translator.open_request(request)
        if found is None:
            raise InvalidValue("request", request, "a request that is open")
        return found

    def answer(self, command: c.AnswerRequest) -> Frames:
        """The frames that answer a request of the CLI: no answer comes to that, its effect is seen in the stream.

        What is allowed for the session is in force before the CLI goes on.
        """
        request = self._open_request(command.request)
        frame = control.answer_frame(request, command.answer)
        self._translator.answered(request.id, denied=control.denies(request, command.answer))
        held = held_for_session(request, command.answer)
        if held is None or held.raw is None:
            return (frame,)
        self._grants.add(held.raw)
        return (self._apply(MUTE), frame)

    def begin(self) -> Frames:
        """What a new process is given before its first prompt."""
        chosen = self._offers.switches.begin()
        frames = [self._outgoing.ask(MUTE, "apply_flag_settings", settings=settings) for settings in chosen]
        return (*((self._apply(MUTE),) if self._grants else ()), *frames)

    def _apply(self, key: str) -> bytes:
        return self._outgoing.ask(key, "apply_flag_settings", settings=self._grants.settings())

    def _revoke(self, command: c.RevokeRule) -> Frames:
        if command.engine_rule is None:
            raise InvalidValue("rule", command.rule, "a rule that the engine holds")
        self._grants.remove(command.engine_rule)
        return (self._apply(command.key),)

    def leave_plan(self, command: c.AnswerRequest) -> Frames:
        """Set the mode that an approved plan ends in: 2.1.197 goes back to planning when it was resumed meanwhile."""
        request = self._translator.open_request(command.request)
        if request is None or request.kind != "plan" or control.denies(request, command.answer):
            return ()
        allowed = control.chosen(request, command.answer)
        mode = allowed.mode if isinstance(allowed, Allow) else ""
        return self._set_mode(c.SetMode(key=MUTE, mode=mode or DEFAULT))

    def take_frames(self) -> list[bytes]:
        """Frames that an answer gave rise to."""
        frames, self._frames = self._frames, []
        return frames

    # ------------------------------------------------------------------------------------------ turns

    def _withdraw(self, command: c.WithdrawPrompt) -> Frames:
        return (self._take_back(command.key, command.prompt),)

    def _take_back(self, key: str, prompt: PromptId) -> bytes:
        def meaning(raw: msgspec.Raw) -> str | Verdict:
            wire = read_struct(answers.CANCELLED, raw)
            if wire is None or not wire.cancelled:
                return TOO_LATE if key else Verdict.LATER
            self._translator.withdrawn(prompt)
            return Verdict.DONE

        return self._outgoing.ask(key, "cancel_async_message", meaning, message_uuid=prompt_uuid(prompt))

    def _interrupt(self, command: c.Interrupt) -> Frames:
        def meaning(raw: msgspec.Raw) -> Fact:
            wire = read_struct(answers.INTERRUPTED, raw) or answers.InterruptedWire()
            return Interrupted(still_queued=self._translator.named_prompts(wire.still_queued))

        drops = command.withdraw_queued
        knows = features.knows(self._version, "cancel_queued")
        frame = self._outgoing.ask(command.key, "interrupt", meaning, cancel_queued=(drops and knows) or None)
        if not drops or knows:
            return (frame,)
        return (*(self._take_back(MUTE, prompt) for prompt in self._translator.waiting_prompts()), frame)

    def _stop_task(self, command: c.StopTask) -> Frames:
        """The CLI says yes to any id, so that one which does not run is refused here."""
        if command.task not in {task.task for task in self._translator.open_tasks()}:
            raise InvalidValue("task", command.task, "a task that runs")
        return (self._outgoing.ask(command.key, "stop_task", task_id=command.task),)

    # ---------------------------------------------------------------------------------------- choices

    def _set_mode(self, command: c.SetMode) -> Frames:
        mode = known_mode(command.mode)

        def meaning(raw: msgspec.Raw) -> Verdict:
            wire = read_struct(answers.MODE, raw)
            self._offers.mode = (wire.mode if wire is not None else "") or mode
            self._translator.mode_is(self._offers.mode)
            self.tell_choices()
            return Verdict.DONE

        return (self._outgoing.ask(command.key, "set_permission_mode", meaning, mode=mode),)

    def _set_model(self, command: c.SetModel) -> Frames:
        def meaning(raw: msgspec.Raw) -> Verdict:
            wire = read_struct(answers.MODE, raw)
            self._offers.model = command.model or "default"
            self._translator.model_is(wire.model if wire is not None else "")
            self.tell_choices()
            return Verdict.DONE

        return (self._outgoing.ask(command.key, "set_model", meaning, model=command.model or None),)

    def _set_effort(self, command: c.SetEffort) -> Frames:
        """A named effort is a setting of the process; a number is a budget for thinking."""
        budget = thinking_tokens(command.effort)

        def meaning(raw: msgspec.Raw) -> Verdict:  # noqa: ARG001
            self._offers.effort = command.effort
            self.tell_choices()
            return Verdict.DONE

        if budget is not None:
            return (self._outgoing.ask(command.key, "set_max_thinking_tokens", meaning, max_thinking_tokens=budget),)
        settings = {"effortLevel": command.effort, **self._offers.switches.beside_effort()}
        return (self._outgoing.ask(command.key, "apply_flag_settings", meaning, settings=settings),)

    def _set_option(self, command: c.SetOption) -> Frames:
        """An option of the CLI's own is a setting of the process."""
        switches = self._offers.switches
        settings = switches.check(command.option, command.value, self._offers.model_in_force())

        def meaning(raw: msgspec.Raw) -> Verdict:  # noqa: ARG001
            switches.was_set(command.option, command.value)
            self.tell_choices()
            return Verdict.DONE

        return (self._outgoing.ask(command.key, "apply_flag_settings", meaning, settings=settings),)

    def tell_choices(self) -> None:
        """The whole list of choices, with the mode that is in force by now: plans change it, too."""
        self._offers.mode = self._translator.mode or self._offers.mode
        self._translator.tell(self._offers.config())

    # ----------------------------------------------------------------------------------------- session

    def _rewind(self, command: c.Rewind) -> Frames:
        """First what it would change, for the CLI names the files only then; then the deed."""
        message = prompt_uuid(PromptId(command.message))

        def checked(raw: msgspec.Raw) -> Fact | str | Verdict:
            found = answers.read_rewind(raw)
            if found is None or not found.possible:
                return (found.reason if found is not None else "") or "the files cannot be put back"
            if command.dry_run:
                return found
            done = self._rewound(command, found.files)
            self._frames.append(self._outgoing.ask(command.key, "rewind_files", done, user_message_id=message))
            return Verdict.LATER

        return (self._outgoing.ask(command.key, "rewind_files", checked, user_message_id=message, dry_run=True),)

    def _rewound(self, command: c.Rewind, files: tuple[str, ...]) -> Meaning:
        def meaning(raw: msgspec.Raw) -> Fact | str:
            found = answers.read_rewind(raw)
            if found is None or not found.possible:
                return (found.reason if found is not None else "") or "the files could not be put back"
            self._translator.tell(FilesRewound(message=command.message, files=files))
            return msgspec.structs.replace(found, files=files)

        return meaning

    def _rename(self, command: c.Rename) -> Frames:
        return (self._outgoing.ask(command.key, "rename_session", title=command.title),)

    def _close(self, command: c.CloseSession) -> Frames:
        return (self._outgoing.ask(command.key, "end_session"),)

    _table: ClassVar[dict[type, Callable[[Orders, Command], Frames]]] = {
        kind: cast("Callable[[Orders, Command], Frames]", handler)
        for kind, handler in (
            (c.WithdrawPrompt, _withdraw),
            (c.Interrupt, _interrupt),
            (c.StopTask, _stop_task),
            (c.RevokeRule, _revoke),
            (c.SetMode, _set_mode),
            (c.SetModel, _set_model),
            (c.SetEffort, _set_effort),
            (c.SetOption, _set_option),
            (c.Rewind, _rewind),
            (c.Rename, _rename),
            (c.CloseSession, _close),
        )
    }
