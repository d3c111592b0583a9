"""Files of the machine for clients: list, look, read, write, delete, make, move. Blocking: call it in a thread.

Every call takes paths as they were sent and keeps to the `Grounds` it was given. Errors are ours: `PathRefused` (the
caller can fix it), `PermissionDenied`, `DiskFull`, `FileFailed`.
"""

from __future__ import annotations

import errno
import os
import stat
from datetime import UTC, datetime
from typing import Literal

import msgspec

from footplate.errors import FileChanged, PathRefused

from .beneath import O_PATH, place_of
from .grounds import Grounds, Place, telling
from .moving import look_at, move, remove
from .writing import NewFile

EntryType = Literal["file", "directory"]


class Entry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One thing in a folder; a link counts as a file."""

    name: str
    path: str
    entry_type: EntryType
    size: int
    modified: str


class Facts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What is known of a path, links followed."""

    path: str
    entry_type: EntryType
    size: int
    modified: str


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """A file open for reading; whoever has it closes `fd`. A `size` of None: the system does not say (`/proc`)."""

    path: str
    fd: int
    size: int | None
    modified_ns: int
    inode: int

    def close(self) -> None:
        """Let go of it."""
        os.close(self.fd)

    @property
    def etag(self) -> str:
        """What changes when the file does."""
        return _tag(self.inode, self.modified_ns, self.size or 0)


class Files:
    """The files that one caller may touch."""

    def __init__(self, grounds: Grounds) -> None:
        self.grounds = grounds

    def entries(self, path: str | None = None) -> list[Entry]:
        """What lies in a folder (default: the home), by name."""
        place = self.grounds.place(path)
        with telling(place.shown):
            try:
                folder = self.grounds.open(place, os.O_RDONLY | os.O_DIRECTORY)
            except NotADirectoryError:
                self._must_be_there(place)
                raise PathRefused("path is not a directory", place.shown) from None
            try:
                with os.scandir(folder) as found:
                    entries = [_entry(place.shown, each) for each in found]
            finally:
                os.close(folder)
        return sorted((entry for entry in entries if entry), key=lambda entry: entry.name)

    def stat(self, path: str) -> Facts:
        """What is known of a path, links followed."""
        place = self.grounds.place(path)
        with telling(place.shown):
            fd = self.grounds.open(place, O_PATH)
            try:
                found = os.fstat(fd)
            finally:
                os.close(fd)
        kind: EntryType = "directory" if stat.S_ISDIR(found.st_mode) else "file"
        return Facts(path=place.shown, entry_type=kind, size=found.st_size, modified=rfc3339(found.st_mtime_ns))

    def open(self, path: str) -> Opened:
        """Open a file for reading. Devices and pipes are not files here."""
        place = self.grounds.place(path)
        with telling(place.shown):
            fd = self.grounds.open(place, os.O_RDONLY | os.O_NONBLOCK)
            try:
                found = os.fstat(fd)
                size = _readable_size(fd, found, place)
            except BaseException:
                os.close(fd)
                raise
        return Opened(path=place.shown, fd=fd, size=size, modified_ns=found.st_mtime_ns, inode=found.st_ino)

    def write(self, path: str, *, only_over: str = "", only_new: bool = False) -> Upload:
        """Begin to write a file, with the folders above it; see `Upload`.

        `only_over` an etag (`*`: any): the file must be as it was then. `only_new`: nothing may be there. Both are
        looked at now and once more at the end. Raises `FileChanged`.
        """
        place = self.grounds.place(path)
        with telling(place.shown):
            target = self._behind_link(place)
            with self.grounds.parent(target, make=True) as (folder, name):
                found = look_at(folder, name)
                if found is not None and not stat.S_ISREG(found.st_mode) and not stat.S_ISLNK(found.st_mode):
                    raise PathRefused("path is not a file", place.shown)
                wanted = Expected(place.shown, only_over, only_new=only_new)
                wanted.check(found)
                file = NewFile(folder, name)
                try:
                    if found is not None and stat.S_ISREG(found.st_mode):
                        file.like(found)
                except BaseException:
                    file.drop()
                    raise
        return Upload(place.shown, file, wanted)

    def is_there(self, path: str | None) -> bool:
        """Whether something lies under that name, a link being a link."""
        place = self.grounds.place(path)
        if not place.has_name():
            return True  # a folder of the settings
        try:
            with telling(place.shown), self.grounds.parent(place) as (folder, name):
                return look_at(folder, name) is not None
        except PathRefused:
            return False  # no folder on the way to it, either

    def delete(self, path: str, *, recursive: bool = False) -> str:
        """Remove a file, a link or a folder (with what is in it only if told); the path as it is shown."""
        place = self.grounds.place(path)
        self._keep_home(place)
        with telling(place.shown), self.grounds.parent(place) as (folder, name):
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if not stat.S_ISDIR(found.st_mode):
                os.unlink(name, dir_fd=folder)
            elif recursive:
                remove(folder, name)
            else:
                os.rmdir(name, dir_fd=folder)
        return place.shown

    def make_folder(self, path: str) -> str:
        """Make a folder and those above it; one that is there is fine."""
        place = self.grounds.place(path)
        with telling(place.shown):
            try:
                os.close(self.grounds.open_folder(place, make=True))
            except NotADirectoryError:
                raise PathRefused("path is not a directory", place.shown) from None
        return place.shown

    def move(self, source: str, target: str, *, overwrite: bool = False) -> tuple[str, str]:
        """Give something another name or folder; both paths as they are shown."""
        old, new = self.grounds.place(source), self.grounds.place(target)
        self._keep_home(old)
        self._keep_home(new)
        with telling(old.shown), self.grounds.parent(old) as (here, name):
            os.stat(name, dir_fd=here, follow_symlinks=False)
            with telling(new.shown), self.grounds.parent(new, make=True) as (there, wanted):
                try:
                    move(here, name, there, wanted, overwrite=overwrite)
                except FileExistsError:
                    raise PathRefused("destination already exists", new.shown) from None
                except OSError as problem:
                    if problem.errno != errno.EINVAL:
                        raise
                    raise PathRefused("a folder cannot be moved into itself", new.shown) from None
        return old.shown, new.shown

    def _keep_home(self, place: Place) -> None:
        if self.grounds.is_home(place):
            raise PathRefused("the home folder is neither removed, moved nor replaced", place.shown)

    def _behind_link(self, place: Place) -> Place:
        """Where a write really goes: a link to a file stays a link, and its target is written."""
        with self.grounds.parent(place, make=True) as (folder, name):
            found = look_at(folder, name)
        if found is None or not stat.S_ISLNK(found.st_mode):
            return place
        try:
            fd = self.grounds.open(place, O_PATH)
        except FileNotFoundError:
            return place  # it leads nowhere: the file takes its place
        try:
            return self.grounds.place(place_of(fd))
        finally:
            os.close(fd)

    def _must_be_there(self, place: Place) -> None:
        """Tell a file from a path below a file."""
        os.close(self.grounds.open(place, O_PATH))


