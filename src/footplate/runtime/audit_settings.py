"""Changes of the settings file as audit records: those made while the service runs, and those made before it started.

Values may be secrets, so a record names the keys that changed, and what is kept to compare with are hashes of them.
Rules are recorded whole. What the environment sets is no change of the file.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import tomllib
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec

from footplate.config.places import settings_file
from footplate.config.rules import Rule
from footplate.errors import StoreError
from footplate.runtime.audit import Principal
from footplate.runtime.services import Services
from footplate.store.chain import UNREADABLE
from footplate.tasks import Tasks

NAMESPACE: Final = "audit-settings"
"""The document that has what was last recorded of the settings file."""

KEY: Final = "file"

log = logging.getLogger(__name__)


class FileState(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of the file: its hash, the hash of each key's value, the rules. None: that is not known."""

    sha256: str = ""
    keys: dict[str, str] | None = None
    rules: msgspec.Raw = msgspec.Raw(b"[]")


def read_state(path: Path) -> FileState:
    """What the file has now; one that cannot be read has a hash at the most."""
    try:
        body = path.read_bytes()
    except OSError:
        return FileState(keys={})
    digest = hashlib.sha256(body).hexdigest()
    try:
        table = tomllib.loads(body.decode())
        rules = msgspec.convert(table.get("rules", []), tuple[Rule, ...])
    except (tomllib.TOMLDecodeError, *UNREADABLE):
        return FileState(sha256=digest)
    return FileState(sha256=digest, keys=dict(hash_keys(table)), rules=msgspec.Raw(msgspec.json.encode(rules)))


def hash_keys(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """The dotted name of each value of a table, with its hash."""
    if isinstance(value, Mapping):
        for key in sorted(value):
            yield from hash_keys(value[key], f"{name}.{key}" if name else key)
    else:
        yield name, hashlib.sha256(msgspec.json.encode(value)).hexdigest()


def describe_change(before: FileState, after: FileState) -> dict[str, object]:
    """What a record says of a change, as far as both states are known."""
    detail: dict[str, object] = {"sha256": after.sha256, "sha256_before": before.sha256}
    if after.keys is None:
        return detail
    if before.keys is None:
        return {**detail, "rules": after.rules}
    one, other = before.keys, after.keys
    detail["keys"] = sorted(name for name in {*one, *other} if one.get(name) != other.get(name))
    if before.rules != after.rules:
        detail |= {"rules_before": before.rules, "rules": after.rules}
    return detail


class SettingsAudit:
    """Records changes of the settings file of one service."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._path = settings_file(services.environ)
        self._documents = services.store.documents(NAMESPACE)
        self._recording = asyncio.Lock()
        self._tasks = Tasks()

    def changed(self) -> None:
        """Record settings that have taken effect. Returns at once."""
        self._tasks.spawn(self.check(), name="audit: record changed settings")

    async def wait(self) -> None:
        """Wait for records that are being written."""
        await self._tasks.wait()

    async def check(self) -> None:
        """Record what has changed in the file since it was last recorded."""
        async with self._recording:
            try:
                await self._check()
            except StoreError as problem:  # they have taken effect: the next start records them
                log.error("changed settings are not in the audit log: %s", problem)  # noqa: TRY400

    async def _check(self) -> None:
        blocking = self._services.surroundings.blocking
        before, now = await self._recorded(), await blocking(read_state, self._path)
        if now.sha256 != before.sha256:
            owner = await blocking(owner_of, self._path)
            principal = Principal(by=owner, surface="file", origin=str(self._path))
            detail = describe_change(before, now)
            await self._services.audit.record("settings.change", principal, target=self._path.name, detail=detail)
        if now.sha256 != before.sha256 or (before.keys is None and now.keys is not None):
            await self._documents.put(KEY, msgspec.json.encode(now))

    async def _recorded(self) -> FileState:
        """The file as it was last recorded. An earlier version has kept its hash alone."""
        document = await self._documents.get(KEY)
        if document is None:
            return FileState(keys={})
        try:
            return msgspec.json.decode(document.body, type=FileState)
        except UNREADABLE:
            return FileState(sha256=document.body.decode(errors="replace"))


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
    services.on_settings_change(audit.changed, recorded=audit.wait)
    try:
        yield
    finally:
        services.on_settings_change(None)
        await audit.wait()
