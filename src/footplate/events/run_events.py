"""The values of the run view: started, action, completed, and the typed detail of an action.

One flat JSON object per event with every field present. `detail` has a `type` of its own, finer than the action's
kind: a `note` may be a thought, a to-do list or a question.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from footplate.events.base import Level, OptionalRaw, ResumeToken
from footplate.events.ids import MessageId, TaskId, ToolCallId
from footplate.events.model import McpServerStatus
from footplate.events.tools import ChangeKind, PlanEntry, Question

ActionKind = Literal["command", "file_change", "tool", "web_search", "note", "subagent", "warning"]
ActionPhase = Literal["started", "updated", "completed"]

NULL = msgspec.Raw(b"null")


class Summary(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a text is like without the text: its length, its first line, and whether there is more than that line."""

    chars: int
    first_line: str
    truncated: bool


class DetailBase(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", gc=False):
    """Base of all action details; the tag stands in `type`."""


class ToolFacts(DetailBase, frozen=True, kw_only=True):
    """What every tool call tells: the tool, its input with long strings cut, where it belongs, what came of it."""

    tool: str
    input: OptionalRaw = None
    message_id: MessageId | None = None
    parent_id: ToolCallId | None = None
    result: Summary | None = None

    def __post_init__(self) -> None:
        """JSON has one null: an absent input is None after a round trip too."""
        if self.input == NULL:
            msgspec.structs.force_setattr(self, "input", None)


class CommandAction(ToolFacts, frozen=True, kw_only=True, tag="command"):
    """A command line; exit code and output once it ended."""

    command: str = ""
    cwd: str = ""
    exit_code: int | None = None
    output: Summary | None = None


class Change(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One file that a call touches."""

    path: str
    kind: ChangeKind


class FileChangeAction(ToolFacts, frozen=True, kw_only=True, tag="file_change"):
    """Files written, edited, moved or removed."""

    changes: tuple[Change, ...] = ()


class ToolAction(ToolFacts, frozen=True, kw_only=True, tag="tool"):
    """A tool without fields of its own: reading, searching, MCP and whatever else there is."""


class WebAction(ToolFacts, frozen=True, kw_only=True, tag="web_search"):
    """A search on the web, or a page fetched."""

    query: str = ""
    url: str = ""


class SubagentAction(ToolFacts, frozen=True, kw_only=True, tag="subagent"):
    """An agent of the agent; actions of its own carry this action's id as `parent_id`."""

    description: str = ""
    prompt: str = ""
    agent_type: str = ""
    background: bool = False


class TodoNote(ToolFacts, frozen=True, kw_only=True, tag="todo"):
    """The agent's to-do list, as far as the call or the engine tells it."""

    entries: tuple[PlanEntry, ...] = ()


class QuestionNote(ToolFacts, frozen=True, kw_only=True, tag="question"):
    """Questions to a person, with the answers once they are known."""

    questions: tuple[Question, ...] = ()
    answers: dict[str, str] = {}


class PlanNote(ToolFacts, frozen=True, kw_only=True, tag="plan"):
    """A plan put up for approval."""

    plan: str = ""
    plan_file: str = ""


class ThoughtNote(DetailBase, frozen=True, kw_only=True, tag="thought"):
    """What the agent thought, as far as the engine shows it."""

    text: str
    message_id: MessageId
    parent_id: ToolCallId | None = None
    redacted: bool = False


class EngineNote(DetailBase, frozen=True, kw_only=True, tag="engine"):
    """What the engine has at hand at its start."""

    tools: tuple[str, ...] = ()
    mcp_servers: tuple[McpServerStatus, ...] = ()


class SessionNote(DetailBase, frozen=True, kw_only=True, tag="session"):
    """The conversation goes on under another id of the engine's: this one brings it back from here on."""

    resume: ResumeToken
    reason: str


class TextNote(DetailBase, frozen=True, kw_only=True, tag="text"):
    """Something told in words; `code` is stable, `call_id` the tool call it is about, `call_ids` those it sums up."""

    text: str = ""
    code: str = ""
    call_id: ToolCallId | None = None
    call_ids: tuple[ToolCallId, ...] = ()


class DenialWarning(DetailBase, frozen=True, kw_only=True, tag="denial"):
    """A tool call that was refused."""

    tool: str
    call_id: ToolCallId | None = None
    input: OptionalRaw = None

    def __post_init__(self) -> None:
        """JSON has one null: an absent input is None after a round trip too."""
        if self.input == NULL:
            msgspec.structs.force_setattr(self, "input", None)


class TasksWarning(DetailBase, frozen=True, kw_only=True, tag="tasks"):
    """Background work that had not ended when the run did."""

    tasks: tuple[TaskId, ...]


ActionDetail = (
    CommandAction
    | FileChangeAction
    | ToolAction
    | WebAction
    | SubagentAction
    | TodoNote
    | QuestionNote
    | PlanNote
    | ThoughtNote
    | EngineNote
    | SessionNote
    | TextNote
    | DenialWarning
    | TasksWarning
)


class RunEventBase(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", gc=False):
    """Base of the three run events; the tag stands in `type`."""


class RunMeta(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How the agent was started, as far as it was known when the run started."""

    cwd: str = ""
    tools: tuple[str, ...] = ()
    permission_mode: str = ""
    output_style: str = ""
    model: str = ""
    version: str = ""
    billing: str = ""


class Started(RunEventBase, frozen=True, kw_only=True, tag="started"):
    """The engine's session id is known. At most once; only warnings may come before it.

    `title` is the model, else the engine's name.
    """

    engine: str
    resume: ResumeToken
    title: str
    meta: RunMeta = RunMeta()


class Action(RunEventBase, frozen=True, kw_only=True, tag="action"):
    """Something the agent does or that befalls it. A started one is always completed, under the same id and title.

    `ok` is None until it is completed.
    """

    id: str
    kind: ActionKind
    title: str
    phase: ActionPhase
    ok: bool | None = None
    level: Level = "info"
    message: str = ""
    detail: ActionDetail


class Completed(RunEventBase, frozen=True, kw_only=True, tag="completed"):
    """The run is over: exactly once, and last. `error` is set exactly when `ok` is false.

    `usage` holds the engine's own figures untouched; where it gave none of its own, ours. They may count the whole
    conversation; `cost_usd` is what this run cost. `resume` is that of `Started`
    (or of the `session` note that announced another) and None only when no session was ever known.
    """

    ok: bool
    answer: str = ""
    error: str = ""
    resume: ResumeToken | None = None
    usage: OptionalRaw = None
    cost_usd: float | None = None
    structured_output: OptionalRaw = None

    def __post_init__(self) -> None:
        """JSON has one null: what is absent is None after a round trip too."""
        if self.usage == NULL:
            msgspec.structs.force_setattr(self, "usage", None)
        if self.structured_output == NULL:
            msgspec.structs.force_setattr(self, "structured_output", None)


RunEvent = Started | Action | Completed
