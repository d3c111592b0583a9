"""Answers of the CLI to control requests of ours, as facts that every surface understands. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from footplate.engines.claude.lenient import read, read_struct
from footplate.engines.claude.systems import CommandWire
from footplate.engines.claude.wire import FIELDS, RAWS, ModelTotals, Part
from footplate.events import facts as f
from footplate.events.base import OptionalRaw
from footplate.events.model import SlashCommand

DESCRIPTION_LIMIT: Final = 240
"""How much of a command's description is kept: the CLI writes some for its model, a page long."""

NOTHING: Final = msgspec.Raw(b"{}")


class Response(Part, frozen=True, kw_only=True):
    """The body of a `control_response`; what is open is told beside the response, not inside it."""

    subtype: str = ""
    request_id: str = ""
    response: OptionalRaw = None
    error: str = ""
    pending_permission_requests: OptionalRaw = None


class AccountWire(Part, frozen=True, kw_only=True, rename="camel"):
    """Who pays."""

    api_key_source: str = ""
    api_provider: str = ""


class AgentWire(Part, frozen=True, kw_only=True):
    """A kind of sub-agent."""

    name: str = ""
    description: str = ""
    model: str = ""


class ModelWire(Part, frozen=True, kw_only=True, rename="camel"):
    """A model that can be chosen."""

    value: str = ""
    resolved_model: str = ""
    display_name: str = ""
    description: str = ""
    supported_effort_levels: tuple[str, ...] = ()
    supports_auto_mode: bool = False
    supports_fast_mode: bool = False


class Initialized(Part, frozen=True, kw_only=True):
    """The answer to `initialize`; 2.1.197 tells neither its version nor the mode."""

    commands: OptionalRaw = None
    agents: OptionalRaw = None
    models: OptionalRaw = None
    account: AccountWire = AccountWire()
    output_style: str = ""
    available_output_styles: tuple[str, ...] = ()
    pid: int | None = None
    claude_code_version: str = ""
    current_permission_mode: str = ""
    capabilities: tuple[str, ...] = ()
    fast_mode_state: str = ""
    fast_mode_disabled_reason: str = ""


class CategoryWire(Part, frozen=True, kw_only=True):
    """One share of the context."""

    name: str = ""
    tokens: int = 0
    kind: str = ""


class ContextWire(Part, frozen=True, kw_only=True, rename="camel"):
    """How full the context is."""

    total_tokens: int = 0
    max_tokens: int = 0
    percentage: float = 0.0
    model: str = ""
    categories: tuple[CategoryWire, ...] = ()


class CostWire(Part, frozen=True, kw_only=True):
    """What it cost, in words."""

    text: str = ""


class SessionWire(Part, frozen=True, kw_only=True):
    """The figures of the process."""

    total_cost_usd: float = 0.0
    total_api_duration_ms: float = 0.0
    total_duration_ms: float = 0.0
    total_lines_added: int = 0
    total_lines_removed: int = 0
    model_usage: OptionalRaw = None


class UsageWire(Part, frozen=True, kw_only=True):
    """The figures of the process, and of the account where there is one."""

    session: SessionWire = SessionWire()
    subscription_type: str | None = None


class PathWire(Part, frozen=True, kw_only=True):
    """One file."""

    path: str = ""


class SuggestionsWire(Part, frozen=True, kw_only=True):
    """Files that fit."""

    suggestions: tuple[PathWire, ...] = ()


class ToolNameWire(Part, frozen=True, kw_only=True):
    """A tool of a server."""

    name: str = ""


class ServerWire(Part, frozen=True, kw_only=True):
    """One MCP server."""

    name: str = ""
    status: str = ""
    error: str = ""
    scope: str = ""
    tools: tuple[ToolNameWire, ...] = ()


class ServersWire(Part, frozen=True, kw_only=True):
    """Every MCP server."""

    servers: tuple[ServerWire, ...] = msgspec.field(default=(), name="mcpServers")


