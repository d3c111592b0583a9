"""The oracles: what must hold, each under a name. A planted bug in `mutants/` shows for each that it can fire.

`reader_gap`, `reader_differs`, `reader_lags`: each reader has every lasting event once, in order, byte for byte.
`invariant`: the numbered invariants of every log. `prompt_lost`, `prompt_twice`, `refused_yet_stored`: acknowledged
prompts are in the log, once, and out of the queue at the end; refused ones are not in it. `not_quiet`, `stranded`:
once faults stop everything comes to rest, and what was accepted has begun. `task_died`, `leak`: no task dies unheard,
none is left when the service has ended. `ghost`: what was deleted is gone. `parked_lost`: a session waits for the end
of a usage limit, over a restart, too. `turn_fails`, `task_lost`: a turn or a task fails only if the plan killed
something or asked for it. `ran_twice`, `ran_unasked`, `two_winners`, `answer_lost`: answers and calls.
`audit`: every answer has one record in the audit log, and its chain holds.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from footplate.errors import FootplateError
from footplate.events import model as m
from footplate.events.base import EventBase
from footplate.events.codec import ReadEnvelope
from footplate.events.ids import SessionId
from footplate.events.reduce import SessionReducer
from footplate.events.view import NoticeItem, SessionView
from footplate.runtime.hub import Hub
from footplate.runtime.limits import Limits
from footplate.runtime.paused_queue import PAUSED_CODE
from footplate.runtime.session import Session
from footplate.store.chain import ChainCheck
from footplate.testing.invariants import check_log
from tests.simulation.clients import FIRST, Asked, Reading, answer_all
from tests.simulation.disk import finish
from tests.simulation.engines import AgentKilled
from tests.simulation.loop import NODE
from tests.simulation.network import Lost
from tests.simulation.script import TOOL, allows

if TYPE_CHECKING:
    from tests.simulation.world import World

QUIET_S = 120.0
HANG_S = 10.0
LAG_S = 30.0
OURS = ("store writer", "stop", "stream")
"""Tasks of the simulator itself in the service's node; a stream may wait for a reader that does not read."""


def dead_tasks(world: World) -> str:
    """Tasks of the service that ended with an exception nobody took.

    An agent inside the service that the plan killed does not count where the service was killed, too: that may be
    before the next step, in which its session would have taken the exception.
    """
    for task in world.loop.tasks:
        if task.node.startswith("service") and task.done() and not task.cancelled() and task._log_traceback:
            problem = task.exception()
            if isinstance(problem, AgentKilled) and task.node in world.killed_nodes:
                continue
            return f"{task.get_name()} of {task.node}: {type(problem).__name__}: {problem}"
    return ""


def nothing_left(world: World, node: str) -> None:
    """After a life that ended in order: no task, no timer, no lock."""
    left = [task.get_name() for task in world.loop.living(node) if task.get_name() not in OURS]
    if left:
        world.fail("leak", f"tasks left of {node}: {', '.join(sorted(left))}")
    timers = [
        handle
        for handle in world.loop._scheduled
        if not handle._cancelled and handle._context.get(NODE, "") == node and not _is_known(handle._callback)
    ]
    if timers:
        world.fail("leak", f"timers left of {node}: {timers[0]._callback!r}")
    held = [key for key, holding in world.machine.locks.held.items() if node in holding.nodes]
    if held:
        world.fail("leak", f"locks left of {node}: {', '.join(held)}")


def _is_known(callback: object) -> bool:
    """Whether the simulator itself set the timer, or a task sleeps by it: tasks are looked at by themselves."""
    name = getattr(callback, "__name__", "")
    return "tests.simulation" in str(getattr(callback, "__module__", "")) or name == "_set_result_unless_cancelled"


# ------------------------------------------------------------------------------------------------- quiet


