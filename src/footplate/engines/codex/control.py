"""What Codex asks of a person, and the answers: request in, request of ours out; answer in, result out. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Final, assert_never

import msgspec

from footplate.acp.jsonrpc import RpcId
from footplate.acp.schema.asking import CreateElicitationRequest
from footplate.engines.acp.control import Asked as Form
from footplate.engines.acp.control import answer_question, open_question
from footplate.engines.base import Options
from footplate.engines.codex.items import PATCH, SHELL, plain_command
from footplate.engines.codex.translate import Call
from footplate.engines.codex.wire import Asked, Elicitation, ElicitationMeta, Question, Wants, amending_decoder
from footplate.errors import InvalidValue, UnsupportedOption
from footplate.events.base import OptionalRaw
from footplate.events.ids import RequestId
from footplate.events.requests import Allow, Answer, Choose, Decline, Deny, OptionKind, Reply, Request, RequestOption
from footplate.events.tools import Choice, CommandDetail, ToolDetail
from footplate.events.tools import Question as Asking

NAME: Final = "codex"
TOOLS: Final[dict[Wants, str]] = {
    "command": SHELL,
    "change": PATCH,
    "permissions": "request_permissions",
    "question": "request_user_input",
    "mcp": "mcp",
    "form": "elicitation",
}
WRITE_STDIN: Final = "write_stdin"
"""Codex's tool that types into a terminal which a command left open; it asks for that as for a command."""
KINDS: Final[dict[Wants, str]] = {"command": "command", "change": "file_change", "mcp": "mcp"}
ACCEPT: Final = "accept"
FOR_SESSION: Final = "acceptForSession"
AMEND: Final = "acceptWithExecpolicyAmendment"
DECLINE: Final = "decline"
CANCEL: Final = "cancel"
LABELS: Final[dict[str, tuple[str, OptionKind]]] = {
    ACCEPT: ("Yes", "allow_once"),
    FOR_SESSION: ("Yes, and for this session", "allow_session"),
    AMEND: ("Yes, and always", "allow_always"),
    DECLINE: ("No", "deny"),
    CANCEL: ("No, and stop", "deny_and_stop"),
}
PERSISTS: Final = {FOR_SESSION: "session", AMEND: "always"}
"""How long the leave to call a tool of a server lasts."""
SESSION_RULES: Final[dict[Wants, str]] = {
    "command": "the same command",
    "change": "any change of these files",
    "permissions": "these permissions",
}
USUAL: Final = (ACCEPT, FOR_SESSION, DECLINE, CANCEL)
Decision = str | msgspec.Raw


class Open(msgspec.Struct, kw_only=True):
    """A request of Codex that has no end yet."""

    id: RpcId
    wants: Wants
    request: Request
    decisions: dict[str, Decision]
    permissions: OptionalRaw = None
    questions: tuple[Question, ...] = ()
    form: Form | None = None
    answered: bool = False
    denied: bool = False


def open_request(rpc_id: RpcId, request: RequestId, wants: Wants, asked: Asked, call: Call | None) -> Open:
    """A request as one of ours. For a change of files Codex names its call alone: the call knows what changes."""
    decisions = _decisions(wants, asked)
    command = plain_command(asked.command or "")
    title = call.read.title if call is not None else ""
    questions = tuple(map(_question, asked.questions))
    return Open(
        id=rpc_id,
        wants=wants,
        decisions=decisions,
        permissions=asked.permissions,
        questions=asked.questions,
        request=Request(
            id=request,
            kind="question" if wants == "question" else "permission",
            title=(questions[0].text if questions else "") or command or title or asked.reason or TOOLS[wants],
            tool=WRITE_STDIN if asked.kind == "writeStdin" else TOOLS[wants],
            call=call.id if call is not None else None,
            reason=asked.reason or "",
            blocked_path=asked.grant_root or "",
            input=_input(asked, command, call),
            detail=_detail(asked, command, call) if wants in KINDS else None,
            options=tuple(
                _option(name, _describe_lasting(wants, asked, decision)) for name, decision in decisions.items()
            ),
            questions=questions,
        ),
    )


