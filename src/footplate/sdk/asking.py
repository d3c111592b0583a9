"""Answers on their way: as the wire has them, and the handlers of a program that give them."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Literal

import msgspec

from footplate.errors import AlreadyAnswered, FootplateError
from footplate.events.ids import RequestId, SessionId
from footplate.events.requests import Allow, Answer, Choose, Decline, Deny, Reply, Request
from footplate.events.view import RequestView
from footplate.sdk.shapes import RequestInfo
from footplate.tasks import spawn

PermissionReply = Literal["once", "always", "reject"]
Handler = Callable[[RequestInfo], Answer | Awaitable[Answer | None] | None]
"""Gets a request; returns its answer, or None to leave it to somebody else."""

log = logging.getLogger(__name__)


def encode_answer(answer: Answer) -> dict[str, object]:
    """The body of an answer."""
    match answer:
        case Choose(option=option):
            return {"option": option}
        case Reply(answers=answers):
            return {"answers": answers}
        case Decline(message=message):
            return {"decline": True, "message": message}
        case Deny(message=message, interrupt=interrupt):
            return {"behavior": "deny", "message": message, "interrupt": interrupt}
        case Allow():
            body: dict[str, object] = {"behavior": "allow", "scope": answer.scope, "mode": answer.mode}
            if answer.suggestion is not None:
                body["suggestion"] = answer.suggestion
            if answer.updated_input is not None:
                body["updated_input"] = answer.updated_input
            if answer.prompts:
                body["prompts"] = answer.prompts
            return body


def reply_answer(request: RequestInfo, reply: PermissionReply) -> Answer:
    """The answer that a short reply means for this request."""
    match reply:
        case "once":
            return Allow()
        case "reject":
            return Deny()
        case "always":
            lasting = next((each for each in request.options if each.kind == "allow_always"), None)
            return Choose(option=lasting.id) if lasting is not None else Allow(scope="session")


def describe_request(session: SessionId, asked: Request, opened_at: float) -> RequestInfo:
    """A request that has just been opened, as the list of requests would have it."""
    shared = {
        each.name: getattr(asked, each.name)
        for each in msgspec.structs.fields(RequestInfo)
        if hasattr(asked, each.name)
    }
    return RequestInfo(session=session, state="open", opened_at=opened_at, tool_call=asked.call, **shared)


def same_answer(view: RequestView | None, answer: Answer) -> bool:
    """Whether this very answer stands in the log: then an earlier attempt of ours arrived."""
    return (
        view is not None and view.answer is not None and msgspec.json.encode(view.answer) == msgspec.json.encode(answer)
    )


class Desk:
    """Runs a program's handler for each request once, and gives its answer."""

    def __init__(self, give: Callable[[RequestId, Answer], Awaitable[object]]) -> None:
        self._give = give
        self._handlers: list[Handler] = []
        self._seen: set[RequestId] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def staffed(self) -> bool:
        """Whether there is anybody to ask."""
        return bool(self._handlers)

    def add(self, handler: Handler) -> Callable[[], None]:
        """Ask this handler, too; what is returned ends that."""
        self._handlers.append(handler)

        def stop() -> None:
            if handler in self._handlers:
                self._handlers.remove(handler)

        return stop

    def take(self, request: RequestInfo) -> None:
        """A request is open. It is put to the handlers once, however often it is told."""
        if not self._handlers or request.id in self._seen:
            return
        self._seen.add(request.id)
        task = spawn(self._ask(request), name=f"request {request.id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _ask(self, request: RequestInfo) -> None:
        for handler in tuple(self._handlers):
            try:
                told = handler(request)
                answer = await told if inspect.isawaitable(told) else told
            except Exception:
                log.exception("a handler of requests failed; %s stays open", request.id)
                continue
            if answer is None:
                continue
            try:
                await self._give(request.id, answer)
            except AlreadyAnswered as first:
                log.info("request %s: %s", request.id, first)
            except FootplateError:
                log.exception("the answer to %s was not taken; it stays open", request.id)
                self._seen.discard(request.id)
            return

    async def close(self) -> None:
        """Ask nobody any more; handlers that still think are stopped, their requests stay open."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
