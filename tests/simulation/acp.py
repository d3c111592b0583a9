"""ACP clients: over HTTP connections with their journals, and over lines as editors have them.

A client opens and loads sessions, prompts, cancels, answers what it is asked, is cut off and comes back with the number
of the last journal entry it has, deletes its connection, or is never heard of again.

Oracles: `acp_gap` and `acp_differs`: each journal number once, in order, and with the content of the journal.
`acp_response`: each request that was accepted gets exactly one response; none only where its connection is gone or the
service crashed. `acp_task_left`: at rest no call is left. `acp_ghost`: of a deleted connection nothing is left.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from footplate.acp import jsonrpc
from footplate.acp.jsonrpc import Envelope
from footplate.errors import FootplateError, NotFound
from footplate.interfaces.http.acp_calls import TapeFeed
from footplate.runtime.acp.client import Manner
from footplate.runtime.acp.connections import DOCUMENTS, Connections
from footplate.runtime.acp.guests import Guests, Hello, write_line
from footplate.runtime.acp.tape import _unpacked
from footplate.runtime.audit import SERVICE
from footplate.runtime.hub import Hub
from tests.simulation.disk import finish
from tests.simulation.network import Lost, Stream
from tests.simulation.plan import Client, Step

if TYPE_CHECKING:
    from tests.simulation.life import Life
    from tests.simulation.world import World

FIRST = 1_500_000
"""Numbers in the texts of prompts, apart from those of other clients."""
BROKEN_S = 0.05
RESPONSE_S = 45.0
LAG_S = 30.0
STREAMS_S = 1.0
"""How long readers that take nothing are waited for when the service stops."""
LINE_BYTES = 64 * 1024 * 1024
SERVERS = Manner(surface="acp", adapter=True)
Quiet = Callable[[Any], Awaitable[None]]
Result = asyncio.Future[Envelope] | None
RPC = Manner(surface="acp", adapter=True, extensions=True, all_engines=True)


class Owed(msgspec.Struct):
    """A request that a client sent. `life`: the node that accepted it, empty when that is not known."""

    id: int
    method: str
    life: str = ""
    journal: str = ""
    responses: int = 0
    posted: bytes = b""
    """What the POST itself returned."""


class AcpSide:
    """What all ACP clients of a run share: they outlive the service."""

    def __init__(self) -> None:
        self.sessions: list[str] = []
        self.http: list[HttpClient] = []
        self.lines: list[LineClient] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.serial = FIRST
        self.deleted: list[tuple[str, str]] = []
        """Transport and name of connections whose deletion was acknowledged."""


class AcpDoors:
    """The ACP transports of one life."""

    def __init__(self, life: Life, services: Any, hub: Hub) -> None:
        self._life = life
        self.connections = {
            "servers": Connections("servers", hub, services, SERVERS),
            "rpc": Connections("rpc", hub, services, RPC),
        }
        self.guests = Guests(Served(hub, services), "service")  # type: ignore[arg-type]
        self.lines: dict[asyncio.Task[None], None] = {}
        self.streams: dict[asyncio.Task[None], None] = {}

    def stream(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Write a stream until its client leaves or the journal ends."""
        task = self._life.spawn(work, name="acp stream")
        self.streams[task] = None
        task.add_done_callback(lambda done: self.streams.pop(done, None))
        return task

    def serve(self, reader: asyncio.StreamReader, writer: LineWriter) -> None:
        """Serve an editor until it leaves."""
        task = self._life.spawn(self._serve(reader, writer), name="acp lines")
        self.lines[task] = None
        task.add_done_callback(lambda done: self.lines.pop(done, None))

    async def _serve(self, reader: asyncio.StreamReader, writer: LineWriter) -> None:
        try:
            await self.guests.serve(reader, writer)  # type: ignore[arg-type]
        except ConnectionError:
            return
        finally:
            writer.end()

    async def close(self) -> None:
        """End every connection, as the product does before it ends the hub."""
        tasks = tuple(self.lines)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for each in self.connections.values():
            await each.close()
        if self.streams:
            await asyncio.wait(tuple(self.streams), timeout=STREAMS_S)
        for task in tuple(self.streams):
            task.cancel()


