"""What `system` lines hold beside their subtype, read in a second step: they are rare."""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.engines.claude.wire import Part
from footplate.events.base import OptionalRaw


class ServerWire(Part, frozen=True, kw_only=True):
    """One MCP server in an init."""

    name: str = ""
    status: str = ""


class Init(Part, frozen=True, kw_only=True):
    """Start of a turn, not of a session: it comes again before every turn."""

    session_id: str = ""
    cwd: str = ""
    model: str = ""
    permission_mode: str = msgspec.field(default="", name="permissionMode")
    claude_code_version: str = ""
    output_style: str = ""
    api_key_source: str = msgspec.field(default="", name="apiKeySource")
    tools: tuple[str, ...] = ()
    slash_commands: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    mcp_servers: tuple[ServerWire, ...] = ()
    user_message_uuids: tuple[str, ...] = ()
    fast_mode_state: str = ""
    fast_mode_disabled_reason: str = ""


class Status(Part, frozen=True, kw_only=True):
    """What the CLI is at; also tells a changed permission mode and the outcome of a compaction."""

    status: str | None = None
    permission_mode: str = msgspec.field(default="", name="permissionMode")
    compact_result: str = ""
    compact_error: str = ""


class CompactMetadata(Part, frozen=True, kw_only=True):
    """What a compaction did."""

    trigger: str = ""
    pre_tokens: int | None = None
    post_tokens: int | None = None


class CompactBoundary(Part, frozen=True, kw_only=True):
    """The context was shortened here."""

    compact_metadata: CompactMetadata = CompactMetadata()


class ApiRetry(Part, frozen=True, kw_only=True):
    """A request to the model failed and will be made again."""

    attempt: int = 0
    max_retries: int = 0
    retry_delay_ms: float = 0.0
    error_status: int | None = None
    error: str = ""


class PermissionDenied(Part, frozen=True, kw_only=True):
    """A call was refused without anybody being asked; its result follows."""

    tool_name: str = ""
    tool_use_id: str = ""
    message: str = ""


class TaskLine(Part, frozen=True, kw_only=True):
    """Start, progress or end of work beside the turn."""

    task_id: str = ""
    tool_use_id: str = ""
    task_type: str = ""
    subagent_type: str = ""
    description: str = ""
    prompt: str = ""
    is_backgrounded: bool | None = None
    status: str = ""
    summary: str = ""
    output_file: str = ""


class TaskPatch(Part, frozen=True, kw_only=True):
    """What changed of a task."""

    status: str = ""
    is_backgrounded: bool | None = None
    description: str = ""


class TaskUpdate(Part, frozen=True, kw_only=True):
    """A change of a task; the notification that ends it follows."""

    task_id: str = ""
    patch: TaskPatch = TaskPatch()


class BackgroundTasks(Part, frozen=True, kw_only=True):
    """Every task that runs in the background now."""

    tasks: tuple[TaskLine, ...] = ()


class Hook(Part, frozen=True, kw_only=True):
    """A hook of the user's settings began, said something, or ended."""

    hook_name: str = ""
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None
    outcome: str = ""


class State(Part, frozen=True, kw_only=True):
    """The session's state, told only when asked for by an environment variable."""

    state: str = ""


class Fallback(Part, frozen=True, kw_only=True):
    """The CLI gave up one model for another."""

    original_model: str = ""
    fallback_model: str = ""
    content: str = ""


class Title(Part, frozen=True, kw_only=True):
    """The session has a new title."""

    title: str = ""


class CommandWire(Part, frozen=True, kw_only=True):
    """One slash command."""

    name: str = ""
    description: str = ""
    argument_hint: str = msgspec.field(default="", name="argumentHint")


class Commands(Part, frozen=True, kw_only=True):
    """The slash commands, the whole list."""

    commands: tuple[CommandWire, ...] = ()


class Remark(Part, frozen=True, kw_only=True):
    """Any other remark: its words stand in one of these."""

    content: str = ""
    message: str = ""
    text: str = ""
    error: OptionalRaw = None
    level: str = ""


INIT: Final = msgspec.json.Decoder(Init)
STATUS: Final = msgspec.json.Decoder(Status)
COMPACT_BOUNDARY: Final = msgspec.json.Decoder(CompactBoundary)
API_RETRY: Final = msgspec.json.Decoder(ApiRetry)
PERMISSION_DENIED: Final = msgspec.json.Decoder(PermissionDenied)
TASK: Final = msgspec.json.Decoder(TaskLine)
TASK_UPDATE: Final = msgspec.json.Decoder(TaskUpdate)
BACKGROUND_TASKS: Final = msgspec.json.Decoder(BackgroundTasks)
HOOK: Final = msgspec.json.Decoder(Hook)
STATE: Final = msgspec.json.Decoder(State)
FALLBACK: Final = msgspec.json.Decoder(Fallback)
TITLE: Final = msgspec.json.Decoder(Title)
COMMANDS: Final = msgspec.json.Decoder(Commands)
REMARK: Final = msgspec.json.Decoder(Remark)
