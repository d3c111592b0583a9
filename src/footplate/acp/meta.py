"""The parts of `_meta` that we read or write; everything else in it passes unread."""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.acp.wire import Wire
from footplate.events.base import OptionalRaw
from footplate.events.usage import ModelUsage, Usage


class TaskMeta(Wire, frozen=True, kw_only=True):
    """The work behind a call: by its id it can be stopped."""

    id: str
    status: str


class FootplateMeta(Wire, frozen=True, kw_only=True):
    """Our own part: what stable ACP has no place for."""

    parent_tool_call_id: str | None = None
    message: str | None = None
    elapsed_s: float | None = None
    task: TaskMeta | None = None


class ClaudeCodeMeta(Wire, frozen=True, kw_only=True):
    """The part that claude-agent-acp fills, and that editors know."""

    tool_name: str | None = None
    parent_tool_use_id: str | None = None
    tool_response: OptionalRaw = None


class TerminalInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A terminal that the client is to show for a command of ours."""

    terminal_id: str
    cwd: str = ""


class TerminalOutput(msgspec.Struct, frozen=True, kw_only=True):
    """More of what the command wrote."""

    terminal_id: str
    data: str


class TerminalExit(msgspec.Struct, frozen=True, kw_only=True):
    """The command is over."""

    terminal_id: str
    exit_code: int | None = None
    signal: str | None = None


class ToolMeta(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is told of a tool call beside its fields: whose it is, and its terminal for clients that show one."""

    claude_code: ClaudeCodeMeta | None = msgspec.field(name="claudeCode", default=None)
    footplate: FootplateMeta | None = None
    terminal_info: TerminalInfo | None = None
    terminal_output: TerminalOutput | None = None
    terminal_exit: TerminalExit | None = None

    def raw(self) -> OptionalRaw:
        """As it stands on the wire; None when there is nothing to tell."""
        return None if self == NO_TOOL_META else msgspec.Raw(msgspec.json.encode(self))


NO_TOOL_META: Final = ToolMeta()


class RateLimit(Wire, frozen=True, kw_only=True):
    """A limit of the account, in the words of Claude."""

    status: str
    rate_limit_type: str | None = None
    resets_at: float | None = None
    utilization: float | None = None


class ClaudeUsageMeta(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What claude-agent-acp tells beside the figures of a session."""

    model: str = msgspec.field(name="_claude/model", default="")
    rate_limit: RateLimit | None = msgspec.field(name="_claude/rateLimit", default=None)


class TokenCount(Wire, frozen=True, kw_only=True):
    """Tokens by kind."""

    total_tokens: int
    input_tokens: int
    cached_input_tokens: int
    cached_write_tokens: int
    output_tokens: int
    reasoning_output_tokens: int

    @classmethod
    def of(cls, usage: Usage | ModelUsage) -> TokenCount:
        """The tokens of a turn, or of a model's share in it."""
        parts = (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens)
        return cls(
            total_tokens=sum(parts),
            input_tokens=usage.input_tokens,
            cached_input_tokens=usage.cache_read_tokens,
            cached_write_tokens=usage.cache_write_tokens,
            output_tokens=usage.output_tokens,
            reasoning_output_tokens=usage.reasoning_tokens if isinstance(usage, Usage) else 0,
        )


class ModelCount(msgspec.Struct, frozen=True, kw_only=True):
    """One model's share of a turn."""

    model: str
    token_count: TokenCount


class Quota(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn used, by models."""

    token_count: TokenCount
    model_usage: tuple[ModelCount, ...]


def quota_meta(usage: Usage) -> msgspec.Raw:
    """The `_meta` of the answer to a prompt, as claude-agent-acp has it."""
    shares = tuple(ModelCount(model=each.model, token_count=TokenCount.of(each)) for each in usage.models)
    quota = Quota(token_count=TokenCount.of(usage), model_usage=shares)
    return msgspec.Raw(msgspec.json.encode({"quota": quota}))


class Meta(Wire, frozen=True, kw_only=True):
    """The members of `_meta` that we know."""

    footplate: FootplateMeta | None = None
    claude_code: ClaudeCodeMeta | None = None


NOTHING: Final = Meta()
_decoder: Final = msgspec.json.Decoder(Meta)


def read_meta(raw: OptionalRaw) -> Meta:
    """What we know of a `_meta`; one in a shape of its own says nothing to us."""
    if raw is None:
        return NOTHING
    try:
        return _decoder.decode(raw)
    except msgspec.ValidationError:
        return NOTHING


def message_meta(message: str) -> OptionalRaw:
    """Words for which ACP has no place; None when there are none."""
    return write_meta(Meta(footplate=FootplateMeta(message=message))) if message else None


def parent_meta(call: str) -> OptionalRaw:
    """Of the sub-agent that this call started; None when there is no call."""
    return write_meta(Meta(footplate=FootplateMeta(parent_tool_call_id=call))) if call else None


def write_meta(meta: Meta) -> msgspec.Raw:
    """A `_meta` of ours."""
    return msgspec.Raw(msgspec.json.encode(meta))
