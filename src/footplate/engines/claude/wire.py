"""The lines of the Claude CLI as tolerant structs: what a line may hold, never what it must.

`LINES` reads any known line in one step, so that a whole block is decoded by one call. Parts whose shape differs
between versions, or that are merely handed on, stay `Raw` and are read by `read` where they are needed: one odd part
costs nothing else. Fields that nobody looks at are not listed: skipping is cheaper than decoding. The events of the
API inside `stream_event` are one flat struct on purpose: an unknown kind of event or delta is then still a line that
decodes. A line that does not fit its struct is read once more by `read_leniently`, field by field.
"""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.events.base import OptionalRaw

UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What decoding of hostile bytes can raise."""


class Part(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Base of everything inside a line; every field has a default."""


class LineBase(msgspec.Struct, frozen=True, kw_only=True, gc=False, tag_field="type"):
    """Base of every line; the tag stands in `type`, at any place in the object."""


# ------------------------------------------------------------------------------------------- stream of the API


class Delta(Part, frozen=True, kw_only=True):
    """A piece of a content block; which field is set depends on `type`."""

    type: str = ""
    text: str = ""
    thinking: str = ""
    partial_json: str = ""


class StreamedBlock(Part, frozen=True, kw_only=True):
    """A content block at its start: tools already have their id and name."""

    type: str = ""
    id: str = ""
    name: str = ""


class StreamedMessage(Part, frozen=True, kw_only=True):
    """A message at its start."""

    id: str = ""
    model: str = ""


class ApiEvent(Part, frozen=True, kw_only=True):
    """One event of the API's own stream, of whatever type."""

    type: str = ""
    index: int = 0
    delta: Delta | None = None
    content_block: StreamedBlock | None = None
    message: StreamedMessage | None = None


class StreamEvent(LineBase, frozen=True, kw_only=True, tag="stream_event"):
    """A piece of a message while it is written; only with `--include-partial-messages`."""

    event: ApiEvent = ApiEvent()
    parent_tool_use_id: str | None = None


class MessageHint(Part, frozen=True, kw_only=True):
    """The id of the message that a stream event belongs to (2.1.325), read only when its start was missed."""

    api_message_id: str = ""


# ------------------------------------------------------------------------------------------------- messages


class AssistantBody(Part, frozen=True, kw_only=True):
    """A message of the model; one line carries one of its blocks."""

    id: str = ""
    model: str = ""
    content: OptionalRaw = None
    usage: OptionalRaw = None


class Assistant(LineBase, frozen=True, kw_only=True, tag="assistant"):
    """One content block of a message of the model, or of the CLI itself (model `<synthetic>`)."""

    message: AssistantBody = AssistantBody()
    parent_tool_use_id: str | None = None
    session_id: str = ""
    uuid: str = ""
    error: str | None = None


class UserBody(Part, frozen=True, kw_only=True):
    """A message to the model: a string, or blocks of text and results of tools."""

    content: OptionalRaw = None


class User(LineBase, frozen=True, kw_only=True, tag="user"):
    """Results of tools, the CLI's own words to the model, or an echo of a prompt."""

    message: UserBody = UserBody()
    parent_tool_use_id: str | None = None
    session_id: str = ""
    uuid: str = ""
    synthetic: bool | None = msgspec.field(default=None, name="isSynthetic")
    replay: bool | None = msgspec.field(default=None, name="isReplay")
    tool_use_result: OptionalRaw = None
    tool_result_meta: OptionalRaw = None


class Block(Part, frozen=True, kw_only=True):
    """One content block of any kind."""

    type: str = ""
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: OptionalRaw = None
    tool_use_id: str = ""
    content: OptionalRaw = None
    is_error: bool | None = None
    source: OptionalRaw = None


class ImageSource(Part, frozen=True, kw_only=True):
    """Where a picture's bytes are."""

    type: str = ""
    media_type: str = ""
    data: str = ""
    url: str = ""


class Decision(Part, frozen=True, kw_only=True):
    """How the permission of a call was decided."""

    decision: str = ""
    source: str = ""


class ResultMeta(Part, frozen=True, kw_only=True):
    """What the CLI knows of a call's execution beside its result (2.1.325)."""

    id: str = ""
    non_execution_kind: str = ""
    permission_decision: Decision | None = None


