"""What is asked of a session: prompts and their queue, a stop, another mode, model or effort, limits, commands."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from footplate.config.rules import Rule
from footplate.errors import NotFound
from footplate.events.content import ContentBlock
from footplate.events.ids import MessageId, PromptId, RuleId, TaskId, TurnId
from footplate.events.rules import SessionRule
from footplate.events.view import QueuedPrompt, SessionView
from footplate.interfaces.http.call import Call
from footplate.interfaces.http.routing import Routes
from footplate.runtime.limits import Limits

routes = Routes("sessions")


class PromptBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message for the agent: after what runs (`queue`), into it (`steer`), or cutting it short (`now`).

    The same `idempotency_key` twice is one message.
    """

    content: Annotated[str, Meta(min_length=1)] | Annotated[tuple[ContentBlock, ...], Meta(min_length=1)]
    mode: Literal["queue", "steer", "now"] = "queue"
    idempotency_key: Annotated[str, Meta(max_length=200)] = ""


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """The message is accepted for good. `turn` is set when one runs with it; `position` counts those before it."""

    prompt: PromptId
    turn: TurnId | None
    position: int


@routes.post(
    "/api/sessions/{session}/prompt",
    scope="drive",
    summary="Give the agent a message",
    status=202,
    answer=Accepted,
    problems=(404, 409, 502, 504),
)
async def prompt(call: Call, body: PromptBody) -> Accepted:
    live = await call.session()
    given = await live.prompt(body.content, when=body.mode, key=body.idempotency_key)
    return _where(live.view(), given)


def _where(view: SessionView, prompt: PromptId) -> Accepted:
    waiting = [each.id for each in view.queue]
    turn = next((turn.id for turn in reversed(view.turns) if prompt in turn.prompts), None)
    return Accepted(prompt=prompt, turn=turn, position=waiting.index(prompt) if prompt in waiting else 0)


class WaitingPrompts(msgspec.Struct, frozen=True, kw_only=True):
    """The messages that wait, the next one first."""

    prompts: tuple[QueuedPrompt, ...]


@routes.get(
    "/api/sessions/{session}/queue",
    scope="read",
    summary="The messages that wait",
    answer=WaitingPrompts,
    problems=(404,),
)
async def queue(call: Call) -> WaitingPrompts:
    return WaitingPrompts(prompts=(await call.session()).view().queue)


@routes.delete(
    "/api/sessions/{session}/queue/{prompt}",
    scope="drive",
    summary="Take back a message that waits",
    problems=(404, 409, 502, 504),
)
async def withdraw(call: Call) -> None:
    live = await call.session()
    given = PromptId(call.params["prompt"])
    if all(each.id != given for each in live.view().queue):
        raise NotFound("prompt", given)
    await live.withdraw(given)


