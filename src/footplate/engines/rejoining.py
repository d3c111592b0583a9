"""What a conversation needs that goes on with a living agent: the lines between its log and the agent's next word.

The service that had the agent was killed. What it had stored is in the log, what it had not read is in the keeper's
spool or in the pipe; what it had read and not stored is gone from both. A `Rejoining` makes that good as far as the
engine has it elsewhere, and drops from the stream what the log has already.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import msgspec

from footplate.engines.base import Reaction
from footplate.engines.standing import Standing
from footplate.events.ids import EngineSessionId
from footplate.host.lines import BLANK, Block

NOTHING = Block()


class Rejoining(Protocol):
    """Stands between the agent's output and the conversation until the agent has its next word."""

    @property
    def over(self) -> bool:
        """Whether there is nothing left to look for: everything goes through as it is."""
        ...

    def lost(self) -> Block:
        """The lines that were read and not stored, to be read before all others."""
        ...

    def sift(self, block: Block) -> Block:
        """The lines of the stream that are news."""
        ...

    def silence(self) -> Block:
        """What can be concluded when the agent says nothing for a while; empty where nothing can."""
        ...


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """Where the engine has the conversation, and the requests of it that have ended in the log, by its own ids.

    `whole`: all that the agent has said, and that is not in the keeper's spool, is in the log. It is known only for
    conversations that are `Restful`.
    """

    session: EngineSessionId | None
    cwd: str
    environ: Mapping[str, str]
    profile: str = ""
    ended: frozenset[str] = frozenset()
    whole: bool = False


@runtime_checkable
class CanRejoin(Protocol):
    """An engine whose living process can be taken over by a new conversation."""

    def rejoin(self, standing: Standing, where: Where) -> Rejoining:
        """Look for what was lost. Reads files: not for the loop."""
        ...


@runtime_checkable
class Restful(Protocol):
    """A conversation of which nothing is kept elsewhere: another can go on with it only where the log tells all."""

    @property
    def at_rest(self) -> bool:
        """Whether the events so far tell all that was said."""
        ...

    def pause(self) -> Reaction:
        """Tell what is half told, because another goes on from here."""
        ...


def is_torn(line: bytes) -> bool:
    """Whether a line is only the end of one: its beginning was read by somebody who is dead."""
    try:
        return not isinstance(msgspec.json.decode(line), dict)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return True


def split_lines(block: Block) -> list[bytes]:
    """Its lines, without those that are empty."""
    return [line for line in block.lines.splitlines(keepends=True) if line.strip(BLANK)]
