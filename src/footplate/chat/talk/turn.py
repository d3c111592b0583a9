"""One turn as a chat shows it: its actions, its clock, what it says and waits for. Folded from events; no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from footplate.chat.drawing.progress import ActionLog, Label
from footplate.chat.drawing.words import clock
from footplate.events import model as m
from footplate.events.base import OVERSIZE
from footplate.events.ids import PromptId, TurnId
from footplate.events.model import Event
from footplate.events.run_events import Action, Completed
from footplate.events.runs import RunFold
from footplate.events.wording import format_tokens

SAID_BY_COMMANDS: Final = ("local_command", "local_command_output")
"""What commands of the agent's own say, such as `/context`: no model speaks, so there is no other answer."""


class Ending:
    """How a turn ended."""

    def __init__(
        self,
        event: m.TurnEnded,
        completed: Completed | None,
        *,
        at: float,
        remarks: Sequence[str],
        left_out: Sequence[str] = (),
    ) -> None:
        self.event = event
        self.at = at
        self.remarks = remarks
        self.left_out = left_out
        self.answer = completed.answer if completed is not None else event.answer

    @property
    def label(self) -> Label:
        """The word for it: an answer without words is no error."""
        if self.event.ok:
            return "done"
        return "cancelled" if self.event.stop_reason == "interrupted" else "error"

    @property
    def text(self) -> str:
        """The answer, or what a command of the agent's own said where there is none; before it what went wrong.

        After it what of the agent's output was too large to be read.
        """
        error = "" if self.label != "error" else self.event.error
        said = self.answer or "\n\n".join(self.remarks)
        return "\n\n".join(part for part in (error, said, *self.left_out) if part)

    @property
    def cost_usd(self) -> float | None:
        """What it cost."""
        return self.event.usage.cost_usd if self.event.usage is not None else None


class Turn:
    """A turn that runs. Feed it every event of the session from its `TurnStarted` on."""

    def __init__(self, started: m.TurnStarted, at: float, attached: m.EngineAttached | None) -> None:
        self.id: TurnId = started.turn
        self.origin = started.origin
        self.prompts: list[PromptId] = list(started.prompts)
        self.begun_at = at
        self.actions = ActionLog()
        self.cost_usd: float | None = None
        self.ending: Ending | None = None
        self._fold = RunFold()
        self._live: dict[tuple[str, int], str] = {}
        self._remarks: list[str] = []
        self._left_out: list[str] = []
        if attached is not None:
            self._fold.feed(attached)

    @property
    def live(self) -> str:
        """What the agent is just saying."""
        return "\n\n".join(self._live.values())

    def feed(self, event: Event, at: float) -> None:
        """One event."""
        completed = None
        for told in self._fold.feed(event):
            if isinstance(told, Action):
                self.actions.add(told)
            elif isinstance(told, Completed):
                completed = told
        match event:
            case m.MessageDelta(parent=None):
                key = (event.message, event.part)
                self._live[key] = event.text if event.reset else self._live.get(key, "") + event.text
            case m.ToolStarted(parent=None):
                self._live.clear()
            case m.UsageReported():
                self.cost_usd = event.cost_usd if event.cost_usd is not None else self.cost_usd
            case m.Notice(code=code) if code in SAID_BY_COMMANDS:
                self._remarks.append(event.text)
            case m.Notice(code=code) if code == OVERSIZE:
                self._left_out.append(event.text)
            case m.CompactionEnded():
                self._remarks.append(_compacted(event))
            case m.PromptSteered():
                self.prompts.append(event.prompt)
            case m.TurnEnded():
                self.prompts += [each for each in event.prompts if each not in self.prompts]
                self.ending = Ending(event, completed, at=at, remarks=self._remarks, left_out=self._left_out)
            case _:
                pass


def _compacted(event: m.CompactionEnded) -> str:
    """What became of the context."""
    if not event.ok:
        return f"the context could not be shortened: {event.error}"
    if event.tokens_before is None or event.tokens_after is None:
        return "the context was shortened"
    before, after = format_tokens(event.tokens_before), format_tokens(event.tokens_after)
    return f"the context was shortened: {before} -> {after} tokens"


class Waiting:
    """What the session waits for, as its protocol tells it."""

    def __init__(self) -> None:
        self._now = m.StateChanged(state="starting")

    def feed(self, event: Event) -> None:
        """One event."""
        if isinstance(event, m.StateChanged):
            self._now = event

    @property
    def label(self) -> Label:
        """The word for the header of a turn that runs."""
        return "waiting for you" if self._now.waiting_for == "you" else "working"

    @property
    def note(self) -> str:
        """What else is to be told."""
        if self._now.waiting_for == "limit" or self._now.state == "parked":
            until = f" until {clock(self._now.until)}" if self._now.until is not None else ""
            return f"waiting for a limit{until}"
        return ""