class Served:
    """As much of a `Service` as transports ask for."""

    def __init__(self, hub: Hub, services: Any) -> None:
        self.hub = hub
        self.services = services
        self.settings = services.settings


# ------------------------------------------------------------------------------------------------ clients


class AcpClient(ABC):
    """What clients of every transport do alike."""

    def __init__(self, world: World, client: Client) -> None:
        self.world = world
        self.client = client
        self.owed: dict[int, Owed] = {}
        self.session = ""
        self.gone = False
        """It is never heard of again."""
        self._ids = 0
        self._results: dict[int, asyncio.Future[Envelope]] = {}
        self._answering: list[asyncio.Task[None]] = []

    async def run(self) -> None:
        """Do all that the plan says."""
        for step in self.client.steps:
            await asyncio.sleep(step.wait)
            try:
                await self.do(step)
            except (Lost, FootplateError):
                continue
            if self.gone:
                return

    async def do(self, step: Step) -> None:
        """One step."""
        match step.do:
            case "new":
                result = await self.request("session/new", {"cwd": "/", "mcpServers": []})
                if result is not None:
                    self.session = msgspec.json.decode(result, type=dict[str, Any])["sessionId"]
                    self.world.acp.sessions.append(self.session)
            case "load" if self.world.acp.sessions:
                known = self.world.acp.sessions
                self.session = known[self.world.chance.below(f"load {self.client.name}", len(known))]
                await self.load()
            case "prompt" if self.session:
                self.world.acp.serial += 1
                text = f"{step.text} {self.world.acp.serial}"
                params = {"sessionId": self.session, "prompt": [{"type": "text", "text": text}]}
                await self.post("session/prompt", params, step)
            case "cancel" if self.session:
                await self.send(jsonrpc.encode_notification("session/cancel", {"sessionId": self.session}))
            case "vanish":
                self.gone = True
                self.vanish()
            case _:
                await self.do_own(step)

    @abstractmethod
    async def do_own(self, step: Step) -> None:
        """Do a step that only this transport has."""

    async def load(self) -> None:
        """Have the session's past, and follow it."""
        await self.request("session/load", {"sessionId": self.session, "cwd": "/", "mcpServers": []})

    @abstractmethod
    def vanish(self) -> None:
        """Stop without closing the connection."""

    @abstractmethod
    async def send(self, message: bytes) -> None:
        """Send a notification or a response."""

    @abstractmethod
    async def post(self, method: str, params: object, step: Step | None = None, result: Result = None) -> None:
        """Send a request; its response comes later, and is given to `result`, too."""

    async def request(self, method: str, params: object) -> msgspec.Raw | None:
        """Send a request and wait for its result; None when there is none."""
        future: asyncio.Future[Envelope] = self.world.loop.create_future()
        try:
            await self.post(method, params, result=future)
            async with asyncio.timeout(RESPONSE_S):
                return (await future).result
        except TimeoutError:
            return None

    def new_owed(self, method: str, result: Result) -> Owed:
        """A request under an id that was not used before."""
        self._ids += 1
        if result is not None:
            self._results[self._ids] = result
        made = self.owed[self._ids] = Owed(self._ids, method)
        return made

    def take(self, raw: bytes) -> None:
        """A message of the agent."""
        envelope = jsonrpc.envelope_decoder.decode(raw)
        if envelope.kind == "response" and isinstance(envelope.id, int):
            owed = self.owed.get(envelope.id)
            if owed is None:
                self.world.fail("acp_response", f"{self.client.name}: a response to {envelope.id}, which nobody asked")
                return
            owed.responses += 1
            if owed.responses > 1:
                self.world.fail("acp_response", f"{self.client.name}: {owed.method} {owed.id} has two responses")
            future = self._results.pop(envelope.id, None)
            if future is not None and not future.done():
                future.set_result(envelope)
        elif envelope.kind == "request" and not self.gone:
            self._answering.append(self.world.loop.create_task(self._answer(envelope), name=f"{self.client.name} says"))

    async def _answer(self, asked: Envelope) -> None:
        """Answer what the agent asks, some time later, or not at all."""
        chance, name = self.world.chance, self.client.name
        await asyncio.sleep(chance.draw(f"answer {name}") * self.client.pace_s)
        if chance.yes(f"ignore {name}", 0.15) or self.gone or self.world.promises.over:
            return
        params = msgspec.json.decode(asked.params or b"{}", type=dict[str, Any])
        if chance.yes(f"cannot show {name}", 0.1):
            message = jsonrpc.encode_error(jsonrpc.id_of(asked), -32601, "not here")
        else:
            message = jsonrpc.encode_response(jsonrpc.id_of(asked), self._choose(asked.method or "", params))
        try:
            await self.send(message)
        except (Lost, FootplateError):
            return

    def _choose(self, method: str, params: dict[str, Any]) -> object:
        chance, name = self.world.chance, self.client.name
        if method == "session/request_permission":
            if chance.yes(f"cancelled {name}", 0.15):
                return {"outcome": {"outcome": "cancelled"}}
            option = chance.pick(f"option {name}", params["options"])
            return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}
        answers = {each["id"]: each["options"][0]["label"] for each in params.get("questions", ()) if each["options"]}
        return {"outcome": "answered", "answers": answers}


