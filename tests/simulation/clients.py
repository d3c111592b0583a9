"""Clients: each a small coroutine over its part of the plan. What they are told goes into the world's `Promises`."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from footplate.errors import FootplateError
from footplate.events.ids import PromptId, RequestId, SessionId
from footplate.events.requests import Allow, Answer, Choose, Decline, Deny, Reply, Request
from footplate.events.view import SessionView
from footplate.runtime.hub import Hub
from tests.simulation import doors
from tests.simulation.network import Lost, Stream
from tests.simulation.plan import Client, Step

if TYPE_CHECKING:
    from tests.simulation.world import World

EPHEMERAL = (b"MessageDelta", b"ThoughtDelta")
_peek = msgspec.json.Decoder(type=dict[str, msgspec.Raw])
POLLS = 40
FIRST = 1_000_000
BROKEN_S = 0.05


class Asked(msgspec.Struct):
    """What became of a prompt as its client knows it. `unknown`: some try had no answer."""

    session: int
    text: str
    key: str
    acknowledged: bool = False
    unknown: bool = False
    refused: str = ""
    id: str = ""
    when: str = "queue"


async def run_client(world: World, client: Client) -> None:
    """Do all that the plan says."""
    if client.kind.startswith("acp") or client.kind == "person":
        await doors.run(world, client)
        return
    kinds = {"prompter": _prompt, "reader": _read, "answerer": _answer, "doer": _do_steps, "poller": _poll}
    await kinds[client.kind](world, client)


async def _session(world: World, number: int) -> SessionId | None:
    """The session's id once it was created; None when that failed for good."""
    return await asyncio.shield(world.born[number])


# ------------------------------------------------------------------------------------------------ prompts


async def _prompt(world: World, client: Client) -> None:
    session = await _session(world, client.session)
    if session is None:
        return
    for step in client.steps:
        await asyncio.sleep(step.wait)
        asked = Asked(session=client.session, text=step.text, key=step.key, when=step.when)
        world.promises.prompts.append(asked)
        # The number tells an agent's ledger which prompt it got; no trigger word of the mock agent minds it.
        await _send(world, client, step, session, asked, f"{step.text} {FIRST + len(world.promises.prompts)}")


async def _send(world: World, client: Client, step: Step, session: SessionId, asked: Asked, text: str) -> None:
    async def send(hub: Hub) -> PromptId:
        return await (await hub.get(session)).prompt(text, when=step.when, key=step.key)

    for attempt in range(client.tries if step.key else 1):
        if attempt:
            await asyncio.sleep(0.02 * 2**attempt)
        try:
            found = await world.network.call(
                "prompt", send, hang_up=step.hang_up if not attempt else None, session=session
            )
        except Lost:
            asked.unknown = True
            continue
        except FootplateError as problem:
            asked.refused = problem.code
            asked.unknown |= problem.code == "session_failed"  # nobody knows how far it came
            if problem.retryable:
                continue
            return
        asked.acknowledged = True
        asked.id = found
        return


# ------------------------------------------------------------------------------------------------ readers


class Reading:
    """What one reader has: each lasting event once, in order, byte for byte."""

    def __init__(self, world: World, client: Client, session: SessionId) -> None:
        self._world = world
        self.client = client
        self.session = session
        self.bodies: list[bytes] = []
        self.last = 0
        self.by_id: tuple[int, int | None] = (0, None)
        self.by_any: tuple[int, int | None] = (0, None)
        self.by_lasting: tuple[int, int | None] = (0, None)
        self.resets = 0
        self.ended = False
        self.deliveries = 0

    def take(self, chunk: bytes) -> None:
        """Take an event off the wire."""
        fields = dict(line.split(b": ", 1) for line in chunk.rstrip(b"\n").split(b"\n") if b": " in line)
        name, body = fields.get(b"event", b""), fields.get(b"data", b"")
        self.deliveries += 1
        if name == b"reset":
            self.bodies, self.last = [], 0
            self.by_id = self.by_any = self.by_lasting = (0, None)
            self.resets += 1
            return
        found = _peek.decode(body)
        number, epoch = _number(found["seq"]), _number(found["epoch"]) if "epoch" in found else 1
        self.by_any = (number, epoch)
        if b"id" in fields:
            given, _, of = fields[b"id"].partition(b".")
            self.by_id = (int(given), int(of))
        if name in EPHEMERAL or (name == b"ToolUpdated" and _is_delta(body)):
            return
        if number != self.last + 1:
            self._world.fail("reader_gap", f"{self.client.name}: {number} {name.decode()} follows {self.last}")
        self.last = number
        self.by_lasting = (number, epoch)
        self.bodies.append(body)

    @property
    def cursor(self) -> tuple[int, int | None]:
        """Where to go on: by the last id of the stream, the last envelope of any kind, or the last lasting one."""
        match self.client.cursor:
            case "id":
                return self.by_id
            case "any":
                return self.by_any
            case _:
                return self.by_lasting


_number = msgspec.json.Decoder(int).decode


def _is_delta(body: bytes) -> bool:
    event = msgspec.json.decode(_peek.decode(body)["event"], type=dict[str, object])
    return not any(event.get(name) for name in ("title", "input", "detail", "note")) and event.get("elapsed_s") is None


