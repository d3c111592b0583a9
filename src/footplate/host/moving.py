"""Moving things between folders that are open: renamed in one step, copied where the file system changes.

Works on descriptors and names in them only, and goes through no link.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from typing import Final

from footplate.errors import PathRefused

from .beneath import rename_new
from .writing import NewFile

COPY_CHUNK: Final = 8 * 1024 * 1024


def look_at(folder: int, name: str) -> os.stat_result | None:
    """What lies in a folder under a name, a link being a link; None when nothing does."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def move(here: int, name: str, there: int, wanted: str, *, overwrite: bool) -> None:
    """Rename, or copy where that cannot do; what is in the way is put aside first, and brought back when it fails."""
    if overwrite and (found := look_at(there, wanted)) is not None:
        own = os.stat(name, dir_fd=here, follow_symlinks=False)
        if (own.st_dev, own.st_ino) == (found.st_dev, found.st_ino):
            return
        if stat.S_ISDIR(found.st_mode) or stat.S_ISDIR(own.st_mode):
            _move_over(here, name, there, wanted)
            return
    try:
        if overwrite:
            os.rename(name, wanted, src_dir_fd=here, dst_dir_fd=there)
        else:
            rename_new(here, name, there, wanted)
    except OSError as problem:
        if problem.errno != errno.EXDEV:
            raise
        _move_far(here, name, there, wanted, overwrite=overwrite)


def _move_over(here: int, name: str, there: int, wanted: str) -> None:
    aside = f".footplate-{os.urandom(8).hex()}.old"
    os.rename(wanted, aside, src_dir_fd=there, dst_dir_fd=there)
    try:
        move(here, name, there, wanted, overwrite=False)
    except BaseException:
        rename_new(there, aside, there, wanted)
        raise
    remove(there, aside)


def _move_far(here: int, name: str, there: int, wanted: str, *, overwrite: bool) -> None:
    """Move to another file system: copy under a name of ours, put it in its place, then remove the old one."""
    aside = f".footplate-{os.urandom(8).hex()}.part"
    try:
        _copy(here, name, there, aside)
        if overwrite:
            os.rename(aside, wanted, src_dir_fd=there, dst_dir_fd=there)
        else:
            rename_new(there, aside, there, wanted)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            remove(there, aside)
        raise
    remove(here, name)


def _copy(here: int, name: str, there: int, wanted: str) -> None:
    """Copy a file, a link or a folder with all that is in it, never through a link."""
    found = os.stat(name, dir_fd=here, follow_symlinks=False)
    if stat.S_ISLNK(found.st_mode):
        os.symlink(os.readlink(name, dir_fd=here), wanted, dir_fd=there)
    elif stat.S_ISREG(found.st_mode):
        source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
        file = NewFile(there, wanted)
        try:
            while chunk := os.read(source, COPY_CHUNK):
                file.write(chunk)
            file.like(found)
            os.utime(file.fd, ns=(found.st_atime_ns, found.st_mtime_ns))
            file.keep(replace=False)
        finally:
            file.drop()
            os.close(source)
    elif stat.S_ISDIR(found.st_mode):
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        source = os.open(name, flags, dir_fd=here)
        try:
            os.mkdir(wanted, dir_fd=there)
            target = os.open(wanted, flags, dir_fd=there)
            try:
                for inner in os.listdir(source):  # noqa: PTH208  of a descriptor
                    _copy(source, inner, target, inner)
                os.fchmod(target, stat.S_IMODE(found.st_mode))
            finally:
                os.close(target)
        finally:
            os.close(source)
    else:
        raise PathRefused("neither file, link nor folder, and not to be copied to another disk", name)


def remove(folder: int, name: str) -> None:
    """Remove a file, a link, or a folder with all that is in it."""
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISDIR(found.st_mode):
        shutil.rmtree(name, dir_fd=folder)
    else:
        os.unlink(name, dir_fd=folder)
