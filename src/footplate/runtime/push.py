"""Web Push: browsers that asked to be told when a session needs somebody, has finished or has failed.

A browser is told of the sessions it named, or of all, as far as the token reaches by which it subscribed: with the
token its subscription ends. Messages wait in a durable queue: one that a push service refuses for now is tried again,
also after a restart; a subscription that the service no longer knows is removed.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from email.utils import parsedate_to_datetime
from fnmatch import fnmatchcase
from typing import Annotated, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from footplate.config.notify import OCCASIONS, Occasion
from footplate.config.push import PushSettings
from footplate.errors import Conflict, InvalidValue, NotFound, StoreError, WrongVersion
from footplate.events.ids import SessionId
from footplate.events.visible import show_line
from footplate.runtime import push_crypto as crypto
from footplate.runtime.access import Access, Grant
from footplate.runtime.notify import Notice, brief
from footplate.store.base import Store
from footplate.store.values import Message
from footplate.tasks import spawn

SUBSCRIPTIONS: Final = "push"
KEYS: Final = "push-keys"
QUEUE: Final = "push"
MOST: Final = 100
"""How many browsers may be subscribed."""
TEXT_LIMIT: Final = 600
TIMEOUT_S: Final = 15.0
TOKEN_S: Final = 12 * 3600
FIRST_PAUSE_S: Final = 2.0
LONGEST_PAUSE_S: Final = 3600.0
LOCAL: Final = frozenset(("127.0.0.1", "::1", "localhost"))

log = logging.getLogger(__name__)


class BrowserKeys(msgspec.Struct, frozen=True, kw_only=True):
    """The browser's side of the encryption, as `PushSubscription.toJSON()` gives it."""

    p256dh: Annotated[str, Meta(max_length=200)]
    auth: Annotated[str, Meta(max_length=100)]


class BrowserSubscription(msgspec.Struct, frozen=True, kw_only=True):
    """What `PushSubscription.toJSON()` gives."""

    endpoint: Annotated[str, Meta(min_length=1, max_length=2000)]
    keys: BrowserKeys


class Subscribe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A browser, and what it wants to be told: of `all` sessions, or of those it names; sent again, it is changed."""

    subscription: BrowserSubscription
    on: tuple[Occasion, ...] = OCCASIONS
    all: bool = False
    sessions: Annotated[tuple[SessionId, ...], Meta(max_length=1000)] = ()
    name: Annotated[str, Meta(max_length=200)] = ""


class Subscription(msgspec.Struct, frozen=True, kw_only=True):
    """A subscription as it is kept. `token` is the id of the token by which it was made; empty: the operator's."""

    id: str
    browser: BrowserSubscription
    on: tuple[Occasion, ...]
    all: bool
    sessions: tuple[SessionId, ...]
    name: str
    token: str
    created_at: float

    def wants(self, notice: Notice) -> bool:
        """Whether the browser asked for this."""
        return notice.event in self.on and (self.all or notice.session in self.sessions)


class Letter(msgspec.Struct, frozen=True, kw_only=True):
    """One message on its way to one browser."""

    subscription: str
    notice: Notice


class PushKey(msgspec.Struct, frozen=True, kw_only=True):
    """The private key of this server, by which push services know it."""

    private: str


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """What a push service said. `after_s`: when to try again; None: that is of no use."""

    status: int
    words: str = ""
    after_s: float | None = None

    @property
    def ok(self) -> bool:
        """Whether it took the message."""
        return 200 <= self.status < 300

    @property
    def gone(self) -> bool:
        """Whether the subscription is not known any more."""
        return self.status in (404, 410)


