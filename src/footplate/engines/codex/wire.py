"""Messages of `codex app-server` as tolerant structs: what we act on, and nothing else. Unknown fields are let pass."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from footplate.events.base import OptionalRaw


class Wire(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of all of them: camelCase on the wire."""


# ------------------------------------------------------------------------------------------------- threads


class Thread(Wire, frozen=True, kw_only=True):
    """A conversation."""

    id: str
    cli_version: str = ""
    name: str | None = None


class SandboxPolicy(Wire, frozen=True, kw_only=True):
    """What a command may touch."""

    type: str = ""


class ThreadOpened(Wire, frozen=True, kw_only=True):
    """The answer to `thread/start`, `thread/resume` and `thread/fork`."""

    thread: Thread
    model: str = ""
    reasoning_effort: str | None = None
    approval_policy: OptionalRaw = None
    sandbox: SandboxPolicy = SandboxPolicy()


class Effort(Wire, frozen=True, kw_only=True):
    """One way to think."""

    reasoning_effort: str = ""
    description: str = ""


class Model(Wire, frozen=True, kw_only=True):
    """A model that can be chosen."""

    model: str
    display_name: str = ""
    description: str = ""
    hidden: bool = False
    supported_reasoning_efforts: tuple[Effort, ...] = ()


class ModelList(Wire, frozen=True, kw_only=True):
    """The answer to `model/list`."""

    data: tuple[Model, ...] = ()


# --------------------------------------------------------------------------------------------------- turns


class TurnError(Wire, frozen=True, kw_only=True):
    """Why a turn failed, or a call of the model will be tried again."""

    message: str = ""
    additional_details: str | None = None
    codex_error_info: OptionalRaw = None


class Turn(Wire, frozen=True, kw_only=True):
    """A turn, as its start, its end and the answer to `turn/start` tell it."""

    id: str
    status: str = ""
    error: TurnError | None = None
    duration_ms: int | None = None


class TurnAnswer(Wire, frozen=True, kw_only=True):
    """The answer to `turn/start`."""

    turn: Turn


class Counts(Wire, frozen=True, kw_only=True):
    """Tokens. Those from the cache are part of the input."""

    total_tokens: int = 0
    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0


class TokenUsage(Wire, frozen=True, kw_only=True):
    """`last` is one call of the model; `total` is all of the thread, which is nobody's turn."""

    last: Counts = Counts()
    model_context_window: int | None = None


class PlanStep(Wire, frozen=True, kw_only=True):
    """One entry of the plan."""

    step: str
    status: str = ""


class ChangeKind(Wire, frozen=True, kw_only=True):
    """What happens to a file."""

    type: str = "update"
    move_path: str | None = msgspec.field(name="move_path", default=None)


class Change(Wire, frozen=True, kw_only=True):
    """One file; `diff` is the whole text of one that is new or removed."""

    path: str
    kind: ChangeKind = ChangeKind()
    diff: str = ""


class Told(Wire, frozen=True, kw_only=True):
    """The parameters of any notification about a thread: whose it is, and what those that we know carry."""

    thread_id: str = ""
    turn_id: str = ""
    item_id: str = ""
    turn: Turn | None = None
    item: OptionalRaw = None
    delta: str = ""
    summary_index: int = 0
    content_index: int = 0
    token_usage: TokenUsage | None = None
    plan: tuple[PlanStep, ...] = ()
    error: TurnError | None = None
    will_retry: bool = False
    message: str = ""
    summary: str = ""
    details: str | None = None
    thread_name: str | None = None
    from_model: str = ""
    to_model: str = ""
    request_id: int | str | None = None
    changes: tuple[Change, ...] = ()


# --------------------------------------------------------------------------------------------------- items


class Item(Wire, frozen=True, kw_only=True, tag_field="type"):
    """Base of items; the tag stands in `type`."""

    id: str


class UserMessage(Item, frozen=True, kw_only=True, tag="userMessage"):
    """A prompt as Codex took it up; what it holds we have sent."""


class AgentMessage(Item, frozen=True, kw_only=True, tag="agentMessage"):
    """What the agent says."""

    text: str = ""


class PlanItem(Item, frozen=True, kw_only=True, tag="plan"):
    """The plan that plan mode comes to."""

    text: str = ""


class Reasoning(Item, frozen=True, kw_only=True, tag="reasoning"):
    """What it thinks, in parts."""

    summary: tuple[str, ...] = ()
    content: tuple[str, ...] = ()


