"""What is open in a session's log when a new conversation takes it over: values made from the view, for engines.

Somebody else began: a process of ours that was killed, or an agent process that is gone. A conversation that gets a
`Standing` goes on with what is open instead of opening it again: no second `TurnStarted`, the same calls under the same
ids, a `ToolEnded` for calls that it did not see start, the `TurnEnded` of the open turn.
"""

from __future__ import annotations

import msgspec

from footplate.events.base import OptionalRaw
from footplate.events.ids import MessageId, PromptId, TaskId, ToolCallId, TurnId
from footplate.events.model import ConfigOption, TurnOrigin
from footplate.events.requests import Answer, Request
from footplate.events.tools import ToolDetail, ToolKind


class StandingCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that runs, or one of the open turn that has ended: then nothing further is said of it."""

    id: ToolCallId
    name: str = ""
    kind: ToolKind = "other"
    parent: ToolCallId | None = None
    title: str = ""
    input: OptionalRaw = None
    detail: ToolDetail | None = None
    ended: bool = False


class StandingTask(msgspec.Struct, frozen=True, kw_only=True):
    """Work beside the turn: that runs, or that has ended."""

    id: TaskId
    call: ToolCallId | None = None
    background: bool = False
    ended: bool = False


class StandingRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request without an end, under the engine's own id, and the answer that was written to the engine, if any."""

    request: Request
    parent: ToolCallId | None = None
    answer: Answer | None = None


class StandingMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the open turn and how many of its blocks were seen: parts that are finished, and calls."""

    id: MessageId
    parent: ToolCallId | None = None
    blocks: tuple[int, ...] = ()


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """What is open. `living`: the process that had it goes on, else a new one takes its place.

    A living process still has the requests and the prompts in `waiting` (written to it, not taken up); a new one has
    neither, and is given none. `taken` are the prompts of all turns, `said` those that stand in the log as messages: an
    echo of one is no news. `past_calls` ended in earlier turns: an agent that tells one again tells nothing new.
    `answer` is the text of the last message, which may turn out to be the turn's answer. `cost_usd` is what a
    living process had cost when its last turn ended. `commands` are the slash commands among the prompts in `waiting`:
    one may begin another conversation.
    """

    living: bool = False
    turn: TurnId | None = None
    origin: TurnOrigin = ""
    prompts: tuple[PromptId, ...] = ()
    taken: tuple[PromptId, ...] = ()
    said: tuple[PromptId, ...] = ()
    waiting: tuple[PromptId, ...] = ()
    commands: tuple[str, ...] = ()
    calls: tuple[StandingCall, ...] = ()
    past_calls: tuple[ToolCallId, ...] = ()
    tasks: tuple[StandingTask, ...] = ()
    requests: tuple[StandingRequest, ...] = ()
    messages: tuple[StandingMessage, ...] = ()
    answer: tuple[str, ...] = ()
    compacting: bool = False
    model: str = ""
    mode: str = ""
    options: tuple[ConfigOption, ...] = ()
    cost_usd: float = 0.0