class Push:
    """The subscriptions of one data folder."""

    def __init__(self, store: Store, access: Access, settings: PushSettings) -> None:
        self._documents = store.documents(SUBSCRIPTIONS)
        self._keys = store.documents(KEYS)
        self._queue = store.queue(QUEUE)
        self._access = access
        self._settings = settings
        self._known: dict[str, Subscription] = {}
        self._key = ""
        self._worker: asyncio.Task[None] | None = None

    @classmethod
    @asynccontextmanager
    async def open(cls, store: Store, access: Access, settings: PushSettings) -> AsyncIterator[Push]:
        """With what was subscribed before; messages go out for as long as the block lasts."""
        push = cls(store, access, settings)
        await push._load()
        try:
            yield push
        finally:
            if push._worker is not None:
                push._worker.cancel()
                await asyncio.wait((push._worker,))

    # --------------------------------------------------------------------------------------------- subscribe

    async def public_key(self) -> str:
        """By which key a browser is to subscribe; the same for ever. Raises `SwitchedOff` without the extra."""
        return await asyncio.to_thread(crypto.public_part, await self._own_key())

    async def subscribe(self, asked: Subscribe, grant: Grant) -> Subscription:
        """Take a browser up, or change what it is told. Raises `InvalidValue`."""
        crypto.check_available()
        endpoint = asked.subscription.endpoint
        check_endpoint(endpoint, self._settings.services)
        crypto.check_browser_key(asked.subscription.keys.p256dh)
        crypto.from_text(asked.subscription.keys.auth, name="keys.auth", size=crypto.AUTH_BYTES)
        name = subscription_id(endpoint)
        before = self._known.get(name)
        if before is None and len(self._known) >= MOST:
            raise Conflict(f"{MOST} browsers are subscribed already; take one back first")
        made = Subscription(
            id=name,
            browser=asked.subscription,
            on=asked.on,
            all=asked.all,
            sessions=asked.sessions,
            name=asked.name,
            token=grant.token,
            created_at=before.created_at if before is not None else time.time(),
        )
        await self._documents.put(name, msgspec.json.encode(made))
        self._known[name] = made
        self._begin()
        return made

    def list(self, grant: Grant) -> tuple[Subscription, ...]:
        """The subscriptions made by that token; an admin's token sees all."""
        return tuple(each for each in self._known.values() if self._may(grant, each))

    def find(self, name: str, grant: Grant) -> Subscription:
        """One of those. Raises `NotFound`."""
        found = self._known.get(name)
        if found is None or not self._may(grant, found):
            raise NotFound("subscription", name)
        return found

    async def unsubscribe(self, name: str, grant: Grant) -> None:
        """Tell the browser no more. Raises `NotFound`."""
        await self._forget(self.find(name, grant).id)

    async def try_out(self, name: str, grant: Grant) -> Delivery:
        """Send a message now, and say what became of it."""
        found = self.find(name, grant)
        notice = Notice(event="needs_you", session=SessionId(""), time=time.time(), title="Footplate", text="It works.")
        delivery = await self._deliver(found, notice)
        if delivery.gone:
            await self._forget(found.id)
        return delivery

    # --------------------------------------------------------------------------------------------- tell

    def wants(self, occasion: Occasion, session: SessionId) -> bool:
        """Whether any browser is to be told of that."""
        return any(occasion in each.on and (each.all or session in each.sessions) for each in self._known.values())

    async def tell(self, notice: Notice) -> None:
        """Write down whom to tell; the worker does."""
        for each in tuple(self._known.values()):
            if not each.wants(notice):
                continue
            grant = self._access.grant_of(each.token)
            if grant is None:
                await self._forget(each.id)
            elif grant.reaches(notice.session, notice.cwd):
                letter = Letter(subscription=each.id, notice=notice)
                key = f"{each.id}:{notice.session}:{notice.event}:{notice.time}"
                await self._queue.put(msgspec.json.encode(letter), key=key)

    # --------------------------------------------------------------------------------------------- inside

    async def _load(self) -> None:
        after: str | None = None
        while True:
            page = await self._documents.list(after=after)
            for each in page.items:
                with suppress(msgspec.DecodeError):
                    self._known[each.key] = msgspec.json.decode(each.body, type=Subscription)
            after = page.after
            if after is None:
                break
        if self._known:
            self._begin()

    def _may(self, grant: Grant, subscription: Subscription) -> bool:
        return subscription.token == grant.token or (grant.may("admin") and not grant.limited)

    async def _own_key(self) -> str:
        """The key of this server, made when it is needed first."""
        crypto.check_available()
        if not self._key:
            kept = await self._keys.get("vapid")
            if kept is None:
                with suppress(WrongVersion):
                    made = PushKey(private=await asyncio.to_thread(crypto.new_key))
                    await self._keys.put("vapid", msgspec.json.encode(made), expect=0)
                kept = await self._keys.get("vapid")
            self._key = msgspec.json.decode(kept.body if kept is not None else b"{}", type=PushKey).private
        return self._key

    async def _forget(self, name: str) -> None:
        self._known.pop(name, None)
        await self._documents.delete(name)

    def _begin(self) -> None:
        if self._worker is None:
            self._worker = spawn(self._work(), name="push")

    async def _work(self) -> None:
        while True:
            try:
                messages = await self._queue.take(8, visibility_s=4 * TIMEOUT_S)
                await asyncio.gather(*map(self._send, messages))
            except StoreError as problem:
                log.error("push messages wait, the store failed: %s", problem)  # noqa: TRY400
                return

    async def _send(self, message: Message) -> None:
        letter = msgspec.json.decode(message.body, type=Letter)
        subscription = self._known.get(letter.subscription)
        late = time.time() - letter.notice.time > self._settings.keep_s
        if subscription is None or late:
            await self._queue.ack(message)
            return
        delivery = await self._deliver(subscription, letter.notice)
        if delivery.gone:
            await self._forget(subscription.id)
        elif not delivery.ok and delivery.after_s is not None:
            pause = min(LONGEST_PAUSE_S, max(delivery.after_s, FIRST_PAUSE_S * 2 ** (message.attempts - 1)))
            await self._queue.nack(message, delay_s=pause)
            return
        elif not delivery.ok:
            log.warning("a push service refused a message: %d %s", delivery.status, delivery.words)
        await self._queue.ack(message)

    async def _deliver(self, subscription: Subscription, notice: Notice) -> Delivery:
        key = await self._own_key()
        return await asyncio.to_thread(_post, build_push(subscription, notice, key=key, settings=self._settings))


