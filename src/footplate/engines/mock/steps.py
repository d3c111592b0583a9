"""What a script of the mock agent is made of: a prompt comes in, steps go out, the reply to each comes back.

A script is a plain generator, so that every trigger word can be read, and tested, without a task or a clock.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Literal

import msgspec

from footplate.acp.schema.asking import PermissionOption
from footplate.acp.schema.tools import ToolCallUpdate
from footplate.acp.schema.updates import SessionUpdate, Usage


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """What the agent was asked, and all that a script may know."""

    text: str
    blocks: int = 1
    number: int = 1
    history: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    cwd: str = "/"
    pace_ms: int = 0

    @property
    def words(self) -> list[str]:
        """The words of the text; the first one decides."""
        return self.text.split()


class Say(msgspec.Struct, frozen=True):
    """A piece of the answer; `parent` is the call of the sub-agent that says it."""

    text: str
    parent: str = ""


class Think(msgspec.Struct, frozen=True):
    """A piece of a thought."""

    text: str


class Show(msgspec.Struct, frozen=True):
    """Any other session update."""

    update: SessionUpdate


class Pause(msgspec.Struct, frozen=True):
    """Wait so long (None: for ever). The reply is `cancelled` when the turn was cancelled meanwhile."""

    ms: int | None


class Permit(msgspec.Struct, frozen=True):
    """Ask for permission. The reply is `chosen` with the option's id, or `cancelled`."""

    call: ToolCallUpdate
    options: tuple[PermissionOption, ...]


class Ask(msgspec.Struct, frozen=True):
    """Ask a question with choices. The reply is `chosen` with the answer, `declined` or `cancelled`."""

    call: str
    question: str
    header: str
    choices: tuple[str, ...]


class Charge(msgspec.Struct, frozen=True):
    """Put these figures into the answer of the prompt."""

    usage: Usage


class Emit(msgspec.Struct, frozen=True):
    """Write this line as it is."""

    line: bytes


class Complain(msgspec.Struct, frozen=True):
    """Write this line on stderr."""

    text: str


class Fail(msgspec.Struct, frozen=True):
    """Answer the prompt with a JSON-RPC error; the last step."""

    code: int
    message: str
    detail: str = ""


class Quit(msgspec.Struct, frozen=True):
    """End the agent at once with this exit code; the last step."""

    code: int


Step = Say | Think | Show | Pause | Permit | Ask | Charge | Emit | Complain | Fail | Quit


class Reply(msgspec.Struct, frozen=True):
    """What came of a step."""

    outcome: Literal["done", "chosen", "declined", "cancelled"] = "done"
    value: str = ""


DONE = Reply()

Script = Generator[Step, Reply, str]
"""Yields steps, is sent the reply to each, returns ACP's stop reason."""

Trigger = Callable[[Prompt], Script]
