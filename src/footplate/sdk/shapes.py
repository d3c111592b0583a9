"""What the service answers, as the SDK reads it. Fields that it does not know are dropped, new ones have defaults."""

from __future__ import annotations

from typing import Literal

import msgspec

from footplate.events.base import OptionalRaw
from footplate.events.content import ContentBlock
from footplate.events.ids import EngineSessionId, PromptId, RequestId, SessionId, ToolCallId, TurnId
from footplate.events.model import ConfigOption, SessionState, WaitingFor
from footplate.events.requests import Answer, RequestKind, RequestOption, RequestState, Suggestion
from footplate.events.tools import Question, ToolDetail
from footplate.events.view import QueuedPrompt, SessionView


class SessionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One session in a list. `engine_session_id` is what the engine itself calls it, once it does."""

    id: SessionId
    engine: str
    state: SessionState
    cwd: str
    engine_session_id: EngineSessionId | None = None
    waiting_for: WaitingFor = ""
    until: float | None = None
    title: str = ""
    model: str = ""
    mode: str = ""
    effort: str = ""
    created_at: float | None = None
    updated_at: float = 0.0
    last_seq: int = 0
    attached: bool = False
    turn: TurnId | None = None
    turns: int = 0
    failed: bool = False
    cost_usd: float | None = None
    open_requests: int = 0
    forked_from: SessionId | None = None
    closed_reason: str = ""
    archived: bool = False


class SessionPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some of the sessions, the latest active first. `after` is where the next page begins, if there is one."""

    sessions: tuple[SessionInfo, ...]
    after: str | None = None


class SessionDetail(SessionView, frozen=True, kw_only=True):
    """The whole session as it stands, with what may be chosen in it."""

    id: SessionId
    engine_session_id: EngineSessionId | None = None
    modes: tuple[str, ...] = ()
    efforts: tuple[str, ...] = ()
    choices: tuple[ConfigOption, ...] = ()
    """`options` once the agent has told them; before that, what is known of its engine."""
    resume_line: str = ""
    archived: bool = False

    def view(self) -> SessionView:
        """The session without what is beside it."""
        return SessionView(**{each.name: getattr(self, each.name) for each in msgspec.structs.fields(SessionView)})


class RequestInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent asks, and how far it got. `detached`: no process waits for it now; an answer wakes the agent."""

    id: RequestId
    session: SessionId
    kind: RequestKind
    state: RequestState
    opened_at: float
    title: str
    options: tuple[RequestOption, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    detached: bool = False
    tool: str = ""
    tool_call: ToolCallId | None = None
    agent: str = ""
    description: str = ""
    reason: str = ""
    reason_type: str = ""
    blocked_path: str = ""
    input: OptionalRaw = None
    detail: ToolDetail | None = None
    content: tuple[ContentBlock, ...] = ()
    questions: tuple[Question, ...] = ()
    plan: str = ""
    plan_file: str = ""
    allowed_prompts: tuple[str, ...] = ()
    plan_prompt: str = ""
    replaces: RequestId | None = None
    rerun: bool = False
    limit: str = ""
    answer: Answer | None = None
    answered_by: str = ""
    answered_from: str = ""
    answered_at: float | None = None
    ended_at: float | None = None
    ended_reason: str = ""


class RequestPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some of the requests, the oldest first. `after` is where the next page begins, if there is one."""

    requests: tuple[RequestInfo, ...]
    after: str | None = None


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """The message is accepted for good. `turn` is set when one runs with it; `position` counts those before it."""

    prompt: PromptId
    turn: TurnId | None = None
    position: int = 0


class WaitingPrompts(msgspec.Struct, frozen=True, kw_only=True):
    """The messages that wait, the next one first."""

    prompts: tuple[QueuedPrompt, ...]


class CommandOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What a command wrote, both outputs as one; it was cut when it was too much or took too long."""

    command: str
    output: str
    exit_code: int | None = None
    truncated: bool = False


class ServiceInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What the service is, and what the token may do."""

    name: str
    version: str
    data: str = ""
    default_engine: str = ""
    token: str = ""
    scopes: tuple[str, ...] = ()


class News(msgspec.Struct, frozen=True, kw_only=True):
    """Something that changed in any session: a request, or the session, as it stands now."""

    kind: Literal["request", "session"]
    session: SessionId
    event: str
    time: float
    info: SessionInfo | None = None
    request: RequestInfo | None = None


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What stands now: the open requests, and the sessions that do something or wait."""

    requests: tuple[RequestInfo, ...]
    sessions: tuple[SessionInfo, ...]


class ModeState(msgspec.Struct, frozen=True, kw_only=True):
    """The permission modes of a session, and the one that holds."""

    current: str
    available: tuple[str, ...]


class FileEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One thing in a folder, or what is known of a path."""

    path: str
    entry_type: Literal["file", "directory"]
    size: int
    modified: str = ""
    name: str = ""


class ProcessInfo(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What is known of a process. One that a signal ended has no exit code."""

    id: str
    command: str
    status: Literal["running", "exited"]
    args: tuple[str, ...] = ()
    tty: bool = False
    interactive: bool = False
    owner: str = "user"
    created_at_ms: int = 0
    cwd: str | None = None
    pid: int | None = None
    exit_code: int | None = None
    exited_at_ms: int | None = None
    lost: bool = False


class ProcessRun(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What came of a program that ran to its end, or until its time was over."""

    exit_code: int | None
    timed_out: bool
    stdout: str
    stderr: str
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    duration_ms: int = 0


class LogPiece(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Some output of a process. Numbers are dense from 1; what was cut is known by the numbers that are missing."""

    sequence: int
    stream: str
    timestamp_ms: int
    data: bytes