def open_tool(rpc_id: RpcId, request: RequestId, asked: Elicitation, call: Call | None, *, tool: str) -> Open:
    """The leave to call a tool of an MCP server, which Codex asks for as a form without fields."""
    meta = asked.meta or ElicitationMeta()
    lasting = (meta.persist,) if isinstance(meta.persist, str) else meta.persist or ()
    names = [name for name in LABELS if name not in PERSISTS or PERSISTS[name] in lasting]
    return Open(
        id=rpc_id,
        wants="mcp",
        decisions={name: name for name in names},
        request=Request(
            id=request,
            kind="permission",
            title=asked.message,
            tool=tool,
            call=call.id if call is not None else None,
            input=_parameters(meta, call),
            detail=call.read.detail if call is not None else None,
            options=tuple(_option(name, f"{tool}, with any input" if name in PERSISTS else "") for name in names),
        ),
    )


def _parameters(meta: ElicitationMeta, call: Call | None) -> OptionalRaw:
    if meta.tool_params is not None:
        return meta.tool_params.copy()
    return call.read.input if call is not None else None


def open_form(rpc_id: RpcId, request: RequestId, asked: CreateElicitationRequest) -> Open:
    """A form of an MCP server, which is the same as ACP has it."""
    form = open_question(rpc_id, request, asked, None)
    return Open(id=rpc_id, wants="form", decisions={}, request=form.request, form=form)


def _decisions(wants: Wants, asked: Asked) -> dict[str, Decision]:
    """Every way to answer, under its name. To decline is always taken, whether Codex lists it or not."""
    if wants == "question":
        return {}
    if wants != "command" or asked.available_decisions is None:
        return {name: name for name in USUAL}
    found: dict[str, Decision] = {}
    for raw in asked.available_decisions:
        value = msgspec.json.decode(raw)
        name = value if isinstance(value, str) else next(iter(value), "") if isinstance(value, dict) else ""
        if name in LABELS and value != AMEND:  # a rule that Codex does not name cannot be approved
            found[name] = name if isinstance(value, str) else raw.copy()
    return {name: found.get(name, name) for name in LABELS if name in found or name in (ACCEPT, DECLINE, CANCEL)}


def _option(name: str, lasting: str) -> RequestOption:
    """`lasting`: what it allows beyond the one call, as far as Codex says."""
    label, kind = LABELS[name]
    return RequestOption(id=name, label=f"{label}: {lasting}" if lasting else label, kind=kind)


def _describe_lasting(wants: Wants, asked: Asked, decision: Decision) -> str:
    """What a decision allows beyond the one call: for the session, what Codex compares later calls by."""
    if decision != FOR_SESSION:
        return _describe_rule(decision)
    if wants == "command" and asked.network_approval_context is not None:
        return "any access to this host"
    return SESSION_RULES.get(wants, "")


def _describe_rule(decision: Decision) -> str:
    """The rule of a decision that has one, each of its words as Codex compares it."""
    if isinstance(decision, str):
        return ""
    try:
        words = amending_decoder.decode(decision).accept_with_execpolicy_amendment.execpolicy_amendment
    except msgspec.ValidationError:
        return f"the rule {bytes(decision).decode()}"
    quoted = (word if shlex.quote(word) == word else msgspec.json.encode(word).decode() for word in words)
    return f"commands that begin with {' '.join(quoted)}"


def _input(asked: Asked, command: str, call: Call | None) -> OptionalRaw:
    """The command with what it is to be given beyond the sandbox: to allow it is to allow that, too."""
    if asked.permissions is not None:
        return asked.permissions.copy()
    if not command:
        return call.read.input if call is not None else None
    beyond = {
        "networkApprovalContext": asked.network_approval_context,
        "additionalPermissions": asked.additional_permissions,
    }
    given = {name: value for name, value in beyond.items() if value is not None and bytes(value) != b"null"}
    return msgspec.Raw(msgspec.json.encode({"command": command, "cwd": asked.cwd or "", **given}))


def _detail(asked: Asked, command: str, call: Call | None) -> ToolDetail | None:
    if command:
        return CommandDetail(command=command, cwd=asked.cwd or "")
    return call.read.detail if call is not None else None


def _question(question: Question) -> Asking:
    choices = tuple(Choice(label=each.label, description=each.description) for each in question.options or ())
    return Asking(text=question.question, header=question.header, choices=choices)


# ------------------------------------------------------------------------------------------------- answers


