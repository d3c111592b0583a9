"""The seam between the product and an agent: what an engine is, and what one conversation with it looks like.

An engine is a *pure* translator plus a way to start it. It builds a `Launch` (a value), and a `Conversation`: a state
machine without await, clock, uuid, environment or log that is fed whole lines and says which events they mean and which
bytes to write back. The one shared runner does everything else: processes, pipes, time, locks. So a new engine is a
folder, a line in the catalog, fixtures and the contract suite.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Literal, Protocol, runtime_checkable

import msgspec

from footplate.engines.standing import Standing
from footplate.events.base import OVERSIZE, OptionalRaw, ResumeToken
from footplate.events.commands import Command
from footplate.events.facts import QueryName
from footplate.events.ids import EngineSessionId, RequestId
from footplate.events.model import ConfigOption, Event, LimitReached, Notice
from footplate.events.requests import Answer, Destination
from footplate.host.lines import Block, Oversize
from footplate.host.resources import ResourceLimits
from footplate.host.sandbox import Sandbox


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
    mcp: bool = False
    hooks: bool = False
    add_dirs: bool = False
    system_prompt: bool = False
    chooses_session_id: bool = False
    modes: tuple[str, ...] = ()
    efforts: tuple[str, ...] = ()
    effort_tokens: bool = False
    """An effort can also be a number: of tokens to think with."""


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """An engine as found on this machine. `program` is empty for one that runs inside our process.

    `keys` are the names of the variables with a key or a token that reach it, for one that must be told how to log in.
    """

    engine: str
    program: str = ""
    version: str = ""
    keys: tuple[str, ...] = ()


CredentialKind = Literal["api_key", "oauth"]


class Credential(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A credential that was found: where, of which kind, until when. Its value is not here."""

    kind: CredentialKind
    source: str
    """A file, `environment`, or the section of the settings."""
    field: str = ""
    expires_at: float | None = None
    expired: bool = False
    used_by_cli: bool = False
    """Whether the agent's own program would use it as it lies."""


class HookSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A hook of ours in the engine: at which event, for which tools, and the name of the handler that it calls."""

    event: str
    name: str
    matcher: str = ""
    timeout_s: float | None = None


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A tool of ours that the agent may call; the schema of its input is JSON."""

    name: str
    description: str = ""
    input_schema: msgspec.Raw = msgspec.Raw(b'{"type":"object"}')


class ToolServer(msgspec.Struct, frozen=True, kw_only=True):
    """Tools that run inside our process, under the name that the agent knows them by."""

    name: str
    tools: tuple[ToolSpec, ...]
    version: str = "1"


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How one conversation is to be started. Every engine takes what it can and refuses the rest by name."""

    cwd: str
    model: str = ""
    mode: str = ""
    effort: str = ""
    allow_tools: tuple[str, ...] | None = None
    deny_tools: tuple[str, ...] = ()
    resume: EngineSessionId | None = None
    resumable: bool = True
    """Whether a process can continue the conversation that another one had, as the agent of that one said."""
    reported_cost_usd: float | None = None
    """The running total that the agent gave at the end of the last turn of this conversation, if any."""
    fork: bool = False
    session_id: EngineSessionId | None = None
    max_turns: int | None = None
    max_budget_usd: float | None = None
    json_schema: str = ""
    system_prompt: str = ""
    append_system_prompt: str = ""
    agents: str = ""
    add_dirs: tuple[str, ...] = ()
    asks: bool = False
    partial: bool = False
    one_shot: bool = False
    prompt: str = ""
    first_turn: int = 1
    epoch: int = 0
    """Tells apart those who talk to one agent process one after the other: an answer is for who asked."""

    standing: Standing | None = None
    """What is open in the log already: the conversation goes on with it."""

    grants: tuple[msgspec.Raw, ...] = ()
    """Suggestions of the engine's own that were taken for the session: each of its processes is to hold them."""

    choices: Mapping[str, str] = {}
    """Options of the engine's own that were set, by their ids: each of its processes is to have them."""

    hooks: tuple[HookSpec, ...] = ()
    servers: tuple[ToolServer, ...] = ()
    mcp_config: str = ""
    """A file that declares further MCP servers (`{"mcpServers": {...}}`): their secrets do not stand in arguments."""
    plugins: tuple[str, ...] = ()
    """Folders with plugins: skills and the like."""
    arguments: tuple[str, ...] = ()
    """Arguments of the engine's own program that somebody asked for by name."""
    profile: str = ""
    sandbox: Sandbox | None = None
    resources: ResourceLimits = ResourceLimits()
    env: Mapping[str, str] = {}


class Spawn(msgspec.Struct, frozen=True, kw_only=True):
    """A program to start: argv and environment as values. `stdin` is closed at once when the wire needs none.

    `writes` and `reads` are the engine's own files, which it keeps when it is put in a sandbox. What it writes is made
    if need be; what it only reads may lie inside of that, and may be missing.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    stdin: bool = True
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    notes: Mapping[str, str] = {}


class InProcess(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that runs as a task of ours; `serve` is its whole life on the other end of the channel."""

    serve: Callable[[AsyncIterator[bytes], Callable[[bytes], Awaitable[None]]], Awaitable[int]]
    env: Mapping[str, str]
    cwd: str