class RewindWire(Part, frozen=True, kw_only=True, rename="camel"):
    """What a rewind changes."""

    can_rewind: bool = False
    files_changed: tuple[str, ...] = ()
    insertions: int = 0
    deletions: int = 0
    error: str = ""


class PlanWire(Part, frozen=True, kw_only=True):
    """The plan in its file."""

    exists: bool = False
    content: str = ""
    path: str = ""


class OutputWire(Part, frozen=True, kw_only=True):
    """What a task has written."""

    output: str = ""
    total_bytes: int = 0
    truncated: bool = False


class CancelledWire(Part, frozen=True, kw_only=True):
    """Whether a waiting prompt was taken back."""

    cancelled: bool = False


class InterruptedWire(Part, frozen=True, kw_only=True):
    """What waits behind an interrupted turn (2.1.325)."""

    still_queued: tuple[str, ...] = ()


class ModeWire(Part, frozen=True, kw_only=True):
    """The mode or the model that is in force now (2.1.325)."""

    mode: str = ""
    model: str = ""


RESPONSE: Final = msgspec.json.Decoder(Response)
INITIALIZED: Final = msgspec.json.Decoder(Initialized)
MODEL: Final = msgspec.json.Decoder(ModelWire)
AGENT: Final = msgspec.json.Decoder(AgentWire)
COMMAND: Final = msgspec.json.Decoder(CommandWire)
CONTEXT: Final = msgspec.json.Decoder(ContextWire)
COST: Final = msgspec.json.Decoder(CostWire)
USAGE: Final = msgspec.json.Decoder(UsageWire)
TOTALS: Final = msgspec.json.Decoder(ModelTotals)
SUGGESTIONS: Final = msgspec.json.Decoder(SuggestionsWire)
SERVERS: Final = msgspec.json.Decoder(ServersWire)
REWIND: Final = msgspec.json.Decoder(RewindWire)
PLAN: Final = msgspec.json.Decoder(PlanWire)
OUTPUT: Final = msgspec.json.Decoder(OutputWire)
CANCELLED: Final = msgspec.json.Decoder(CancelledWire)
INTERRUPTED: Final = msgspec.json.Decoder(InterruptedWire)
MODE: Final = msgspec.json.Decoder(ModeWire)


def read_about(wire: Initialized, *, version: str, mode: str) -> f.About:
    """The CLI as it describes itself; `version` and `mode` are what we know where it does not tell."""
    agents = (read_struct(AGENT, raw) for raw in read(RAWS, wire.agents) or ())
    return f.About(
        version=wire.claude_code_version or version,
        capabilities=wire.capabilities,
        agents=tuple(
            f.AgentInfo(name=agent.name, description=agent.description, model=agent.model)
            for agent in agents
            if agent is not None
        ),
        mode=wire.current_permission_mode or mode,
        credentials=wire.account.api_key_source,
        provider=wire.account.api_provider,
        output_style=wire.output_style,
        output_styles=wire.available_output_styles,
        pid=wire.pid,
    )


def read_models(raws: msgspec.Raw | None) -> tuple[f.ModelInfo, ...]:
    """The models that can be chosen."""
    models = (read_struct(MODEL, raw) for raw in read(RAWS, raws) or ())
    return tuple(
        f.ModelInfo(
            value=model.value,
            label=model.display_name,
            description=model.description,
            resolved=model.resolved_model,
            efforts=model.supported_effort_levels,
            auto_mode=model.supports_auto_mode,
            fast_mode=model.supports_fast_mode,
        )
        for model in models
        if model is not None and model.value
    )


def read_commands(raws: msgspec.Raw | None) -> tuple[SlashCommand, ...]:
    """The slash commands, with as much of their description as a list shows."""
    commands = (read_struct(COMMAND, raw) for raw in read(RAWS, raws) or ())
    return tuple(
        SlashCommand(name=command.name, description=clip(command.description), argument_hint=command.argument_hint)
        for command in commands
        if command is not None and command.name
    )