# --------------------------------------------------------------------------------------------------- HTTP


class HttpClient(AcpClient):
    """A client that posts its messages and reads the stream of the connection."""

    def __init__(self, world: World, client: Client) -> None:
        super().__init__(world, client)
        self.transport = "rpc" if client.kind == "acp_rpc" else "servers"
        self._generation = 1
        self._begun = ""
        self.last = 0
        self.bodies: list[bytes] = []
        self._runs: dict[int, int] = {}
        """The run that each number was given with."""

    @property
    def name(self) -> str:
        """Of the connection; another one after each deletion."""
        return f"{self.client.name.replace(' ', '-')}-{self._generation}"

    @property
    def journal(self) -> str:
        """The journal of the connection."""
        return f"acp/{self.transport}/{self.name}"

    async def run(self) -> None:
        self.world.acp.http.append(self)
        self.world.acp.tasks.append(self.world.loop.create_task(self._read(), name=f"{self.client.name} reads"))
        await super().run()

    def vanish(self) -> None:
        """It has no pipe to leave open: its stream ends when it reads no more."""

    async def do_own(self, step: Step) -> None:
        if step.do == "forget":
            await self._forget()

    async def _forget(self) -> None:
        """Delete the connection; the next message opens another."""
        transport, name = self.transport, self.name
        self._generation += 1
        self.last, self.bodies, self._runs = 0, [], {}

        async def end(hub: Hub) -> None:
            await self._doors().connections[transport].end(name)

        while not self.world.promises.over:
            try:
                await self.world.network.call("acp delete", end)
            except (Lost, FootplateError):
                await asyncio.sleep(BROKEN_S)
                continue
            self.world.acp.deleted.append((transport, name))
            return

    def _doors(self) -> AcpDoors:
        life = self.world.life
        assert life is not None
        return life.doors.acp

    async def _begin(self) -> None:
        """Introduce the client to a connection that is new."""
        if self._begun != self.name:
            name = self.name
            await self.post("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
            self._begun = name  # a client whose introduction was refused tries it again

    async def post(self, method: str, params: object, step: Step | None = None, result: Result = None) -> None:
        if method != "initialize":
            await self._begin()
        owed = self.new_owed(method, result)
        owed.journal = self.journal
        transport, name = self.transport, self.name
        waits = step is not None and step.key == "sync"
        envelope = jsonrpc.envelope_decoder.decode(jsonrpc.encode_request(owed.id, method, params))

        async def exchange(hub: Hub) -> None:
            life = self.world.life
            assert life is not None
            door = life.doors.acp.connections[transport]
            connection = await door.open(name, "mock")
            if method == "initialize":
                await door.began(connection, envelope)
            waiting = await connection.call(envelope, SERVICE)
            owed.life = life.node
            if waits:
                never: asyncio.Future[None] = self.world.loop.create_future()
                answer = await connection.answer(waiting, idle_s=600.0, unless=never)
                assert answer is not None
                owed.posted = answer.body

        hang_up = (
            60.0 if waits and (step is None or step.hang_up is None) else step.hang_up if step is not None else None
        )
        await self.world.network.call(f"acp {method}", exchange, hang_up=hang_up)

    async def send(self, message: bytes) -> None:
        envelope = jsonrpc.envelope_decoder.decode(message)
        transport, name = self.transport, self.name

        async def exchange(hub: Hub) -> None:
            connection = await self._doors().connections[transport].open(name, "mock", new=False)
            await connection.tell(envelope, message, SERVICE)

        await self.world.network.call("acp tell", exchange)

    async def _read(self) -> None:
        """Read the stream; when it breaks, go on behind the last number."""
        while not self.world.promises.over and not self.gone:
            stream = JournalStream(self.world, self.client.pipe)
            name = self.name
            try:
                await stream.open_journal(self.transport, name, self.last, self._runs.get(self.last))
                await self._follow(stream, name)
            except (Lost, FootplateError):
                await asyncio.sleep(BROKEN_S)
            finally:
                stream.close()
            await asyncio.sleep(0.001)

    async def _follow(self, stream: JournalStream, name: str) -> None:
        while (event := await stream.next()) is not None:
            if self.name != name or self.gone:
                return
            self._take_event(dict(line.split(b": ", 1) for line in event.split(b"\n") if b": " in line))
            if self.world.faults_over:
                continue
            if self.world.chance.yes(f"drop {self.client.name}", self.client.drop):
                self.world.count("acp_cuts")
                return
            if self.client.slow_s:
                await asyncio.sleep(self.world.chance.draw(f"slow {self.client.name}") * self.client.slow_s)
        await asyncio.sleep(BROKEN_S)

    def _take_event(self, fields: dict[bytes, bytes]) -> None:
        world, data = self.world, fields.get(b"data", b"")
        if fields.get(b"event") == b"gap":
            lost = msgspec.json.decode(data, type=dict[str, int])
            if not world.machine.disk.power_cuts:
                world.fail("acp_gap", f"{self.client.name}: {lost} is missing and nothing was cut")
            self.last = lost["from"] - 1
            del self.bodies[self.last :]
            for owed in self.owed.values():  # what the cut took away may come again
                owed.responses = min(owed.responses, sum(_answers(body, owed.id) for body in self.bodies))
            return
        number, run = map(int, fields[b"id"].split(b"."))
        if number != self.last + 1:
            world.fail("acp_gap", f"{self.client.name}: {number} follows {self.last}")
        world.count("acp_messages")
        self.last = number
        self._runs[number] = run
        self.bodies.append(data)
        self.take(data)


class JournalStream(Stream):
    """The stream of a connection."""

    async def open_journal(self, transport: str, name: str, after: int, run: int | None) -> None:
        """Read behind a number and its run. Raises what `Network.call` raises."""
        world = self._world

        async def begin(hub: Hub) -> None:
            life = world.life
            assert life is not None
            connection = await life.doors.acp.connections[transport].find(name)
            if connection is None:
                raise NotFound("acp_server", name)
            self._task = life.doors.acp.stream(self._write(TapeFeed(connection.tape.reader(after, run=run))))
            self._serial = world.network.register(self._broken)

        await world.network.call("acp stream", begin)


# -------------------------------------------------------------------------------------------------- lines


class LineWriter:
    """The service's end of a pipe to an editor: as much of a `StreamWriter` as is used. It is bounded."""

    def __init__(self, world: World, size: int) -> None:
        self._world = world
        self._size = size
        self._lines: deque[bytes] = deque()
        self._room: asyncio.Future[None] | None = None
        self._news: asyncio.Future[None] | None = None
        self.broken = False
        self.ended = False

    def writelines(self, lines: Sequence[bytes]) -> None:
        if not self.broken:
            self._lines.extend(lines)
            _wake(self._news)

    async def drain(self) -> None:
        while len(self._lines) > self._size and not self.broken:
            self._room = self._world.loop.create_future()
            await self._room
        if self.broken:
            raise ConnectionResetError("Connection lost")

    def end(self) -> None:
        """The service has nothing more to say."""
        self.ended = True
        _wake(self._news)

    def cut(self) -> None:
        """The connection breaks: what was not read is gone."""
        self.broken = True
        self._lines.clear()
        _wake(self._room)
        _wake(self._news)

    async def next(self) -> bytes | None:
        """The next line for the editor; None at the end."""
        while not self._lines:
            if self.ended or self.broken:
                return None
            self._news = self._world.loop.create_future()
            await self._news
        line = self._lines.popleft()
        _wake(self._room)
        return line


def _wake(waiting: asyncio.Future[None] | None) -> None:
    if waiting is not None and not waiting.done():
        waiting.set_result(None)


class LineClient(AcpClient):
    """An editor on a local socket."""

    def __init__(self, world: World, client: Client) -> None:
        super().__init__(world, client)
        self._writer: LineWriter | None = None
        self._reader: asyncio.StreamReader | None = None
        self._serial = 0

    async def run(self) -> None:
        self.world.acp.lines.append(self)
        await super().run()

    @property
    def open(self) -> bool:
        """Whether the connection stands."""
        return self._writer is not None and not self._writer.broken and not self._writer.ended

    async def do_own(self, step: Step) -> None:
        if step.do == "cut":
            self.cut()
            await asyncio.sleep(step.wait)
            await self._connect()
            if self.session:
                await self.load()

    def cut(self) -> None:
        """Leave: nothing that was asked here will be answered."""
        if self._writer is not None and self._reader is not None:
            self._writer.cut()
            if not self._reader.at_eof():
                self._reader.feed_eof()
            self.world.network.forget(self._serial)
            self.world.count("acp_cuts")
        self._lose()

    def _lose(self) -> None:
        self._writer = self._reader = None
        self.owed.clear()
        for future in self._results.values():
            future.cancel()
        self._results.clear()

    def vanish(self) -> None:
        self.cut()

    async def _connect(self) -> None:
        world = self.world
        writer = LineWriter(world, self.client.pipe)
        broken: asyncio.Future[Any] = world.loop.create_future()
        broken.add_done_callback(lambda _: writer.cut())

        async def begin(hub: Hub) -> asyncio.StreamReader:
            life = world.life
            assert life is not None
            reader = asyncio.StreamReader(limit=LINE_BYTES, loop=world.loop)
            life.doors.acp.serve(reader, writer)
            self._serial = world.network.register(broken)
            return reader

        self._reader = await world.network.call("acp connect", begin)
        self._writer = writer
        self._reader.feed_data(write_line(Hello(engine="mock")))
        await writer.next()  # who the service is
        if not self.open:
            raise Lost("the connection broke")
        world.acp.tasks.append(world.loop.create_task(self._take_lines(writer), name=f"{self.client.name} reads"))
        await self.request("initialize", {"protocolVersion": 1, "clientCapabilities": {}})

    async def _take_lines(self, writer: LineWriter) -> None:
        while (line := await writer.next()) is not None:
            if writer is not self._writer:
                return
            self.take(line)
            if self.client.slow_s and not self.world.faults_over:
                await asyncio.sleep(self.world.chance.draw(f"slow {self.client.name}") * self.client.slow_s)
        if writer is self._writer:
            self._lose()

    async def request(self, method: str, params: object) -> msgspec.Raw | None:
        try:
            return await super().request(method, params)
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if current is not None and current.cancelling():
                raise
            return None  # the connection was lost

    async def post(self, method: str, params: object, step: Step | None = None, result: Result = None) -> None:
        if not self.open:
            self._lose()
            await self._connect()
        owed = self.new_owed(method, result)
        await self.send(jsonrpc.encode_request(owed.id, method, params))

    async def send(self, message: bytes) -> None:
        if not self.open or self._reader is None:
            raise Lost("no connection")
        self._reader.feed_data(message)


# ------------------------------------------------------------------------------------------------- checks


def _answers(body: bytes, rpc_id: int) -> bool:
    envelope = jsonrpc.envelope_decoder.decode(body)
    return envelope.kind == "response" and envelope.id == rpc_id


def _entries(world: World, journal: str) -> list[bytes]:
    found: list[bytes] = []
    while True:
        page = finish(world.machine.disk.memory.journal(journal).read(len(found)))
        if not page.entries:
            return found
        found += [_unpacked(entry.number, entry.body).body for entry in page.entries]


async def settle(world: World, become_quiet: Quiet) -> None:
    """Wait until each client has what it is owed; then judge."""
    begun = world.loop.now
    while world.failure is None:
        problem = _missing(world)
        if problem is None:
            break
        if world.loop.now - begun > LAG_S:
            world.fail(*problem)
            return
        await asyncio.sleep(0.5)
        await become_quiet(world)
    for transport, name in world.acp.deleted:
        memory = world.machine.disk.memory
        if _entries(world, f"acp/{transport}/{name}"):
            world.fail("acp_ghost", f"the journal of {name} is there though its deletion was acknowledged")
        if finish(memory.documents(f"{DOCUMENTS}-{transport}").get(name)) is not None:
            world.fail("acp_ghost", f"{name} is known though its deletion was acknowledged")


def _missing(world: World) -> tuple[str, str] | None:
    for client in world.acp.http:
        entries = _entries(world, client.journal)
        have = client.bodies
        if client.gone and world.machine.disk.power_cuts:
            continue  # it has what the cut took away, and will never ask again
        if have != entries[: len(have)]:
            return "acp_differs", f"{client.client.name} has other messages than its journal"
        if len(have) < len(entries) and not client.gone:
            return "acp_differs", f"{client.client.name} has {len(have)} of {len(entries)} messages"
        problem = _unanswered(world, client, entries)
        if problem is not None:
            return problem
    left = [] if world.life is None else world.loop.living(world.life.node)
    if any(task.get_name() == "acp call" for task in left):
        return "acp_task_left", "a call is left"
    for each in world.acp.lines:
        for owed in each.owed.values():
            if each.open and not owed.responses:
                return "acp_response", f"{each.client.name}: {owed.method} {owed.id} has no response"
    return None


def _unanswered(world: World, client: HttpClient, entries: list[bytes]) -> tuple[str, str] | None:
    """A request without exactly one response. One that a life took which crashed may have none."""
    answered: dict[int, list[bytes]] = {}
    for body in entries:
        envelope = jsonrpc.envelope_decoder.decode(body)
        if envelope.kind == "response" and isinstance(envelope.id, int):
            answered.setdefault(envelope.id, []).append(body)
    for owed in client.owed.values():
        if owed.journal != client.journal or not owed.life:
            continue
        found = answered.get(owed.id, [])
        crashed = owed.life in world.loop.dead and owed.life not in world.ended_nodes
        if not found and (crashed or world.machine.disk.power_cuts):
            world.count("acp_unanswered")
            continue
        if len(found) != 1:
            return "acp_response", f"{client.client.name}: {owed.method} {owed.id} has {len(found)} responses"
        if owed.posted and owed.posted != found[0]:
            return "acp_response", f"{client.client.name}: the POST of {owed.id} had another response than the stream"
    return None