class CommandExecution(Item, frozen=True, kw_only=True, tag="commandExecution"):
    """A command."""

    command: str = ""
    cwd: str = ""
    status: str = ""
    aggregated_output: str | None = None
    exit_code: int | None = None


class FileChange(Item, frozen=True, kw_only=True, tag="fileChange"):
    """Changes of files, also when a shell command made them by way of a patch."""

    status: str = ""
    changes: tuple[Change, ...] = ()


class Failure(Wire, frozen=True, kw_only=True):
    """Why a tool of a server failed."""

    message: str = ""


class McpToolCall(Item, frozen=True, kw_only=True, tag="mcpToolCall"):
    """A tool of an MCP server."""

    server: str = ""
    tool: str = ""
    status: str = ""
    arguments: OptionalRaw = None
    result: OptionalRaw = None
    error: Failure | None = None


class DynamicToolCall(Item, frozen=True, kw_only=True, tag="dynamicToolCall"):
    """A tool of somebody else."""

    tool: str = ""
    status: str = ""
    arguments: OptionalRaw = None
    content_items: OptionalRaw = None


class CollabCall(Item, frozen=True, kw_only=True, tag="collabAgentToolCall"):
    """A call that starts an agent of the agent, or speaks with it; each is a thread."""

    tool: str = ""
    status: str = ""
    prompt: str | None = None
    receiver_thread_ids: tuple[str, ...] = ()


class WebSearch(Item, frozen=True, kw_only=True, tag="webSearch"):
    """A search on the web."""

    query: str = ""


class ImageView(Item, frozen=True, kw_only=True, tag="imageView"):
    """A picture that was looked at."""

    path: str = ""


class Compaction(Item, frozen=True, kw_only=True, tag="contextCompaction"):
    """The context was shortened."""


ToolItem = CommandExecution | FileChange | McpToolCall | DynamicToolCall | CollabCall | WebSearch | ImageView
AnyItem = UserMessage | AgentMessage | PlanItem | Reasoning | Compaction | ToolItem

item_decoder: Final = msgspec.json.Decoder(AnyItem)
told_decoder: Final = msgspec.json.Decoder(Told)


# ------------------------------------------------------------------------------------------------ requests


class Choice(Wire, frozen=True, kw_only=True):
    """One option of a question."""

    label: str
    description: str = ""


class Question(Wire, frozen=True, kw_only=True):
    """One question."""

    id: str
    question: str = ""
    header: str = ""
    options: tuple[Choice, ...] | None = None


class Asked(Wire, frozen=True, kw_only=True):
    """The parameters of any request to a person."""

    thread_id: str
    turn_id: str = ""
    item_id: str = ""
    command: str | None = None
    cwd: str | None = None
    reason: str | None = None
    grant_root: str | None = None
    available_decisions: tuple[msgspec.Raw, ...] | None = None
    kind: str = "command"
    network_approval_context: OptionalRaw = None
    additional_permissions: OptionalRaw = None
    permissions: OptionalRaw = None
    questions: tuple[Question, ...] = ()


class Amendment(msgspec.Struct, frozen=True):
    """A rule that Codex would keep: the words that a command begins with."""

    execpolicy_amendment: tuple[str, ...]


class AmendingDecision(Wire, frozen=True, kw_only=True):
    """The decision that keeps the rule."""

    accept_with_execpolicy_amendment: Amendment


class ElicitationMeta(msgspec.Struct, frozen=True, kw_only=True):
    """What Codex says of a form: `mcp_tool_call` asks for leave to call a tool, once or as long as `persist` says."""

    codex_approval_kind: str = ""
    persist: tuple[str, ...] | str | None = None
    tool_params: OptionalRaw = None


class Elicitation(Wire, frozen=True, kw_only=True):
    """The parameters of a form of an MCP server, or of Codex on behalf of one."""

    thread_id: str
    server_name: str = ""
    mode: str = ""
    message: str = ""
    meta: ElicitationMeta | None = msgspec.field(name="_meta", default=None)


elicitation_decoder: Final = msgspec.json.Decoder(Elicitation)
ELICITATION: Final = "mcpServer/elicitation/request"

Wants = Literal["command", "change", "permissions", "question", "mcp", "form"]
WANTS: Final[dict[str, Wants]] = {
    "item/commandExecution/requestApproval": "command",
    "item/fileChange/requestApproval": "change",
    "item/permissions/requestApproval": "permissions",
    "item/tool/requestUserInput": "question",
}
asked_decoder: Final = msgspec.json.Decoder(Asked)
amending_decoder: Final = msgspec.json.Decoder(AmendingDecision)
