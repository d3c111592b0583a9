"""Where files may be touched: everywhere, or below named folders; and how a path gets there.

The one who says what is a path and what is not. It opens descriptors and never acts on a name that it has only looked
at: a link that is swapped while we work leads to a refusal, not outside.
"""

from __future__ import annotations

import contextlib
import errno
import os
import posixpath
from collections.abc import Iterator
from typing import Final

import msgspec

from footplate.errors import DiskFull, FileFailed, FootplateError, PathRefused, PermissionDenied

from .beneath import O_PATH, holds, open_beneath

FOLDER: Final = O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
LOOKS: Final = 20

REFUSALS: Final = {
    errno.ENOENT: "path not found",
    errno.ENOTDIR: "path not found",
    errno.EISDIR: "path is not a file",
    errno.EEXIST: "path already exists",
    errno.ENOTEMPTY: "directory is not empty (delete it with recursive=true)",
    errno.ENAMETOOLONG: "path is too long",
    errno.ELOOP: "too many links on the way",
    errno.EINVAL: "path cannot be used",
    errno.ENXIO: "path is not a file",
    errno.EAGAIN: "somebody moves folders on the way all the time; try again",
    errno.EBUSY: "path is in use",
    errno.ETXTBSY: "path is in use",
}
FORBIDDEN: Final = frozenset((errno.EACCES, errno.EPERM, errno.EROFS))
FULL: Final = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))


class Root(msgspec.Struct, frozen=True):
    """A folder that may be touched. `below` is set when two limits meet: then it lies below another's `folder`."""

    folder: str
    below: str = ""

    @property
    def path(self) -> str:
        """Where it lies."""
        return posixpath.join(self.folder, self.below) if self.below else self.folder


class Place(msgspec.Struct, frozen=True):
    """A path that was asked for: as it is shown, and below which root it lies (None: no limits)."""

    shown: str
    root: Root | None = None
    inner: str = ""

    def has_name(self) -> bool:
        """Whether it names something in a folder, rather than a root or the folder above."""
        last = (self.shown if self.root is None else self.inner).rstrip("/").rpartition("/")[2]
        return last not in ("", ".", "..")


