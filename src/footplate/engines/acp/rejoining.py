"""Going on with a living ACP agent: what the log says is open, as the state of a new conversation. Pure.

The wire has no way to ask an agent what it is doing, and the agent no file that we could read. So a conversation can go
on only where the log has all that the agent has said (`Where.whole`): after a service that stopped in order, always;
after one that was killed, unless it was in the middle of a text, or in between reading and storing. Then everything
else follows from the log: the session, the open turn, its calls, and the agent's requests, whose ids on the wire stand
in the ids that the engine gave them. Of our own requests only the prompt of the open turn can be unanswered.
"""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.acp.jsonrpc import RpcId
from footplate.acp.schema.asking import ElicitationPropertySchema, PermissionOption
from footplate.acp.schema.choices import SessionConfigOption, SessionConfigSelectChoice
from footplate.acp.schema.updates import ToolCallChange
from footplate.engines.acp.calls import Call
from footplate.engines.acp.control import Asked
from footplate.engines.rejoining import NOTHING, Where
from footplate.engines.standing import StandingCall, StandingRequest
from footplate.errors import EngineGone
from footplate.events.ids import RequestId
from footplate.events.model import ConfigOption
from footplate.host.lines import Block

WIRE_KINDS: Final = {"allow_once": "allow_once", "allow_always": "allow_always", "deny": "reject_once"}
LOST: Final = "the service was killed while it spoke: what it said then is not known"


class AcpRejoining:
    """Nothing was lost, so there is nothing to look for: every line is news."""

    over = True

    def lost(self) -> Block:
        """Nothing."""
        return NOTHING

    def sift(self, block: Block) -> Block:
        """All of it."""
        return block

    def silence(self) -> Block:
        """Nothing can be concluded."""
        return NOTHING


def rejoin_acp(where: Where) -> AcpRejoining:
    """Take over an agent of which everything is known. Raises `EngineGone` where that is not so."""
    if where.session is None or not where.whole:
        raise EngineGone("the agent", LOST)
    return AcpRejoining()


def name_request(prefix: str, number: int, rpc_id: RpcId) -> RequestId:
    """The engine's id of a request, with the agent's own in it: by that it can be answered, whoever does it."""
    return RequestId(f"{prefix}.r{number}:{msgspec.json.encode(rpc_id).decode()}")


def asked_again(held: StandingRequest) -> Asked:
    """A request of the agent that waits for its answer, as it was when it came."""
    request = held.request
    permission = not request.questions
    return Asked(
        id=msgspec.json.decode(request.id.partition(":")[2], type=RpcId),
        request=request,
        options=tuple(
            PermissionOption(option_id=option.id, name=option.label, kind=WIRE_KINDS.get(option.kind, option.kind))
            for option in request.options
        ),
        form=None if permission else _form(request.input),
        call=None if request.call is None else wire_name(request.call),
    )


def _form(raw: msgspec.Raw | None) -> dict[str, ElicitationPropertySchema]:
    return {} if raw is None else msgspec.json.decode(raw, type=dict[str, ElicitationPropertySchema])


def wire_name(call: str) -> str:
    """The agent's id of a call: ours has a number behind it where the agent has used its id before."""
    name, _, number = call.rpartition("#")
    return name if name and number.isdecimal() else call


def call_again(standing: StandingCall) -> Call:
    """A call that runs, as far as the log tells of it."""
    fields = ToolCallChange(
        tool_call_id=wire_name(standing.id), name=standing.name, title=standing.title, raw_input=standing.input
    )
    call = Call(standing.id, fields, standing.parent)
    call.kind = standing.kind
    return call


def option_again(option: ConfigOption) -> SessionConfigOption:
    """An option of the session."""
    if {each.value for each in option.values} == {"true", "false"}:
        return SessionConfigOption(
            id=option.id,
            name=option.label,
            type="boolean",
            category=option.category or None,
            current_value=option.value == "true",
        )
    choices = tuple(SessionConfigSelectChoice(value=each.value, name=each.label) for each in option.values)
    return SessionConfigOption(
        id=option.id,
        name=option.label,
        type="select",
        category=option.category or None,
        current_value=option.value,
        options=choices,
    )
