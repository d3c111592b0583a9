"""Which prompts were sent, which the CLI took up, and which turn each belongs to."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Final

from footplate.engines.claude.ledger import Ledger, Recent
from footplate.engines.claude.wire import CommandLifecycle
from footplate.engines.standing import Standing
from footplate.events.ids import PromptId
from footplate.events.model import PromptSteered, PromptWithdrawn

NAMESPACE: Final = uuid.UUID("5f0c9f6e-7b0d-5c5e-9a49-3d1f6f3c2b10")

CLEARING: Final = ("/clear", "/reset", "/new")
"""Commands of the CLI that begin a new session."""


def clears(prompt: str) -> bool:
    """Whether the prompt is a command that begins a new session."""
    words = prompt.split(maxsplit=1)
    return bool(words) and words[0] in CLEARING


def prompt_uuid(prompt: PromptId) -> str:
    """The id of the prompt on the wire: itself when it is a UUID, else one made of it, always the same."""
    try:
        return str(uuid.UUID(prompt))
    except ValueError:
        return str(uuid.uuid5(NAMESPACE, prompt))


class Prompts:
    """The life of prompts as the stream tells it.

    2.1.325 names the prompts of a turn in its init and tells the life of each one. 2.1.197 does neither: there the
    oldest prompt that was sent and not yet taken up is the one that a new turn answers, and an echo
    (`--replay-user-messages`) tells that a further one was folded in.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._names: dict[str, PromptId] = {}
        self._waiting: list[PromptId] = []
        self._started: list[PromptId] = []
        self._taken = Recent()
        self._echoed = Recent()
        self._told = False
        self._only_ours = False

    def take_over(self, standing: Standing) -> None:
        """Know what was said before, and what was sent.

        A new process that goes on with a turn is given prompts of its own by the CLI ("Continue from where you left
        off."): nobody sent them, so they are none; nor are they when that process is taken over in its turn.
        """
        self._only_ours = True
        for prompt in (*standing.taken, *standing.prompts, *standing.said):
            self._names[prompt_uuid(prompt)] = prompt
            self._taken.add(prompt)
        for prompt in standing.said:
            self._echoed.add(prompt_uuid(prompt))
        for prompt in standing.waiting:
            self.sent(prompt)

    @property
    def outstanding(self) -> list[PromptId]:
        """Prompts that were sent and never taken up; one that the CLI has started with waits as well."""
        return [*self._started, *(prompt for prompt in self._waiting if prompt not in self._started)]

    def sent(self, prompt: PromptId) -> None:
        """A prompt was written to the CLI."""
        self._names[prompt_uuid(prompt)] = prompt
        if prompt not in self._waiting and prompt not in self._taken:
            self._waiting.append(prompt)

    def of_turn(self, named: Iterable[str]) -> list[PromptId]:
        """The prompts that a turn which starts now answers; `named` are those its init names.

        One that has joined an earlier turn starts no other. Seen where a service was killed: it finds the prompt in the
        CLI's file, within the turn that is open in the log, before it reads the result that had ended that turn.
        """
        known = self._known(named)
        prompts = [prompt for prompt in known if prompt not in self._taken] if known else [*self._started]
        if not known and not prompts and not self._told:
            prompts = self._waiting[:1]
        for prompt in prompts:
            self._take(prompt)
        return prompts

    def echoed(self, name: str) -> tuple[PromptId, bool]:
        """The prompt that an echo names, and whether it is the first echo of it."""
        prompt = self.named(name)
        if name in self._echoed:
            return prompt, False
        self._echoed.add(name)
        turn = self._ledger.turn
        if turn is not None and prompt not in turn.prompts and prompt not in self._taken:
            self._fold_in(prompt)
        self._take(prompt)
        return prompt, True

    def of_result(self, names: Iterable[str]) -> None:
        """The prompts that a result names belong to its turn."""
        turn = self._ledger.turn
        for prompt in self._known(names):
            if turn is not None and prompt not in turn.prompts:
                turn.prompts.append(prompt)
            self._take(prompt)

    def lifecycle(self, line: CommandLifecycle) -> None:
        """What 2.1.325 says of a prompt."""
        self._told = True
        if not self._known((line.command_uuid,)):
            self._ledger.ignore("command_lifecycle")
            return
        prompt = self.named(line.command_uuid)
        turn = self._ledger.turn
        if line.state == "cancelled" and prompt not in self._taken and prompt not in self._started:
            self.withdraw(prompt, "cancelled")
            return
        if line.state == "started" and prompt not in self._taken:
            if turn is not None and self._fold_in(prompt):
                return
            if turn is None:
                self._started.append(prompt)
        self._ledger.ignore("command_lifecycle")

    def withdraw(self, prompt: PromptId, reason: str) -> None:
        """A prompt will not run; told once, whoever tells it first."""
        if prompt not in self._taken:
            self._take(prompt)
            self._ledger.out.append(PromptWithdrawn(prompt=prompt, reason=reason))

    def _fold_in(self, prompt: PromptId) -> bool:
        """A prompt joins the turn that runs; the first one of a turn that names none is what started it: False."""
        turn = self._ledger.open_turn()
        first = not turn.prompts and turn.origin == ""
        turn.prompts.append(prompt)
        self._take(prompt)
        if not first:
            self._ledger.out.append(PromptSteered(prompt=prompt))
        return not first

    def _take(self, prompt: PromptId) -> None:
        self._taken.add(prompt)
        for pending in (self._waiting, self._started):
            if prompt in pending:
                pending.remove(prompt)

    def _known(self, names: Iterable[str]) -> list[PromptId]:
        """The prompts of these ids on the wire, without those that are the CLI's own."""
        return [self.named(name) for name in names if not self._only_ours or name in self._names]

    def named(self, name: str) -> PromptId:
        """The prompt of an id on the wire."""
        return self._names.get(name) or PromptId(name)
