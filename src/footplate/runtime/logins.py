"""Logins in the audit log: the first use of a token from an address, and calls without a valid one."""

from __future__ import annotations

import logging
from typing import Final

from footplate.errors import StoreError
from footplate.runtime.access import OPEN, Grant
from footplate.runtime.audit import LOCAL, Audit, Principal
from footplate.runtime.surroundings import Surroundings

MOST_KNOWN: Final = 10_000
"""With more addresses than this all are forgotten, and recorded once more."""

FAILED_S: Final = 60.0
"""Failed calls of one address are recorded once in this time, with their number: a record costs a sync."""

log = logging.getLogger(__name__)


class _Failures:
    __slots__ = ("count", "recorded_at")

    def __init__(self) -> None:
        self.count = 0
        self.recorded_at: float | None = None


class Logins:
    """The logins that one service has seen. A restart forgets them, and records them again."""

    def __init__(self, audit: Audit, surroundings: Surroundings) -> None:
        self._audit = audit
        self._surroundings = surroundings
        self._known: set[tuple[str, str]] = set()
        self._failed: dict[str, _Failures] = {}

    def is_known(self, grant: Grant, origin: str) -> bool:
        """Whether this token was used from this address before. Where no token is asked for there is no login."""
        return grant is OPEN or origin == LOCAL or (grant.token or grant.name, origin) in self._known

    async def admit(self, grant: Grant, principal: Principal) -> None:
        """Record a login. It is not refused when that cannot be stored: it may be of the person who frees the disk."""
        key = (grant.token or grant.name, principal.origin)
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known.add(key)
        try:
            await self._audit.record("login", principal, target=grant.token, detail={"scopes": sorted(grant.scopes)})
        except StoreError as problem:
            self._known.discard(key)
            log.error("a login of %r from %s is not in the audit log: %s", grant.name, principal.origin, problem)  # noqa: TRY400

    async def refuse(self, principal: Principal, reason: str) -> None:
        """Record a call without a valid token."""
        if len(self._failed) >= MOST_KNOWN:
            self._failed.clear()
        failures = self._failed.setdefault(principal.origin, _Failures())
        failures.count += 1
        now = self._surroundings.monotonic()
        if failures.recorded_at is not None and now - failures.recorded_at < FAILED_S:
            return
        count, failures.count, failures.recorded_at = failures.count, 0, now
        try:
            await self._audit.record("login.failed", principal, detail={"calls": count, "reason": reason})
        except StoreError as problem:
            failures.count += count
            log.error("failed logins from %s are not in the audit log: %s", principal.origin, problem)  # noqa: TRY400
