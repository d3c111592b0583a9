"""Unpacking an archive into a folder as it comes: constant memory, no way out of the folder. Blocking.

The rules that keep a stranger's archive inside: no name is absolute or goes up; nothing is unpacked through a link; a
link leads to a place in the folder (it may go up first, never in the middle); a hard link names a file in the folder;
devices and pipes are refused. A file is there when it is whole, and not before.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import zlib
from collections.abc import Iterator
from typing import Final

import msgspec

from footplate.config.machine import FilesSettings
from footplate.errors import ArchiveRefused, PathRefused
from footplate.events.wording import format_size

from .beneath import open_beneath
from .grounds import FOLDER, Grounds, telling
from .tar import Member, MemberEnd, Piece, TarReader
from .writing import PREFIX, NewFile

TOLD: Final = 1024
"""How many paths an answer names."""
INFLATE_CHUNK: Final = 1024 * 1024
GZIP: Final = b"\x1f\x8b"
LATEST: Final = 2.0**33


class Unpacked(msgspec.Struct, frozen=True, kw_only=True):
    """What was unpacked: the first paths, and whether there are more."""

    paths: list[str]
    truncated: bool


class Inflater:
    """Gzip, taken apart in pieces that are never large, however small the archive is."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(31)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Give what these bytes hold."""
        try:
            while True:
                out = self._inflate.decompress(data, INFLATE_CHUNK)
                data = self._inflate.unconsumed_tail
                if out:
                    yield out
                if self._inflate.eof:
                    data = self._inflate.unused_data.lstrip(b"\0")
                    if not data:
                        return
                    self._inflate = zlib.decompressobj(31)
                elif not data and len(out) < INFLATE_CHUNK:
                    return
        except zlib.error as problem:
            raise ArchiveRefused(f"the archive is damaged gzip: {problem}") from problem

    def finish(self) -> None:
        """Say that no more will come."""
        if not self._inflate.eof:
            raise ArchiveRefused("the archive ends too early; send it again, whole")


