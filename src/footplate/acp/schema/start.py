"""The beginning of a connection. Written by `scripts/acp_types.py` from the published schema."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from footplate.acp.wire import Wire
from footplate.events.base import OptionalRaw


class AuthCapabilities(Wire, frozen=True, kw_only=True):
    """Authentication capabilities supported by the client."""

    terminal: bool = False
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class CompactionCapabilities(Wire, frozen=True, kw_only=True):
    """Client support for ID-addressed context compaction updates."""


class NoticeCapabilities(Wire, frozen=True, kw_only=True):
    """Client support for presenting live notices to the user."""


class BooleanConfigOptionCapabilities(Wire, frozen=True, kw_only=True):
    """Capabilities for boolean session configuration options."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SessionConfigOptionsCapabilities(Wire, frozen=True, kw_only=True):
    """Session configuration option capabilities supported by the client."""

    boolean: BooleanConfigOptionCapabilities | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ClientSessionCapabilities(Wire, frozen=True, kw_only=True):
    """Session-related capabilities supported by the client."""

    compaction: CompactionCapabilities | None = None
    config_options: SessionConfigOptionsCapabilities | None = None
    notices: NoticeCapabilities | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ElicitationFormCapabilities(Wire, frozen=True, kw_only=True):
    """Form-based elicitation capabilities."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ElicitationUrlCapabilities(Wire, frozen=True, kw_only=True):
    """URL-based elicitation capabilities."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ElicitationCapabilities(Wire, frozen=True, kw_only=True):
    """Elicitation capabilities supported by the client."""

    form: ElicitationFormCapabilities | None = None
    url: ElicitationUrlCapabilities | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class FileSystemCapabilities(Wire, frozen=True, kw_only=True):
    """File system capabilities that a client may support."""

    read_text_file: bool = False
    write_text_file: bool = False
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class PlanCapabilities(Wire, frozen=True, kw_only=True):
    """Capabilities for receiving `plan_update` and `plan_removed` session updates. Unstable."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SubagentCapabilities(Wire, frozen=True, kw_only=True):
    """Capability marker for exposing reusable child sessions as restricted ACP sessions. Unstable."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ClientCapabilities(Wire, frozen=True, kw_only=True):
    """Capabilities supported by the client."""

    fs: FileSystemCapabilities = FileSystemCapabilities()
    terminal: bool = False
    session: ClientSessionCapabilities | None = None
    subagents: SubagentCapabilities | None = None
    plan: PlanCapabilities | None = None
    auth: AuthCapabilities = AuthCapabilities()
    elicitation: ElicitationCapabilities | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class Implementation(Wire, frozen=True, kw_only=True):
    """Metadata about the implementation of the client or agent."""

    name: str
    title: str | None = None
    version: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class InitializeRequest(Wire, frozen=True, kw_only=True):
    """Request parameters for the initialize method."""

    protocol_version: int
    client_capabilities: ClientCapabilities = ClientCapabilities()
    client_info: Implementation | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class AuthStatusCapabilities(Wire, frozen=True, kw_only=True):
    """Auth status capabilities supported by the agent. Unstable."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class LogoutCapabilities(Wire, frozen=True, kw_only=True):
    """Logout capabilities supported by the agent."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class AgentAuthCapabilities(Wire, frozen=True, kw_only=True):
    """Authentication-related capabilities supported by the agent."""

    status: AuthStatusCapabilities | None = None
    logout: LogoutCapabilities | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class McpCapabilities(Wire, frozen=True, kw_only=True):
    """MCP capabilities supported by the agent."""

    http: bool = False
    sse: bool = False
    acp: bool = False
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class PromptCapabilities(Wire, frozen=True, kw_only=True):
    """Prompt capabilities supported by the agent in `session/prompt` requests."""

    image: bool = False
    audio: bool = False
    embedded_context: bool = False
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ProvidersCapabilities(Wire, frozen=True, kw_only=True):
    """Provider configuration capabilities supported by the agent. Unstable."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SessionAdditionalDirectoriesCapabilities(Wire, frozen=True, kw_only=True):
    """Capabilities for additional session directories support."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SessionArchiveCapabilities(Wire, frozen=True, kw_only=True):
    """Capabilities for `session/archive` and `session/unarchive`. Unstable."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SessionCloseCapabilities(Wire, frozen=True, kw_only=True):
    """Capabilities for the `session/close` method."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SessionDeleteCapabilities(Wire, frozen=True, kw_only=True):
    """Capabilities for the `session/delete` method."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SessionForkCapabilities(Wire, frozen=True, kw_only=True):
    """Capabilities for the `session/fork` method. Unstable."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SessionListCapabilities(Wire, frozen=True, kw_only=True):
    """Capabilities for the `session/list` method."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SessionResumeCapabilities(Wire, frozen=True, kw_only=True):
    """Capabilities for the `session/resume` method."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SessionStatusCapabilities(Wire, frozen=True, kw_only=True):
    """Capabilities for the `session/status` method. Unstable."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SessionSystemPromptOverrideCapabilities(Wire, frozen=True, kw_only=True):
    """Capabilities for the `override` system prompt mode. Unstable."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SessionSystemPromptModeCapabilities(Wire, frozen=True, kw_only=True):
    """System prompt delivery modes the agent supports in addition to `append`. Unstable."""

    override: SessionSystemPromptOverrideCapabilities | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SessionSystemPromptCapabilities(Wire, frozen=True, kw_only=True):
    """Capabilities for client-provided system prompts. Unstable."""

    mode: SessionSystemPromptModeCapabilities | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SessionTitleCapabilities(Wire, frozen=True, kw_only=True):
    """Capabilities for Client-set session titles. Unstable."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SessionCapabilities(Wire, frozen=True, kw_only=True):
    """Session capabilities supported by the agent."""

    list: SessionListCapabilities | None = None
    delete: SessionDeleteCapabilities | None = None
    additional_directories: SessionAdditionalDirectoriesCapabilities | None = None
    system_prompt: SessionSystemPromptCapabilities | None = None
    fork: SessionForkCapabilities | None = None
    archive: SessionArchiveCapabilities | None = None
    status: SessionStatusCapabilities | None = None
    title: SessionTitleCapabilities | None = None
    resume: SessionResumeCapabilities | None = None
    close: SessionCloseCapabilities | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class AgentCapabilities(Wire, frozen=True, kw_only=True):
    """Capabilities supported by the agent."""

    load_session: bool = False
    prompt_capabilities: PromptCapabilities = PromptCapabilities()
    mcp_capabilities: McpCapabilities = McpCapabilities()
    session_capabilities: SessionCapabilities = SessionCapabilities()
    auth: AgentAuthCapabilities = AgentAuthCapabilities()
    providers: ProvidersCapabilities | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class AuthMethod(Wire, frozen=True, kw_only=True):
    """Describes an available authentication method."""

    type: str | None = None
    id: str
    name: str
    description: str | None = None
    args: tuple[str, ...] | None = None
    env: dict[str, str] | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class InitializeResponse(Wire, frozen=True, kw_only=True):
    """Response to the `initialize` method."""

    protocol_version: int
    agent_capabilities: AgentCapabilities = AgentCapabilities()
    auth_methods: tuple[AuthMethod, ...] | UnsetType = UNSET
    agent_info: Implementation | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class AuthenticateResponse(Wire, frozen=True, kw_only=True):
    """Response to the `authenticate` method."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class LogoutResponse(Wire, frozen=True, kw_only=True):
    """Response to the `logout` method."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class AuthenticateRequest(Wire, frozen=True, kw_only=True):
    """Request parameters for the authenticate method."""

    method_id: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class LogoutRequest(Wire, frozen=True, kw_only=True):
    """Request parameters for the logout method."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)
