"""Items of `codex app-server` as tool calls: kind, title, detail and outcome of each. Pure functions."""

from __future__ import annotations

import re
import shlex
from typing import Final

import msgspec

from footplate.engines.codex.diffs import read_hunks
from footplate.engines.codex.wire import (
    Change,
    CollabCall,
    CommandExecution,
    DynamicToolCall,
    FileChange,
    ImageView,
    McpToolCall,
    ToolItem,
    WebSearch,
)
from footplate.events.base import OptionalRaw
from footplate.events.content import ContentBlock, OtherBlock, TextBlock
from footplate.events.tools import (
    ChangeKind,
    CommandDetail,
    FileChangeDetail,
    McpDetail,
    OtherDetail,
    ReadDetail,
    SubagentDetail,
    ToolDetail,
    ToolKind,
    ToolOutcome,
    WebDetail,
)
from footplate.events.tools import FileChange as ChangedFile

OUTPUT_LIMIT: Final = 4096
"""How much of a command's output a detail holds; the whole of it is the content of the event."""

SHELLS: Final = re.compile(r"(/(usr/(local/)?)?bin/)?(ba|da|z)?sh")
SHELL: Final = "shell"
PATCH: Final = "apply_patch"
OUTCOMES: Final[dict[str, ToolOutcome]] = {"completed": "completed", "failed": "failed", "declined": "denied"}
CHANGES: Final[dict[str, ChangeKind]] = {"add": "add", "update": "update", "delete": "delete"}


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """What an item says of its call."""

    name: str
    kind: ToolKind
    title: str
    detail: ToolDetail
    input: OptionalRaw = None
    outcome: ToolOutcome = "completed"
    content: tuple[ContentBlock, ...] = ()


def read_item(item: ToolItem) -> Read:
    """The call behind an item. The item's type decides: a patch in a shell command is a change of files."""
    match item:
        case CommandExecution():
            return _command(item)
        case FileChange():
            changes = read_changes(item.changes)
            return Read(
                name=PATCH,
                kind="file_change",
                title=word_changes(changes),
                detail=FileChangeDetail(changes=changes),
                input=write_changes(item.changes),
                outcome=OUTCOMES.get(item.status, "completed"),
            )
        case McpToolCall():
            return _mcp(item)
        case WebSearch():
            return Read(name="web_search", kind="web", title=item.query, detail=WebDetail(query=item.query))
        case ImageView():
            return Read(name="view_image", kind="read", title=item.path, detail=ReadDetail(path=item.path))
        case DynamicToolCall() | CollabCall():
            return _rarer(item)


def plain_command(command: str) -> str:
    """The command without a usual shell around it: all of what that shell runs.

    Codex also sends its own reading of the command (`commandActions`), which leaves out parts such as a `cd` before it:
    that is no text to approve.
    """
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    return words[2] if len(words) == 3 and SHELLS.fullmatch(words[0]) and words[1] in ("-c", "-lc") else command


def read_changes(changes: tuple[Change, ...]) -> tuple[ChangedFile, ...]:
    """Changes of files; of a new or removed one the whole text is told, of another one the hunks."""
    return tuple(map(_change, changes))


def write_changes(changes: tuple[Change, ...]) -> msgspec.Raw:
    """The input of a call that changes files, as Codex tells it."""
    return msgspec.Raw(msgspec.json.encode({"changes": changes}))


def word_changes(changes: tuple[ChangedFile, ...]) -> str:
    """A title for changes of files."""
    return ", ".join(change.path for change in changes) or "a change of files"


def _change(change: Change) -> ChangedFile:
    kind = CHANGES.get(change.kind.type, "update")
    moved = change.kind.move_path or ""
    return ChangedFile(
        path=change.path,
        kind="move" if moved else kind,
        old_text=change.diff if kind == "delete" else None,
        new_text=change.diff if kind == "add" else None,
        hunks=read_hunks(change.diff) if kind == "update" else (),
        moved_to=moved,
    )


def _command(item: CommandExecution) -> Read:
    output = item.aggregated_output or ""
    command = plain_command(item.command)
    failed = item.exit_code not in (None, 0)
    return Read(
        name=SHELL,
        kind="command",
        title=command,
        detail=CommandDetail(
            command=command,
            cwd=item.cwd,
            exit_code=item.exit_code,
            output=output[:OUTPUT_LIMIT],
            truncated=len(output) > OUTPUT_LIMIT,
        ),
        input=msgspec.Raw(msgspec.json.encode({"command": command, "cwd": item.cwd})),
        outcome=OUTCOMES.get(item.status, "failed" if failed else "completed"),
        content=(TextBlock(text=output),) if output else (),
    )


def _mcp(item: McpToolCall) -> Read:
    content: tuple[ContentBlock, ...] = ()
    if item.error is not None:
        content = (TextBlock(text=item.error.message),)
    elif _present(item.result) is not None:
        content = (OtherBlock(kind="mcp_result", raw=item.result.copy()),) if item.result is not None else ()
    return Read(
        name=f"mcp__{item.server}__{item.tool}",
        kind="mcp",
        title=f"{item.server}: {item.tool}",
        detail=McpDetail(server=item.server, tool=item.tool),
        input=_present(item.arguments),
        outcome=OUTCOMES.get(item.status, "failed" if item.error else "completed"),
        content=content,
    )


def _rarer(item: DynamicToolCall | CollabCall) -> Read:
    outcome = OUTCOMES.get(item.status, "completed")
    if isinstance(item, CollabCall):
        prompt = item.prompt or ""
        detail = SubagentDetail(description=item.tool, prompt=prompt)
        return Read(name=item.tool, kind="subagent", title=prompt or item.tool, detail=detail, outcome=outcome)
    return Read(
        name=item.tool,
        kind="other",
        title=item.tool,
        detail=OtherDetail(),
        input=_present(item.arguments),
        outcome=outcome,
    )


def _present(raw: OptionalRaw) -> OptionalRaw:
    return None if raw is None or bytes(raw) == b"null" else raw.copy()
