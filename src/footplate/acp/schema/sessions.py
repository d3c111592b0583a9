"""Sessions and prompts. Written by `scripts/acp_types.py` from the published schema."""

from __future__ import annotations

import msgspec

from footplate.acp.schema.choices import SessionConfigOption, SessionModeState
from footplate.acp.wire import Wire
from footplate.events.base import OptionalRaw


class PromptRequest(Wire, frozen=True, kw_only=True):
    """Request parameters for sending a user prompt to the agent."""

    session_id: str
    prompt: tuple[msgspec.Raw, ...]
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class PromptResponse(Wire, frozen=True, kw_only=True):
    """Response from processing a user prompt."""

    stop_reason: str
    usage: OptionalRaw = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class NewSessionResponse(Wire, frozen=True, kw_only=True):
    """Response from creating a new session."""

    session_id: str
    modes: SessionModeState | None = None
    config_options: tuple[SessionConfigOption, ...] | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class LoadSessionResponse(Wire, frozen=True, kw_only=True):
    """Response from loading an existing session."""

    modes: SessionModeState | None = None
    config_options: tuple[SessionConfigOption, ...] | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SessionInfo(Wire, frozen=True, kw_only=True):
    """Information about a session returned by session/list."""

    session_id: str
    cwd: str
    additional_directories: tuple[str, ...] | None = None
    title: str | None = None
    updated_at: str | None = None
    archived: bool | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ListSessionsResponse(Wire, frozen=True, kw_only=True):
    """Response from listing sessions."""

    sessions: tuple[SessionInfo, ...]
    next_cursor: str | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class DeleteSessionResponse(Wire, frozen=True, kw_only=True):
    """Response from deleting a session."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ForkSessionResponse(Wire, frozen=True, kw_only=True):
    """Response from forking an existing session. Unstable."""

    session_id: str
    modes: SessionModeState | None = None
    config_options: tuple[SessionConfigOption, ...] | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ArchiveSessionResponse(Wire, frozen=True, kw_only=True):
    """Response from archiving a session. Unstable."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class UnarchiveSessionResponse(Wire, frozen=True, kw_only=True):
    """Response from unarchiving a session. Unstable."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SessionStatusResponse(Wire, frozen=True, kw_only=True):
    """Response from checking the status of a session. Unstable."""

    status: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SetSessionTitleResponse(Wire, frozen=True, kw_only=True):
    """Response from setting the title of a session. Unstable."""

    title: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ResumeSessionResponse(Wire, frozen=True, kw_only=True):
    """Response from resuming an existing session."""

    modes: SessionModeState | None = None
    config_options: tuple[SessionConfigOption, ...] | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class CloseSessionResponse(Wire, frozen=True, kw_only=True):
    """Response from closing a session."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SetSessionModeResponse(Wire, frozen=True, kw_only=True):
    """Response to `session/set_mode` method."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SetSessionConfigOptionResponse(Wire, frozen=True, kw_only=True):
    """Response to `session/set_config_option` method."""

    config_options: tuple[SessionConfigOption, ...]
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class EnvVariable(Wire, frozen=True, kw_only=True):
    """An environment variable to set when launching an MCP server."""

    name: str
    value: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class HttpHeader(Wire, frozen=True, kw_only=True):
    """An HTTP header to set when making requests to the MCP server."""

    name: str
    value: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class McpServer(Wire, frozen=True, kw_only=True):
    """Configuration for connecting to an MCP (Model Context Protocol) server."""

    type: str | None = None
    name: str
    url: str | None = None
    headers: tuple[HttpHeader, ...] | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)
    server_id: str | None = None
    command: str | None = None
    args: tuple[str, ...] | None = None
    env: tuple[EnvVariable, ...] | None = None


class SystemPrompt(Wire, frozen=True, kw_only=True):
    """Client-provided system-level instructions for a session. Unstable."""

    mode: str
    content: tuple[msgspec.Raw, ...]
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class NewSessionRequest(Wire, frozen=True, kw_only=True):
    """Request parameters for creating a new session."""

    cwd: str
    additional_directories: tuple[str, ...] | None = None
    mcp_servers: tuple[McpServer, ...]
    system_prompt: SystemPrompt | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class LoadSessionRequest(Wire, frozen=True, kw_only=True):
    """Request parameters for loading an existing session."""

    mcp_servers: tuple[McpServer, ...]
    cwd: str
    additional_directories: tuple[str, ...] | None = None
    session_id: str
    system_prompt: SystemPrompt | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ListSessionsRequest(Wire, frozen=True, kw_only=True):
    """Request parameters for listing existing sessions."""

    cwd: str | None = None
    cursor: str | None = None
    archived: str | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class DeleteSessionRequest(Wire, frozen=True, kw_only=True):
    """Request parameters for deleting an existing session from `session/list`."""

    session_id: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ForkSessionRequest(Wire, frozen=True, kw_only=True):
    """Request parameters for forking an existing session. Unstable."""

    session_id: str
    cwd: str
    additional_directories: tuple[str, ...] | None = None
    mcp_servers: tuple[McpServer, ...] | None = None
    system_prompt: SystemPrompt | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ArchiveSessionRequest(Wire, frozen=True, kw_only=True):
    """Request parameters for archiving a session. Unstable."""

    session_id: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class UnarchiveSessionRequest(Wire, frozen=True, kw_only=True):
    """Request parameters for unarchiving a session. Unstable."""

    session_id: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SessionStatusRequest(Wire, frozen=True, kw_only=True):
    """Request parameters for checking the status of a session. Unstable."""

    session_id: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SetSessionTitleRequest(Wire, frozen=True, kw_only=True):
    """Request parameters for setting the title of a session. Unstable."""

    session_id: str
    title: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ResumeSessionRequest(Wire, frozen=True, kw_only=True):
    """Request parameters for resuming an existing session."""

    session_id: str
    cwd: str
    additional_directories: tuple[str, ...] | None = None
    mcp_servers: tuple[McpServer, ...] | None = None
    system_prompt: SystemPrompt | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class CloseSessionRequest(Wire, frozen=True, kw_only=True):
    """Request parameters for closing an active session."""

    session_id: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SetSessionModeRequest(Wire, frozen=True, kw_only=True):
    """Request parameters for setting a session mode."""

    session_id: str
    mode_id: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SetSessionConfigOptionRequest(Wire, frozen=True, kw_only=True):
    """Request parameters for setting a session configuration option."""

    session_id: str
    config_id: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)
    type: str | None = None
    value: bool | str


class CancelNotification(Wire, frozen=True, kw_only=True):
    """Notification to cancel ongoing operations for a session."""

    session_id: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)