async def become_quiet(world: World) -> None:
    """Wait until nothing moves any more; answer what is asked, stop what only ends when it is stopped."""
    begun = world.loop.now
    pauses = [0.0, 0.1, 0.2, 0.5, 1.0]
    rested = False
    interrupted: set[str] = set()
    raised: set[str] = set()
    while True:
        await asyncio.sleep(pauses.pop(0) if pauses else 3.0)
        ghosts = [each.id for each in _live(world) if each.id in world.promises.deleted]
        if ghosts and world.loop.now - begun > LAG_S:
            world.fail("ghost", f"{ghosts[0][-4:]} is open though its deletion was acknowledged")
            return
        moving = [each for each in _live(world) if not _rests(world, each)]
        stranded = [] if moving else _stranded(world)
        asking = _asking(world)
        if not moving and not stranded and not asking:
            if rested:
                return
            rested = True  # work that was just accepted may not show yet: look once more
            continue
        rested = False
        waited = world.loop.now - begun
        if waited > QUIET_S:
            if asking and not moving:
                world.fail("not_quiet", f"{asking[0][-4:]} has a request that nobody can answer")
            elif moving:
                live = moving[0]
                view = live.view()
                queue = [each.id for each in view.queue]
                world.fail(
                    "not_quiet",
                    f"{live.id[-4:]} is {view.state}/{view.waiting_for}, turn {view.turn}, queue {queue}, "
                    f"agent {live.attached}, busy {live.busy}, requests {[each.state for each in view.requests]}",
                )
            else:
                world.fail("stranded", f"{stranded[0][-4:]} has prompts that wait and nobody begins them")
            return
        for name in asking:
            await answer_all(world, name, "janitor")
        for live in moving:
            await _help(world, live, waited, interrupted, raised)


async def _help(world: World, live: Session, waited: float, interrupted: set[str], raised: set[str]) -> None:
    view = live.view()
    name = live.id

    async def interrupt(hub: Hub) -> None:
        await (await hub.get(name)).interrupt()

    async def raise_limits(hub: Hub) -> None:
        await (await hub.get(name)).set_limits(Limits())

    if any(each.state == "open" for each in view.requests):
        await answer_all(world, name, "janitor")
    try:
        if name not in raised and view.queue and live.spec.limits != Limits():
            await world.network.call("set_limits", raise_limits, session=name)
            raised.add(name)
        doing = f"{name} {view.turn or live.busy}"
        if (view.turn is not None or live.busy) and waited > HANG_S and doing not in interrupted:
            interrupted.add(doing)
            await world.network.call("interrupt", interrupt, session=name)
    except (Lost, FootplateError):
        return


def _live(world: World) -> list[Session]:
    """The sessions that are awake."""
    hub = world.life.hub if world.life is not None else None
    if hub is None:
        return []
    return [each for each in hub.live if not each.cold]


def _rests(world: World, live: Session) -> bool:
    view = live.view()
    if view.state == "closed":
        return True
    if live._parts is None:
        return False  # it is being woken
    if view.state == "parked" and view.until is not None and view.until > world.wall() + QUIET_S:
        return not live.busy  # the clock was put back: it waits for a moment that is far away now
    if live._conductor._paused and _is_paused(view) and view.turn is None:
        return not live.busy
    return not (live.busy or view.turn is not None or view.queue or any(each.state == "open" for each in view.requests))


def _is_paused(view: SessionView) -> bool:
    """Whether waiting prompts need a person, because nobody knows what was done so far, and that is the last word."""
    last = view.items[-1] if view.items else None
    return (
        view.state == "interrupted" and bool(view.queue) and isinstance(last, NoticeItem) and last.code == PAUSED_CODE
    )


def _stranded(world: World) -> list[str]:
    """Sessions that nobody has open although prompts wait in them."""
    open_now = {each.id for each in _live(world)}
    found: list[str] = []
    for name, log in world.machine.disk.memory._logs.items():
        row = log.folding.index.session
        if name in open_now or not log.events or row.state == "closed" or name in world.promises.deleting:
            continue
        view = fold(world, name)
        asked = any(each.state == "open" for each in view.requests)
        if view.queue and not _is_paused(view) and not asked:
            found.append(name)
    return found


def _asking(world: World) -> list[SessionId]:
    """Sessions that nobody has open and in which a request waits for an answer."""
    open_now = {each.id for each in _live(world)}
    return [
        name
        for name, log in world.machine.disk.memory._logs.items()
        if name not in open_now
        and name not in world.promises.deleting
        and log.folding.index.session.open_requests
        and log.folding.index.session.state != "closed"
    ]


def fold(world: World, session: str) -> SessionView:
    """The session as its log tells it."""
    reducer = SessionReducer()
    for stored in world.machine.disk.memory._logs[SessionId(session)].events:
        reducer.apply(stored.envelope())
    return reducer.view()


# ----------------------------------------------------------------------------------------------- readers


