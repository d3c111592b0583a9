"""What was asked of the scripted API: the last requests, their bodies, and how often a step has failed."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Literal

import msgspec

from footplate.testing.messages.asked import Asked
from footplate.testing.messages.chore import ChoreName
from footplate.testing.messages.dialect import find_dialect
from footplate.testing.messages.script import Due
from footplate.testing.messages.wire import HttpRequest

Outcome = Literal["open", "answered", "cut", "gone"]

REQUESTS_KEPT = 1000
BODY_BYTES_KEPT = 128 << 20
_STEPS_KEPT = 10_000


class LoggedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request as the log tells it.

    `auth` has the headers that carried a key or token, by lower-case name. `retry` is what the client's
    library said of itself (x-stainless-retry-count). `step` is the step of the script that was due, None
    without a script; `chore` names what an agent asks on its own account. `outcome` is "open" until the
    answer is sent, then "answered", "cut" (by the script) or "gone" (the client left before the end);
    `status` is 0 until an answer begins.
    """

    key: str
    method: str
    path: str
    auth: dict[str, str]
    betas: tuple[str, ...]
    retry: int
    model: str = ""
    stream: bool = False
    tools: tuple[str, ...] = ()
    step: int | None = None
    chore: ChoreName = ""
    status: int = 0
    outcome: Outcome = "open"

    @property
    def asks_model(self) -> bool:
        """Whether the model was asked for its next words: not a chore, not a look at the server."""
        return find_dialect(self.method, self.path) is not None and not self.chore


class Entry:
    """A request in the journal while it is being answered."""

    def __init__(self, request: HttpRequest) -> None:
        self.body = request.body
        self.logged = _first_look(request)

    def asks(self, asked: Asked) -> None:
        self._change(model=asked.model, stream=asked.stream is True, tools=asked.tool_names)

    def follows(self, due: Due) -> None:
        self._change(step=due.index, chore=due.chore)

    def begins(self, status: int) -> None:
        self._change(status=status)

    def ends(self, outcome: Outcome) -> None:
        self._change(outcome=outcome)

    def _change(self, **fields: object) -> None:
        self.logged = msgspec.structs.replace(self.logged, **fields)


class Journal:
    """The last requests, oldest first; the bodies of the oldest are let go when all together grow too large."""

    def __init__(self, *, requests: int = REQUESTS_KEPT, body_bytes: int = BODY_BYTES_KEPT) -> None:
        self._entries: deque[Entry] = deque(maxlen=requests)
        self._body_bytes = body_bytes
        self._failures: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._changed = asyncio.Event()

    @contextmanager
    def entry(self, request: HttpRequest) -> Iterator[Entry]:
        """The entry of a request; left without an ending it says that the client has gone."""
        entry = Entry(request)
        self._entries.append(entry)
        self._let_go_of_bodies()
        self._wake()
        try:
            yield entry
        finally:
            if entry.logged.outcome == "open":
                entry.ends("gone")
            self._wake()

    def requests(self, key: str | None) -> list[LoggedRequest]:
        return [entry.logged for entry in self._of(key)]

    def bodies(self, key: str | None) -> list[bytes]:
        return [entry.body for entry in self._of(key) if entry.body]

    def clear(self, key: str | None) -> None:
        """Forget the requests and failures of a key, or of all."""
        gone = self._of(key)
        self._entries = deque((each for each in self._entries if each not in gone), self._entries.maxlen)
        for counted in [each for each in self._failures if key in {None, each[0]}]:
            del self._failures[counted]

    def fails_again(self, key: str, step: str, *, times: int) -> bool:
        """Count a failure of a step, unless it has failed often enough."""
        failed = self._failures.get((key, step), 0)
        if failed >= times:
            return False
        self._failures[key, step] = failed + 1
        if len(self._failures) > _STEPS_KEPT:
            self._failures.popitem(last=False)
        return True

    async def wait_for(self, key: str | None, *, count: int, ended: int, seconds: float) -> None:
        """Wait until the model was asked `count` times and `ended` of these have ended, or the time is up."""
        try:
            async with asyncio.timeout(seconds):
                while not has_come(self.requests(key), count=count, ended=ended):
                    await self._changed.wait()
        except TimeoutError:
            return

    def _of(self, key: str | None) -> list[Entry]:
        return [entry for entry in self._entries if key in {None, entry.logged.key}]

    def _let_go_of_bodies(self) -> None:
        kept = 0
        for entry in reversed(self._entries):
            kept += len(entry.body)
            if kept > self._body_bytes:
                entry.body = b""

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def has_come(log: Iterable[LoggedRequest], *, count: int, ended: int) -> bool:
    """Whether the model was asked `count` times and `ended` of these requests have ended."""
    asking = [each for each in log if each.asks_model]
    return len(asking) >= count and sum(each.outcome != "open" for each in asking) >= ended


def _first_look(request: HttpRequest) -> LoggedRequest:
    headers = request.headers
    betas = headers.get("anthropic-beta", "")
    retry = headers.get("x-stainless-retry-count", "0")
    return LoggedRequest(
        key=request.key,
        method=request.method,
        path=request.path,
        auth={name: headers[name] for name in ("authorization", "x-api-key") if name in headers},
        betas=tuple(each.strip() for each in betas.split(",") if each.strip()),
        retry=int(retry) if retry.isdecimal() else 0,
    )
