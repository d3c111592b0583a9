"""The seam for requests that outlive their process: what an engine that can bring them back is asked, and answers.

The requests of an engine without it end with its process. One with it can be brought to ask again, or be told the
answer in words, by a new process that continues the conversation. The runtime keeps the journal, which is the log
itself (`runtime.journal`); the engine knows its own files. Nothing here is pure: whoever calls has made sure that no
process of ours is left, holds the session's lock where something is written, and does not do it on the loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol, runtime_checkable

import msgspec

from footplate.events.ids import EngineSessionId, PromptId, ToolCallId
from footplate.events.requests import Answer, Request

PendingState = Literal["open", "decided", "sending"]
WayKind = Literal["settled", "ask", "tell", "anew", "impossible"]


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where the engine has the conversation."""

    session: EngineSessionId | None
    cwd: str
    environ: Mapping[str, str]
    profile: str = ""


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """A request without an end whose process is gone, and how far we had come with it.

    `open`: nobody answered. `decided`: the answer is stored, and was not sent. `sending`: it may have been written.
    `parents` are the calls above the one that is asked about, the nearest first: it is a sub-agent that asks.
    """

    request: Request
    state: PendingState = "open"
    answer: Answer | None = None
    parents: tuple[ToolCallId, ...] = ()


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """How a request comes to its end.

    - `settled`: the engine has the result of the call (`text`, `is_error`); there is nothing to do.
    - `ask`: a process that continues the conversation in `mode` asks again by itself. `dropped` counts calls that it
      will not make. `restarts`: a sub-agent begins anew, so the call comes under another id.
    - `tell`: it is told `message`. With `again` it is asked to make the call once more, which gets the stored answer,
      once; else the message is the answer, or says what became of the call: `text` is then its result.
    - `anew`: there is no conversation to continue; its prompts can be sent again in a new one, in which the call, if it
      comes, gets the stored answer once.
    - `impossible`: `reason` says why; `busy`: another process has the conversation, perhaps one that is just ending.

    `unknown`: it was allowed and nobody knows whether it ran. Nothing is done about that unless a person says so.
    """

    kind: WayKind
    mode: str = ""
    message: str = ""
    again: bool = False
    dropped: int = 0
    restarts: bool = False
    unknown: bool = False
    busy: bool = False
    text: str = ""
    is_error: bool = False
    reason: str = ""


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a call as our log has it."""

    call: ToolCallId
    text: str
    is_error: bool = False


class Parking(Protocol):
    """What an engine can do about requests whose process is gone."""

    def knows(self, place: Place) -> bool:
        """Whether the engine has a record of the conversation, so that it can be continued."""
        ...

    def has_begun(self, place: Place, prompt: PromptId) -> bool:
        """Whether the engine's record of the conversation has the prompt: a process that is gone had taken it up."""
        ...

    def sum_rules(self, place: Place) -> str:
        """A sum over the engine's own permission rules: where it changes, a call may run unasked."""
        ...

    def check(self, request: Request, answer: Answer) -> None:
        """Raise `InvalidValue` when the answer is none to this request."""
        ...

    def look(self, place: Place, pending: Pending) -> Way:
        """What would have to be done. Changes nothing."""
        ...

    def prepare(self, place: Place, pending: Pending, *, by_message: bool = False) -> Way:
        """Have the conversation's own file ready for it. `by_message`: it did not ask again, it has to be told."""
        ...

    def record(self, place: Place, results: tuple[Recorded, ...]) -> bool:
        """Write down the results that the conversation waits for, where it has the calls and lacks those.

        False when a process still has the conversation: then nothing more was written.
        """
        ...

    def is_same(self, pending: Pending, request: Request, *, by_id: bool) -> bool:
        """Whether a new process asks for the very call: same tool, same input, and the same id where that is known."""
        ...


@runtime_checkable
class CanPark(Protocol):
    """An engine whose requests can outlive their process."""

    @property
    def parking(self) -> Parking:
        """How they are brought back."""
        ...