async def readers_catch_up(world: World) -> None:
    """Each reader that stayed or came back has the whole log; slow ones get some time for it."""
    begun = world.loop.now
    while world.failure is None:
        behind = [each for each in world.promises.readings if not _is_complete(world, each)]
        if not behind:
            return
        if world.loop.now - begun > LAG_S:
            reading = behind[0]
            log = _bodies(world, reading.session)
            if reading.bodies == log[: len(reading.bodies)]:
                text = f"{reading.client.name} has {len(reading.bodies)} of {len(log)}"
                world.fail("reader_lags", text)
            else:
                place = next(
                    (at for at, (one, two) in enumerate(zip(reading.bodies, log, strict=False)) if one != two), len(log)
                )
                world.fail("reader_differs", f"{reading.client.name} has another event at {place + 1} than the log")
            return
        await asyncio.sleep(1.0)


def _bodies(world: World, session: str) -> list[bytes]:
    log = world.machine.disk.memory._logs.get(SessionId(session))
    return [stored.body for stored in log.events] if log is not None else []


def _is_complete(world: World, reading: Reading) -> bool:
    if reading.session in world.promises.deleting or reading.ended:
        return True
    return reading.bodies == _bodies(world, reading.session)


# ------------------------------------------------------------------------------------------------ the end


def judge(world: World) -> None:
    """All that can be said once the service has ended."""
    memory = world.machine.disk.memory
    for name in sorted(world.promises.deleted):
        if SessionId(name) in memory._logs:
            world.fail("ghost", f"{name[-4:]} is in the store though its deletion was acknowledged")
    for name, log in memory._logs.items():
        if not log.events or name in world.promises.deleting:
            continue
        envelopes = [stored.envelope() for stored in log.events]
        broken = check_log(envelopes)
        if broken:
            world.fail("invariant", f"{name[-4:]}: {broken[0]}")
        _judge_parking(world, name, envelopes)
        _judge_turns(world, name, [each.event for each in envelopes if isinstance(each.event, EventBase)])
    for asked in world.promises.prompts:
        _judge_prompt(world, asked)
    _judge_answers(world)
    _judge_audit(world)
    _judge_deeds(world)
    dead = dead_tasks(world)
    if dead:
        world.fail("task_died", dead)


def _judge_parking(world: World, name: str, envelopes: Sequence[ReadEnvelope]) -> None:
    """No turn begins before the usage limit is over, unless somebody has sent a prompt meanwhile."""
    if world.plan.clock_jumps or world.plan.on("steer"):
        return  # an agent that was steered has prompts of its own to go on with
    until = 0.0
    for envelope in envelopes:
        match envelope.event:
            case m.Parked():
                continues = "by itself" in envelope.event.reason  # else waiting prompts go on at once
                until = (envelope.event.until or 0.0) if continues else 0.0
            case m.PromptQueued():
                until = 0.0
            case m.TurnStarted() if envelope.time < until - 0.1:
                world.fail("parked_lost", f"{name[-4:]} {envelope.event.turn} begins before the limit is over")
            case _:
                pass


def _judge_turns(world: World, name: str, events: list[EventBase]) -> None:
    """A turn fails only where the plan asked for it or killed something."""
    faults = ("agent_dies", "busy", "full", "tool_limit", "turn_limit", "interrupt", "memory_limit")
    if world.machine.ledger.kills or any(map(world.plan.on, faults)):
        return
    texts = {
        event.prompt: "".join(getattr(block, "text", "") for block in event.content)
        for event in events
        if isinstance(event, m.PromptQueued)
    }
    prompts: tuple[str, ...] = ()
    for event in events:
        if isinstance(event, m.TaskEnded) and event.status == "lost" and name not in world.promises.ending:
            world.fail("task_lost", f"{name[-4:]}: background task {event.task} was lost (nothing was killed)")
        if isinstance(event, m.TurnStarted):
            prompts = event.prompts
        if isinstance(event, m.TurnEnded) and not event.ok and event.stop_reason != "interrupted":
            said = [texts.get(prompt, "").split(" ")[0] for prompt in prompts]  # type: ignore[call-overload]
            if not {"error", "crash", "limit"} & set(said) and name not in world.promises.ending:
                world.fail("turn_fails", f"{name[-4:]} {event.turn}: {event.error} (nothing was killed)")


def _judge_answers(world: World) -> None:
    """Each answer that was acknowledged is in the log, and nobody else was told that his was the one."""
    answered: set[str] = set()
    for log in world.machine.disk.memory._logs.values():
        events = [stored.envelope().event for stored in log.events]
        answered.update(event.request for event in events if isinstance(event, m.RequestAnswered))
    for request, (session, count) in world.promises.answers.items():
        if count > 1:
            world.fail("two_winners", f"{count} answers to {request} were acknowledged")
        if request not in answered and session not in world.promises.deleting:
            world.fail("answer_lost", f"an answer to {request} was acknowledged and is not in the log")


