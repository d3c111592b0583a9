"""The seam between the product and an agent: what an engine is, and what one conversation with it looks like.

An engine is a *pure* translator plus a way to start it. It builds a `Launch` (a value), and a `Conversation`: a state
machine without await, clock, uuid, environment or log that is fed whole lines and says which events they mean and which
bytes to write back. The one shared runner does everything else: processes, pipes, time, locks. So a new engine is a
folder, a line in the catalog, fixtures and the contract suite.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Protocol

import msgspec

from footplate.events.base import ResumeToken
from footplate.events.commands import Command
from footplate.events.ids import EngineSessionId
from footplate.events.model import Event
from footplate.host.lines import Block


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine can do, truthfully; surfaces offer nothing else."""

    resume: bool = False
    fork: bool = False
    interrupt: bool = False
    queue: bool = False
    steer: bool = False
    permissions: bool = False
    questions: bool = False
    plans: bool = False
    images: bool = False
    one_shot: bool = False
    live: bool = False
    structured_output: bool = False
    max_turns: bool = False
    max_budget: bool = False
    background: bool = False
    multiplex: bool = False
    chooses_session_id: bool = False
    modes: tuple[str, ...] = ()
    efforts: tuple[str, ...] = ()


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """An engine as found on this machine. `program` is empty for one that runs inside our process."""

    engine: str
    program: str = ""
    version: str = ""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How one conversation is to be started. Every engine takes what it can and refuses the rest by name."""

    cwd: str
    model: str = ""
    mode: str = ""
    effort: str = ""
    allow_tools: tuple[str, ...] | None = None
    deny_tools: tuple[str, ...] = ()
    resume: EngineSessionId | None = None
    fork: bool = False
    session_id: EngineSessionId | None = None
    max_turns: int | None = None
    max_budget_usd: float | None = None
    json_schema: str = ""
    append_system_prompt: str = ""
    add_dirs: tuple[str, ...] = ()
    asks: bool = False
    partial: bool = False
    one_shot: bool = False
    prompt: str = ""
    first_turn: int = 1
    env: Mapping[str, str] = {}


class Spawn(msgspec.Struct, frozen=True, kw_only=True):
    """A program to start: argv and environment as values. `stdin` is closed at once when the wire needs none."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    stdin: bool = True
    notes: Mapping[str, str] = {}


class InProcess(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that runs as a task of ours; `serve` is its whole life on the other end of the channel."""

    serve: Callable[[AsyncIterator[bytes], Callable[[bytes], Awaitable[None]]], Awaitable[int]]
    env: Mapping[str, str]
    cwd: str


Launch = Spawn | InProcess


class Exit(msgspec.Struct, frozen=True, kw_only=True):
    """How an agent's process ended, as far as it is known."""

    code: int | None = None
    signal: int | None = None
    stderr: str = ""
    reason: str = ""


class Reaction(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a conversation makes of an input: events for the log, and bytes (whole lines) for the agent's stdin."""

    events: list[Event] = []
    frames: tuple[bytes, ...] = ()


class Conversation(Protocol):
    """One agent process as a pure state machine. Cut it off anywhere and call `finish`: everything closes."""

    def begin(self) -> Reaction:
        """What to write as soon as the agent runs."""
        ...

    def feed(self, block: Block) -> Reaction:
        """Whole lines of the agent's output, in order."""
        ...

    def command(self, command: Command) -> Reaction:
        """Something asked of the session. Raises `UnsupportedOption` where this engine cannot."""
        ...

    def finish(self, ending: Exit) -> Reaction:
        """The agent is gone: close every open call, task, request and turn, honestly."""
        ...


class Engine(Protocol):
    """One kind of agent."""

    @property
    def name(self) -> str:
        """The name in settings, commands and resume tokens: `claude`."""
        ...

    @property
    def title(self) -> str:
        """The name for people: `Claude Code`."""
        ...

    def capabilities(self, installed: Installed | None = None) -> Capabilities:
        """What it can do; narrower once its version is known."""
        ...

    async def locate(self, environ: Mapping[str, str]) -> Installed:
        """Find the program and its version. Raises `EngineNotFound` with the install command."""
        ...

    def launch(self, options: Options, installed: Installed, environ: Mapping[str, str]) -> Launch:
        """How to start it. Pure. Raises `RequestError` or `EngineRefused` for what cannot be."""
        ...

    def converse(self, options: Options, installed: Installed) -> Conversation:
        """The state machine for one process started with these options."""
        ...

    def format_resume(self, token: ResumeToken) -> str:
        """The line a person can paste in a terminal."""
        ...

    def extract_resume(self, text: str) -> ResumeToken | None:
        """The last resume line of this engine in the text."""
        ...

    def is_resume_line(self, line: str) -> bool:
        """Whether this one line is nothing but a resume line of this engine."""
        ...
