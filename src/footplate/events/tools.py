"""Typed details per kind of tool call: what a card, a progress line or a script needs to know of it."""

from __future__ import annotations

from typing import Literal

import msgspec

ToolKind = Literal[
    "command", "file_change", "read", "search", "web", "subagent", "todo", "question", "plan", "mcp", "other"
]
"""What a call does, whatever the engine calls the tool."""

ToolOutcome = Literal["completed", "failed", "denied", "cancelled", "lost"]
"""How a call ended. `lost`: the agent died and nothing can be known of it."""

ChangeKind = Literal["add", "update", "delete", "move"]
EntryStatus = Literal["pending", "in_progress", "completed"]


class Detail(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True, gc=False):
    """Base of all tool details; the tag stands in `kind` and equals the call's kind."""


class CommandDetail(Detail, frozen=True, kw_only=True, tag="command"):
    """A command line. Exit code and output are known once it ended."""

    command: str
    cwd: str = ""
    description: str = ""
    background: bool = False
    exit_code: int | None = None
    output: str = ""
    truncated: bool = False


class Hunk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One hunk of a unified diff; each line starts with ` `, `-` or `+`."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: tuple[str, ...]


class FileChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What happened to one file. Before the call ended it is what the call intends."""

    path: str
    kind: ChangeKind = "update"
    old_text: str | None = None
    new_text: str | None = None
    hunks: tuple[Hunk, ...] = ()
    moved_to: str = ""


class FileChangeDetail(Detail, frozen=True, kw_only=True, tag="file_change"):
    """Files written, edited, moved or removed."""

    changes: tuple[FileChange, ...] = ()


class ReadDetail(Detail, frozen=True, kw_only=True, tag="read"):
    """A file (or a part of it) that was read."""

    path: str
    offset: int | None = None
    limit: int | None = None


class SearchDetail(Detail, frozen=True, kw_only=True, tag="search"):
    """A search in files: by name or by content."""

    pattern: str
    path: str = ""


class WebDetail(Detail, frozen=True, kw_only=True, tag="web"):
    """A search on the web (`query`) or a page fetched (`url`)."""

    query: str = ""
    url: str = ""


class SubagentDetail(Detail, frozen=True, kw_only=True, tag="subagent"):
    """An agent of the agent; its own calls and messages name this call as `parent`."""

    description: str = ""
    prompt: str = ""
    agent_type: str = ""
    background: bool = False


class PlanEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One entry of the agent's plan or to-do list."""

    content: str
    status: EntryStatus = "pending"
    priority: Literal["high", "medium", "low", ""] = ""
    active_form: str = ""


class TodoDetail(Detail, frozen=True, kw_only=True, tag="todo"):
    """The to-do list that a call writes."""

    entries: tuple[PlanEntry, ...] = ()


class Choice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One option of a question."""

    label: str
    description: str = ""
    preview: str = ""


class Question(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One question to a person; free text is always allowed beside the choices."""

    text: str
    header: str = ""
    choices: tuple[Choice, ...] = ()
    multiple: bool = False


class QuestionDetail(Detail, frozen=True, kw_only=True, tag="question"):
    """Questions that a call puts to a person, and the answers once they are known."""

    questions: tuple[Question, ...] = ()
    answers: dict[str, str] = {}


class PlanDetail(Detail, frozen=True, kw_only=True, tag="plan"):
    """A plan put up for approval."""

    plan: str = ""
    plan_file: str = ""


class McpDetail(Detail, frozen=True, kw_only=True, tag="mcp"):
    """A tool of an MCP server."""

    server: str
    tool: str


class OtherDetail(Detail, frozen=True, kw_only=True, tag="other"):
    """A tool without a shape of its own; its input stands beside it in the event."""

    summary: str = ""


ToolDetail = (
    CommandDetail
    | FileChangeDetail
    | ReadDetail
    | SearchDetail
    | WebDetail
    | SubagentDetail
    | TodoDetail
    | QuestionDetail
    | PlanDetail
    | McpDetail
    | OtherDetail
)
