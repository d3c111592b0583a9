"""The scripted API itself: which path does what, and how a scripted answer is sent down a connection."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Protocol

import msgspec

from footplate.testing.messages.catalog import DEFAULT_MODELS, Model, as_model, page_of
from footplate.testing.messages.dialect import Dialect, find_dialect
from footplate.testing.messages.journal import Entry, Journal
from footplate.testing.messages.refusal import refuse
from footplate.testing.messages.reply import compose_reply, digest
from footplate.testing.messages.script import Due, ScriptError, due_step
from footplate.testing.messages.step import Step
from footplate.testing.messages.stream import Stream
from footplate.testing.messages.wire import HttpAnswer, HttpRequest, encode_chunk, encode_head

_BLOCK = 1 << 14


class Outlet(Protocol):
    """Where answers go: the writing half of a connection."""

    def write(self, data: bytes) -> None: ...

    async def drain(self) -> None: ...


class ConnectionCutError(Exception):
    """The script wants the connection closed in the middle of an answer."""


class ScriptedApi:
    """Answers requests. Keeps the journal and the list of models, and nothing of any conversation."""

    def __init__(self) -> None:
        self.journal = Journal()
        self._models: dict[str, tuple[Model, ...]] = {}

    async def answer(self, request: HttpRequest, out: Outlet) -> None:
        """Answer one request; a cut is told by ConnectionCutError, a client that leaves by cancelling."""
        if request.path.startswith("/_"):
            await _send(out, request, await self._answer_control(request))
            return
        with self.journal.entry(request) as entry:
            await self._public(request, entry, out)

    async def _public(self, request: HttpRequest, entry: Entry, out: Outlet) -> None:
        route = (request.method, request.path.rstrip("/") or "/")
        dialect = find_dialect(*route)
        if dialect is not None:
            await self._ask(request, entry, out, dialect)
            return
        match route:
            case ("HEAD" | "GET", "/" | "/api/hello"):
                answer = HttpAnswer()
            case ("POST", "/v1/messages/count_tokens"):
                answer = HttpAnswer(body=msgspec.json.encode({"input_tokens": 1 + len(request.body) // 4}))
            case ("GET", "/v1/models"):
                answer = self._list_models(request)
            case ("GET", path) if path.startswith("/v1/models/"):
                answer = self._show_model(request, path.removeprefix("/v1/models/"))
            case _:
                answer = refuse(404, f"no such path: {request.method} {request.path}")
        await _send_entry(out, request, entry, answer)

    async def _ask(self, request: HttpRequest, entry: Entry, out: Outlet, dialect: Dialect) -> None:
        try:
            asked = dialect.read(request)
            entry.asks(asked)
            due = due_step(asked, agent=request.headers.get("x-claude-code-agent-id", ""))
            entry.follows(due)
            reply = compose_reply(due, model=asked.model)
        except (msgspec.DecodeError, ScriptError, UnicodeEncodeError) as error:
            await _send_entry(out, request, entry, refuse(400, str(error)))
            return
        await asyncio.sleep(due.step.delay)
        if due.step.hang is True:
            await _hang()
        refusal = self._refusal(request.key, due)
        headers = {"request-id": _request_id(due)} | due.step.headers
        if refusal is not None:
            await _send_entry(out, request, entry, refusal)
        elif asked.stream:
            await _stream(out, entry, dialect.stream(reply, due.step), due.step, headers)
        elif due.step.hang is not False:
            await _hang()
        else:
            await _send_entry(out, request, entry, HttpAnswer(headers=headers, body=dialect.plain(reply)))

    def _refusal(self, key: str, due: Due) -> HttpAnswer | None:
        error = due.step.error
        if error is None:
            return None
        if error.times is not None and not self.journal.fails_again(key, digest(*due.name), times=error.times):
            return None
        headers = due.step.headers | error.headers
        return refuse(error.status, error.message, type=error.type, headers=headers, request_id=_request_id(due))

    def _models_of(self, key: str) -> tuple[Model, ...]:
        return self._models.get(key) or self._models.get("") or DEFAULT_MODELS

    def _list_models(self, request: HttpRequest) -> HttpAnswer:
        try:
            page = page_of(self._models_of(request.key), request.query)
        except ValueError as error:
            return refuse(400, str(error))
        return HttpAnswer(body=msgspec.json.encode(page))

    def _show_model(self, request: HttpRequest, name: str) -> HttpAnswer:
        for model in self._models_of(request.key):
            if model.id == name:
                return HttpAnswer(body=msgspec.json.encode(model))
        return refuse(404, f"model: {name}")

    async def _answer_control(self, request: HttpRequest) -> HttpAnswer:
        try:
            return await self._control(request)
        except ValueError as error:
            return refuse(400, str(error))

    async def _control(self, request: HttpRequest) -> HttpAnswer:
        """What tests ask: nothing of this is in the journal."""
        key = request.query.get("key")
        match request.method, request.path:
            case "GET", "/_log":
                await self._wait(request.query, key)
                return HttpAnswer(body=msgspec.json.encode(self.journal.requests(key)))
            case "GET", "/_bodies":
                return HttpAnswer(body=b"[%b]" % b",".join(map(_as_json, self.journal.bodies(key))))
            case "POST", "/_clear":
                self.journal.clear(key)
                return HttpAnswer(body=b"{}")
            case "POST", "/_models":
                return self._set_models(request, key or "")
            case _:
                return refuse(404, f"no such path: {request.method} {request.path}")

    async def _wait(self, query: Mapping[str, str], key: str | None) -> None:
        count, ended, seconds = (query.get(name, "0") for name in ("count", "ended", "wait"))
        await self.journal.wait_for(key, count=int(count), ended=int(ended), seconds=float(seconds))

    def _set_models(self, request: HttpRequest, key: str) -> HttpAnswer:
        given = msgspec.json.decode(request.body, type=list[Model | str])
        self._models[key] = tuple(as_model(each) for each in given)
        return HttpAnswer(body=b"{}")


async def _stream(out: Outlet, entry: Entry, stream: Stream, step: Step, headers: dict[str, str]) -> None:
    entry.begins(200)
    fixed = {"content-type": "text/event-stream; charset=utf-8", "transfer-encoding": "chunked"}
    out.write(encode_head(200, fixed | {"cache-control": "no-cache"} | headers))
    await _send_events(out, stream, pause=step.chunk_delay)
    match stream.ending:
        case "hang":
            await _hang()
        case "cut":
            entry.ends("cut")
            raise ConnectionCutError
        case "answered":
            out.write(encode_chunk(b""))
            await out.drain()
            entry.ends("answered")


async def _send_events(out: Outlet, stream: Stream, *, pause: float) -> None:
    """Send the events: one by one with pauses before the deltas, or as fast as the client takes them."""
    block = bytearray()
    for event in stream.events:
        if pause and event.is_delta:
            await asyncio.sleep(pause)
        block += event.encode()
        if pause or len(block) > _BLOCK:
            await _flush(out, block)
    await _flush(out, block)


async def _flush(out: Outlet, block: bytearray) -> None:
    if block:
        out.write(encode_chunk(bytes(block)))
        block.clear()
    await out.drain()


async def _send_entry(out: Outlet, request: HttpRequest, entry: Entry, answer: HttpAnswer) -> None:
    entry.begins(answer.status)
    await _send(out, request, answer)
    entry.ends("answered")


async def _send(out: Outlet, request: HttpRequest, answer: HttpAnswer) -> None:
    out.write(answer.encode(for_method=request.method))
    await out.drain()


async def _hang() -> None:
    """Wait until the connection's end cancels this."""
    await asyncio.get_running_loop().create_future()


def _request_id(due: Due) -> str:
    return f"req_{digest('request', *due.name)}"


def _as_json(body: bytes) -> bytes:
    """A body as it is, or as a string if it is no JSON."""
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
    except msgspec.DecodeError:
        return msgspec.json.encode(body.decode(errors="replace"))
    return body