async def _read(world: World, client: Client) -> None:
    session = await _session(world, client.session)
    if session is None:
        return
    await asyncio.sleep(client.steps[0].wait)
    reading = Reading(world, client, session)
    world.promises.readings.append(reading)
    pause = BROKEN_S
    while not world.promises.over:
        stream, before = Stream(world, client.pipe), reading.deliveries
        try:
            after, epoch = reading.cursor
            await stream.open(session, after, epoch=epoch)
            await _follow(world, client, reading, stream)
        except Lost:
            pass
        except FootplateError as problem:
            if problem.code == "unknown_session":
                reading.ended = True
                return
        finally:
            stream.close()
        pause = BROKEN_S if reading.deliveries > before else min(pause * 2, 1.0)
        await asyncio.sleep(pause)


async def _follow(world: World, client: Client, reading: Reading, stream: Stream) -> None:
    while (chunk := await stream.next()) is not None:
        reading.take(chunk)
        if world.faults_over:
            continue
        if client.slow_s:
            await asyncio.sleep(world.chance.draw(f"slow {client.name}") * client.slow_s)
        if world.chance.yes(f"drop {client.name}", client.drop):
            return


# ------------------------------------------------------------------------------------------------ answers


async def _answer(world: World, client: Client) -> None:
    """Answer what is asked, some time after it was asked."""
    session = await _session(world, client.session)
    if session is None:
        return
    bell = world.bell_of(session)
    while not world.promises.over:
        try:
            async with asyncio.timeout(0.5):
                await bell.wait()
        except TimeoutError:
            if world.faults_over:
                return  # the janitor answers from here on
        bell.clear()
        await asyncio.sleep(world.chance.draw(f"answer {client.name}") * client.pace_s)
        await answer_all(world, session, client.name)


async def answer_all(world: World, session: SessionId, who: str) -> None:
    """Answer every request that is open in the session."""

    async def look(hub: Hub) -> SessionView:
        return (await hub.get(session)).view()

    try:
        view = await world.network.call("view", look, session=session)
        for each in view.requests:
            if each.state == "open":
                await _answer_one(world, session, each.request, who)
    except (Lost, FootplateError):
        return


async def _answer_one(world: World, session: SessionId, request: Request, who: str) -> None:
    answer = choose_answer(world, request, who)

    async def say(hub: Hub) -> object:
        return await (await hub.get(session)).answer(RequestId(request.id), answer, by=who, surface="sim")

    try:
        await world.network.call("answer", say, session=session)
        _, before = world.promises.answers.get(request.id, (session, 0))
        world.promises.answers[request.id] = (session, before + 1)
    except FootplateError:
        return


def choose_answer(world: World, request: Request, who: str) -> Answer:
    """One of the answers that fit."""
    if request.questions:
        if world.chance.yes(f"decline {who}", 0.2):
            return Decline()
        return Reply(answers={each.text: each.choices[0].label if each.choices else "x" for each in request.questions})
    roll = world.chance.draw(f"choice {who}")
    if request.limit:
        return Allow() if roll < 0.8 else Deny()
    if roll < 0.15 and request.options:
        return Choose(option=request.options[0].id)
    if roll < 0.6:
        return Allow()
    return Allow(scope="session") if roll < 0.8 else Deny(message="no", interrupt=roll > 0.95)


# --------------------------------------------------------------------------------------------- the others


async def _do_steps(world: World, client: Client) -> None:
    session = await _session(world, client.session)
    if session is None:
        return
    for step in client.steps:
        await asyncio.sleep(step.wait)
        try:
            await _do(world, client, step, session)
        except (Lost, FootplateError):
            continue


async def _do(world: World, client: Client, step: Step, session: SessionId) -> None:
    async def work(hub: Hub) -> None:
        if step.do == "delete":
            await hub.delete(session)
            return
        if step.do == "fork":
            await hub.fork(session)
            return
        live = await hub.get(session)
        queue = [each.id for each in live.view().queue]
        match step.do:
            case "interrupt":
                await live.interrupt()
            case "close":
                await live.close("by a client")
            case "withdraw" if queue:
                await live.withdraw(queue[-1])
            case "steer" if queue:
                await live.steer(queue[0])
            case "reorder" if len(queue) > 1:
                await live.reorder(tuple(reversed(queue)))
            case _:
                pass

    if step.do in ("delete", "close"):
        world.promises.ending.add(session)
    if step.do == "delete":
        world.promises.deleting.add(session)
    await world.network.call(step.do, work, hang_up=step.hang_up, session=session)
    if step.do == "delete":
        world.promises.deleted.add(session)


async def _look(world: World, name: SessionId, hub: Hub) -> None:
    """Look at a session, and now and then give it a title, which wakes it."""
    live = await hub.get(name)
    if world.chance.yes("poller renames", 0.1):
        await live.rename("renamed")


async def _poll(world: World, client: Client) -> None:
    """Look at the list, and at each session in it."""
    for _ in range(POLLS):
        await asyncio.sleep(client.pace_s)
        if world.faults_over:
            return
        try:
            page = await world.network.call("list", lambda hub: hub.sessions())
            for row in page.items:
                name = row.session
                await world.network.call("poll", partial(_look, world, name), session=name)
        except (Lost, FootplateError):
            continue