class Tokens(Part, frozen=True, kw_only=True):
    """Token counts as the API names them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    output_tokens_details: OptionalRaw = None


class ThinkingTokens(Part, frozen=True, kw_only=True):
    """The share of the output that was thought."""

    thinking_tokens: int = 0


# --------------------------------------------------------------------------------------------- result of a turn


class Result(LineBase, frozen=True, kw_only=True, tag="result"):
    """The end of a turn. `is_error` is the verdict; `subtype` is not."""

    subtype: str = ""
    is_error: bool | None = None
    result: str | None = None
    session_id: str = ""
    stop_reason: str | None = None
    terminal_reason: str | None = None
    api_error: str | None = None
    api_error_type: str | None = None
    local_command: str | None = None
    error: OptionalRaw = None
    """The error text of CLIs before `errors`."""
    errors: OptionalRaw = None
    permission_denials: OptionalRaw = None
    structured_output: OptionalRaw = None
    origin: OptionalRaw = None
    user_message_uuids: OptionalRaw = None
    usage: OptionalRaw = None
    model_usage: OptionalRaw = msgspec.field(default=None, name="modelUsage")
    since_last_result: OptionalRaw = msgspec.field(default=None, name="model_usage_since_last_result")
    total_cost_usd: OptionalRaw = None
    duration_ms: OptionalRaw = None
    duration_api_ms: OptionalRaw = None
    num_turns: OptionalRaw = None
    fast_mode_state: str | None = None
    fast_mode_disabled_reason: str | None = None


class Origin(Part, frozen=True, kw_only=True):
    """What started the turn, where it was not a prompt."""

    kind: str = ""


class DeniedCall(Part, frozen=True, kw_only=True):
    """One refused call in a result."""

    tool_name: str = ""
    tool_use_id: str = ""
    tool_input: OptionalRaw = None


class ModelTotals(Part, frozen=True, kw_only=True):
    """What one model cost: in all, or since the last result."""

    input_tokens: int = msgspec.field(default=0, name="inputTokens")
    output_tokens: int = msgspec.field(default=0, name="outputTokens")
    cache_read_input_tokens: int = msgspec.field(default=0, name="cacheReadInputTokens")
    cache_creation_input_tokens: int = msgspec.field(default=0, name="cacheCreationInputTokens")
    cost_usd: float = msgspec.field(default=0.0, name="costUSD")
    context_window: int | None = msgspec.field(default=None, name="contextWindow")


# ------------------------------------------------------------------------------------------------- all the rest


class System(LineBase, frozen=True, kw_only=True, tag="system"):
    """Something about the session; what else it holds depends on `subtype` and is read in a second step."""

    subtype: str = ""
    session_id: str = ""


class RateLimitInfo(Part, frozen=True, kw_only=True):
    """How far a limit of the account is used up."""

    status: str = ""
    resets_at: float | None = msgspec.field(default=None, name="resetsAt")
    rate_limit_type: str = msgspec.field(default="", name="rateLimitType")
    utilization: float | None = None


class RateLimit(LineBase, frozen=True, kw_only=True, tag="rate_limit_event"):
    """A limit of the account as told by the API's headers; subscription logins only."""

    rate_limit_info: OptionalRaw = None


class ToolProgress(LineBase, frozen=True, kw_only=True, tag="tool_progress"):
    """A heartbeat of a running tool. The tool's id is in `parent_tool_use_id`; `tool_use_id` is made up."""

    parent_tool_use_id: str | None = None
    elapsed_time_seconds: float | None = None


class ProgressData(Part, frozen=True, kw_only=True):
    """What a progress line wraps."""

    type: str = ""
    message: OptionalRaw = None


class Progress(LineBase, frozen=True, kw_only=True, tag="progress"):
    """A line of a sub-agent that was resumed from a parked call, or of a hook, in a wrapping of its own (2.1.197)."""

    data: ProgressData = ProgressData()
    parent: str | None = msgspec.field(default=None, name="parentToolUseID")


class ToolUseSummary(LineBase, frozen=True, kw_only=True, tag="tool_use_summary"):
    """A small model's words on the calls before; older CLIs do not name them."""

    summary: str = ""
    preceding_tool_use_ids: OptionalRaw = None


class CommandLifecycle(LineBase, frozen=True, kw_only=True, tag="command_lifecycle"):
    """What became of a prompt (2.1.325): queued, started, completed, cancelled."""

    command_uuid: str = ""
    state: str = ""
    session_id: str = ""


class ConversationReset(LineBase, frozen=True, kw_only=True, tag="conversation_reset"):
    """`/clear` was run (2.1.325); the next init has the new session id."""


class AuthStatus(LineBase, frozen=True, kw_only=True, tag="auth_status"):
    """Declared by the SDK, never seen."""


class PromptSuggestion(LineBase, frozen=True, kw_only=True, tag="prompt_suggestion"):
    """Declared by the SDK, never seen."""


class ActiveGoal(LineBase, frozen=True, kw_only=True, tag="active_goal"):
    """Declared by the SDK, never seen."""


class KeepAlive(LineBase, frozen=True, kw_only=True, tag="keep_alive"):
    """Nothing but a sign of life."""


class ControlRequest(LineBase, frozen=True, kw_only=True, tag="control_request"):
    """The CLI asks something of us."""

    request_id: str = ""
    request: OptionalRaw = None


class ControlResponse(LineBase, frozen=True, kw_only=True, tag="control_response"):
    """The CLI answers a request of ours."""

    response: OptionalRaw = None


class ControlCancel(LineBase, frozen=True, kw_only=True, tag="control_cancel_request"):
    """The CLI takes back a request."""

    request_id: str = ""


Line = (
    StreamEvent
    | Assistant
    | User
    | Result
    | System
    | RateLimit
    | ToolProgress
    | Progress
    | ToolUseSummary
    | CommandLifecycle
    | ConversationReset
    | AuthStatus
    | PromptSuggestion
    | ActiveGoal
    | KeepAlive
    | ControlRequest
    | ControlResponse
    | ControlCancel
)

LINES: Final[msgspec.json.Decoder[Line]] = msgspec.json.Decoder(Line)
BLOCK: Final = msgspec.json.Decoder(Block)
RAWS: Final = msgspec.json.Decoder(list[msgspec.Raw])
FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
TEXT: Final = msgspec.json.Decoder(str)
CONTENT: Final[msgspec.json.Decoder[str | list[msgspec.Raw] | None]] = msgspec.json.Decoder(
    str | list[msgspec.Raw] | None
)
"""Content is a text or a list of blocks; one look tells which."""

TEXTS: Final = msgspec.json.Decoder(list[str])
NUMBER: Final = msgspec.json.Decoder(float)
