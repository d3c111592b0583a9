"""A folder is swapped for a link to the outside while clients work in it: nothing gets out, nothing is read there."""

from __future__ import annotations

import ctypes
import os
import threading
from pathlib import Path

import pytest

from footplate.config.machine import FilesSettings
from footplate.errors import ArchiveRefused, PathRefused, PermissionDenied
from footplate.host import beneath
from footplate.host.archive import Unpacking
from footplate.host.files import Files
from footplate.host.grounds import Grounds

from .test_archive import member, pack
from .test_files import put, read

AT_FDCWD, RENAME_EXCHANGE = -100, 2
ARCHIVE = pack((member("inner/x"), b"1"), (member("y"), b"2"))


def unpack(files: Files, path: str) -> None:
    work = Unpacking(files.grounds, path, FilesSettings())
    try:
        work.feed(ARCHIVE)
        work.finish()
    finally:
        work.drop()


@pytest.fixture(params=["openat2", "checked"])
def confined(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    """Files below the home only, by the system call and by the way that does without it."""
    if request.param == "checked":
        monkeypatch.setattr(beneath, "_syscall", None)
    home = tmp_path / "home"
    home.mkdir()
    return Files(Grounds.of(str(home), (str(home),)))


def test_a_link_that_is_swapped_while_we_work_never_leads_out(confined: Files, tmp_path: Path) -> None:
    """One thread swaps a folder for a link to the outside and back; whatever we do meanwhile stays inside."""
    home, outside = tmp_path / "home", tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("secret")
    (home / "d").mkdir()
    (home / "d" / "f").write_text("inside")
    (home / "link").symlink_to(outside)
    stop = threading.Event()

    exchange = ctypes.CDLL(None).renameat2
    names = (AT_FDCWD, os.fsencode(home / "d"), AT_FDCWD, os.fsencode(home / "link"), RENAME_EXCHANGE)

    def swap() -> None:
        while not stop.is_set():
            exchange(*names)

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        for number in range(200):
            for call in (
                lambda: read(confined, "d/f"),
                lambda number=number: put(confined, f"d/new{number}", b"x"),
                lambda: confined.move("d/f", "d/f", overwrite=True),
                lambda: confined.delete("d/f2"),
                lambda: unpack(confined, "d"),
            ):
                try:
                    assert call() != b"secret"
                except (PathRefused, PermissionDenied, ArchiveRefused):
                    continue
    finally:
        stop.set()
        swapping.join()
    assert [path.name for path in outside.iterdir()] == ["f"]
    assert (outside / "f").read_text() == "secret"