def subscription_id(endpoint: str) -> str:
    """The id of the browser that has this endpoint."""
    return hashlib.sha256(endpoint.encode()).hexdigest()[:32]


def check_endpoint(endpoint: str, services: Sequence[str]) -> None:
    """Raise `InvalidValue` unless it is an address of a push service that may be called: we post to no other."""
    try:
        parts = urlsplit(endpoint)
        host = parts.hostname or ""
    except ValueError:
        host, parts = "", urlsplit("")
    safe = parts.scheme == "https" or (parts.scheme == "http" and host in LOCAL)
    if not safe or parts.username or not any(fnmatchcase(host, glob) for glob in services):
        raise InvalidValue(
            "endpoint", endpoint[:200], f"https on a push service of `services` in [push]: {', '.join(services)}"
        )


def build_push(
    subscription: Subscription, notice: Notice, *, key: str, settings: PushSettings
) -> urllib.request.Request:
    """The call that hands the message to the push service; a later one about the same session takes its place."""
    endpoint = subscription.browser.endpoint
    shown = msgspec.structs.replace(notice, title=show_line(notice.title), text=brief(notice.text, TEXT_LIMIT))
    payload = msgspec.json.encode(shown)
    body = crypto.encrypt(
        payload if len(payload) <= crypto.LARGEST else _shorter(notice),
        browser=subscription.browser.keys.p256dh,
        auth=subscription.browser.keys.auth,
        own=crypto.new_key(),
        salt=secrets.token_bytes(crypto.SALT_BYTES),
    )
    headers = {
        "content-type": "application/octet-stream",
        "content-encoding": "aes128gcm",
        "ttl": str(int(settings.keep_s)),
        "urgency": "normal" if notice.event == "finished" else "high",
        "topic": hashlib.sha256(notice.session.encode()).hexdigest()[:32],
        "authorization": crypto.sign(key, endpoint, subject=settings.contact, expires=int(time.time()) + TOKEN_S),
    }
    return urllib.request.Request(endpoint, body, headers, method="POST")


def _shorter(notice: Notice) -> bytes:
    """What is left when even the title is too long."""
    return msgspec.json.encode(Notice(event=notice.event, session=notice.session, time=notice.time))


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A push service that sends us elsewhere is not followed: elsewhere may not be one."""

    def redirect_request(self, *_: object) -> None:
        return None


def _post(request: urllib.request.Request) -> Delivery:
    opener = urllib.request.build_opener(_NoRedirect)
    try:
        with opener.open(request, timeout=TIMEOUT_S) as answer:
            return Delivery(status=answer.status)
    except urllib.error.HTTPError as refused:
        with refused:
            words = refused.read(500).decode("utf-8", "replace")
            again = refused.code == 429 or refused.code >= 500
            after = _seconds(refused.headers.get("retry-after")) if again else None
            return Delivery(status=refused.code, words=words, after_s=after)
    except (OSError, ValueError) as problem:
        return Delivery(status=0, words=str(problem), after_s=0.0)


def _seconds(text: str | None) -> float:
    """`Retry-After`: seconds, or a date."""
    if not text:
        return 0.0
    if text.isdecimal():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return 0.0
