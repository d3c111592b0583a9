"""ACP v1 messages that we send or act on, written by hand after the published schema.

Enumerations are plain strings, unknown fields are let pass, and where null and absent mean different things the field
is `UNSET`. A field that must stand on the wire has no default. `read_content` and its like keep what they do not
know as raw text instead of failing: agents are ahead of every client.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from footplate.events.base import OptionalRaw

PROTOCOL_VERSION: Final = 1


class Wire(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Base of all ACP values: camelCase on the wire, defaults left out."""


class Empty(Wire, frozen=True, kw_only=True):
    """A capability that is there, or an answer that says nothing: `{}`."""


class FootplateMeta(Wire, frozen=True, kw_only=True):
    """Our own part of `_meta`: what stable ACP has no place for."""

    parent_tool_call_id: str | None = None
    message: str | None = None


class ClaudeCodeMeta(Wire, frozen=True, kw_only=True):
    """The part of `_meta` that claude-agent-acp fills."""

    tool_name: str | None = None
    parent_tool_use_id: str | None = None


class Meta(Wire, frozen=True, kw_only=True):
    """The members of `_meta` that we read or write."""

    footplate: FootplateMeta | None = None
    claude_code: ClaudeCodeMeta | None = None


# ------------------------------------------------------------------------------------------------ content


class ContentBase(Wire, frozen=True, kw_only=True, tag_field="type"):
    """Base of content blocks; the tag stands in `type`."""


class TextContent(ContentBase, frozen=True, kw_only=True, tag="text"):
    """Text, plain or markdown."""

    text: str


class ImageContent(ContentBase, frozen=True, kw_only=True, tag="image"):
    """A picture, base64."""

    data: str
    mime_type: str
    uri: str | None = None


class AudioContent(ContentBase, frozen=True, kw_only=True, tag="audio"):
    """A sound, base64."""

    data: str
    mime_type: str


class ResourceLink(ContentBase, frozen=True, kw_only=True, tag="resource_link"):
    """A thing by address."""

    uri: str
    name: str
    mime_type: str | None = None


class ResourceContents(Wire, frozen=True, kw_only=True):
    """An embedded thing: text or blob (base64)."""

    uri: str
    mime_type: str | None = None
    text: str | None = None
    blob: str | None = None


class EmbeddedResource(ContentBase, frozen=True, kw_only=True, tag="resource"):
    """A thing with its contents."""

    resource: ResourceContents


Content = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource


class ToolContentBase(Wire, frozen=True, kw_only=True, tag_field="type"):
    """Base of what a tool call shows; the tag stands in `type`."""


class ContentItem(ToolContentBase, frozen=True, kw_only=True, tag="content"):
    """A content block."""

    content: Content


class DiffItem(ToolContentBase, frozen=True, kw_only=True, tag="diff"):
    """A change of one file; `old_text` is None for a new one."""

    path: str
    new_text: str
    old_text: str | None = None


class TerminalItem(ToolContentBase, frozen=True, kw_only=True, tag="terminal"):
    """A terminal of the client."""

    terminal_id: str


ToolContent = ContentItem | DiffItem | TerminalItem


class UnknownContent(Wire, frozen=True, kw_only=True):
    """A block of a kind that this version does not know, or not in this shape."""

    kind: str
    raw: msgspec.Raw


# --------------------------------------------------------------------------------- initialize and sessions


class Implementation(Wire, frozen=True, kw_only=True):
    """Who speaks."""

    name: str
    version: str
    title: str | None = None


class ElicitationCapabilities(Wire, frozen=True, kw_only=True):
    """Which ways of asking the client knows."""

    form: Empty | None = None
    url: Empty | None = None


class ClientSessionCapabilities(Wire, frozen=True, kw_only=True):
    """Which extra updates the client takes."""

    notices: Empty | None = None


class ClientCapabilities(Wire, frozen=True, kw_only=True):
    """What the client offers."""

    elicitation: ElicitationCapabilities | None = None
    session: ClientSessionCapabilities | None = None


class InitializeRequest(Wire, frozen=True, kw_only=True):
    """First message of a connection."""

    protocol_version: int
    client_capabilities: ClientCapabilities | None = None
    client_info: Implementation | None = None


class PromptCapabilities(Wire, frozen=True, kw_only=True):
    """Which blocks a prompt may hold beside text and links."""

    image: bool = False
    audio: bool = False
    embedded_context: bool = False


class SessionCapabilities(Wire, frozen=True, kw_only=True):
    """Which session methods the agent has."""

    list: Empty | None = None
    resume: Empty | None = None


class AgentCapabilities(Wire, frozen=True, kw_only=True):
    """What the agent offers."""

    load_session: bool = False
    prompt_capabilities: PromptCapabilities = PromptCapabilities()
    session_capabilities: SessionCapabilities = SessionCapabilities()


class AuthMethod(Wire, frozen=True, kw_only=True):
    """One way to log in."""

    id: str
    name: str
    description: str | None = None


