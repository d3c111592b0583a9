"""Outgoing hooks: a session needs somebody, has finished, or has failed. Told once, tried again, never in the way.

"Needs you" is told when a session begins to wait for a person, not for each request of it: what a rule answers, or
somebody at once, is told to nobody.
"""

from __future__ import annotations

import asyncio
import logging
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final, Protocol

import msgspec

from footplate.config.notify import Hook, Occasion
from footplate.errors import FootplateError
from footplate.events import model as m
from footplate.events.ids import SessionId
from footplate.events.model import Envelope
from footplate.events.visible import show_hidden, show_line
from footplate.host.spawner import Spawner
from footplate.runtime.bulletin import Bulletin
from footplate.runtime.services import Services
from footplate.runtime.shell import run_shell
from footplate.store.base import Store
from footplate.store.values import RequestFilter
from footplate.tasks import spawn

log = logging.getLogger(__name__)
TRIES: Final = (0.0, 2.0, 10.0)
"""How long to wait before each try."""
TIMEOUT_S: Final = 15.0
COMMAND_S: Final = 60.0
TEXT_LIMIT: Final = 3000
"""How many characters of a text a hook is given; a webhook gets all of it."""
WORDS: Final[dict[Occasion, str]] = {"needs_you": "needs you", "finished": "finished", "failed": "failed"}


