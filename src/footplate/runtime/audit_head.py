"""The newest hash of the audit log outside of the store: in a file of its own, and once a day in the service log.

A chain that was cut at its end, or written again from some record on, is sound in itself; what was noted elsewhere
shows it. A record is noted once a power cut cannot undo it, so the file is never ahead of a sound store.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from footplate.errors import StoreClosed, StoreError
from footplate.runtime.audit import DAY_S
from footplate.runtime.surroundings import Surroundings
from footplate.store.base import AuditTrail
from footplate.store.chain import UNREADABLE, AuditHead
from footplate.tasks import complete, spawn

HEAD_FILE: Final = "audit-head"
PAUSE_S: Final = 1.0
"""Between two writes of the file: many answers in one second cost one."""

log = logging.getLogger(__name__)
announced = logging.getLogger("footplate.audit")
"""Written whatever the level of the service log is: `audit verify --head` takes the hash."""


class _Noted(msgspec.Struct, frozen=True):
    """What the file has: a record that there can be."""

    number: Annotated[int, Meta(ge=1, le=2**63 - 1)]
    hash: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]


def read_heads(data: Path) -> dict[Path, AuditHead | None]:
    """What was noted of the audit log of a data folder, also before it was found to be cut or changed.

    None for a file that is damaged. No crash damages it, because it is synced before it takes the place of the last.
    """
    heads: dict[Path, AuditHead | None] = {}
    for path in sorted(data.glob(f"{HEAD_FILE}*")):
        try:
            noted = msgspec.json.decode(path.read_bytes(), type=_Noted)
            heads[path] = AuditHead(number=noted.number, hash=noted.hash)
        except (OSError, *UNREADABLE):
            heads[path] = None
    return heads


def write_head(data: Path, head: AuditHead) -> None:
    """Note the newest record, for good."""
    path = data / HEAD_FILE
    partial = path.with_name(f".{HEAD_FILE}.partial")
    fd = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, msgspec.json.encode(head) + b"\n")
        os.fsync(fd)
    finally:
        os.close(fd)
    partial.replace(path)


async def is_kept(trail: AuditTrail, head: AuditHead) -> bool:
    """Whether the log still has the record; one that retention has removed counts as kept.

    Retention may have removed it right before a crash. The record after it names its hash.
    """
    if not head.number:
        return True
    rows = await trail.read(head.number - 1, 1)
    if not rows or rows[0].number > head.number + 1:
        return bool(rows)
    return rows[0].head == head or rows[0].names(head)


class HeadKeeper:
    """Notes the newest record for as long as a service runs."""

    def __init__(self, trail: AuditTrail, data: Path, surroundings: Surroundings) -> None:
        self._trail = trail
        self._data = data
        self._surroundings = surroundings
        self._noted = AuditHead()
        self.compared = True
        """Whether there was something to compare with: False where the log had records and nothing was noted."""

    @property
    def noted(self) -> AuditHead:
        """The newest record that was noted, whatever the file has by now; the number is 0 when there is none."""
        return self._noted

    async def check(self) -> None:
        """Compare the log with what an earlier service has noted.

        A file that is damaged or names a record which is not there any more is kept: `audit verify` reports it until
        it is removed.
        """
        heads = await self._surroundings.blocking(read_heads, self._data)
        self.compared = bool(heads) or not (await self._trail.head()).number
        if not self.compared:
            log.warning(
                "the data folder has no file %s: that the end of the audit log was cut off would not be noticed; "
                "run `footplate audit verify --head HASH` with the last hash of the service log",
                HEAD_FILE,
            )
        for path, head in heads.items():
            if head is None:
                log.error("%s is damaged; run `footplate audit verify`", path)
            elif await is_kept(self._trail, head):
                if path.name == HEAD_FILE:
                    self._noted = head
                continue
            else:
                log.error(
                    "the audit log was cut off or changed: record %d with the hash %s is not there; "
                    "run `footplate audit verify`",
                    head.number,
                    head.hash,
                )
            if path.name == HEAD_FILE:
                kept = path.with_name(f"{HEAD_FILE}.{'damaged' if head is None else head.number}")
                await self._surroundings.blocking(path.replace, kept)

    async def note(self) -> None:
        """Write the file each time there are new records, but not more often than it pays."""
        while True:
            try:
                head = await self._trail.wait(self._noted.number)
            except StoreClosed:
                return
            except StoreError as problem:  # a full disk: what is not safe from a power cut is not noted
                log.warning("the newest record of the audit log is not noted yet: %s", problem)
            else:
                await self._write(head)
            await asyncio.sleep(PAUSE_S)

    async def finish(self) -> None:
        """Note the last record."""
        await self._write(await self._trail.head())

    async def announce(self) -> None:
        """Write the newest hash to the service log, now and once a day."""
        while True:
            try:
                head = await self._trail.head()
            except StoreError as problem:
                log.warning("the audit log cannot be read: %s", problem)
                head = AuditHead()
            if head.number:
                announced.info("the newest record of the audit log", extra={"fields": msgspec.structs.asdict(head)})
            await asyncio.sleep(DAY_S)

    async def _write(self, head: AuditHead) -> None:
        """Write the file, unless it has a record that is as new: a log whose end was cut off has an older one.

        A write that has begun is waited for also when this is cancelled: its thread runs on, and would put its record
        in the place of the last one.
        """
        if head.number > self._noted.number:
            await complete(self._write_file(head), name="audit: write the newest record")

    async def _write_file(self, head: AuditHead) -> None:
        try:
            await self._surroundings.blocking(write_head, self._data, head)
        except OSError as problem:
            log.error("the newest hash of the audit log cannot be noted: %s", problem)  # noqa: TRY400
        else:
            self._noted = head


@asynccontextmanager
async def keep_head(trail: AuditTrail, data: Path, surroundings: Surroundings) -> AsyncIterator[HeadKeeper]:
    """Note the newest record of the audit log for as long as the block lasts, and at its end."""
    keeper = HeadKeeper(trail, data, surroundings)
    await keeper.check()
    tasks = [
        spawn(keeper.note(), name="audit: note the newest record"),
        spawn(keeper.announce(), name="audit: announce the newest record"),
    ]
    try:
        yield keeper
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        try:
            await keeper.finish()
        except StoreError as problem:
            log.warning("the newest record of the audit log is not noted: %s", problem)
