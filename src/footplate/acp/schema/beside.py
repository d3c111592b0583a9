"""Logins, providers and MCP over ACP. Written by `scripts/acp_types.py` from the published schema."""

from __future__ import annotations

import msgspec

from footplate.acp.wire import Wire
from footplate.events.base import OptionalRaw


class MessageMcpRequest(Wire, frozen=True, kw_only=True):
    """Request parameters for `mcp/message`. Unstable."""

    server_id: str
    request_id: str
    method: str
    params: OptionalRaw = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ProviderCurrentConfig(Wire, frozen=True, kw_only=True):
    """Current effective non-secret routing configuration for a provider. Unstable."""

    api_type: str
    base_url: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ProviderInfo(Wire, frozen=True, kw_only=True):
    """Information about a configurable LLM provider. Unstable."""

    provider_id: str
    supported: tuple[str, ...]
    required: bool
    current: ProviderCurrentConfig | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ListProvidersResponse(Wire, frozen=True, kw_only=True):
    """Response to `providers/list`. Unstable."""

    providers: tuple[ProviderInfo, ...]
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SetProviderResponse(Wire, frozen=True, kw_only=True):
    """Response to `providers/set`. Unstable."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class DisableProviderResponse(Wire, frozen=True, kw_only=True):
    """Response to `providers/disable`. Unstable."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class AuthAccount(Wire, frozen=True, kw_only=True):
    """An account or credential the agent has configured, such as a signed-in user account or an API key. Unstable."""

    label: str
    active: bool | None = None
    name: str | None = None
    email: str | None = None
    organization: str | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class AuthStatusResponse(Wire, frozen=True, kw_only=True):
    """Response to the `auth/status` method. Unstable."""

    state: str
    accounts: tuple[AuthAccount, ...] | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class AuthStatusUpdateNotification(Wire, frozen=True, kw_only=True):
    """Notification sent by the agent when its authentication status changes. Unstable."""

    state: str
    accounts: tuple[AuthAccount, ...] | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ListProvidersRequest(Wire, frozen=True, kw_only=True):
    """Request parameters for `providers/list`. Unstable."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SetProviderRequest(Wire, frozen=True, kw_only=True):
    """Request parameters for `providers/set`. Unstable."""

    provider_id: str
    api_type: str
    base_url: str
    headers: dict[str, str] | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class DisableProviderRequest(Wire, frozen=True, kw_only=True):
    """Request parameters for `providers/disable`. Unstable."""

    provider_id: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class AuthStatusRequest(Wire, frozen=True, kw_only=True):
    """Request parameters for the `auth/status` method. Unstable."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class McpError(Wire, frozen=True, kw_only=True):
    """An inner MCP error, distinct from an outer ACP binding or runtime error. Unstable."""

    code: int
    message: str
    data: OptionalRaw = None


class MessageMcpResponse(Wire, frozen=True, kw_only=True):
    """The successful outer ACP `mcp/message` response carries exactly one inner MCP outcome: an opaque result
    (including JSON null), or an MCP error. Unstable.
    """

    result: OptionalRaw = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)
    error: McpError | None = None


class MessageMcpNotification(Wire, frozen=True, kw_only=True):
    """Notification parameters for `mcp/message`. Unstable."""

    server_id: str
    request_id: str
    method: str
    params: OptionalRaw = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class CancelRequestNotification(Wire, frozen=True, kw_only=True):
    """Notification to cancel an ongoing request."""

    request_id: int | str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)
