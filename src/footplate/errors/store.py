"""The store's side."""

from __future__ import annotations

from typing import ClassVar

from footplate.errors.base import FootplateError


class StoreError(FootplateError):
    """Something on the store's side."""

    code: ClassVar[str] = "store_error"
    title: ClassVar[str] = "Store error"


class StoreFailed(StoreError):
    """The store's disk or file failed. It takes no more writes until it is opened again; what it has can be read.

    One that is `retryable` passes: the store takes writes again as soon as it can.
    """

    code: ClassVar[str] = "store_failed"
    title: ClassVar[str] = "Store failed"
    status: ClassVar[int] = 503
    advice: ClassVar[str] = "look at the disk and the system's log, then start Footplate again"

    def __init__(self, where: str, reason: str) -> None:
        self.where = where
        self.reason = reason
        super().__init__(f"the store {where} failed: {reason}; {self.advice}")


class StoreFull(StoreFailed):
    """No space is left for the store; nothing was written."""

    code: ClassVar[str] = "store_full"
    title: ClassVar[str] = "Store full"
    status: ClassVar[int] = 507
    retryable: ClassVar[bool] = True
    advice: ClassVar[str] = (
        "free some space (or raise the store's limit); the store is written again as soon as it can be"
    )


class StoreReadOnly(StoreFailed):
    """The store's file or folder cannot be written."""

    code: ClassVar[str] = "store_read_only"
    title: ClassVar[str] = "Store read-only"
    advice: ClassVar[str] = "make the data folder and the files in it writable, then start Footplate again"


class StoreCorrupt(StoreFailed):
    """The store's file is damaged, or is no store of Footplate."""

    code: ClassVar[str] = "store_corrupt"
    title: ClassVar[str] = "Store corrupt"
    status: ClassVar[int] = 500
    advice: ClassVar[str] = "keep a copy of the file, put the latest backup in its place, then start Footplate again"


class StoreBusy(StoreError):
    """Another program holds the store's file for too long."""

    code: ClassVar[str] = "store_busy"
    title: ClassVar[str] = "Store busy"
    status: ClassVar[int] = 503
    retryable: ClassVar[bool] = True

    def __init__(self, where: str, reason: str) -> None:
        self.where = where
        super().__init__(f"the store {where} is held by another program: {reason}; end that program and try again")


class StoreTooNew(StoreError):
    """A newer Footplate wrote the store."""

    code: ClassVar[str] = "store_too_new"
    title: ClassVar[str] = "Store too new"

    def __init__(self, where: str, found: int, known: int) -> None:
        self.where = where
        self.found = found
        self.known = known
        super().__init__(
            f"the store {where} has schema {found} and this version knows up to {known}; "
            "start the newer Footplate, or put back the backup made before the upgrade"
        )


class StoreClosed(StoreError):
    """The store was closed already."""

    code: ClassVar[str] = "store_closed"
    title: ClassVar[str] = "Store closed"
    status: ClassVar[int] = 503
    retryable: ClassVar[bool] = True

    def __init__(self, where: str) -> None:
        self.where = where
        super().__init__(f"the store {where} is closed; open it again")


class RevokedNotStored(StoreError):
    """A token is revoked, but the store could not be written: a restart now would make it valid again."""

    code: ClassVar[str] = "revoked_not_stored"
    title: ClassVar[str] = "Revoked, not stored"
    status: ClassVar[int] = 503
    retryable: ClassVar[bool] = True

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(
            f"the token {name!r} no longer works, but this is not stored yet ({reason}); "
            "it is stored as soon as that is possible, do not restart before"
        )


class WrongEpoch(StoreError):
    """Another owner has the session now (or nobody claimed it yet)."""

    code: ClassVar[str] = "wrong_epoch"
    title: ClassVar[str] = "Wrong epoch"
    status: ClassVar[int] = 409

    def __init__(self, session: str, epoch: int, current: int) -> None:
        self.session = session
        self.epoch = epoch
        self.current = current
        why = f"its owner has epoch {current}" if current else "nobody has claimed it"
        super().__init__(f"epoch {epoch} may not write session {session}: {why}; stop, and claim the session first")


class WrongSequence(StoreError):
    """The log is not where the writer thinks it is."""

    code: ClassVar[str] = "wrong_sequence"
    title: ClassVar[str] = "Wrong sequence"
    status: ClassVar[int] = 409

    def __init__(self, session: str, expected: int, actual: int) -> None:
        self.session = session
        self.expected = expected
        self.actual = actual
        super().__init__(
            f"session {session} was expected at event {expected} and is at {actual}; read on from there and try again"
        )


class WrongVersion(StoreError):
    """The document changed in between."""

    code: ClassVar[str] = "wrong_version"
    title: ClassVar[str] = "Wrong version"
    status: ClassVar[int] = 409
    retryable: ClassVar[bool] = True

    def __init__(self, document: str, expected: int, actual: int) -> None:
        self.document = document
        self.expected = expected
        self.actual = actual
        super().__init__(
            f"document {document} was expected at version {expected} and is at {actual}; read it again and try again"
        )


class CursorLost(StoreError):
    """The log does not have what a reader says it has read: a power cut took it, or the session was deleted."""

    code: ClassVar[str] = "cursor_lost"
    title: ClassVar[str] = "Cursor lost"
    status: ClassVar[int] = 410

    def __init__(self, session: str, after: int, last_seq: int, epoch: int) -> None:
        self.session = session
        self.after = after
        self.last_seq = last_seq
        self.epoch = epoch
        super().__init__(
            f"session {session} has no such event {after} any more (it is at {last_seq}, epoch {epoch}); "
            "read it again from the beginning"
        )
