"""Makes a failing plan smaller: drops one part after another as long as the same check still fires.

Clients go first, then crashes and faults, then steps, then sizes and delays, at last single draws of chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from tests.simulation.plan import Plan
from tests.simulation.world import run_plan

RUNS = 300
DEFAULTS: dict[str, dict[str, Any]] = {
    "rules": {"rules": False},
    "small_buffer": {"buffer_bytes": 1_000_000},
    "short_pages": {"page": 500},
    "evict": {"idle_s": 600.0, "sweep_s": 5.0},
    "memory_short": {"memory_short": False},
    "request_timeout": {"request_timeout_s": None},
    "full": {"full_from": None},
    "clock_jump": {"clock_jumps": ()},
}


def shrink(plan: Plan, oracle: str, *, runs: int = RUNS) -> Plan:
    """The smallest plan found within so many runs that fails by the same check."""
    left = runs
    changed = True
    while changed and left > 0:
        changed = False
        for smaller in _smaller(plan):
            if left <= 0:
                break
            left -= 1
            if run_plan(smaller).oracle == oracle:
                plan, changed = smaller, True
                break
    return plan if left <= 0 else _mute(plan, oracle, left)


def _smaller(plan: Plan) -> Iterator[Plan]:
    replace = msgspec.structs.replace
    for place in reversed(range(len(plan.clients))):
        yield replace(plan, clients=_without(plan.clients, place))
    for place in reversed(range(len(plan.crashes))):
        yield replace(plan, crashes=_without(plan.crashes, place))
    for fault in plan.faults:
        faults = {name: value for name, value in plan.faults.items() if name != fault}
        scales = {name: value for name, value in plan.scales.items() if name != fault}
        yield replace(plan, faults=faults, scales=scales, **DEFAULTS.get(fault, {}))
    if len(plan.sessions) > 1 and all(client.session < len(plan.sessions) - 1 for client in plan.clients):
        yield replace(plan, sessions=plan.sessions[:-1])
    for at, client in enumerate(plan.clients):
        for place in reversed(range(len(client.steps))):
            if len(client.steps) > 1:
                yield _with_client(plan, at, replace(client, steps=_without(client.steps, place)))
    yield from _simpler(plan)


def _simpler(plan: Plan) -> Iterator[Plan]:
    replace = msgspec.structs.replace
    if plan.policy != "fifo":
        yield replace(plan, policy="fifo")
    for name, scale in plan.scales.items():
        if scale > 1:
            yield replace(plan, scales={**plan.scales, name: 1})
    for at, client in enumerate(plan.clients):
        for place, step in enumerate(client.steps):
            simple = replace(step, text="hello" if step.text else "", wait=0.0, hang_up=None, when="queue")
            for name in ("text", "wait", "hang_up", "when"):
                if getattr(simple, name) != getattr(step, name):
                    steps = list(client.steps)
                    steps[place] = replace(step, **{name: getattr(simple, name)})
                    yield _with_client(plan, at, replace(client, steps=tuple(steps)))
    for at, session in enumerate(plan.sessions):
        if session.tool_calls is not None or session.turns is not None:
            sessions = list(plan.sessions)
            sessions[at] = replace(session, tool_calls=None, turns=None)
            yield replace(plan, sessions=tuple(sessions))


def _mute(plan: Plan, oracle: str, left: int) -> Plan:
    """Have single draws say no: all of a site at once, else half by half."""
    outcome = run_plan(plan)
    for site, visits in sorted(outcome.yes.items()):
        waiting = [list(visits)]
        while waiting and left > 0:
            some = waiting.pop(0)
            muted = {**plan.muted, site: tuple(sorted({*plan.muted.get(site, ()), *some}))}
            left -= 1
            smaller = msgspec.structs.replace(plan, muted=muted)
            if run_plan(smaller).oracle == oracle:
                plan = smaller
            elif len(some) > 1:
                waiting += [some[: len(some) // 2], some[len(some) // 2 :]]
    return plan


def _without(values: tuple[Any, ...], place: int) -> tuple[Any, ...]:
    return (*values[:place], *values[place + 1 :])


def _with_client(plan: Plan, place: int, client: Any) -> Plan:
    clients = list(plan.clients)
    clients[place] = client
    return msgspec.structs.replace(plan, clients=tuple(clients))