def answer_request(asked: Open, answer: Answer) -> tuple[object, bool]:
    """The result to write, and whether it denies. Raises `RequestError` for an answer that does not fit."""
    if asked.form is not None:
        response, goes_on = answer_question(asked.form, answer)
        return {"action": response.action, "content": response.content}, not goes_on
    if asked.wants == "question":
        return _reply(asked, answer)
    name = _decide(asked, answer)
    denied = name in (DECLINE, CANCEL)
    if asked.wants == "permissions":
        return _grant(asked, name), denied
    if asked.wants == "mcp":
        return call_tool(name), denied
    return {"decision": asked.decisions[name]}, denied


def _decide(asked: Open, answer: Answer) -> str:
    match answer:
        case Choose():
            if answer.option not in asked.decisions:
                raise InvalidValue("option", answer.option, f"one of {', '.join(asked.decisions)}")
            return answer.option
        case Allow():
            return _allow(asked, answer)
        case Deny():
            return CANCEL if answer.interrupt else DECLINE
        case Decline():
            return DECLINE
        case Reply():
            raise InvalidValue("answer", "reply", "allow, deny, or one of the options")
        case _:
            assert_never(answer)


def _allow(asked: Open, answer: Allow) -> str:
    if answer.updated_input is not None:
        raise UnsupportedOption(NAME, "a changed input", "deny, and tell the agent what to do instead")
    if answer.scope == "always":
        if AMEND not in asked.decisions:
            raise InvalidValue("scope", answer.scope, f"one of Codex's own options: {', '.join(asked.decisions)}")
        return AMEND
    return FOR_SESSION if answer.scope == "session" and FOR_SESSION in asked.decisions else ACCEPT


def _grant(asked: Open, name: str) -> object:
    """Permissions are granted as what was asked for, or as nothing; a word of decision is not taken here."""
    granted = asked.permissions if name in (ACCEPT, FOR_SESSION) else None
    scope = "session" if name == FOR_SESSION else "turn"
    return {"permissions": msgspec.Raw(b"{}") if granted is None else granted, "scope": scope}


def call_tool(name: str) -> object:
    """The answer to the wish to call a tool of a server."""
    if name in (DECLINE, CANCEL):
        return {"action": name, "content": None}
    lasts = PERSISTS.get(name)
    return {"action": "accept", "content": {}} | ({"_meta": {"persist": lasts}} if lasts else {})


def _reply(asked: Open, answer: Answer) -> tuple[object, bool]:
    match answer:
        case Reply():
            return {"answers": _answers(asked.questions, answer.answers)}, False
        case Choose():
            text = asked.questions[0].question if asked.questions else ""
            return {"answers": _answers(asked.questions, {text: answer.option})}, False
        case Decline() | Deny():
            return {"answers": {}}, True
        case Allow():
            raise InvalidValue("answer", "allow", "a reply to the questions, or decline")
        case _:
            assert_never(answer)


def _answers(questions: tuple[Question, ...], given: Mapping[str, str | list[str]]) -> dict[str, object]:
    """The answers by the ids of the questions; a request without questions has none."""
    names = {question.question: question.id for question in questions}
    answers: dict[str, object] = {}
    for text, words in given.items() if names else ():
        if text not in names:
            raise InvalidValue("question", text, f"one of {', '.join(map(repr, names))}")
        answers[names[text]] = {"answers": [words] if isinstance(words, str) else words}
    return answers


# -------------------------------------------------------------------------------------------------- policy


def refusal(wants: Wants) -> object:
    """No, where nobody can be asked."""
    if wants == "question":
        return {"answers": {}}
    if wants in ("mcp", "form"):
        return {"action": "decline", "content": None}
    return {"permissions": {}, "scope": "turn"} if wants == "permissions" else {"decision": DECLINE}


def leave(wants: Wants) -> object:
    """Yes, once, for a tool that the settings allow."""
    return call_tool(ACCEPT) if wants == "mcp" else {"decision": ACCEPT}


def is_allowed(options: Options, wants: Wants, tool: str) -> bool:
    """Whether the settings allow the tool by name or kind; a tool that nobody named is not."""
    return wants in KINDS and _named(options.allow_tools or (), wants, tool) and not is_denied(options, wants, tool)


def is_denied(options: Options, wants: Wants, tool: str) -> bool:
    """Whether the settings forbid the tool by name or kind."""
    return _named(options.deny_tools, wants, tool)


def _named(tools: tuple[str, ...], wants: Wants, tool: str) -> bool:
    return any(each.lower() in (tool.lower(), KINDS.get(wants)) for each in tools)
