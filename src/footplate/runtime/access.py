"""Who may do what: tokens with scopes, limited to sessions or folders, expiring. Only their hashes are stored.

A token is `fp_<id>_<secret>`: the id finds the record, the secret (256 random bits) is compared by hash in constant
time. A token that the operator chose (`--token`), and one for others of the same person on this machine (`local`), are
known for as long as the process lives and may do everything.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from footplate.errors import (
    InvalidValue,
    NotFound,
    PermissionDenied,
    RevokedNotStored,
    StoreClosed,
    StoreError,
    TokenInvalid,
)
from footplate.events.ids import SessionId
from footplate.runtime.audit import SERVICE, Audit, Principal
from footplate.runtime.surroundings import Surroundings
from footplate.store.base import Store
from footplate.store.projection import SessionRow
from footplate.tasks import spawn
from footplate.ulid import new_ulid

TOKENS: Final = "tokens"
"""The documents that hold the records of tokens."""

Scope = Literal["read", "answer", "drive", "files", "admin"]

IMPLIES: Final[dict[Scope, frozenset[Scope]]] = {
    "read": frozenset({"read"}),
    "answer": frozenset({"answer", "read"}),
    "drive": frozenset({"drive", "answer", "read"}),
    "files": frozenset({"files"}),
    "admin": frozenset({"admin", "drive", "answer", "read", "files"}),
}
"""What each scope lets one do: who may drive may answer, who may answer may read."""

ISSUED: Final = "fp"
RETRY_S: Final = 2.0

log = logging.getLogger(__name__)


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller may do. No sessions and no projects means no limit to any."""

    name: str
    scopes: frozenset[Scope]
    token: str = ""
    sessions: frozenset[SessionId] = frozenset()
    projects: tuple[str, ...] = ()

    def may(self, scope: Scope) -> bool:
        """Whether the scope is among what was granted."""
        return scope in self.scopes

    @property
    def limited(self) -> bool:
        """Whether it reaches some sessions only."""
        return bool(self.sessions or self.projects)

    def reaches(self, session: SessionId, cwd: str) -> bool:
        """Whether it reaches this session, which works in that folder."""
        return not self.limited or session in self.sessions or self.reaches_folder(cwd)

    def reaches_folder(self, cwd: str) -> bool:
        """Whether it reaches this folder: a project of it, or what lies beneath one."""
        if not self.limited:
            return True
        folder = PurePosixPath(cwd)
        return any(folder == (base := PurePosixPath(each)) or base in folder.parents for each in self.projects)

    def require(self, scope: Scope) -> None:
        """Raise `PermissionDenied` unless the scope was granted."""
        if not self.may(scope):
            raise PermissionDenied(f"this needs the scope {scope!r}; the token {self.name!r} does not have it")

    def require_session(self, session: SessionId, cwd: str) -> None:
        """Raise `PermissionDenied` unless it reaches the session."""
        if not self.reaches(session, cwd):
            raise PermissionDenied(f"the token {self.name!r} does not reach session {session}")


EVERYTHING: Final = IMPLIES["admin"]
OPEN: Final = Grant(name="anyone", scopes=EVERYTHING)
"""What everybody may do where the operator wanted no token."""


class TokenRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A token as it is stored: everything but the token."""

    id: str
    name: str
    hash: str
    scopes: tuple[Scope, ...]
    created_at: float
    expires_at: float | None = None
    sessions: tuple[SessionId, ...] = ()
    projects: tuple[str, ...] = ()

    def grant(self) -> Grant:
        """What its bearer may do."""
        return Grant(
            name=self.name,
            token=self.id,
            scopes=frozenset().union(*(IMPLIES[scope] for scope in self.scopes)),
            sessions=frozenset(self.sessions),
            projects=self.projects,
        )


class TokenRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a new token is to be for. `read` alone with one session is a share link."""

    name: Annotated[str, Meta(min_length=1, max_length=200)]
    scopes: Annotated[tuple[Scope, ...], Meta(min_length=1)] = ("admin",)
    expires_in_s: Annotated[float, Meta(gt=0, le=1e10)] | None = None
    sessions: tuple[SessionId, ...] = ()
    projects: tuple[str, ...] = ()


