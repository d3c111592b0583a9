"""What plans have of the transports beside plain calls: clients over ACP, people in chats."""

from __future__ import annotations

import msgspec

from tests.simulation.plan import Client, Plan, Step, _Maker

BESIDE = (
    "slow_store",
    "slow_reads",
    "slow_threads",
    "slow_wire",
    "slow_calls",
    "slow_bot",
    "short_pages",
    "small_buffer",
    "agent_dies",
    "crash",
    "power",
    "stop",
    "crash_in_start",
    "crash_at_write",
    "rules",
    "evict",
    "memory_short",
    "hang_up",
    "slow_readers",
    "drop_readers",
    "clock_jump",
    "bot_lost",
    "bot_429",
    "bot_slow",
    "chat_drafts",
    "chat_silent",
)
"""The faults of plans that have nothing but these transports."""


def add_clients(maker: _Maker, plan: Plan) -> Plan:
    """The plan with the clients of these transports that its faults ask for; with nothing else if they are alone."""
    found: list[Client] = []
    if maker.on("acp") and not maker.on("full"):
        found += [_acp_client(maker, number) for number in range(1 + maker.chance.below("acp clients", 3))]
    if maker.on("chat") and not (maker.on("busy") or maker.on("full")):  # a chat does not survive a refused write yet
        found += [_person(maker, number) for number in range(1 + maker.chance.below("people", 2))]
    if found and maker.on("alone"):
        return msgspec.structs.replace(plan, sessions=(), clients=tuple(found))
    return msgspec.structs.replace(plan, clients=(*plan.clients, *found))


def make_door_plan(seed: int, door: str) -> Plan:
    """A plan with nothing but one of these transports, and a swarm of the faults that concern it."""
    maker = _Maker(seed, None)
    maker.faults = {name: value for name, value in maker.faults.items() if name in BESIDE}
    maker.faults |= {door: 1.0, "alone": 1.0}
    return add_clients(maker, maker.make())


def _acp_client(maker: _Maker, number: int) -> Client:
    draw = maker.chance
    kind = draw.pick("acp kind", ("acp_http", "acp_rpc", "acp_lines"))
    steps = [Step(wait=maker._wait("acp wait"), do="new" if number == 0 else draw.pick("acp begin", ("new", "load")))]
    steps += [_acp_step(maker, kind) for _ in range(2 + draw.below("acp steps", 6))]
    return Client(
        kind=kind,
        name=f"acp {number}",
        steps=tuple(steps),
        pace_s=draw.pick("acp pace", (0.002, 0.02, 0.5)),
        pipe=draw.pick("acp pipe", (1, 4, 64)),
        slow_s=draw.pick("acp slow", (0.0005, 0.01, 0.1)) if maker.on("slow_readers") else 0.0,
        drop=draw.pick("acp drop", (0.02, 0.1, 0.3)) if maker.on("drop_readers") else 0.0,
    )


def _acp_step(maker: _Maker, kind: str) -> Step:
    draw, wait = maker.chance, maker._wait("acp wait")
    roll = draw.draw("acp step")
    if roll < 0.65:
        way = "sync" if kind != "acp_lines" and draw.draw("acp sync") < 0.5 else ""
        return Step(wait=wait, do="prompt", text=maker._text(), key=way, hang_up=maker._hang_up())
    if roll < 0.75:
        return Step(wait=wait, do="cancel")
    if roll < 0.85:
        return Step(wait=wait, do="load")
    if roll < 0.9:
        return Step(wait=wait, do="new")
    if roll < 0.97:
        return Step(wait=wait, do="cut" if kind == "acp_lines" else "forget")
    return Step(wait=wait, do="vanish")


def _person(maker: _Maker, number: int) -> Client:
    draw = maker.chance
    steps = []
    for _ in range(1 + draw.below("chat steps", 5)):
        wait = round(draw.delay("chat wait", (0.0, 0.1, 1.0, 3.0)), 4)
        if draw.draw("chat step") < 0.65:
            steps.append(Step(wait=wait, do="write", text=maker._text()))
        else:
            steps.append(Step(wait=wait, do="press"))
    return Client(kind="person", name=f"person {number}", session=number, steps=tuple(steps))
