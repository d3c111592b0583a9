"""Tokens: what they open, how long, for which sessions; and that nothing but their hash is kept."""

from __future__ import annotations

import asyncio
import time

import msgspec
import pytest

from footplate.errors import InvalidValue, NotFound, PermissionDenied, RevokedNotStored, StoreFull, TokenInvalid
from footplate.events.ids import SessionId
from footplate.runtime.access import TOKENS, Access, Grant, TokenRecord, TokenRequest
from footplate.store.memory import MemoryStore
from footplate.store.memory_documents import MemoryDocuments

MINE, OTHER = SessionId("mine"), SessionId("other")


async def test_an_issued_token_is_known_after_a_restart_and_unknown_once_it_is_revoked() -> None:
    store = MemoryStore()
    first = await Access.load(store)
    issued = await first.issue(TokenRequest(name="phone", scopes=("answer",)))
    again = await Access.load(store)
    assert again.authenticate(issued.token).scopes == {"answer", "read"}
    assert [record.name for record in again.list()] == ["phone"]
    await again.revoke(issued.record.id)
    for token in (issued.token, "", "fp__", f"fp_{issued.record.id}_x"):
        with pytest.raises(TokenInvalid):
            again.authenticate(token)
    with pytest.raises(NotFound):
        await again.revoke(issued.record.id)


class FullDocuments(MemoryDocuments):
    """Documents on a disk that may be full."""

    full = False

    async def delete(self, key: str, *, expect: int | None = None, durable: bool = True) -> bool:
        if FullDocuments.full:
            raise StoreFull("store.db", "database or disk is full")
        return await super().delete(key, expect=expect, durable=durable)


class FullStore(MemoryStore):
    def documents(self, namespace: str) -> FullDocuments:
        return FullDocuments(namespace, self._documents.setdefault(namespace, {}), self._numbers, self._now)


async def test_a_token_is_revoked_at_once_when_the_store_is_full_and_stored_when_it_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("footplate.runtime.access.RETRY_S", 0.0)
    store = FullStore()
    access = await Access.load(store)
    issued = await access.issue(TokenRequest(name="phone"))
    ended = asyncio.Event()
    access.at_end(issued.record.id, ended.set)
    monkeypatch.setattr(FullDocuments, "full", True)
    for _ in range(2):
        with pytest.raises(RevokedNotStored, match="'phone' no longer works, but this is not stored yet"):
            await access.revoke(issued.record.id)
        with pytest.raises(TokenInvalid):
            access.authenticate(issued.token)
        assert (ended.is_set(), access.list()) == (True, ())
    assert (await Access.load(store)).authenticate(issued.token).name == "phone"
    monkeypatch.setattr(FullDocuments, "full", False)
    assert access._storing is not None
    await asyncio.wait_for(access._storing, 10)
    assert (await store.documents(TOKENS).list()).items == ()
    await access.close()
    with pytest.raises(NotFound):
        await access.revoke(issued.record.id)


async def test_only_the_hash_of_a_token_is_stored() -> None:
    store = MemoryStore()
    issued = await (await Access.load(store)).issue(TokenRequest(name="phone"))
    page = await store.documents(TOKENS).list()
    assert issued.token.encode() not in page.items[0].body
    assert issued.token.split("_", 2)[2].encode() not in page.items[0].body


async def test_a_token_that_has_expired_is_refused_and_says_so() -> None:
    store = MemoryStore()
    issued = await (await Access.load(store)).issue(TokenRequest(name="guest", expires_in_s=60))
    assert issued.record.expires_at is not None
    assert issued.record.expires_at > time.time()
    past = msgspec.structs.replace(issued.record, expires_at=time.time() - 1)
    await store.documents(TOKENS).put(past.id, msgspec.json.encode(past))
    with pytest.raises(TokenInvalid, match="guest"):
        (await Access.load(store)).authenticate(issued.token)


def _grant(**limits: object) -> Grant:
    record = TokenRecord(id="1", name="n", hash="", scopes=("drive",), created_at=0, **limits)  # type: ignore[arg-type]
    return record.grant()


def test_a_limited_token_reaches_its_sessions_and_what_lies_in_its_projects() -> None:
    assert _grant().reaches(OTHER, "/anywhere")
    shared = _grant(sessions=(MINE,))
    assert shared.reaches(MINE, "/a")
    assert not shared.reaches(OTHER, "/a")
    project = _grant(projects=("/home/me/project",))
    for inside in ("/home/me/project", "/home/me/project/deep/er"):
        assert project.reaches(OTHER, inside)
    for outside in ("/home/me", "/home/me/project2", "/"):
        with pytest.raises(PermissionDenied):
            project.require_session(OTHER, outside)


async def test_nobody_gives_away_more_than_they_have() -> None:
    access = await Access.load(MemoryStore())
    driver = _grant(projects=("/p",))
    with pytest.raises(PermissionDenied, match="admin"):
        await access.issue(TokenRequest(name="x", scopes=("admin",)), by=driver)
    with pytest.raises(PermissionDenied, match="limited"):
        await access.issue(TokenRequest(name="x", scopes=("read",)), by=driver)
    with pytest.raises(PermissionDenied, match="limited"):
        await access.issue(TokenRequest(name="x", scopes=("read",), projects=("/",)), by=driver)
    await access.issue(TokenRequest(name="x", scopes=("read",), projects=("/p/q",)), by=driver)
    with pytest.raises(InvalidValue, match="absolute"):
        await access.issue(TokenRequest(name="x", projects=("p",)))


async def test_whoever_follows_something_is_told_when_the_token_ends() -> None:
    access = await Access.load(MemoryStore())
    expired, told = asyncio.Event(), list[str]()
    short = await access.issue(TokenRequest(name="short", expires_in_s=0.01))
    access.at_end(short.record.id, expired.set)
    await asyncio.wait_for(expired.wait(), 10)

    long = await access.issue(TokenRequest(name="long", expires_in_s=3600))
    access.at_end(long.record.id, lambda: told.append("revoked"))
    access.at_end(long.record.id, lambda: told.append("taken back"))()
    access.at_end("", lambda: told.append("the operator's"))
    await access.revoke(long.record.id)
    access.at_end(long.record.id, lambda: told.append("late"))
    assert told == ["revoked", "late"]
