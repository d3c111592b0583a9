"""The scripted Bot API on a socket of 127.0.0.1: calls in, chats changed, faults as ordered."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Self

import msgspec

from footplate.tasks import spawn
from footplate.testing.bots.faults import Fault, Refusal
from footplate.testing.bots.form import read_parameters
from footplate.testing.bots.limits import Limits, Rates
from footplate.testing.bots.methods import COUNTED, METHODS
from footplate.testing.bots.person import Person
from footplate.testing.bots.updates import Updates
from footplate.testing.bots.world import Bubble, World
from footplate.testing.messages.wire import HEAD_LIMIT, HttpAnswer, HttpRequest, read_request

HOST: Final = "127.0.0.1"
BOT: Final = 4242
PATIENCE_S: Final = 20.0


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call as it came in, and what became of it."""

    method: str
    parameters: dict[str, object]
    at: float
    status: int


class ScriptedBots:
    """One bot and all its chats. Use it as an async context manager; everything happens on its loop."""

    def __init__(
        self,
        *,
        rates: Rates | None = None,
        clock: Callable[[], float] = time.monotonic,
        callback_ttl_s: float = 15.0,
        username: str = "footplate_bot",
    ) -> None:
        self.token = f"{BOT}:{secrets.token_hex(8)}"
        self.username = username
        self.world = World(BOT)
        self.updates = Updates()
        self.faults: list[Fault] = []
        self.log: list[Call] = []
        self.toasts: dict[str, str] = {}
        self.menu: list[dict[str, str]] = []
        self.files: dict[str, bytes] = {}
        self.refuse_all: int = 0
        """A status with which every call is answered: the service is down."""
        self._clock = clock
        self._limits = Limits(rates or Rates(), clock)
        self._callback_ttl_s = callback_ttl_s
        self._presses: dict[str, float] = {}
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Condition()

    # ----------------------------------------------------------------------------------------- control

    @property
    def url(self) -> str:
        """The address to give as `api_url`."""
        if self._server is None:
            raise RuntimeError("the server has not been started")
        return f"http://{HOST}:{self._server.sockets[0].getsockname()[1]}"

    def person(self, user: int, chat: int | None = None) -> Person:
        """Somebody, in the private chat with the bot or in a group."""
        return Person(self, user, chat)

    def fail(self, **fault: object) -> Fault:
        """Order a fault; see `Fault`."""
        made = msgspec.convert(fault, Fault)
        self.faults.append(made)
        return made

    async def push_press(self, user: int, bubble: Bubble, data: str) -> str:
        """A press of a button, or a forged one."""
        press = f"press{len(self._presses) + 1}"
        self._presses[press] = self._clock()
        body: dict[str, object] = {
            "id": press,
            "from": {"id": user, "is_bot": False, "first_name": f"user{user}"},
            "message": self.world.message(bubble),
            "data": data,
        }
        await self.updates.push("callback_query", body)
        return press

    async def until(self, seen: Callable[[], object], *, within: float = PATIENCE_S) -> None:
        """Wait until it holds; looked at after every call."""
        async with self._changed:
            try:
                async with asyncio.timeout(within):
                    await self._changed.wait_for(lambda: bool(seen()))
            except TimeoutError:
                told = {chat: [b.text for b in room.bubbles.values()] for chat, room in self.world.rooms.items()}
                raise AssertionError(f"not seen within {within:g} s; the chats: {told}") from None

    def calls(self, method: str, *, chat: int | None = None) -> list[Call]:
        """The calls of a method so far."""
        return [
            call for call in self.log if call.method == method and (chat is None or call.parameters["chat_id"] == chat)
        ]

    # ------------------------------------------------------------------------------------------ socket

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, HOST, 0, limit=HEAD_LIMIT)
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._server is not None:
            self._server.close()
            for task in tuple(self._connections):
                task.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)
            await self._server.wait_closed()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = spawn(self._converse(reader, writer), name="scripted bot API", awaited=True)
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await read_request(reader)) is not None:
                answer = await self._answer(request)
                if answer is None:
                    break
                writer.write(answer.encode(for_method=request.method))
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    # ------------------------------------------------------------------------------------------- calls

    async def _answer(self, request: HttpRequest) -> HttpAnswer | None:
        """The answer; None closes the connection without one."""
        if request.path.startswith(f"/file/bot{self.token}/"):
            body = self.files.get(request.path.rsplit("/", 1)[1])
            return HttpAnswer(status=404) if body is None else HttpAnswer(body=body)
        _, bot, method = (*request.path.split("/", 2), "", "")[:3]
        if bot != f"bot{self.token}":
            return _refused(Refusal(401, "Unauthorized"))
        parameters = read_parameters(request)
        fault = next((each for each in self.faults if each.fits(method, parameters)), None)
        answer = await self._faulty(fault, method, parameters)
        status = answer.status if answer is not None else 0
        self.log.append(Call(method=method, parameters=parameters, at=self._clock(), status=status))
        async with self._changed:
            self._changed.notify_all()
        return answer

    async def _faulty(self, fault: Fault | None, method: str, parameters: dict[str, object]) -> HttpAnswer | None:
        if self.refuse_all:
            return _refused(Refusal(self.refuse_all, "Bad Gateway"))
        if fault is None:
            return await self._carry_out(method, parameters)
        if fault.delay_s:
            await asyncio.sleep(fault.delay_s)
        refusal = fault.refusal()
        if fault.drop == "before" or (refusal is not None and not fault.effect):
            return None if refusal is None else _refused(refusal)
        answer = await self._carry_out(method, parameters)
        if fault.drop == "after":
            return None
        return answer if refusal is None else _refused(refusal)

    async def _carry_out(self, method: str, parameters: dict[str, object]) -> HttpAnswer:
        try:
            result = await self._call(method, parameters)
        except Refusal as refusal:
            return _refused(refusal)
        except (msgspec.ValidationError, TypeError) as problem:
            return _refused(Refusal(400, f"Bad Request: {problem}"))
        return HttpAnswer(body=msgspec.json.encode({"ok": True, "result": result}))

    async def _call(self, method: str, given: dict[str, object]) -> object:
        if method in METHODS:
            chat = given.get("chat_id")
            wait = self._limits.wait_for(chat) if method in COUNTED and isinstance(chat, int) else 0.0
            if wait > 0:
                seconds = max(1, round(wait + 0.5))
                raise Refusal(429, f"Too Many Requests: retry after {seconds}", retry_after=seconds)
            return METHODS[method](self.world, given)
        match method:
            case "getMe":
                return {"id": BOT, "is_bot": True, "first_name": "Footplate", "username": self.username}
            case "getUpdates":
                return await self._poll(given)
            case "answerCallbackQuery":
                return self._toast(given)
            case "setMyCommands":
                self.menu = msgspec.convert(given["commands"], list[dict[str, str]])
                return True
            case "getFile":
                return self._file(str(given["file_id"]))
            case _:
                raise Refusal(404, "Not Found")

    async def _poll(self, given: dict[str, object]) -> object:
        offset = given.get("offset")
        return await self.updates.poll(
            offset=offset if isinstance(offset, int) else None,
            limit=min(int(str(given.get("limit", 100))), 100),
            timeout_s=float(str(given.get("timeout", 0))),
        )

    def _toast(self, given: dict[str, object]) -> object:
        press = str(given.get("callback_query_id"))
        begun = self._presses.get(press)
        if begun is None or self._clock() - begun > self._callback_ttl_s:
            words = "Bad Request: query is too old and response timeout expired or query ID is invalid"
            raise Refusal(400, words)
        self.toasts[press] = str(given.get("text", ""))
        return True

    def _file(self, file_id: str) -> object:
        if file_id not in self.files:
            raise Refusal(400, "Bad Request: invalid file_id")
        return {"file_id": file_id, "file_path": f"documents/{file_id}", "file_size": len(self.files[file_id])}


def _refused(refusal: Refusal) -> HttpAnswer:
    told: dict[str, object] = {"ok": False, "error_code": refusal.code, "description": refusal.words}
    if refusal.parameters:
        told["parameters"] = refusal.parameters
    return HttpAnswer(status=refusal.code, body=msgspec.json.encode(told))