class Grounds:
    """What one caller may touch: below `home` lie relative paths; no `roots` means everything."""

    def __init__(self, home: str, roots: tuple[Root, ...] | None = None) -> None:
        self.home = home.rstrip("/") or "/"
        self.roots = roots

    @classmethod
    def of(cls, home: str, roots: tuple[str, ...] = ()) -> Grounds:
        """The grounds of the service: the folders that the settings name, or everything."""
        return cls(home, tuple(Root(_resolve(path, home)) for path in roots) if roots else None)

    def narrowed(self, roots: tuple[str, ...]) -> Grounds:
        """What is left for a caller who may touch only these folders, too; no folders: all that there is."""
        if not roots:
            return self
        wanted = [_resolve(path, self.home) for path in roots]
        if self.roots is None:
            return Grounds(self.home, tuple(Root(path) for path in wanted))
        both = [
            Root(root.folder, posixpath.relpath(path, root.folder)) if path != root.path else root
            for root in self.roots
            for path in wanted
            if holds(root.path, path)
        ]
        both += [root for root in self.roots for path in wanted if holds(path, root.path) and path != root.path]
        return Grounds(self.home, tuple(both))

    def place(self, path: str | None) -> Place:
        """The place of a path as it was sent; a relative one lies below the home. Touches nothing."""
        if path is not None and "\0" in path:
            raise PathRefused("path holds a null byte", path.replace("\0", "\\0"))
        if path == "":
            raise PathRefused("path is empty; . is the home", '""')
        shown = self._beginning() if path is None else self._absolute(path)
        if self.roots is None:
            return Place(shown)
        clean = posixpath.normpath(shown)
        for root in self.roots:
            for name in {root.path, _resolve(root.path, self.home)}:
                if holds(name, clean):
                    return Place(shown, root, posixpath.relpath(clean, name))
        raise self._outside(shown)

    def is_home(self, place: Place) -> bool:
        """Whether the place is the home itself, however it is written: it is neither removed nor moved."""
        folder, name = posixpath.split(posixpath.normpath(place.shown))
        return posixpath.join(_real(folder), name) in (self.home, _real(self.home))

    def _beginning(self) -> str:
        """Where one begins who names no path: the home, or the first folder that may be touched if the home may not."""
        if not self.roots or any(holds(root.path, os.path.realpath(self.home)) for root in self.roots):
            return self.home
        return self.roots[0].path

    def _absolute(self, path: str) -> str:
        if path.startswith("/"):
            return path
        parts = [part for part in path.split("/") if part not in ("", ".")]
        if ".." in parts:
            raise PathRefused("invalid relative path", path)
        return posixpath.join(self.home, *parts, *([""] if not parts else []))

    def open(self, place: Place, flags: int) -> int:
        """Open what lies there, links followed as far as they stay inside. Raises `OSError`, `PermissionDenied`."""
        if place.root is None:
            return os.open(place.shown, flags | os.O_CLOEXEC)
        return self._open_inside(place.root, place.inner, flags, place.shown)

    def _open_inside(self, root: Root, inner: str, flags: int, shown: str) -> int:
        base = self._open_root(root)
        try:
            return open_beneath(base, inner or ".", flags)
        except OSError as problem:
            if problem.errno != errno.EXDEV:
                raise
            # A link with an absolute target is refused even if it stays inside: go where it leads, without links.
            real = _real(posixpath.join(root.path, inner))
            here = os.path.realpath(root.path)
            if not holds(here, real):
                raise self._outside(shown) from None
            try:
                return open_beneath(base, posixpath.relpath(real, here), flags, links=False)
            except OSError as again:
                raise (self._outside(shown) if again.errno in (errno.EXDEV, errno.ELOOP) else again) from None
        finally:
            os.close(base)

    def _open_root(self, root: Root) -> int:
        folder = os.open(root.folder, FOLDER)
        if not root.below:
            return folder
        try:
            return open_beneath(folder, root.below, FOLDER)
        finally:
            os.close(folder)

    @contextlib.contextmanager
    def parent(self, place: Place, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """The folder in which the place lies, and its name there; `make` makes the folders that are missing."""
        if not place.has_name():
            raise PathRefused("path has no name of its own", place.shown)
        name = (place.shown if place.root is None else place.inner).rstrip("/").rpartition("/")[2]
        fd = self.open_folder(_above(place), make=make)
        try:
            yield fd, name
        finally:
            os.close(fd)

    def open_folder(self, place: Place, *, make: bool = False) -> int:
        """Open a folder for work in it; `make` makes it, and those above it, where they are missing."""
        try:
            return self.open(place, FOLDER)
        except FileNotFoundError:
            if not make or not place.has_name():
                raise
        with self.parent(place, make=True) as (folder, name), contextlib.suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)
        return self.open(place, FOLDER)

    def _outside(self, shown: str) -> PermissionDenied:
        folders = ", ".join(root.path for root in self.roots or ()) or "none"
        return PermissionDenied(f"{shown} is outside of what may be touched; the folders are: {folders}")


def _real(path: str) -> str:
    """The path without links. One that becomes another kind of thing between two looks is looked at again."""
    for _ in range(LOOKS):
        try:
            return os.path.realpath(path)
        except OSError:
            continue
    raise PathRefused("path changes while it is looked at", path)


def _above(place: Place) -> Place:
    if place.root is None:
        return Place(place.shown.rstrip("/").rpartition("/")[0] or "/")
    return Place(posixpath.dirname(place.shown.rstrip("/")), place.root, place.inner.rpartition("/")[0])


def _resolve(path: str, home: str) -> str:
    full = posixpath.join(home, path.removeprefix("~/")) if path.startswith("~/") or path == "~" else path
    return os.path.realpath(home if path == "~" else full)


@contextlib.contextmanager
def telling(path: str) -> Iterator[None]:
    """Turn what the system says of a path into an error of ours, with what to do."""
    try:
        yield
    except FootplateError:
        raise
    except OSError as problem:
        raise told(problem, path) from problem


def told(problem: OSError, path: str) -> FootplateError:
    """What the system said, as an error of ours."""
    number, reason = problem.errno or 0, problem.strerror or str(problem)
    if number in FULL:
        return DiskFull(path, reason)
    if number in FORBIDDEN:
        return PermissionDenied(f"{path}: {reason}; the service's user may not do that")
    if number == errno.EXDEV:
        return PermissionDenied(f"{path} leads out of the folder that may be touched")
    if number in REFUSALS:
        return PathRefused(REFUSALS[number], path)
    return FileFailed(path, reason)