class Issued(msgspec.Struct, frozen=True, kw_only=True):
    """A new token: the only time that it is seen."""

    token: str
    record: TokenRecord


class _Revoked:
    """A token that was revoked and whose end is not stored yet."""

    def __init__(self, name: str, principal: Principal) -> None:
        self.name = name
        self.principal = principal
        self.recorded = False


class Access:
    """The tokens of one data folder. `open_to_all`: none is asked for; `person` is who calls then, if that is known."""

    def __init__(
        self, store: Store, *, open_to_all: bool = False, chosen: str = "", local: str = "", person: str = ""
    ) -> None:
        self._audit = Audit(store.audit, Surroundings())
        self._documents = store.documents(TOKENS)
        self._records: dict[str, TokenRecord] = {}
        self._endings: dict[str, set[Callable[[], None]]] = {}
        self._unstored: dict[str, _Revoked] = {}
        """The tokens that were revoked while the store could not be written, by their ids."""
        self._storing: asyncio.Task[None] | None = None
        self._open = open_to_all
        self._anyone = Grant(name=person, scopes=EVERYTHING) if person else OPEN
        self._chosen = _hash(chosen) if chosen else ""
        self._local = _hash(local) if local else ""

    @classmethod
    async def load(cls, store: Store, *, open_to_all: bool = False, chosen: str = "", local: str = "") -> Access:
        """With the tokens of the store."""
        access = cls(store, open_to_all=open_to_all, chosen=chosen, local=local)
        after: str | None = None
        while True:
            page = await access._documents.list(after=after)
            for each in page.items:
                record = msgspec.json.decode(each.body, type=TokenRecord)
                access._records[record.id] = record
            after = page.after
            if after is None:
                return access

    @property
    def open_to_all(self) -> bool:
        """Whether no token is wanted."""
        return self._open

    def authenticate(self, token: str) -> Grant:
        """What the bearer of the token may do. Raises `TokenInvalid`."""
        if self._open:
            return self._anyone
        if not token:
            raise TokenInvalid
        hashed = _hash(token)
        if self._chosen and hmac.compare_digest(hashed, self._chosen):
            return Grant(name="operator", scopes=EVERYTHING)
        if self._local and hmac.compare_digest(hashed, self._local):
            return Grant(name="this machine", scopes=EVERYTHING)
        record = self._records.get(_id_of(token))
        if not hmac.compare_digest(hashed, record.hash if record is not None else _hash("")) or record is None:
            raise TokenInvalid
        if record.expires_at is not None and record.expires_at <= time.time():
            raise TokenInvalid(f"the token {record.name!r} has expired; ask for another")
        return record.grant()

    def grant_of(self, token: str) -> Grant | None:
        """What the bearer of the token of that id may do now; None: it is revoked or has expired. Empty: no token."""
        if not token:
            return OPEN
        record = self._records.get(token)
        expired = record is not None and record.expires_at is not None and record.expires_at <= time.time()
        return None if record is None or expired else record.grant()

    async def issue(self, asked: TokenRequest, *, by: Grant = OPEN, principal: Principal = SERVICE) -> Issued:
        """Make a token. Nobody gives away more than they have."""
        for scope in asked.scopes:
            by.require(scope)
        self._check_limits(asked, by)
        now = time.time()
        name = new_ulid()
        token = f"{ISSUED}_{name}_{secrets.token_urlsafe(32)}"
        record = TokenRecord(
            id=name,
            name=asked.name,
            hash=_hash(token),
            scopes=asked.scopes,
            created_at=now,
            expires_at=None if asked.expires_in_s is None else now + asked.expires_in_s,
            sessions=asked.sessions,
            projects=asked.projects,
        )
        granted = {
            "name": record.name,
            "scopes": record.scopes,
            "expires_at": record.expires_at,
            "sessions": record.sessions,
            "projects": record.projects,
        }
        await self._audit.record("token.create", principal, target=name, detail=granted)
        await self._documents.put(name, msgspec.json.encode(record), expect=0)
        self._records[name] = record
        return Issued(token=token, record=record)

    def list(self) -> tuple[TokenRecord, ...]:
        """Every token that was issued and not revoked, the oldest first."""
        return tuple(self._records[name] for name in sorted(self._records))

    async def revoke(self, name: str, *, principal: Principal = SERVICE) -> None:
        """Make the token invalid, at once. Raises `NotFound`, or `RevokedNotStored` when that cannot be stored yet."""
        record = self._records.pop(name, None)
        if record is None and name not in self._unstored:
            raise NotFound("token", name)
        for end in tuple(self._endings.pop(name, ())):
            end()
        if record is not None:
            self._unstored[name] = _Revoked(record.name, principal)
        revoked = self._unstored[name]
        try:
            await self._store_end(name, revoked)
        except StoreError as problem:  # what takes rights away does not wait for its record
            self._store_later()
            raise RevokedNotStored(revoked.name, str(problem)) from problem

    async def _store_end(self, name: str, revoked: _Revoked) -> None:
        if not revoked.recorded:
            await self._audit.record("token.revoke", revoked.principal, target=name, detail={"name": revoked.name})
            revoked.recorded = True
        await self._documents.delete(name)
        self._unstored.pop(name, None)

    def _store_later(self) -> None:
        if self._storing is None or self._storing.done():
            self._storing = spawn(self._store_revoked(), name="revoked tokens")

    async def _store_revoked(self) -> None:
        while self._unstored:
            await asyncio.sleep(RETRY_S)
            for name, revoked in tuple(self._unstored.items()):
                try:
                    await self._store_end(name, revoked)
                except StoreClosed:
                    return
                except StoreError as problem:
                    log.warning("token %r is revoked, but this is not stored yet: %s", revoked.name, problem)

    async def close(self) -> None:
        """Stop trying to store what could not be stored."""
        if self._storing is not None:
            self._storing.cancel()
            await asyncio.wait((self._storing,))

    def at_end(self, token: str, end: Callable[[], None]) -> Callable[[], None]:
        """Have this called once the token of that id is revoked or has expired; one without an id never is.

        Returns what takes the wish back.
        """
        if not token:
            return lambda: None
        record = self._records.get(token)
        if record is None:
            end()
            return lambda: None
        waiting = self._endings.setdefault(token, set())
        waiting.add(end)
        timer = None
        if record.expires_at is not None:
            timer = asyncio.get_running_loop().call_later(max(record.expires_at - time.time(), 0), end)

        def forget() -> None:
            waiting.discard(end)
            if timer is not None:
                timer.cancel()

        return forget

    def _check_limits(self, asked: TokenRequest, by: Grant) -> None:
        for folder in asked.projects:
            if not folder.startswith("/"):
                raise InvalidValue("projects", folder, "an absolute folder")
        if not by.limited:
            return
        within = all(each in by.sessions for each in asked.sessions) and all(map(by.reaches_folder, asked.projects))
        if not within or not (asked.sessions or asked.projects):
            raise PermissionDenied(f"the token {by.name!r} is limited; it gives away no more than it has")


def visible(grant: Grant, rows: tuple[SessionRow, ...]) -> tuple[SessionRow, ...]:
    """The sessions that the grant reaches."""
    return rows if not grant.limited else tuple(row for row in rows if grant.reaches(row.session, row.cwd))


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def _id_of(token: str) -> str:
    parts = token.split("_", 2)
    return parts[1] if len(parts) == 3 and parts[0] == ISSUED else ""
