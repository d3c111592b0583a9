"""Lines of `codex exec --json` as tolerant structs; what they do not know is kept raw."""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.events.base import OptionalRaw


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """Any line: its type, and what lines of the known types carry."""

    type: str
    thread_id: str = ""
    item: OptionalRaw = None
    usage: OptionalRaw = None
    error: OptionalRaw = None
    message: str = ""


class TokenCounts(msgspec.Struct, frozen=True, kw_only=True):
    """`usage` of `turn.completed`: totals of the whole thread, not of the turn. Cached tokens are part of the input."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """`error` of `turn.failed`, of a failed tool, and inside a provider's answer."""

    message: str = ""


class Nested(msgspec.Struct, frozen=True, kw_only=True):
    """A provider's answer, as Codex hands it on inside a message."""

    error: Problem | None = None


class Item(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of items; the tag stands in `type`."""

    id: str


class AgentMessage(Item, frozen=True, kw_only=True, tag="agent_message"):
    """What the agent says."""

    text: str = ""


class Reasoning(Item, frozen=True, kw_only=True, tag="reasoning"):
    """What it thinks."""

    text: str = ""


class CommandExecution(Item, frozen=True, kw_only=True, tag="command_execution"):
    """A command. `status` is in_progress, completed, failed or declined."""

    command: str = ""
    aggregated_output: str = ""
    exit_code: int | None = None
    status: str = ""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to one file."""

    path: str
    kind: str = "update"


class FileChange(Item, frozen=True, kw_only=True, tag="file_change"):
    """A patch, also one that came as a shell command."""

    changes: tuple[Change, ...] = ()
    status: str = ""


class McpToolCall(Item, frozen=True, kw_only=True, tag="mcp_tool_call"):
    """A tool of an MCP server."""

    server: str = ""
    tool: str = ""
    arguments: OptionalRaw = None
    result: OptionalRaw = None
    error: Problem | None = None
    status: str = ""


class WebSearch(Item, frozen=True, kw_only=True, tag="web_search"):
    """A search on the web."""

    query: str = ""


class Todo(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the to-do list."""

    text: str
    completed: bool = False


class TodoList(Item, frozen=True, kw_only=True, tag="todo_list"):
    """The to-do list."""

    items: tuple[Todo, ...] = ()


class ErrorItem(Item, frozen=True, kw_only=True, tag="error"):
    """A warning, in spite of its name: the turn goes on."""

    message: str = ""


KnownItem = AgentMessage | Reasoning | CommandExecution | FileChange | McpToolCall | WebSearch | TodoList | ErrorItem

line_decoder: Final = msgspec.json.Decoder(Line)
item_decoder: Final[msgspec.json.Decoder[KnownItem]] = msgspec.json.Decoder(KnownItem)
_counts_decoder: Final = msgspec.json.Decoder(TokenCounts)
_problem_decoder: Final = msgspec.json.Decoder(Problem)
_nested_decoder: Final = msgspec.json.Decoder(Nested)


def read_counts(raw: OptionalRaw) -> TokenCounts | None:
    """The figures, or None when there are none that we can read."""
    try:
        return None if raw is None else _counts_decoder.decode(raw)
    except msgspec.ValidationError:
        return None


def read_problem(raw: OptionalRaw) -> str:
    """The message of an error."""
    try:
        return "" if raw is None else _problem_decoder.decode(raw).message
    except msgspec.ValidationError:
        return ""


def plain_words(message: str) -> str:
    """The words inside a message that is a provider's answer as JSON; any other message as it is."""
    try:
        nested = _nested_decoder.decode(message.encode())
    except (msgspec.MsgspecError, UnicodeEncodeError):
        return message
    return nested.error.message if nested.error and nested.error.message else message