class Unpacking:
    """An archive that is being sent: `feed` what comes, `finish` at its end, `drop` in any case at last."""

    def __init__(self, grounds: Grounds, path: str | None, limits: FilesSettings) -> None:
        place = grounds.place(path)
        self.path = place.shown
        self._limits = limits
        self._reader = TarReader()
        self._inflater: Inflater | None = None
        self._first = b""
        self._begun = False
        self._total = 0
        self._paths: list[str] = []
        self._count = 0
        self._file: NewFile | None = None
        self._member: Member | None = None
        self._near: tuple[str, int] | None = None  # the folder of the last member, open
        with telling(place.shown):
            self._base = grounds.open_folder(place, make=True)

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the archive, plain or gzip."""
        if not self._begun:
            self._first += data
            if len(self._first) < 2:
                return
            data, self._begun = self._first, True
            if data.startswith(GZIP):
                self._inflater = Inflater()
        for piece in self._inflater.feed(data) if self._inflater else (data,):
            if self._reader.over:
                return
            self._take(piece)

    def finish(self) -> Unpacked:
        """No more will come."""
        if self._first and not self._begun:
            self._take(self._first)
        if self._inflater and not self._reader.over:
            self._inflater.finish()
        self._reader.finish()
        return Unpacked(paths=self._paths, truncated=self._count > len(self._paths))

    def drop(self) -> None:
        """Let go; a file that is not whole is gone."""
        if self._file:
            self._file.drop()
            self._file = None
        if self._near:
            os.close(self._near[1])
            self._near = None
        if self._base >= 0:
            os.close(self._base)
            self._base = -1

    def _take(self, data: bytes) -> None:
        for item in self._reader.feed(data):
            match item:
                case Member():
                    self._member = item
                    self._begin(item)
                case Piece(offset, contents) if self._file:
                    with telling(self._shown()):
                        self._file.write_at(offset, contents)
                case MemberEnd() if self._file and self._member:
                    self._end(self._file, self._member)

    def _shown(self) -> str:
        name = "/".join(_parts(self._member.name)) if self._member else ""
        return f"{self.path.rstrip('/')}/{name}"

    def _begin(self, member: Member) -> None:
        parts = _parts(member.name)
        if not parts:
            if member.kind != "folder":
                raise ArchiveRefused(f"{member.name!r} in the archive names no file")
            return
        self._check_size(member)
        with telling(self._shown()):
            match member.kind:
                case "file":
                    mode = member.mode & 0o777 | 0o600
                    self._file = NewFile(self._folder(parts[:-1], member.name), parts[-1], mode=mode)
                    return
                case "folder":
                    self._folder(parts, member.name)
                case "link":
                    _check_link(member, len(parts) - 1)
                    self._put(parts, member, None)
                case "hardlink":
                    self._put(parts, member, _parts(member.target))
                case "other":
                    raise ArchiveRefused(
                        f"{member.name!r} in the archive is neither file, folder nor link; leave it out"
                    )
        self._note()

    def _check_size(self, member: Member) -> None:
        limits = self._limits
        if member.sparse and member.size > limits.max_sparse_bytes:
            raise ArchiveRefused(
                f"{member.name!r} claims {format_size(member.size)}, most of it holes; more than max_sparse_bytes in "
                f"[files], which is {format_size(limits.max_sparse_bytes)}"
            )
        if limits.max_file_bytes is not None and member.size > limits.max_file_bytes:
            raise ArchiveRefused(
                f"{member.name!r} has {format_size(member.size)}; more than max_file_bytes in [files], which is "
                f"{format_size(limits.max_file_bytes)}"
            )
        self._total += member.size
        if limits.max_unpacked_bytes is not None and self._total > limits.max_unpacked_bytes:
            raise ArchiveRefused(
                f"the archive unpacks to more than {format_size(limits.max_unpacked_bytes)}, at {member.name!r}; "
                "that is max_unpacked_bytes in [files]"
            )

    def _end(self, file: NewFile, member: Member) -> None:
        with telling(self._shown()):
            if file.size < member.size:
                os.ftruncate(file.fd, member.size)
            mtime = int(min(max(member.mtime, 0.0), LATEST) * 1_000_000_000)
            os.utime(file.fd, ns=(mtime, mtime))
            file.keep()
        file.drop()
        self._file = None
        self._note()

    def _note(self) -> None:
        self._count += 1
        if len(self._paths) < TOLD:
            self._paths.append(os.fsencode(self._shown()).decode("utf-8", "replace"))

    def _put(self, parts: list[str], member: Member, source: list[str] | None) -> None:
        """Put a link in its place: a symbolic one, or a further name of the file `source`."""
        folder, name = self._folder(parts[:-1], member.name), parts[-1]
        aside = f"{PREFIX}{secrets.token_hex(8)}.part"
        if source is None:
            os.symlink(member.target, aside, dir_fd=folder)
        else:
            self._link(source, folder, aside, member)
        try:
            os.rename(aside, name, src_dir_fd=folder, dst_dir_fd=folder)
        except IsADirectoryError:
            raise PathRefused("path is not a file", self._shown()) from None
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(aside, dir_fd=folder)  # two names of one file: rename leaves both

    def _link(self, source: list[str], folder: int, name: str, member: Member) -> None:
        if not source:
            raise ArchiveRefused(f"{member.name!r} in the archive is a hard link to nothing")
        try:
            there = open_beneath(self._base, "/".join(source[:-1]) or ".", FOLDER, links=False)
            try:
                if not stat.S_ISREG(os.stat(source[-1], dir_fd=there, follow_symlinks=False).st_mode):
                    raise ArchiveRefused(f"{member.name!r} is a hard link to {member.target!r}, which is not a file")
                os.link(source[-1], name, src_dir_fd=there, dst_dir_fd=folder, follow_symlinks=False)
            finally:
                os.close(there)
        except (FileNotFoundError, NotADirectoryError):
            raise ArchiveRefused(
                f"{member.name!r} is a hard link to {member.target!r}, which has not come before it"
            ) from None

    def _folder(self, parts: list[str], name: str) -> int:
        """The folder of a member, made where it is missing; never through a link. It stays open for the next one."""
        path = "/".join(parts) or "."
        if self._near and self._near[0] == path:
            return self._near[1]
        fd = self._open(parts, name)
        if self._near:
            os.close(self._near[1])
        self._near = (path, fd)
        return fd

    def _open(self, parts: list[str], name: str) -> int:
        try:
            return open_beneath(self._base, "/".join(parts) or ".", FOLDER, links=False)
        except FileNotFoundError:
            if not parts:
                raise
        except OSError as problem:
            if problem.errno not in (errno.ELOOP, errno.ENOTDIR):
                raise
            raise ArchiveRefused(
                f"{name!r} in the archive goes through a link or a file; unpack it elsewhere"
            ) from None
        above = self._open(parts[:-1], name)
        try:
            with contextlib.suppress(FileExistsError):  # somebody was quicker
                os.mkdir(parts[-1], dir_fd=above)
        finally:
            os.close(above)
        return open_beneath(self._base, "/".join(parts), FOLDER, links=False)


def _parts(name: str) -> list[str]:
    """A name of an archive in parts; one that leads out is refused."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts or "\0" in name:
        raise PathRefused("invalid relative path", name.replace("\0", "\\0"))
    return parts


def _check_link(member: Member, depth: int) -> None:
    """A link may lead to places in the folder: up first, then down, never up again."""
    parts = [part for part in member.target.split("/") if part not in ("", ".")]
    ups = 0
    while ups < len(parts) and parts[ups] == "..":
        ups += 1
    if (
        not member.target
        or member.target.startswith("/")
        or ups > depth
        or ".." in parts[ups:]
        or "\0" in member.target
    ):
        raise ArchiveRefused(
            f"{member.name!r} in the archive is a link that leads out, to {member.target!r}; leave it out"
        )
