"""A file on its way to the disk: nobody sees it before it is whole, and what is not finished leaves nothing.

Where the file system can do it, the file has no name until it is whole (`O_TMPFILE`): then even the death of the
service leaves nothing behind. Else it has a name of its own in the same folder.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from typing import Final

from .beneath import rename_new

O_TMPFILE: Final[int] = getattr(os, "O_TMPFILE", 0)
NAMELESS_MISSING: Final = frozenset((errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL, errno.ENOSYS))
PREFIX: Final = ".footplate-"


class NewFile:
    """A file to be written in the folder `folder` (a descriptor, which is ours from here on) under `name`.

    Call `keep` when all is written, and `drop` in any case at last.
    """

    def __init__(self, folder: int, name: str, *, mode: int = 0o666) -> None:
        self._folder = os.dup(folder)
        self._name = name
        self._named = ""
        self.size = 0
        try:
            self._fd = self._create(mode)
        except BaseException:
            os.close(self._folder)
            raise

    @property
    def fd(self) -> int:
        """Where it is written."""
        return self._fd

    def _create(self, mode: int) -> int:
        if O_TMPFILE:
            try:
                return os.open(".", O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, mode, dir_fd=self._folder)
            except OSError as problem:
                if problem.errno not in NAMELESS_MISSING:
                    raise
        self._named = _new_name()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(self._named, flags, mode, dir_fd=self._folder)

    def write(self, data: bytes | memoryview) -> None:
        """Add to it. Raises `OSError` when the disk is full."""
        left = memoryview(data)
        self.size += len(left)
        while left:
            left = left[os.write(self._fd, left) :]

    def write_at(self, offset: int, data: bytes | memoryview) -> None:
        """Write somewhere in it; what lies between is a hole."""
        left = memoryview(data)
        while left:
            done = os.pwrite(self._fd, left, offset)
            left, offset = left[done:], offset + done
        self.size = max(self.size, offset)

    def like(self, found: os.stat_result) -> None:
        """Give it the mode (and, for root, the owner) of the file whose place it takes."""
        os.fchmod(self._fd, stat.S_IMODE(found.st_mode))
        if os.geteuid() == 0 and (found.st_uid, found.st_gid) != (0, 0):
            with contextlib.suppress(PermissionError):
                os.fchown(self._fd, found.st_uid, found.st_gid)

    def in_the_way(self) -> os.stat_result | None:
        """What has its name now."""
        try:
            return os.stat(self._name, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def keep(self, *, replace: bool = True) -> None:
        """It is whole: put it under its name, over what is there unless told otherwise (`FileExistsError`)."""
        if not self._named:
            try:
                self._link(self._name)
                return
            except FileExistsError:
                if not replace:
                    raise
            named = _new_name()
            self._link(named)
            self._named = named
        if replace:
            os.rename(self._named, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        else:
            rename_new(self._folder, self._named, self._folder, self._name)
        self._named = ""

    def _link(self, name: str) -> None:
        os.link(f"/proc/self/fd/{self._fd}", name, dst_dir_fd=self._folder, follow_symlinks=True)

    def drop(self) -> None:
        """Let go of it; what was not kept is gone. Again: nothing happens."""
        if self._fd < 0:
            return
        os.close(self._fd)
        self._fd = -1
        try:
            if self._named:
                os.unlink(self._named, dir_fd=self._folder)
        finally:
            os.close(self._folder)


def _new_name() -> str:
    return f"{PREFIX}{secrets.token_hex(8)}.part"