class Order(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Messages in the order they are to run; those that are not named follow in theirs."""

    prompts: Annotated[tuple[PromptId, ...], Meta(min_length=1)]


@routes.post(
    "/api/sessions/{session}/queue/order",
    scope="drive",
    summary="Put the messages that wait in another order",
    answer=WaitingPrompts,
    problems=(404, 409),
)
async def reorder(call: Call, body: Order) -> WaitingPrompts:
    live = await call.session()
    await live.reorder(body.prompts)
    return WaitingPrompts(prompts=live.view().queue)


@routes.post(
    "/api/sessions/{session}/interrupt",
    scope="drive",
    summary="Stop what runs; what waits behind it runs next",
    status=202,
    problems=(404, 409, 502, 504),
)
async def interrupt(call: Call) -> None:
    await (await call.session()).interrupt()


@routes.post(
    "/api/sessions/{session}/continue",
    scope="drive",
    summary="Start the prompts that a restart has paused; returns the prompts that wait, possibly none",
    status=202,
    answer=WaitingPrompts,
    problems=(404, 409, 502, 504),
)
async def continue_queue(call: Call) -> WaitingPrompts:
    live = await call.session()
    waiting = live.view().queue  # read first: the prompts may leave the queue before this call returns
    await live.continue_queue()
    return WaitingPrompts(prompts=waiting)


class ModeBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A permission mode."""

    mode: Annotated[str, Meta(min_length=1, max_length=100)]


class ModelBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model, as the engine names it."""

    model: Annotated[str, Meta(max_length=200)]


class OptionBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An option that the agent told, by its id, and the value that it is to have."""

    option: str
    value: str


class EffortBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How hard the model thinks; empty: as the agent does by itself."""

    effort: Annotated[str, Meta(max_length=100)]


@routes.post(
    "/api/sessions/{session}/mode",
    scope="drive",
    summary="Change the permission mode",
    status=204,
    problems=(404, 409, 502, 504),
)
async def set_mode(call: Call, body: ModeBody) -> None:
    await (await call.session()).set_mode(body.mode, call.principal)


@routes.post(
    "/api/sessions/{session}/model",
    scope="drive",
    summary="Change the model",
    status=204,
    problems=(404, 409, 502, 504),
)
async def set_model(call: Call, body: ModelBody) -> None:
    await (await call.session()).set_model(body.model)


@routes.post(
    "/api/sessions/{session}/effort",
    scope="drive",
    summary="Change how hard the model thinks",
    status=204,
    problems=(404, 409, 502, 504),
)
async def set_effort(call: Call, body: EffortBody) -> None:
    await (await call.session()).set_effort(body.effort)


@routes.post(
    "/api/sessions/{session}/option",
    scope="drive",
    summary="Change an option of the agent's own",
    status=204,
    problems=(404, 409, 502, 504),
)
async def set_option(call: Call, body: OptionBody) -> None:
    await (await call.session()).set_option(body.option, body.value, call.principal)


@routes.post(
    "/api/sessions/{session}/limits",
    scope="drive",
    summary="Change what the session may use; it goes on if that was what it waited for",
    status=204,
    problems=(404, 409),
)
async def set_limits(call: Call, body: Limits) -> None:
    await (await call.session()).set_limits(body, call.principal)


class RewindBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message of the person."""

    message: MessageId


@routes.post(
    "/api/sessions/{session}/rewind",
    scope="drive",
    summary="Put files back to where they stood at a message",
    status=204,
    problems=(404, 409, 502, 504),
)
async def rewind(call: Call, body: RewindBody) -> None:
    await (await call.session()).rewind(body.message)


class CommandBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A command line."""

    command: Annotated[str, Meta(min_length=1)]


class CommandOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What a command wrote, both outputs as one; it was cut when it was too much or took too long."""

    command: str
    output: str
    exit_code: int | None
    truncated: bool


@routes.post(
    "/api/sessions/{session}/command",
    scope="drive",
    summary="Run a command in the session's folder; the agent hears of it with the next message",
    answer=CommandOutput,
    problems=(404, 409, 500),
)
async def run_command(call: Call, body: CommandBody) -> CommandOutput:
    ran = await (await call.session()).run_command(body.command)
    return CommandOutput(command=ran.command, output=ran.output, exit_code=ran.exit_code, truncated=ran.truncated)


@routes.post(
    "/api/sessions/{session}/tasks/{task}/stop",
    scope="drive",
    summary="End one background task",
    status=202,
    problems=(404, 409, 502, 504),
)
async def stop_task(call: Call) -> None:
    await (await call.session()).stop_task(TaskId(call.params["task"]))


class SessionRules(msgspec.Struct, frozen=True, kw_only=True):
    """What answers permissions before anybody is asked: the operator's rules, then those of the session."""

    operator: tuple[Rule, ...]
    session: tuple[SessionRule, ...]


@routes.get(
    "/api/sessions/{session}/rules",
    scope="read",
    summary="The rules that answer permissions here",
    answer=SessionRules,
    problems=(404,),
)
async def rules(call: Call) -> SessionRules:
    live = await call.session()
    return SessionRules(operator=call.api.services.rules, session=live.rules())


@routes.delete(
    "/api/sessions/{session}/rules/{rule}",
    scope="drive",
    summary="Take back what was allowed for the session",
    problems=(404, 409, 502, 504),
)
async def revoke_rule(call: Call) -> None:
    live = await call.session()
    rule = RuleId(call.params["rule"])
    if all(each.id != rule for each in live.rules()):
        raise NotFound("rule", rule)
    await live.revoke(rule, **msgspec.structs.asdict(call.principal))
