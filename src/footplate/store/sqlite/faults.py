"""What went wrong with the file, as an error of ours."""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path

from footplate.errors import (
    InvalidValue,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFailed,
    StoreFull,
    StoreReadOnly,
)

LOW_SPACE = 256 * 1024
"""SQLite calls some failures for want of space an I/O error; with less than this left, it is that."""

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_READ_ONLY = {errno.EROFS, errno.EACCES, errno.EPERM}


def translate_fault(error: Exception, path: Path) -> Exception:
    """The error that says what to do; a `StoreFailed` when the store must stop. A defect of ours stays what it is."""
    if isinstance(error, OSError):
        return fault_of_system(error, path)
    if isinstance(error, UnicodeError | OverflowError):
        return InvalidValue("value", str(error), "text that is valid Unicode, numbers of at most 64 bits")
    if not isinstance(error, sqlite3.Error):
        return error
    # Errors that Python's module itself raises (a wrong type, a closed connection) have no code.
    code: int = getattr(error, "sqlite_errorcode", 0)
    where, reason = str(path), str(error)
    match code & 0xFF:
        case sqlite3.SQLITE_FULL:
            return StoreFull(where, reason)
        case sqlite3.SQLITE_READONLY:
            return StoreReadOnly(where, reason)
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return StoreCorrupt(where, reason)
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreBusy(where, reason)
        case sqlite3.SQLITE_IOERR if _space_left(path) < LOW_SPACE:
            return StoreFull(where, reason)
        case sqlite3.SQLITE_CANTOPEN if not os.access(path.parent, os.W_OK):
            return StoreReadOnly(where, reason)
        case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM | sqlite3.SQLITE_PROTOCOL:
            return StoreFailed(where, f"{reason} ({getattr(error, 'sqlite_errorname', 'no code')})")
        case _:
            return StoreError(f"the store {where} refused: {reason}; this is a defect of Footplate, please report it")


def fault_of_system(error: OSError, path: Path) -> StoreFailed:
    """The error for what the operating system refused."""
    where, reason = str(path), os.strerror(error.errno) if error.errno else str(error)
    if error.errno in _FULL:
        return StoreFull(where, reason)
    if error.errno in _READ_ONLY:
        return StoreReadOnly(where, reason)
    return StoreFailed(where, reason)


def _space_left(path: Path) -> int:
    try:
        disk = os.statvfs(path.parent)
    except OSError:
        return LOW_SPACE  # it cannot be told, so it is not the reason we give
    return disk.f_bavail * disk.f_frsize


def repeat_fault(fault: StoreFailed) -> StoreFailed:
    """The same error for another caller, without the trace of the first."""
    return type(fault)(fault.where, fault.reason)
