"""The one table of Claude's tools: name -> kind, title, typed detail.

Names match whatever their capitals. Inputs are written by a model, so every field may be missing, misnamed or of the
wrong type: what cannot be read is left out, and the whole input stands beside the detail in the event anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Literal

import msgspec

from footplate.engines.claude.lenient import read, read_struct
from footplate.engines.claude.wire import TEXT, Part
from footplate.events.base import OptionalRaw
from footplate.events.tools import (
    Choice,
    CommandDetail,
    EntryStatus,
    FileChange,
    FileChangeDetail,
    McpDetail,
    OtherDetail,
    PlanDetail,
    PlanEntry,
    Question,
    QuestionDetail,
    ReadDetail,
    SearchDetail,
    SubagentDetail,
    TodoDetail,
    ToolDetail,
    ToolKind,
    WebDetail,
)

TITLE_LIMIT: Final = 500
STATUSES: Final[dict[str, EntryStatus]] = {"in_progress": "in_progress", "completed": "completed"}


class ChoiceWire(Part, frozen=True, kw_only=True):
    """One option of a question."""

    label: str = ""
    description: str = ""
    preview: str = ""


class QuestionWire(Part, frozen=True, kw_only=True):
    """One question of AskUserQuestion."""

    question: str = ""
    header: str = ""
    multi_select: bool = msgspec.field(default=False, name="multiSelect")
    options: tuple[ChoiceWire, ...] = ()


class TodoWire(Part, frozen=True, kw_only=True):
    """One entry of TodoWrite, or one task of TaskList."""

    id: str = ""
    content: str = ""
    subject: str = ""
    status: str = ""
    active_form: str = msgspec.field(default="", name="activeForm")
    priority: str = ""


class EditWire(Part, frozen=True, kw_only=True):
    """One replacement of MultiEdit."""

    old_string: OptionalRaw = None
    new_string: OptionalRaw = None


class ToolInput(Part, frozen=True, kw_only=True):
    """Every field of every tool's input that a title or a detail is made of."""

    command: str = ""
    description: str = ""
    command_description: str = ""
    run_in_background: bool = False
    shell_id: str = ""
    file_path: str = ""
    path: str = ""
    notebook_path: str = ""
    content: OptionalRaw = None
    new_source: OptionalRaw = None
    old_string: OptionalRaw = None
    new_string: OptionalRaw = None
    edits: tuple[EditWire, ...] = ()
    offset: int | None = None
    limit: int | None = None
    pattern: str = ""
    query: str = ""
    url: str = ""
    prompt: str = ""
    subagent_type: str = ""
    todos: tuple[TodoWire, ...] = ()
    subject: str = ""
    active_form: str = msgspec.field(default="", name="activeForm")
    status: str = ""
    questions: tuple[QuestionWire, ...] = ()
    plan: str = ""
    plan_file_path: str = msgspec.field(default="", name="planFilePath")

    @property
    def file(self) -> str:
        """The file it is about, under whichever name."""
        return self.file_path or self.path or self.notebook_path


class Subject(msgspec.Struct, frozen=True, gc=False):
    """A call as the table sees it: its input, its name, the run's folder."""

    given: ToolInput
    name: str
    cwd: str


class Described(msgspec.Struct, frozen=True, gc=False):
    """What a call is, for people and for programs."""

    kind: ToolKind
    title: str
    detail: ToolDetail


INPUT: Final = msgspec.json.Decoder(ToolInput)
NO_INPUT: Final = ToolInput()
Describe = Callable[[Subject], tuple[str, ToolDetail]]
"""From a call to its title and its detail."""


def describe_call(name: str, raw: msgspec.Raw | None, cwd: str) -> Described:
    """What the call is. Without an input (it still streams) the title is the tool's name."""
    kind, describe = find_tool(name)
    given = read_struct(INPUT, raw) or NO_INPUT
    title, detail = describe(Subject(given, name, cwd))
    return Described(kind, clip_title(title) or name, detail)


def kind_of(name: str) -> ToolKind:
    """The kind alone, where nothing of the input is known."""
    return find_tool(name)[0]


def find_tool(name: str) -> tuple[ToolKind, Describe]:
    """The entry of the table; a tool of an MCP server is known by its name, any other is `other`."""
    known = TOOLS.get(name.lower())
    if known is not None:
        return known
    return ("mcp", _mcp) if name.startswith("mcp__") else ("other", _other)


def relative_to(path: str, cwd: str) -> str:
    """The path as seen from the run's folder, when it lies inside."""
    inside = path.removeprefix(cwd.rstrip("/") + "/") if cwd else path
    return inside or path


def clip_title(text: str) -> str:
    """A title of bearable length."""
    text = text.strip()
    return text if len(text) <= TITLE_LIMIT else text[: TITLE_LIMIT - 1] + "…"