Launch = Spawn | InProcess


class Exit(msgspec.Struct, frozen=True, kw_only=True):
    """How an agent's process ended, as far as it is known; `limits` are those for which we ended it."""

    code: int | None = None
    signal: int | None = None
    stderr: str = ""
    reason: str = ""
    limits: tuple[LimitReached, ...] = ()


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """Something to be known about the agent; `facts.RESULTS` says what each name is answered with."""

    key: str
    name: QueryName
    arguments: Mapping[str, str | int | bool] = {}


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to the command or query of that key: a fact as JSON (or nothing), or the engine's words of refusal."""

    key: str
    result: OptionalRaw = None
    error: str = ""


class HostCall(msgspec.Struct, frozen=True, kw_only=True):
    """The agent calls something of ours: a tool (`server.tool`) or a hook, by the name it was given in the options."""

    key: str
    kind: Literal["tool", "hook"]
    name: str
    payload: msgspec.Raw


class Reaction(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a conversation makes of an input: events for the log, and bytes (whole lines) for the agent's stdin.

    `replies` answer commands and queries; they wait behind no event. `calls` are for handlers of ours, whose results go
    to `Asking.reply`; the agent no longer waits for those named in `dropped`. `fatal` says why the process must be
    ended: nothing that it writes from here on belongs to the conversation.
    """

    events: list[Event] = []
    frames: tuple[bytes, ...] = ()
    replies: tuple[Reply, ...] = ()
    calls: tuple[HostCall, ...] = ()
    dropped: tuple[str, ...] = ()
    fatal: str = ""


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

    def check_answer(self, request: RequestId, answer: Answer) -> None:
        """Raise `RequestError` when this is no answer to an open request of the agent. Changes nothing."""
        ...

    def finish(self, ending: Exit) -> Reaction:
        """The agent is gone: close every open call, task, request and turn, honestly."""
        ...


@runtime_checkable
class Asking(Conversation, Protocol):
    """A conversation in which questions are answered out of band; every command gets exactly one `Reply`, too."""

    @property
    def ready(self) -> bool:
        """Whether the agent has said that it is there."""
        ...

    @property
    def awaits(self) -> bool:
        """Whether a request of ours is unanswered: its answer must be read, whatever else waits to be read."""
        ...

    def sift(self, block: Block) -> tuple[Block, Block]:
        """The lines that answer a request of ours, and the rest: the former may be fed before what is yet unread."""
        ...

    def query(self, query: Query) -> Reaction:
        """Ask about the agent. Raises `UnsupportedOption` where this engine, or its version, cannot tell."""
        ...

    def give_up(self, key: str) -> None:
        """Nobody waits for the answer to this any more; should it come after all, it has its effect."""
        ...

    def reply(self, key: str, result: msgspec.Raw | str, *, error: str = "") -> Reaction:
        """What a handler of ours made of a `HostCall`."""
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


@runtime_checkable
class Keeping(Engine, Protocol):
    """An engine that keeps lasting rules in settings of its own, some of which it reads only in folders it trusts."""

    def find_distrust(
        self, destination: Destination, options: Options, version: str, environ: Mapping[str, str]
    ) -> str:
        """Why later processes will not read a rule that is kept there, and what to do; empty when they will."""
        ...


@runtime_checkable
class Described(Protocol):
    """An engine that tells, without being started, what can be chosen and which credentials are there."""

    def credentials(self, environ: Mapping[str, str]) -> tuple[Credential, ...]:
        """The credentials on this machine; no value of any."""
        ...

    def choices(self, environ: Mapping[str, str]) -> tuple[ConfigOption, ...]:
        """Models, modes and efforts; modes that `ChecksStart` refuses are left out by the caller."""
        ...

    @property
    def needs_login(self) -> bool:
        """Whether it can do nothing without a credential."""
        ...


@runtime_checkable
class ChecksStart(Protocol):
    """An engine that knows, without starting its agent, some of what the agent refuses at its start."""

    def check_start(self, options: Options, environ: Mapping[str, str]) -> None:
        """Raise `EngineRefused` or `RequestError` with the agent's own reason. Changes nothing."""
        ...


@runtime_checkable
class ChecksOptions(Protocol):
    """An engine that knows which options its sessions can have beside mode, model and effort, before one tells."""

    def check_option(self, option: str, value: str) -> None:
        """Raise `InvalidValue` for an option, or a value of one, that no session has."""
        ...


def oversize_notice(line: Oversize) -> Notice:
    """The event of a line that was too long to be kept: the same from every engine."""
    return Notice(level="warning", text=line.text, code=OVERSIZE, detail=line.head.decode(errors="replace"))
