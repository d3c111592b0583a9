"""What can be asked about an agent beside its events: questions by name, and the values that answer them.

An event tells what happened; a fact is how things stand when somebody asks, and is stored nowhere. Every engine
answers with these values, so that a surface need not know which one it talks to.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from footplate.events.ids import PromptId, TaskId, ToolCallId
from footplate.events.model import SlashCommand

QueryName = Literal[
    "about",
    "context",
    "cost",
    "usage",
    "models",
    "commands",
    "files",
    "servers",
    "rewind",
    "plan",
    "tasks",
    "task_output",
]


class Fact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all answers."""


class AgentInfo(Fact, frozen=True, kw_only=True):
    """A kind of sub-agent that the engine knows."""

    name: str
    description: str = ""
    model: str = ""


class About(Fact, frozen=True, kw_only=True):
    """The running engine as it describes itself at its start."""

    version: str = ""
    capabilities: tuple[str, ...] = ()
    agents: tuple[AgentInfo, ...] = ()
    mode: str = ""
    credentials: str = ""
    provider: str = ""
    output_style: str = ""
    output_styles: tuple[str, ...] = ()
    pid: int | None = None


class ContextCategory(Fact, frozen=True, kw_only=True):
    """One share of the context. `kind`: used, deferred, buffer or free, where the engine tells."""

    name: str
    tokens: int
    kind: str = ""


class ContextUsage(Fact, frozen=True, kw_only=True):
    """How full the context is, and with what."""

    used: int
    size: int
    percentage: float = 0.0
    model: str = ""
    categories: tuple[ContextCategory, ...] = ()


class Cost(Fact, frozen=True, kw_only=True):
    """What the process has cost so far, in the engine's own words."""

    text: str


class ModelUsage(Fact, frozen=True, kw_only=True):
    """What one model was used for."""

    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float = 0.0
    context_size: int | None = None


class SessionUsage(Fact, frozen=True, kw_only=True):
    """The figures of the process so far."""

    cost_usd: float = 0.0
    api_ms: float = 0.0
    wall_ms: float = 0.0
    lines_added: int = 0
    lines_removed: int = 0
    models: tuple[ModelUsage, ...] = ()
    subscription: str = ""


class ModelInfo(Fact, frozen=True, kw_only=True):
    """A model that can be chosen: `value` is what to ask for, `resolved` what that means today."""

    value: str
    label: str = ""
    description: str = ""
    resolved: str = ""
    efforts: tuple[str, ...] = ()
    auto_mode: bool = False
    fast_mode: bool = False


class Models(Fact, frozen=True, kw_only=True):
    """The models that can be chosen."""

    models: tuple[ModelInfo, ...] = ()


class Commands(Fact, frozen=True, kw_only=True):
    """The slash commands that a prompt may start with."""

    commands: tuple[SlashCommand, ...] = ()


class FileSuggestion(Fact, frozen=True, kw_only=True):
    """A file that a prompt may name, relative to the session's folder."""

    path: str


class FileSuggestions(Fact, frozen=True, kw_only=True):
    """Files whose names fit what somebody began to type."""

    files: tuple[FileSuggestion, ...] = ()


class ServerStatus(Fact, frozen=True, kw_only=True):
    """One MCP server: whether it works, and what it offers."""

    name: str
    status: str = ""
    error: str = ""
    scope: str = ""
    tools: tuple[str, ...] = ()


class Servers(Fact, frozen=True, kw_only=True):
    """The MCP servers of the process."""

    servers: tuple[ServerStatus, ...] = ()


class RewindResult(Fact, frozen=True, kw_only=True):
    """What putting files back to a message changes, or why it cannot be done."""

    possible: bool
    files: tuple[str, ...] = ()
    insertions: int = 0
    deletions: int = 0
    reason: str = ""


class PlanText(Fact, frozen=True, kw_only=True):
    """The plan as it stands in its file."""

    exists: bool
    text: str = ""
    path: str = ""


class TaskInfo(Fact, frozen=True, kw_only=True):
    """Work beside the turn that has not ended."""

    task: TaskId
    background: bool = False
    call: ToolCallId | None = None


class Tasks(Fact, frozen=True, kw_only=True):
    """Everything that runs beside the turn."""

    tasks: tuple[TaskInfo, ...] = ()


class TaskOutput(Fact, frozen=True, kw_only=True):
    """What a task has written so far."""

    text: str
    size: int = 0
    truncated: bool = False


class Interrupted(Fact, frozen=True, kw_only=True):
    """The answer to an interrupt: the prompts that wait behind the turn and run next, where the engine tells."""

    still_queued: tuple[PromptId, ...] = ()


RESULTS: Final[dict[QueryName, type[Fact]]] = {
    "about": About,
    "context": ContextUsage,
    "cost": Cost,
    "usage": SessionUsage,
    "models": Models,
    "commands": Commands,
    "files": FileSuggestions,
    "servers": Servers,
    "rewind": RewindResult,
    "plan": PlanText,
    "tasks": Tasks,
    "task_output": TaskOutput,
}
"""What each question is answered with."""