class InitializeResponse(Wire, frozen=True, kw_only=True):
    """The agent's answer to `initialize`."""

    protocol_version: int
    agent_capabilities: AgentCapabilities = AgentCapabilities()
    auth_methods: tuple[AuthMethod, ...] | UnsetType = UNSET
    agent_info: Implementation | None = None


class SessionMode(Wire, frozen=True, kw_only=True):
    """One mode of a session."""

    id: str
    name: str
    description: str | None = None


class ModeState(Wire, frozen=True, kw_only=True):
    """The mode in force and those that can be."""

    current_mode_id: str
    available_modes: tuple[SessionMode, ...]


class ConfigChoice(Wire, frozen=True, kw_only=True):
    """A value of an option, or (with `group`) a named group of them."""

    name: str
    value: str | None = None
    description: str | None = None
    group: str | None = None
    options: tuple[ConfigChoice, ...] | None = None


class ConfigOption(Wire, frozen=True, kw_only=True):
    """One option of a session: `select` from a list, or `boolean`."""

    id: str
    name: str
    type: str
    current_value: str | bool
    category: str | None = None
    description: str | None = None
    options: tuple[ConfigChoice, ...] | None = None


class NewSessionRequest(Wire, frozen=True, kw_only=True):
    """Open a session."""

    cwd: str
    mcp_servers: tuple[msgspec.Raw, ...]


class NewSessionResponse(Wire, frozen=True, kw_only=True):
    """The new session."""

    session_id: str
    modes: ModeState | None = None
    config_options: tuple[ConfigOption, ...] | None = None


class LoadSessionRequest(Wire, frozen=True, kw_only=True):
    """Bring a session back (also the shape of `session/resume`)."""

    session_id: str
    cwd: str
    mcp_servers: tuple[msgspec.Raw, ...]


class LoadSessionResponse(Wire, frozen=True, kw_only=True):
    """The session is back."""

    modes: ModeState | None = None
    config_options: tuple[ConfigOption, ...] | None = None


class ListSessionsRequest(Wire, frozen=True, kw_only=True):
    """Which sessions there are, of one folder or of all."""

    cwd: str | None = None
    cursor: str | None = None


class SessionInfo(Wire, frozen=True, kw_only=True):
    """One session in a list."""

    session_id: str
    cwd: str
    title: str | None = None


class ListSessionsResponse(Wire, frozen=True, kw_only=True):
    """One page of sessions."""

    sessions: tuple[SessionInfo, ...]
    next_cursor: str | None = None


class SetModeRequest(Wire, frozen=True, kw_only=True):
    """Change the mode."""

    session_id: str
    mode_id: str


class SetConfigOptionRequest(Wire, frozen=True, kw_only=True):
    """Change one option."""

    session_id: str
    config_id: str
    value: str | bool
    type: str | None = None


class SetConfigOptionResponse(Wire, frozen=True, kw_only=True):
    """All options after the change."""

    config_options: tuple[ConfigOption, ...]


class PromptRequest(Wire, frozen=True, kw_only=True):
    """A message to the agent; answered when its turn is over."""

    session_id: str
    prompt: tuple[msgspec.Raw, ...]


class TokenUsage(Wire, frozen=True, kw_only=True):
    """Tokens of a turn (unstable in the schema, sent by most agents)."""

    total_tokens: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    thought_tokens: int | None = None
    cached_read_tokens: int | None = None
    cached_write_tokens: int | None = None


class PromptResponse(Wire, frozen=True, kw_only=True):
    """The turn is over."""

    stop_reason: str
    usage: OptionalRaw = None


class CancelNotification(Wire, frozen=True, kw_only=True):
    """Stop the turn."""

    session_id: str


# ------------------------------------------------------------------------------------------------ reading

content_decoder: Final[msgspec.json.Decoder[Content]] = msgspec.json.Decoder(Content)
_tool_content_decoder: Final[msgspec.json.Decoder[ToolContent]] = msgspec.json.Decoder(ToolContent)


class _ContentTag(msgspec.Struct):
    type: str = ""


_content_tag_decoder: Final = msgspec.json.Decoder(_ContentTag)


def read_content(raw: msgspec.Raw) -> Content | UnknownContent:
    """A content block, kept raw when its kind or shape is unknown."""
    try:
        return content_decoder.decode(raw)
    except msgspec.ValidationError:
        return _unknown(raw)


def read_tool_content(raw: msgspec.Raw) -> ToolContent | UnknownContent:
    """One item of a tool call's content, kept raw when its kind or shape is unknown."""
    try:
        return _tool_content_decoder.decode(raw)
    except msgspec.ValidationError:
        return _unknown(raw)


def _unknown(raw: msgspec.Raw) -> UnknownContent:
    try:
        kind = _content_tag_decoder.decode(raw).type
    except msgspec.ValidationError:
        kind = ""
    return UnknownContent(kind=kind, raw=raw.copy())