def clip(text: str) -> str:
    """The beginning of a text, marked as cut when it is."""
    return text if len(text) <= DESCRIPTION_LIMIT else f"{text[: DESCRIPTION_LIMIT - 1].rstrip()}…"


def read_context(raw: msgspec.Raw) -> f.Fact | None:
    """The answer to `get_context_usage`."""
    wire = read_struct(CONTEXT, raw)
    return (
        None
        if wire is None
        else f.ContextUsage(
            used=wire.total_tokens,
            size=wire.max_tokens,
            percentage=wire.percentage,
            model=wire.model,
            categories=tuple(
                f.ContextCategory(name=each.name, tokens=each.tokens, kind=each.kind) for each in wire.categories
            ),
        )
    )


def read_cost(raw: msgspec.Raw) -> f.Fact | None:
    """The answer to `get_session_cost`."""
    wire = read_struct(COST, raw)
    return None if wire is None else f.Cost(text=wire.text)


def read_usage(raw: msgspec.Raw) -> f.Fact | None:
    """The answer to `get_usage`."""
    wire = read_struct(USAGE, raw)
    if wire is None:
        return None
    session = wire.session
    totals = {name: read_struct(TOTALS, each) for name, each in (read(FIELDS, session.model_usage) or {}).items()}
    return f.SessionUsage(
        cost_usd=session.total_cost_usd,
        api_ms=session.total_api_duration_ms,
        wall_ms=session.total_duration_ms,
        lines_added=session.total_lines_added,
        lines_removed=session.total_lines_removed,
        models=tuple(_model_usage(name, total) for name, total in totals.items() if total is not None),
        subscription=wire.subscription_type or "",
    )


def _model_usage(name: str, total: ModelTotals) -> f.ModelUsage:
    return f.ModelUsage(
        model=name,
        input_tokens=total.input_tokens,
        output_tokens=total.output_tokens,
        cache_read_tokens=total.cache_read_input_tokens,
        cache_write_tokens=total.cache_creation_input_tokens,
        cost_usd=total.cost_usd,
        context_size=total.context_window,
    )


def read_files(raw: msgspec.Raw) -> f.Fact | None:
    """The answer to `file_suggestions`."""
    wire = read_struct(SUGGESTIONS, raw)
    return (
        None
        if wire is None
        else f.FileSuggestions(files=tuple(f.FileSuggestion(path=each.path) for each in wire.suggestions))
    )


def read_servers(raw: msgspec.Raw) -> f.Fact | None:
    """The answer to `mcp_status`."""
    wire = read_struct(SERVERS, raw)
    return (
        None
        if wire is None
        else f.Servers(
            servers=tuple(
                f.ServerStatus(
                    name=each.name,
                    status=each.status,
                    error=each.error,
                    scope=each.scope,
                    tools=tuple(tool.name for tool in each.tools),
                )
                for each in wire.servers
            )
        )
    )


def read_rewind(raw: msgspec.Raw) -> f.RewindResult | None:
    """The answer to `rewind_files`."""
    wire = read_struct(REWIND, raw)
    return (
        None
        if wire is None
        else f.RewindResult(
            possible=wire.can_rewind,
            files=wire.files_changed,
            insertions=wire.insertions,
            deletions=wire.deletions,
            reason=wire.error,
        )
    )


def read_plan(raw: msgspec.Raw) -> f.Fact | None:
    """The answer to `get_plan`."""
    wire = read_struct(PLAN, raw)
    return None if wire is None else f.PlanText(exists=wire.exists, text=wire.content, path=wire.path)


def read_output(raw: msgspec.Raw) -> f.Fact | None:
    """The answer to `get_task_output`."""
    wire = read_struct(OUTPUT, raw)
    return None if wire is None else f.TaskOutput(text=wire.output, size=wire.total_bytes, truncated=wire.truncated)


Reader = Callable[[msgspec.Raw], f.Fact | None]
