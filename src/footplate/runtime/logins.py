"""Logins in the audit log: the first use of a token from an address, and calls without a valid one."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Iterable
from typing import Final

from footplate.errors import StoreError
from footplate.runtime.access import OPEN, Grant
from footplate.runtime.audit import LOCAL, Audit, Principal
from footplate.runtime.surroundings import Surroundings
from footplate.tasks import Tasks

MOST_KNOWN: Final = 10_000
"""With more addresses than this all are forgotten, and recorded once more."""

ROUND_S: Final = 1.0
"""Between two rounds of counts that are due: many addresses cost one record of work, not one each."""

FAILED_S: Final = 60.0
"""Failed calls of one address are recorded once in this time, with their number: a record costs a sync."""

log = logging.getLogger(__name__)


class _Failures:
    """The failed calls of one address."""

    __slots__ = ("count", "principal", "reason", "recorded_at")

    def __init__(self) -> None:
        self.count = 0
        self.principal = Principal()
        self.reason = ""
        self.recorded_at = -math.inf


class Logins:
    """The logins that one service has seen. A restart forgets them, and records them again."""

    def __init__(self, audit: Audit, surroundings: Surroundings) -> None:
        self._audit = audit
        self._surroundings = surroundings
        self._known: set[tuple[str, str]] = set()
        self._failed: dict[str, _Failures] = {}
        self._tasks = Tasks()

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
            await self._write(self._failed.values())
            self._failed.clear()
        failures = self._failed.setdefault(principal.origin, _Failures())
        failures.count += 1
        failures.principal, failures.reason = principal, reason
        if self._wait_s(failures) <= 0:
            await self._write([failures])
        elif not self._tasks:
            self._tasks.spawn(self._write_later(), name="audit: failed logins")

    async def close(self) -> None:
        """Record what is counted and not recorded yet."""
        await self._tasks.cancel()
        await self._write(self._failed.values())

    async def _write_later(self) -> None:
        """Record counts when their minute is over, until there are none."""
        while waiting := [each for each in self._failed.values() if each.count]:
            await asyncio.sleep(max(min(map(self._wait_s, waiting)), ROUND_S))
            await self._write([each for each in waiting if self._wait_s(each) <= 0])

    def _wait_s(self, failures: _Failures) -> float:
        return failures.recorded_at + FAILED_S - self._surroundings.monotonic()

    async def _write(self, failed: Iterable[_Failures]) -> None:
        counted = [(each, each.count) for each in failed if each.count]
        if not counted:
            return
        records: list[bytes] = []
        for failures, count in counted:
            failures.count, failures.recorded_at = 0, self._surroundings.monotonic()
            detail = {"calls": count, "reason": failures.reason}
            records.append(self._audit.act("login.failed", failures.principal, detail=detail))
        try:
            await self._audit.trail.append(records)
        except StoreError as problem:
            for failures, count in counted:
                failures.count += count
            origins = ", ".join(failures.principal.origin for failures, _ in counted)
            log.error("failed logins from %s are not in the audit log: %s", origins, problem)  # noqa: TRY400