def entries_of(todos: Iterable[TodoWire]) -> tuple[PlanEntry, ...]:
    """To-dos as plan entries."""
    return tuple(
        PlanEntry(
            content=todo.content or todo.subject,
            status=STATUSES.get(todo.status, "pending"),
            priority=_PRIORITIES.get(todo.priority, ""),
            active_form=todo.active_form,
        )
        for todo in todos
    )


def questions_of(questions: Iterable[QuestionWire]) -> tuple[Question, ...]:
    """Questions to a person."""
    return tuple(
        Question(
            text=question.question,
            header=question.header,
            multiple=question.multi_select,
            choices=tuple(
                Choice(label=option.label, description=option.description, preview=option.preview)
                for option in question.options
            ),
        )
        for question in questions
    )


def _command(call: Subject) -> tuple[str, ToolDetail]:
    detail = CommandDetail(
        command=call.given.command,
        cwd=call.cwd,
        description=call.given.description or call.given.command_description,
        background=call.given.run_in_background,
    )
    return call.given.command, detail


def _kill(call: Subject) -> tuple[str, ToolDetail]:
    return f"stop {call.given.shell_id}" if call.given.shell_id else "", CommandDetail(command="", cwd=call.cwd)


def _write(call: Subject) -> tuple[str, ToolDetail]:
    change = FileChange(path=call.given.file, new_text=read(TEXT, call.given.content))
    return relative_to(call.given.file, call.cwd), FileChangeDetail(changes=(change,))


def _edit(call: Subject) -> tuple[str, ToolDetail]:
    pairs = call.given.edits or (
        EditWire(old_string=call.given.old_string, new_string=call.given.new_string or call.given.new_source),
    )
    changes = tuple(
        FileChange(path=call.given.file, old_text=read(TEXT, pair.old_string), new_text=read(TEXT, pair.new_string))
        for pair in pairs
    )
    return relative_to(call.given.file, call.cwd), FileChangeDetail(changes=changes)


def _read(call: Subject) -> tuple[str, ToolDetail]:
    title = f"{call.name} {relative_to(call.given.file, call.cwd)}" if call.given.file else ""
    return title, ReadDetail(path=call.given.file, offset=call.given.offset, limit=call.given.limit)


def _search(call: Subject) -> tuple[str, ToolDetail]:
    return call.given.pattern, SearchDetail(pattern=call.given.pattern, path=call.given.path)


def _web(call: Subject) -> tuple[str, ToolDetail]:
    return call.given.query or call.given.url, WebDetail(query=call.given.query, url=call.given.url)


def _todo(call: Subject) -> tuple[str, ToolDetail]:
    single = (TodoWire(subject=call.given.subject, status=call.given.status, active_form=call.given.active_form),)
    todos = call.given.todos or (single if call.given.subject else ())
    return "update todos", TodoDetail(entries=entries_of(todos))


def _question(call: Subject) -> tuple[str, ToolDetail]:
    return "ask user", QuestionDetail(questions=questions_of(call.given.questions))


def _plan(call: Subject) -> tuple[str, ToolDetail]:
    return "plan", PlanDetail(plan=call.given.plan, plan_file=call.given.plan_file_path)


def _subagent(call: Subject) -> tuple[str, ToolDetail]:
    detail = SubagentDetail(
        description=call.given.description,
        prompt=call.given.prompt,
        agent_type=call.given.subagent_type,
        background=call.given.run_in_background,
    )
    return call.given.description or call.given.prompt, detail


def _mcp(call: Subject) -> tuple[str, ToolDetail]:
    server, _, tool = call.name.removeprefix("mcp__").partition("__")
    return f"{server} {tool}".strip(), McpDetail(server=server, tool=tool)


def _other(call: Subject) -> tuple[str, ToolDetail]:
    return call.name, OtherDetail(summary=clip_title(call.given.description))


_PRIORITIES: Final[dict[str, Literal["high", "medium", "low"]]] = {"high": "high", "medium": "medium", "low": "low"}

TOOLS: Final[dict[str, tuple[ToolKind, Describe]]] = {
    "bash": ("command", _command),
    "shell": ("command", _command),
    "killshell": ("command", _kill),
    "write": ("file_change", _write),
    "edit": ("file_change", _edit),
    "multiedit": ("file_change", _edit),
    "notebookedit": ("file_change", _edit),
    "read": ("read", _read),
    "glob": ("search", _search),
    "grep": ("search", _search),
    "websearch": ("web", _web),
    "webfetch": ("web", _web),
    "todowrite": ("todo", _todo),
    "todoread": ("todo", _todo),
    "taskcreate": ("todo", _todo),
    "taskupdate": ("todo", _todo),
    "tasklist": ("todo", _todo),
    "taskget": ("todo", _todo),
    "askuserquestion": ("question", _question),
    "exitplanmode": ("plan", _plan),
    "task": ("subagent", _subagent),
    "agent": ("subagent", _subagent),
}
