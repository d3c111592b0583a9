"""What can be asked of a session. Each command carries an idempotency key: the same key twice is one command."""

from __future__ import annotations

from typing import Literal

import msgspec

from footplate.events.base import OptionalRaw
from footplate.events.content import ContentBlock
from footplate.events.ids import MessageId, PromptId, RequestId, RuleId, TaskId
from footplate.events.requests import Answer


class CommandBase(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag=True, omit_defaults=True):
    """Base of all commands. `key` makes a repeat harmless; `by` and `surface` say who asked, and from where."""

    key: str
    by: str = ""
    surface: str = ""


class SendPrompt(CommandBase, frozen=True, kw_only=True):
    """Give the agent a message: after what is running (`queue`), into it (`steer`), or cutting it short (`now`)."""

    prompt: PromptId
    content: tuple[ContentBlock, ...]
    when: Literal["queue", "steer", "now"] = "queue"


class WithdrawPrompt(CommandBase, frozen=True, kw_only=True):
    """Take back a prompt that still waits."""

    prompt: PromptId


class Interrupt(CommandBase, frozen=True, kw_only=True):
    """Stop the running turn; `withdraw_queued` drops what waits behind it too."""

    withdraw_queued: bool = False


class Continue(CommandBase, frozen=True, kw_only=True):
    """Start the prompts that a restart has paused; nothing happens if none is."""


class AnswerRequest(CommandBase, frozen=True, kw_only=True):
    """Answer an open request."""

    request: RequestId
    answer: Answer


class RevokeRule(CommandBase, frozen=True, kw_only=True):
    """Take back what was allowed for the session. The session adds what the engine holds of it, in its own words."""

    rule: RuleId
    engine_rule: OptionalRaw = None


class SetMode(CommandBase, frozen=True, kw_only=True):
    """Change the permission mode."""

    mode: str


class SetModel(CommandBase, frozen=True, kw_only=True):
    """Change the model; empty is the engine's default."""

    model: str


class SetEffort(CommandBase, frozen=True, kw_only=True):
    """Change how hard the model thinks; empty is the engine's default."""

    effort: str


class SetOption(CommandBase, frozen=True, kw_only=True):
    """Change an option of the engine's own, by its id."""

    option: str
    value: str


class StopTask(CommandBase, frozen=True, kw_only=True):
    """End one background task."""

    task: TaskId


class RunCommand(CommandBase, frozen=True, kw_only=True):
    """Run a person's own command in the session's folder and show it to the agent."""

    command: str


class Rename(CommandBase, frozen=True, kw_only=True):
    """Set the session's title."""

    title: str


class Rewind(CommandBase, frozen=True, kw_only=True):
    """Put files back to where they stood at a message."""

    message: MessageId
    dry_run: bool = False


class CloseSession(CommandBase, frozen=True, kw_only=True):
    """End the session: its process in order, its open requests as unanswered."""

    reason: str = ""


Command = (
    SendPrompt
    | WithdrawPrompt
    | Interrupt
    | Continue
    | AnswerRequest
    | RevokeRule
    | SetMode
    | SetModel
    | SetEffort
    | SetOption
    | StopTask
    | RunCommand
    | Rename
    | Rewind
    | CloseSession
)
