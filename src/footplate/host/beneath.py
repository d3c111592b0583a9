"""Opening a path that must not leave a folder, whatever links lie on the way and whoever swaps them meanwhile.

Linux does it in one call (`openat2` with `RESOLVE_BENEATH`). Where that call is missing, a path is opened first and
the descriptor is asked where it leads: what was opened is what was checked, so there is no race either.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

RESOLVE_NO_MAGICLINKS: Final = 0x02
RESOLVE_NO_SYMLINKS: Final = 0x04
RESOLVE_BENEATH: Final = 0x08
RENAME_NOREPLACE: Final = 1
SYS_OPENAT2: Final = 437  # the same number on every architecture
PATIENCE: Final = 128  # how often a path that others rename meanwhile is tried again

O_PATH: Final[int] = getattr(os, "O_PATH", os.O_RDONLY)

Syscall = Callable[..., int]


class OpenHow(ctypes.Structure):
    """`struct open_how` of the kernel."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def _load(name: str) -> Syscall | None:
    """A function of the C library, where there is one."""
    if sys.platform != "linux":
        return None
    found: Syscall | None = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    return found


_syscall = _load("syscall")
_renameat2 = _load("renameat2")


def open_beneath(root: int, path: str, flags: int, *, links: bool = True) -> int:
    """Open a relative path below a folder. Raises `OSError`: `EXDEV` when it would leave the folder.

    Without `links` no part of the path may be a symbolic link: `ELOOP`.
    """
    if os.path.isabs(path):  # noqa: PTH117  it is text that a stranger sent
        raise _failure(errno.EXDEV, path)
    flags |= os.O_CLOEXEC
    try:
        return _openat2(root, path, flags, links=links)
    except OSError as problem:
        if problem.errno not in (errno.ENOSYS, errno.EPERM):
            raise
    return open_checked(root, path, flags, links=links)


def _openat2(root: int, path: str, flags: int, *, links: bool) -> int:
    if _syscall is None:
        raise _failure(errno.ENOSYS, path)
    resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | (0 if links else RESOLVE_NO_SYMLINKS)
    how = OpenHow(flags=flags, mode=0, resolve=resolve)
    number = errno.EAGAIN
    for _ in range(PATIENCE):  # EAGAIN: somebody renamed a folder just now, and the kernel cannot be sure
        name = ctypes.c_char_p(os.fsencode(path))
        fd = _syscall(SYS_OPENAT2, root, name, ctypes.byref(how), ctypes.c_size_t(ctypes.sizeof(how)))
        if fd >= 0:
            return fd
        number = ctypes.get_errno()
        if number not in (errno.EAGAIN, errno.EINTR):
            break
    raise _failure(number, path)


def open_checked(root: int, path: str, flags: int, *, links: bool = True) -> int:
    """The same without `openat2`: open, then ask the descriptor where it leads."""
    if not links:
        return _walk(root, path, flags)
    looked = os.open(path, O_PATH | os.O_CLOEXEC, dir_fd=root)
    try:
        if not holds(place_of(root), place_of(looked)):
            raise _failure(errno.EXDEV, path)
        if O_PATH == os.O_RDONLY or flags & O_PATH:
            return os.dup(looked)
        return os.open(f"/proc/self/fd/{looked}", flags)
    finally:
        os.close(looked)


def _walk(root: int, path: str, flags: int) -> int:
    """Go down part by part, never through a link and never up."""
    parts = [part for part in path.split("/") if part not in ("", ".")] or ["."]
    if ".." in parts:
        raise _failure(errno.EXDEV, path)
    here = os.dup(root)
    for last, part in ((number == len(parts), part) for number, part in enumerate(parts, 1)):
        try:
            step = flags if last else O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
            below = os.open(part, step | os.O_NOFOLLOW, dir_fd=here)
        except NotADirectoryError:
            found = os.stat(part, dir_fd=here, follow_symlinks=False)
            raise _failure(errno.ELOOP if _is_link(found.st_mode) else errno.ENOTDIR, path) from None
        finally:
            os.close(here)
        here = below
    if flags & O_PATH and _is_link(os.fstat(here).st_mode):
        os.close(here)
        raise _failure(errno.ELOOP, path)
    return here


def place_of(fd: int) -> str:
    """Where a descriptor leads, without links."""
    if sys.platform == "darwin":
        import fcntl  # noqa: PLC0415  only there

        return os.fsdecode(fcntl.fcntl(fd, fcntl.F_GETPATH, b"\0" * 1024).rstrip(b"\0"))
    return str(Path(f"/proc/self/fd/{fd}").readlink())


def holds(outer: str, inner: str) -> bool:
    """Whether one resolved path is, or lies below, another."""
    return inner == outer or inner.startswith(outer.rstrip("/") + "/")


def rename_new(source: int, name: str, target: int, new: str) -> None:
    """Rename, never over something that is there: `FileExistsError`."""
    if _renameat2 is not None:
        done = _renameat2(source, os.fsencode(name), target, os.fsencode(new), RENAME_NOREPLACE)
        if done == 0:
            return
        number = ctypes.get_errno()
        if number not in (errno.ENOSYS, errno.EINVAL):
            raise _failure(number, new)
    try:  # a file system that cannot promise it: look first
        os.stat(new, dir_fd=target, follow_symlinks=False)
    except FileNotFoundError:
        os.rename(name, new, src_dir_fd=source, dst_dir_fd=target)
        return
    raise _failure(errno.EEXIST, new)


def _is_link(mode: int) -> bool:
    return mode & 0o170000 == 0o120000


def _failure(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