class Notice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is told: which session, in which folder, and the words of it."""

    event: Occasion
    session: SessionId
    time: float
    title: str = ""
    engine: str = ""
    cwd: str = ""
    text: str = ""
    link: str = ""

    @property
    def headline(self) -> str:
        """One line for a lock screen."""
        return f"{show_line(self.title or self.cwd) or self.session} {WORDS[self.event]}"


class Teller(Protocol):
    """Another way to tell: it says what it wants, and is given the notice."""

    def wants(self, occasion: Occasion, session: SessionId) -> bool:
        """Whether it has somebody to tell of that."""
        ...

    async def tell(self, notice: Notice) -> None:
        """Tell it. Must not raise, and must not take long."""
        ...


class Notifier:
    """Listens to the bulletin and tells the hooks, and another teller."""

    def __init__(
        self,
        store: Store,
        keeper: Spawner,
        environ: Mapping[str, str],
        hooks: Callable[[], Sequence[Hook]] = tuple,
        *,
        teller: Teller | None = None,
    ) -> None:
        self._store = store
        self._teller = teller
        self._keeper = keeper
        self._environ = environ
        self._hooks = hooks
        self._telling: set[asyncio.Task[None]] = set()
        self._began: dict[SessionId, float] = {}

    @classmethod
    @asynccontextmanager
    async def open(cls, services: Services, *, teller: Teller | None = None) -> AsyncIterator[Notifier]:
        """A notifier for the hooks of the settings, or for that teller, for as long as the block lasts.

        What is being told then is given up.
        """
        hooks: Callable[[], Sequence[Hook]] = tuple if teller is not None else lambda: services.live.notify
        notifier = cls(services.store, services.keeper, services.environ, hooks, teller=teller)
        forget = notifier.follow(services.bulletin)
        try:
            yield notifier
        finally:
            forget()
            await notifier.close()

    def follow(self, bulletin: Bulletin) -> Callable[[], None]:
        """Begin to listen; returns what ends that."""
        return bulletin.subscribe(self._note)

    async def close(self) -> None:
        """Give up what is not told yet."""
        for task in tuple(self._telling):
            task.cancel()
        if self._telling:
            await asyncio.wait(tuple(self._telling))

    def _note(self, envelopes: Sequence[Envelope]) -> None:
        for envelope in envelopes:
            occasion = self._occasion(envelope)
            if occasion is not None:
                began = self._began.pop(envelope.session, envelope.time) if occasion != "needs_you" else envelope.time
                task = spawn(self._tell(occasion, envelope, envelope.time - began), name="notify")
                self._telling.add(task)
                task.add_done_callback(self._telling.discard)

    def _occasion(self, envelope: Envelope) -> Occasion | None:
        match envelope.event:
            case m.StateChanged(state="waiting", waiting_for="you"):
                return "needs_you"
            case m.TurnStarted():
                self._began[envelope.session] = envelope.time
                return None
            case m.TurnEnded(stop_reason="interrupted"):
                return None
            case m.TurnEnded(ok=ok):
                return "finished" if ok else "failed"
            case _:
                return None

    async def _tell(self, occasion: Occasion, envelope: Envelope, took: float) -> None:
        wanted = [
            hook
            for hook in self._hooks()
            if occasion in hook.on and (occasion == "needs_you" or took >= hook.at_least_s)
        ]
        teller = self._teller
        if teller is not None and not teller.wants(occasion, envelope.session):
            teller = None
        if not wanted and teller is None:
            return
        notice = await self._describe(occasion, envelope)
        if teller is not None:
            await teller.tell(notice)
        await asyncio.gather(*(self._deliver(hook, notice) for hook in wanted))

    async def _describe(self, occasion: Occasion, envelope: Envelope) -> Notice:
        row = await self._store.projections.session(envelope.session)
        return Notice(
            event=occasion,
            session=envelope.session,
            time=envelope.time,
            title=row.title if row is not None else "",
            engine=row.engine if row is not None else "",
            cwd=row.cwd if row is not None else "",
            text=await self._words(envelope),
        )

    async def _words(self, envelope: Envelope) -> str:
        if isinstance(envelope.event, m.TurnEnded):
            return envelope.event.answer if envelope.event.ok else envelope.event.error
        asked = await self._store.projections.requests(RequestFilter(session=envelope.session, states=("open",)))
        return "; ".join(row.title for row in asked.items)

    async def _deliver(self, hook: Hook, notice: Notice) -> None:
        link = f"{hook.link.rstrip('/')}/ui/#session={notice.session}" if hook.link else ""
        told = msgspec.structs.replace(notice, link=link)
        for delay in TRIES:
            await asyncio.sleep(delay)
            try:
                await self._try(hook, told)
            except (OSError, urllib.error.URLError, ValueError, FootplateError) as problem:
                log.warning("a %s hook was not told that %s: %s", hook.kind, told.headline, problem)
            else:
                return

    async def _try(self, hook: Hook, notice: Notice) -> None:
        if hook.kind == "command":
            line = with_variables(hook.target, notice)
            ran = await run_shell(self._keeper, line, cwd="/", environ=self._environ, timeout_s=COMMAND_S)
            if ran.exit_code != 0:
                raise OSError(f"it ended with {ran.exit_code}: {ran.output[-200:].strip()}")
            return
        request = build_request(hook, notice)
        await asyncio.to_thread(_send, request)


def build_request(hook: Hook, notice: Notice) -> urllib.request.Request:
    """The call that tells it: JSON for a webhook, plain words with a title for ntfy."""
    if hook.kind == "webhook":
        headers = {"content-type": "application/json", **hook.headers}
        return urllib.request.Request(hook.target, msgspec.json.encode(notice), headers, method="POST")
    headers = {
        "title": notice.headline.encode("ascii", "replace").decode(),
        "tags": {"needs_you": "question", "finished": "white_check_mark", "failed": "x"}[notice.event],
        "priority": "high" if notice.event == "needs_you" else "default",
        **({"click": notice.link} if notice.link else {}),
        **hook.headers,
    }
    text = brief(notice.text, TEXT_LIMIT) or notice.headline
    return urllib.request.Request(hook.target, text.encode(), headers, method="POST")


def brief(text: str, most: int) -> str:
    """A text for people, with hidden characters visible; what is left out is told by a mark."""
    shown = show_hidden(text)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def command_variables(notice: Notice) -> dict[str, str]:
    """What a command finds in its environment."""
    return {
        "FOOTPLATE_EVENT": notice.event,
        "FOOTPLATE_SESSION": notice.session,
        "FOOTPLATE_TITLE": show_line(notice.title),
        "FOOTPLATE_CWD": notice.cwd,
        "FOOTPLATE_TEXT": brief(notice.text, TEXT_LIMIT),
        "FOOTPLATE_LINK": notice.link,
    }


def with_variables(command: str, notice: Notice) -> str:
    """The command after its variables: a shell of ours gets nothing from the environment but a fixed list."""
    settings = "; ".join(f"export {name}={_quoted(value)}" for name, value in command_variables(notice).items())
    return f"{settings}\n{command}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\0", "").replace("'", "'\\''") + "'"


def _send(request: urllib.request.Request) -> None:
    if not request.full_url.startswith(("http://", "https://")):
        raise ValueError(f"{request.full_url!r} is no http or https address")
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
        answer.read(1024)