def _judge_audit(world: World) -> None:
    """Each answer of a log, and each that was acknowledged, has exactly one record; the chain holds."""
    check = ChainCheck()
    rows = finish(world.machine.disk.memory.audit.read(0, 1_000_000))
    check.feed(rows)
    for broken in check.finish():
        world.fail("audit", broken.text)
    records = Counter(record.get("target", "") for record in (msgspec.json.decode(row.body) for row in rows))
    answered = set(world.promises.answers)
    for log in world.machine.disk.memory._logs.values():
        events = [stored.envelope().event for stored in log.events]
        answered.update(event.request for event in events if isinstance(event, m.RequestAnswered))
    for request in answered:
        if records[request] != 1:
            world.fail("audit", f"{records[request]} records of the answer to {request}")


def _judge_deeds(world: World) -> None:
    """Each call of a scripted agent ran at most once, or once more where a person allowed just that; none unasked."""
    allowed: dict[str, int] = {}
    asked: set[str] = set()
    for log in world.machine.disk.memory._logs.values():
        requests: dict[str, tuple[str, bool]] = {}
        for stored in log.events:
            event = stored.envelope().event
            if isinstance(event, m.RequestOpened) and event.request.tool == TOOL:
                requests[event.request.id] = (event.request.title, event.request.rerun)
                asked.add(event.request.title)
            if isinstance(event, m.RequestAnswered) and event.request in requests and allows(event.answer):
                title, _ = requests[event.request]
                allowed[title] = allowed.get(title, 0) + 1
    for deed, count in world.machine.ledger.ran.items():
        if deed in asked and count > allowed.get(deed, 0):
            oracle = "ran_twice" if allowed.get(deed, 0) else "ran_unasked"
            world.fail(oracle, f"{deed} ran {count} times and was allowed {allowed.get(deed, 0)} times")
        if count > 1 and deed not in asked and not _was_paused(world, deed):
            world.fail("ran_twice", f"{deed}, which asks nobody, ran {count} times")


def _was_paused(world: World, deed: str) -> bool:
    """Whether a person was told that the prompt of the call may have been begun, and let it begin all the same."""
    place = int(deed.partition("/")[0]) - FIRST - 1
    session = world.born[world.promises.prompts[place].session].result()
    log = world.machine.disk.memory._logs.get(session) if session is not None else None
    if log is None:  # it was deleted since
        return session in world.paused
    events = [stored.envelope().event for stored in log.events]
    return any(isinstance(event, m.Notice) and event.code == PAUSED_CODE for event in events)


def _judge_prompt(world: World, asked: Asked) -> None:
    session = world.born[asked.session].result()
    if session is None or session in world.promises.deleting:
        return
    log = world.machine.disk.memory._logs.get(session)
    if log is None:
        world.fail("prompt_lost", f"the session of {asked.text!r} is gone, and nobody deleted it")
        return
    name = asked.id or asked.key
    if not name:
        return
    events = [stored.envelope().event for stored in log.events]
    queued = [event for event in events if isinstance(event, m.PromptQueued) and event.prompt == name]
    started = [event for event in events if isinstance(event, m.TurnStarted) and name in event.prompts]
    left = [
        event for event in events if isinstance(event, m.PromptWithdrawn | m.PromptSteered) and event.prompt == name
    ]
    if asked.acknowledged and not queued:
        world.fail("prompt_lost", f"{name} ({asked.text!r}) was acknowledged and is not in the log")
    parked = [event.until for event in events if isinstance(event, m.Parked) and event.until is not None]
    if parked and parked[-1] > world.wall():
        return  # it waits for the end of a usage limit
    if asked.acknowledged and not started and not left and log.folding.index.session.state != "closed":
        view = fold(world, session)
        if not _is_paused(view):
            world.fail("prompt_lost", f"{name} ({asked.text!r}) was acknowledged and never left the queue")
    if len(started) > 1:
        world.fail("prompt_twice", f"{name} ({asked.text!r}) began {len(started)} turns")
    if asked.acknowledged and len(queued) == 0:
        return
    if asked.refused and not asked.acknowledged and not asked.unknown and queued:
        world.fail("refused_yet_stored", f"{name} ({asked.text!r}) was refused with {asked.refused} and is in the log")
