"""Changes of the settings file as audit records: those made while the service runs, and those made before it started.

Values may be secrets, so a record names the keys that changed. Rules are recorded whole.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec

from footplate.config.places import settings_file
from footplate.config.settings import Settings
from footplate.errors import StoreError
from footplate.runtime.audit import Principal
from footplate.runtime.services import Services
from footplate.tasks import Tasks

NAMESPACE: Final = "audit-settings"
"""The document that has the hash of the settings file as it was last recorded."""

log = logging.getLogger(__name__)


def changed_keys(before: object, after: object, prefix: str = "") -> list[str]:
    """The dotted names of what differs between two tables."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        names = sorted({*before, *after})
        return [key for name in names for key in changed_keys(before.get(name), after.get(name), f"{prefix}.{name}")]
    return [] if before == after else [prefix.lstrip(".")]


class SettingsAudit:
    """Records changes of the settings file of one service."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._path = settings_file(services.environ)
        self._tasks = Tasks()

    async def check(self) -> None:
        """Record a change that was made while no service ran, and the settings of the first start."""
        before = await self._recorded()
        digest = await self._services.surroundings.blocking(hash_file, self._path)
        if digest != before:
            await self._record(digest, before, {})

    def changed(self, before: Settings, after: Settings) -> None:
        """Record settings that have taken effect. Returns at once."""
        self._tasks.spawn(self._record_change(before, after), name="audit: record changed settings")

    async def close(self) -> None:
        """Wait for records that are being written."""
        await self._tasks.wait()

    async def _record_change(self, before: Settings, after: Settings) -> None:
        keys = changed_keys(msgspec.to_builtins(before), msgspec.to_builtins(after))
        detail: dict[str, object] = {"keys": keys}
        if before.rules != after.rules:
            detail |= {"rules_before": before.rules, "rules": after.rules}
        digest = await self._services.surroundings.blocking(hash_file, self._path)
        await self._record(digest, await self._recorded(), detail)

    async def _recorded(self) -> str:
        """The hash of the file as it was last recorded; empty when there was none."""
        document = await self._services.store.documents(NAMESPACE).get("file")
        return "" if document is None else document.body.decode()

    async def _record(self, digest: str, before: str, detail: Mapping[str, object]) -> None:
        owner = await self._services.surroundings.blocking(owner_of, self._path)
        principal = Principal(by=owner, surface="file", origin=str(self._path))
        try:
            await self._services.audit.record(
                "settings.change",
                principal,
                target=self._path.name,
                detail={"sha256": digest, "sha256_before": before, **detail},
            )
            await self._services.store.documents(NAMESPACE).put("file", digest.encode())
        except StoreError as problem:  # they have taken effect: the next start records them
            log.error("changed settings are not in the audit log: %s", problem)  # noqa: TRY400


def hash_file(path: Path) -> str:
    """The hash of a file; empty when there is none."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def owner_of(path: Path) -> str:
    """The name of the account that owns the file, as far as it can be known."""
    try:
        return path.owner()
    except (OSError, KeyError):
        return ""


@asynccontextmanager
async def audit_settings(services: Services) -> AsyncIterator[None]:
    """Record changes of the settings for as long as the block lasts."""
    audit = SettingsAudit(services)
    await audit.check()
    services.on_settings_change(audit.changed)
    try:
        yield
    finally:
        services.on_settings_change(None)
        await audit.close()
