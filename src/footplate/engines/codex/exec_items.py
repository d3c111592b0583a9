"""Items of Codex as tool calls: kind, title, detail and outcome of each. Pure functions."""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.engines.codex.exec_wire import Change, CommandExecution, FileChange, McpToolCall, TodoList, WebSearch
from footplate.events.base import OptionalRaw
from footplate.events.content import ContentBlock, OtherBlock, TextBlock
from footplate.events.tools import (
    ChangeKind,
    CommandDetail,
    FileChangeDetail,
    McpDetail,
    PlanEntry,
    ToolDetail,
    ToolKind,
    ToolOutcome,
    WebDetail,
)
from footplate.events.tools import FileChange as ChangedFile

ToolItem = CommandExecution | FileChange | McpToolCall | WebSearch

OUTPUT_LIMIT: Final = 4096
"""How much of a command's output a detail holds; the whole of it is the content of the event."""

OUTCOMES: Final[dict[str, ToolOutcome]] = {"completed": "completed", "failed": "failed", "declined": "denied"}
CHANGES: Final[dict[str, ChangeKind]] = {"add": "add", "update": "update", "delete": "delete"}


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What an item says of its call."""

    name: str
    kind: ToolKind
    title: str
    detail: ToolDetail
    input: OptionalRaw = None
    outcome: ToolOutcome = "completed"
    content: tuple[ContentBlock, ...] = ()


def read_item(item: ToolItem) -> Told:
    """The call behind an item. The item's type decides: a patch in a shell command is a change of files."""
    match item:
        case CommandExecution():
            return _command(item)
        case FileChange():
            changes = tuple(map(_change, item.changes))
            return Told(
                name="apply_patch",
                kind="file_change",
                title=", ".join(change.path for change in changes) or "a change of files",
                detail=FileChangeDetail(changes=changes),
                outcome=OUTCOMES.get(item.status, "completed"),
            )
        case McpToolCall():
            return _mcp(item)
        case WebSearch():
            return Told(name="web_search", kind="web", title=item.query, detail=WebDetail(query=item.query))


def _command(item: CommandExecution) -> Told:
    output = item.aggregated_output
    failed = item.exit_code not in (None, 0)
    return Told(
        name="shell",
        kind="command",
        title=item.command,
        detail=CommandDetail(
            command=item.command,
            exit_code=item.exit_code,
            output=output[:OUTPUT_LIMIT],
            truncated=len(output) > OUTPUT_LIMIT,
        ),
        outcome=OUTCOMES.get(item.status, "failed" if failed else "completed"),
        content=(TextBlock(text=output),) if output else (),
    )


def _mcp(item: McpToolCall) -> Told:
    content: tuple[ContentBlock, ...] = ()
    if item.error is not None:
        content = (TextBlock(text=item.error.message),)
    elif item.result is not None and bytes(item.result) != b"null":
        content = (OtherBlock(kind="mcp_result", raw=item.result.copy()),)
    return Told(
        name=f"mcp__{item.server}__{item.tool}",
        kind="mcp",
        title=f"{item.server}: {item.tool}",
        detail=McpDetail(server=item.server, tool=item.tool),
        input=None if item.arguments is None else item.arguments.copy(),
        outcome=OUTCOMES.get(item.status, "failed" if item.error else "completed"),
        content=content,
    )


def _change(change: Change) -> ChangedFile:
    return ChangedFile(path=change.path, kind=CHANGES.get(change.kind, "update"))


def entries_of(todos: TodoList) -> tuple[PlanEntry, ...]:
    """The to-do list; Codex tells only what is done and what is not."""
    return tuple(
        PlanEntry(content=todo.text, status="completed" if todo.completed else "pending") for todo in todos.items
    )
