"""What an ACP agent asks of a person, and the answers: frame in, request out; answer in, frame out. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, assert_never

import msgspec

from footplate.acp.content import tool_blocks
from footplate.acp.jsonrpc import RpcId
from footplate.acp.meta import message_meta
from footplate.acp.schema.asking import (
    CreateElicitationRequest,
    CreateElicitationResponse,
    ElicitationPropertySchema,
    EnumOption,
    PermissionOption,
    RequestPermissionOutcome,
    RequestPermissionRequest,
    RequestPermissionResponse,
)
from footplate.engines.acp.calls import Call
from footplate.engines.base import Options
from footplate.errors import InvalidValue, UnsupportedOption
from footplate.events.content import ContentBlock, DiffBlock, TerminalBlock, TextBlock
from footplate.events.ids import RequestId
from footplate.events.inputs import describe_block
from footplate.events.requests import (
    YES_OR_NO,
    Allow,
    Answer,
    Choose,
    Decline,
    Deny,
    OptionKind,
    Reply,
    Request,
    RequestOption,
)
from footplate.events.tools import Choice, FileChangeDetail, Question, ToolDetail

KINDS: Final[dict[str, OptionKind]] = {
    "allow_once": "allow_once",
    "allow_always": "allow_always",
    "reject_once": "deny",
    "reject_always": "deny",
}
SCOPES: Final[dict[str, tuple[str, ...]]] = {
    "once": ("allow_once",),
    "exact": ("allow_once",),
    "session": ("allow_once",),
    "always": ("allow_always",),
}
"""Which options fit a scope. ACP has no option for a session: the session itself keeps the rule (exactly this call)."""

REJECTIONS: Final = ("reject_once", "reject_always")
FormValue = str | int | float | bool | tuple[str, ...]
CUSTOM: Final = "_custom"
"""How claude-agent-acp calls the field for an answer in one's own words, behind the name of the question's field."""
AGREED: Final = ("yes", "true")


class Asked(msgspec.Struct, kw_only=True):
    """A request of the agent that has no end yet."""

    id: RpcId
    request: Request
    options: tuple[PermissionOption, ...] = ()
    form: Mapping[str, ElicitationPropertySchema] | None = None
    call: str | None = None
    answered: bool = False


def open_permission(rpc_id: RpcId, request: RequestId, params: RequestPermissionRequest, call: Call) -> Asked:
    """A permission, or a plan to be approved, as a request of ours."""
    shown = tool_blocks(params.tool_call.content) if params.tool_call.content else call.content
    texts = [block.text for block in shown if isinstance(block, TextBlock)]
    beside = tuple(block for block in shown if not isinstance(block, TextBlock | DiffBlock | TerminalBlock))
    plan = call.kind == "plan"
    detail = call.asked_detail(shown)
    return Asked(
        id=rpc_id,
        call=params.tool_call.tool_call_id,
        options=params.options,
        request=Request(
            id=request,
            kind="plan" if plan else "permission",
            title=call.title,
            tool=call.name,
            call=call.id,
            input=call.input,
            description="" if plan else "\n".join([*texts, *_unnamed_paths(call, detail)]),
            detail=None if plan else detail,
            content=() if plan else beside,
            options=tuple(
                RequestOption(id=option.option_id, label=option.name, kind=KINDS.get(option.kind, "other"))
                for option in params.options
            ),
            plan="\n\n".join((call.plan, *map(_describe_beside, beside))) if plan else "",
        ),
    )


def _unnamed_paths(call: Call, detail: ToolDetail) -> list[str]:
    """The files of a call that neither its title nor its input nor a change names."""
    named = f"{call.title}\n{bytes(call.input or b'').decode('utf-8', 'replace')}"
    changed = {change.path for change in detail.changes} if isinstance(detail, FileChangeDetail) else set()
    paths = dict.fromkeys(place.path for place in call.locations)
    return [f"file: {path}" for path in paths if path not in named and path not in changed]


def _describe_beside(block: ContentBlock) -> str:
    """What a plan shows beside its text."""
    field = describe_block(block)
    return f"{field.name}:\n{field.text}"


def open_question(rpc_id: RpcId, request: RequestId, params: CreateElicitationRequest, call: Call | None) -> Asked:
    """A form as questions of ours, one per field; one without fields asks for a yes or no (see `Request`)."""
    form = (params.requested_schema.properties if params.requested_schema else None) or {}
    names = _asked_fields(form)
    return Asked(
        id=rpc_id,
        call=params.tool_call_id if call else None,
        form=form,
        request=Request(
            id=request,
            kind="question",
            title=params.message,
            description=(form[names[0]].description or "") if len(names) == 1 else params.message if names else "",
            tool=call.name if call else "",
            call=call.id if call else None,
            input=msgspec.Raw(msgspec.json.encode(form)),
            questions=tuple(_question(name, params.message, form) for name in names),
        ),
    )


def _asked_fields(form: Mapping[str, ElicitationPropertySchema]) -> list[str]:
    """The fields that are questions of their own: free text beside choices is part of every question of ours."""
    return [name for name in form if not (name.endswith(CUSTOM) and name.removesuffix(CUSTOM) in form)]


def _question(name: str, message: str, form: Mapping[str, ElicitationPropertySchema]) -> Question:
    field = form[name]
    return Question(
        text=_wording(name, message, form),
        header=field.title or "",
        choices=YES_OR_NO if field.type == "boolean" else tuple(map(_choice, _values(field))),
        multiple=field.type == "array",
    )


def _wording(name: str, message: str, form: Mapping[str, ElicitationPropertySchema]) -> str:
    """How the question reads, which is also how an answer names it."""
    field = form[name]
    return message if len(_asked_fields(form)) == 1 else field.description or field.title or name


def _choice(value: EnumOption) -> Choice:
    return Choice(label=value.title, description=value.description or "")


def _values(field: ElicitationPropertySchema) -> tuple[EnumOption, ...]:
    titled = field.one_of or (field.items.any_of if field.items else None)
    plain = field.enum or (field.items.enum if field.items else None)
    return titled or tuple(EnumOption(const=value, title=value) for value in plain or ())


# ------------------------------------------------------------------------------------------------ answers


def answer_permission(engine: str, asked: Asked, answer: Answer) -> tuple[RequestPermissionResponse, bool]:
    """The response to a permission, and whether it lets the call go on. Raises `RequestError` for what cannot be."""
    match answer:
        case Choose():
            option = next((option for option in asked.options if option.option_id == answer.option), None)
            if option is None:
                raise InvalidValue("option", answer.option, f"one of {_listed(asked)}")
            return select(option.option_id), option.kind not in REJECTIONS
        case Allow():
            return select(_allowing(engine, asked, answer)), True
        case Deny():
            return reject(asked.options, answer.message), False
        case Reply() | Decline():
            raise InvalidValue("answer", type(answer).__name__, f"one of {_listed(asked)}")
        case _:
            assert_never(answer)


def _allowing(engine: str, asked: Asked, answer: Allow) -> str:
    if answer.updated_input is not None:
        raise UnsupportedOption(engine, "a changed input", "deny, and tell the agent what to do instead")
    option = find_option(asked.options, SCOPES[answer.scope])
    if option is None:
        raise InvalidValue("scope", answer.scope, f"one of the agent's own options: {_listed(asked)}")
    return option


def find_option(options: tuple[PermissionOption, ...], kinds: tuple[str, ...]) -> str | None:
    """The first option of the first of these kinds. Ids differ between agents; only the kind is portable."""
    for kind in kinds:
        for option in options:
            if option.kind == kind:
                return option.option_id
    return None


def reject(options: tuple[PermissionOption, ...], message: str = "") -> RequestPermissionResponse:
    """No; ACP has no place for words beside it, so they go into `_meta`."""
    option = find_option(options, REJECTIONS)
    return select(option, message) if option is not None else cancelled()


def cancelled() -> RequestPermissionResponse:
    """Nobody will answer: the turn was cancelled, or there is no way to say no."""
    return RequestPermissionResponse(outcome=RequestPermissionOutcome(outcome="cancelled"))


def select(option: str, message: str = "") -> RequestPermissionResponse:
    """This option."""
    return RequestPermissionResponse(
        outcome=RequestPermissionOutcome(outcome="selected", option_id=option), meta=message_meta(message)
    )


def _listed(asked: Asked) -> str:
    return ", ".join(option.option_id for option in asked.options)


def answer_question(asked: Asked, answer: Answer) -> tuple[CreateElicitationResponse, bool]:
    """The response to a form, and whether it is an answer. Raises `InvalidValue` for one that does not fit."""
    form = asked.form or {}
    match answer:
        case Reply() if not form:
            return _confirm(answer)
        case Reply():
            return CreateElicitationResponse(action="accept", content=_fill(asked, form, answer)), True
        case Choose():
            text = asked.request.questions[0].text if asked.request.questions else ""
            return answer_question(asked, Reply(answers={text: answer.option}))
        case Decline() | Deny():
            return CreateElicitationResponse(action="decline", meta=message_meta(answer.message)), False
        case Allow():
            raise InvalidValue("answer", "allow", "a reply to the questions, or decline")
        case _:
            assert_never(answer)


def _confirm(reply: Reply) -> tuple[CreateElicitationResponse, bool]:
    """The response to a form without fields: anything but a yes declines, own words go with it."""
    given = next(iter(reply.answers.values()), "")
    words = given if isinstance(given, str) else ", ".join(given)
    if words.lower() in AGREED:
        return CreateElicitationResponse(action="accept", content={}), True
    return CreateElicitationResponse(action="decline", meta=message_meta("" if words.lower() == "no" else words)), False


def _fill(asked: Asked, form: Mapping[str, ElicitationPropertySchema], reply: Reply) -> dict[str, FormValue]:
    names = {_wording(name, asked.request.title, form): name for name in _asked_fields(form)}
    content: dict[str, FormValue] = {}
    for text, given in reply.answers.items():
        name = names.get(text)
        if name is None:
            raise InvalidValue("question", text, f"one of {', '.join(map(repr, names))}")
        content |= _value(name, given, form)
    return content


def _value(name: str, given: str | list[str], form: Mapping[str, ElicitationPropertySchema]) -> dict[str, FormValue]:
    """One field's value; own words go into the field beside it where the form has one."""
    field = form[name]
    known = {value.title: value.const for value in _values(field)}
    words = given if isinstance(given, list) else [given]
    if field.type == "array":
        return {name: tuple(known.get(word, word) for word in words)}
    text = ", ".join(words)
    if field.type in ("number", "integer"):
        return {name: _number(text, whole=field.type == "integer")}
    if field.type == "boolean":
        return {name: text.lower() in AGREED}
    if known and text not in known and name + CUSTOM in form:
        return {name + CUSTOM: text}
    return {name: known.get(text, text)}


def _number(text: str, *, whole: bool) -> FormValue:
    try:
        return int(text) if whole else float(text)
    except ValueError:
        raise InvalidValue("answer", text, "a whole number" if whole else "a number") from None


# ------------------------------------------------------------------------------------------------- policy


def is_allowed(options: Options, call: Call) -> bool:
    """Whether the settings allow the tool by name or kind; a tool that nobody named is not."""
    return _named(options.allow_tools or (), call) and not is_denied(options, call)


def is_denied(options: Options, call: Call) -> bool:
    """Whether the settings forbid the tool by name or kind."""
    return _named(options.deny_tools, call)


def _named(tools: tuple[str, ...], call: Call) -> bool:
    names = {call.name.lower(), call.kind, call.wire_kind.lower()}
    return any(tool.lower() in names for tool in tools)
