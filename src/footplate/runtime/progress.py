"""State of a session outside its view that must be known at once. Pure, and restored when an append fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from footplate.events import model as m
from footplate.events.ids import PromptId, ToolCallId, TurnId
from footplate.events.model import Event
from footplate.events.view import SessionView, ToolItem
from footplate.runtime.shell import untold_commands


class Progress:
    """The running turn, its calls, and the prompts that the agent process was given and has not begun.

    `sent` has the key of the command by which each prompt was sent. `commands` are those that a person ran since the
    last turn, `resets_at` is when the usage limit ends that the agent reported.
    """

    def __init__(self, view: SessionView) -> None:
        self.turn: TurnId | None = view.turn
        self.sent: dict[PromptId, str] = {}
        self.running: set[ToolCallId] = set()
        self.commands: list[m.CommandRan] = untold_commands(view)
        self.tool_calls = sum(isinstance(item, ToolItem) for item in view.items)
        self.resets_at: float | None = None

    @property
    def busy(self) -> bool:
        """Whether a turn runs or is about to."""
        return self.turn is not None or bool(self.sent)

    @contextmanager
    def following(self, events: Sequence[Event]) -> Iterator[None]:
        """Take account of events while the block stores them; if it cannot, nothing has happened."""
        before = (
            self.turn,
            dict(self.sent),
            set(self.running),
            list(self.commands),
            self.tool_calls,
            self.resets_at,
        )
        for event in events:
            self._follow(event)
        try:
            yield
        except BaseException:
            self.turn, self.sent, self.running, self.commands, self.tool_calls, self.resets_at = before
            raise

    def _follow(self, event: Event) -> None:
        match event:
            case m.TurnStarted():
                self.turn = event.turn
                self.commands.clear()
                self._forget(event.prompts)
            case m.TurnEnded():
                self.turn = None
                self._forget(event.prompts)
            case m.PromptSteered() | m.PromptWithdrawn():
                self._forget((event.prompt,))
            case m.ToolStarted():
                self.running.add(event.call)
                self.tool_calls += 1
            case m.ToolEnded():
                self.running.discard(event.call)
            case m.CommandRan():
                self.commands.append(event)
            case m.LimitReached(kind="usage"):
                self.resets_at = event.resets_at if event.status == "reached" else None
            case _:
                pass

    def _forget(self, prompts: tuple[PromptId, ...]) -> None:
        for prompt in prompts:
            self.sent.pop(prompt, None)