class Expected(msgspec.Struct, frozen=True):
    """What must be there for a file to be written."""

    path: str
    only_over: str = ""
    only_new: bool = False

    def check(self, found: os.stat_result | None) -> None:
        """Raises `FileChanged` unless it is."""
        if self.only_new and found is not None:
            raise FileChanged(self.path, there=True)
        if self.only_over and found is None:
            raise FileChanged(self.path, there=False)
        if self.only_over not in ("", "*") and found is not None and self.only_over != tag_of(found):
            raise FileChanged(self.path, there=True)


class Upload:
    """A file that is being sent: `write` what comes, `finish` at its end, `drop` in any case at last."""

    def __init__(self, path: str, file: NewFile, wanted: Expected) -> None:
        self.path = path
        self.etag = ""
        """What the file is known by once it is finished."""

        self._file = file
        self._wanted = wanted

    @property
    def size(self) -> int:
        """How much has come."""
        return self._file.size

    def write(self, data: bytes | memoryview) -> None:
        """Take what has come. Raises `DiskFull`."""
        with telling(self.path):
            self._file.write(data)

    def finish(self) -> int:
        """It is whole: from here on it is there under its name. How many bytes it has. Raises `FileChanged`."""
        with telling(self.path):
            self._wanted.check(self._file.in_the_way())
            try:
                self._file.keep(replace=not self._wanted.only_new)
            except FileExistsError:
                raise FileChanged(self.path, there=True) from None
            self.etag = tag_of(os.fstat(self._file.fd))
        return self._file.size

    def drop(self) -> None:
        """Let go; what was not finished is gone."""
        self._file.drop()


def _readable_size(fd: int, found: os.stat_result, place: Place) -> int | None:
    """How much there is to read; None where the system does not say. Devices and pipes cannot be read."""
    if not stat.S_ISREG(found.st_mode):
        raise PathRefused("path is not a file", place.shown)
    try:
        return found.st_size or (None if os.pread(fd, 1, 0) else 0)
    except OSError:  # some files of the kernel are there to be written only, or at certain places
        raise PathRefused("path cannot be read from its beginning", place.shown) from None


def tag_of(found: os.stat_result) -> str:
    """The etag of a file."""
    return _tag(found.st_ino, found.st_mtime_ns, found.st_size)


def _tag(inode: int, modified_ns: int, size: int) -> str:
    return f'"{inode:x}-{modified_ns:x}-{size:x}"'


def _entry(folder: str, each: os.DirEntry[str]) -> Entry | None:
    try:
        found = each.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None  # it went while we looked
    name = os.fsencode(each.name).decode("utf-8", "replace")
    kind: EntryType = "directory" if stat.S_ISDIR(found.st_mode) else "file"
    path = f"{folder.rstrip('/')}/{name}"
    return Entry(name=name, path=path, entry_type=kind, size=found.st_size, modified=rfc3339(found.st_mtime_ns))


def rfc3339(ns: int) -> str:
    """A time with as many digits after the point as it needs: none, three, six or nine."""
    seconds, rest = divmod(ns, 1_000_000_000)
    whole = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    digits = f"{rest:09d}"
    while digits.endswith("000"):
        digits = digits[:-3]
    return f"{whole}.{digits}+00:00" if digits else f"{whole}+00:00"
