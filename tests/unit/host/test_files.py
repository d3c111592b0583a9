"""Files for clients: what can be asked of a path, what is refused, and that nothing leads out of the grounds."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from footplate.errors import DiskFull, FileFailed, FootplateError, PathRefused, PermissionDenied
from footplate.host import beneath
from footplate.host.files import Files, rfc3339
from footplate.host.grounds import Grounds, told


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    return home


@pytest.fixture
def files(home: Path) -> Files:
    return Files(Grounds.of(str(home)))


@pytest.fixture(params=["openat2", "checked"])
def confined(request: pytest.FixtureRequest, home: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    """Files below the home only, by the system call and by the way that does without it."""
    if request.param == "checked":
        monkeypatch.setattr(beneath, "_syscall", None)
    return Files(Grounds.of(str(home), (str(home),)))


def put(files: Files, path: str, *chunks: bytes) -> int:
    upload = files.write(path)
    try:
        for chunk in chunks:
            upload.write(chunk)
        return upload.finish()
    finally:
        upload.drop()


def read(files: Files, path: str) -> bytes:
    opened = files.open(path)
    try:
        with os.fdopen(os.dup(opened.fd), "rb") as file:
            return file.read()
    finally:
        os.close(opened.fd)


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(FootplateError) as caught:
        call()
    return f"{caught.value.status} {caught.value}"


# ---- looking and reading ----


def test_a_folder_is_listed_by_name_and_a_link_counts_as_a_file(files: Files, home: Path) -> None:
    (home / "b.txt").write_text("hello")
    (home / "a").mkdir()
    (home / "dangling").symlink_to("nowhere")
    found = files.entries(str(home))
    assert [(entry.name, entry.entry_type, entry.size) for entry in found] == [
        ("a", "directory", (home / "a").stat().st_size),
        ("b.txt", "file", 5),
        ("dangling", "file", 7),
    ]
    assert found[1].path == f"{home}/b.txt"
    assert files.entries() == found
    assert found[1].modified == rfc3339((home / "b.txt").stat().st_mtime_ns)


def test_a_name_that_is_no_text_is_listed_all_the_same(files: Files, home: Path) -> None:
    (home / os.fsdecode(b"\xff.txt")).write_text("x")
    assert [entry.name for entry in files.entries()] == ["\ufffd.txt"]


def test_what_is_known_of_a_path_follows_links(files: Files, home: Path) -> None:
    (home / "b.txt").write_text("hello")
    (home / "link").symlink_to("b.txt")
    facts = files.stat(f"{home}/link")
    assert (facts.path, facts.entry_type, facts.size) == (f"{home}/link", "file", 5)
    assert files.stat(".").path == f"{home}/"
    assert refusal(lambda: files.stat("")) == '400 path is empty; . is the home: ""'


def test_a_file_is_opened_for_reading_with_its_size(files: Files, home: Path) -> None:
    (home / "b.txt").write_text("hello")
    opened = files.open("b.txt")
    os.close(opened.fd)
    assert (opened.path, opened.size) == (f"{home}/b.txt", 5)
    (home / "empty").write_text("")
    nothing = files.open("empty")
    os.close(nothing.fd)
    assert nothing.size == 0
    assert opened.etag != nothing.etag


def test_a_file_of_the_kernel_has_no_size_and_can_be_read(files: Files) -> None:
    opened = files.open("/proc/self/status")
    os.close(opened.fd)
    assert opened.size is None
    assert read(files, "/proc/self/status").startswith(b"Name:")


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "1970-01-01T00:00:00+00:00"),
        (1_500_000_000, "1970-01-01T00:00:01.500+00:00"),
        (1_000_001_000, "1970-01-01T00:00:01.000001+00:00"),
        (1_794_787_160_562_361_598, "2026-11-15T23:59:20.562361598+00:00"),
        (-1_000_000_000, "1969-12-31T23:59:59+00:00"),
    ],
)
def test_times_have_the_digits_they_need(ns: int, text: str) -> None:
    assert rfc3339(ns) == text


def test_what_cannot_be_asked_of_a_path_is_told(files: Files, home: Path) -> None:
    (home / "b.txt").write_text("hello")
    (home / "d" / "inner").mkdir(parents=True)
    os.mkfifo(home / "pipe")
    d, text = f"{home}/d", f"{home}/b.txt"
    assert refusal(lambda: files.open(f"{home}/nope")) == f"400 path not found: {home}/nope"
    assert refusal(lambda: files.open(d)) == f"400 path is not a file: {d}"
    assert refusal(lambda: files.open(f"{home}/pipe")) == f"400 path is not a file: {home}/pipe"
    assert refusal(lambda: files.open("/dev/zero")) == "400 path is not a file: /dev/zero"
    assert refusal(lambda: files.open(f"{text}/x")) == f"400 path not found: {text}/x"
    assert refusal(lambda: files.entries(text)) == f"400 path is not a directory: {text}"
    assert refusal(lambda: files.entries(f"{text}/x")) == f"400 path not found: {text}/x"
    assert refusal(lambda: files.stat("../x")) == "400 invalid relative path: ../x"
    assert refusal(lambda: files.stat("a\0b")) == "400 path holds a null byte: a\\0b"
    assert refusal(lambda: files.stat("x" * 300)).startswith("400 path is too long: ")
    assert refusal(lambda: files.write(d)) == f"400 path is not a file: {d}"
    assert refusal(lambda: files.write("/dev/null")) == "400 path is not a file: /dev/null"
    assert refusal(lambda: files.write("/")) == "400 path has no name of its own: /"
    assert refusal(lambda: files.delete(f"{home}/nope")) == f"400 path not found: {home}/nope"
    assert refusal(lambda: files.delete(d)).startswith("400 directory is not empty (delete it with recursive=true): ")
    assert refusal(lambda: files.make_folder(text)) == f"400 path is not a directory: {text}"
    assert refusal(lambda: files.make_folder(f"{text}/x")).startswith("400 path ")


@pytest.mark.parametrize(
    ("number", "kind", "status"),
    [
        (errno.ENOSPC, DiskFull, 507),
        (errno.EDQUOT, DiskFull, 507),
        (errno.EACCES, PermissionDenied, 403),
        (errno.EROFS, PermissionDenied, 403),
        (errno.EIO, FileFailed, 500),
        (errno.ENOENT, PathRefused, 400),
    ],
)
def test_what_the_system_says_becomes_an_error_of_ours(number: int, kind: type[FootplateError], status: int) -> None:
    error = told(OSError(number, os.strerror(number)), "/x")
    assert (type(error), error.status) == (kind, status)
    assert "/x" in str(error)


# ---- writing ----


def test_a_file_is_written_with_the_folders_above_it(files: Files, home: Path) -> None:
    assert put(files, f"{home}/a/b/c.txt", b"hel", b"lo") == 5
    assert (home / "a" / "b" / "c.txt").read_text() == "hello"
    assert put(files, "rel/x.txt", b"r") == 1
    assert (home / "rel" / "x.txt").read_text() == "r"


def test_nobody_sees_a_file_before_it_is_whole(files: Files, home: Path) -> None:
    (home / "f").write_text("old")
    upload = files.write("f")
    upload.write(b"new and half")
    assert (home / "f").read_text() == "old"
    upload.drop()
    upload.drop()
    assert {entry.name for entry in files.entries()} == {"f"}
    assert (home / "f").read_text() == "old"


def test_a_file_system_without_nameless_files_leaves_nothing_either(
    files: Files, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("footplate.host.writing.O_TMPFILE", 0)
    upload = files.write("f")
    upload.write(b"half")
    upload.drop()
    assert files.entries() == []
    assert put(files, "f", b"whole") == 5
    assert [entry.name for entry in files.entries()] == ["f"]


def test_a_file_keeps_its_mode_when_it_is_written_anew(files: Files, home: Path) -> None:
    script = home / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o750)
    put(files, "run.sh", b"#!/bin/sh\necho\n")
    assert stat.S_IMODE(script.stat().st_mode) == 0o750


def test_a_link_stays_a_link_and_its_target_is_written(files: Files, home: Path) -> None:
    (home / "real").mkdir()
    (home / "real" / "f").write_text("old")
    (home / "link").symlink_to("real/f")
    put(files, "link", b"new")
    assert (home / "link").is_symlink()
    assert (home / "real" / "f").read_text() == "new"
    (home / "dangling").symlink_to("nowhere")
    put(files, "dangling", b"now")
    assert (home / "dangling").read_text() == "now"


def test_a_full_disk_is_told_and_nothing_is_left(files: Files, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    upload = files.write("big")
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", no_space)
        told = refusal(lambda: upload.write(b"x" * 100))
    upload.drop()
    assert told.startswith(f"507 no space for {home}/big: No space left on device;")
    assert files.entries() == []


# ---- deleting, making, moving ----


def test_a_folder_goes_with_all_that_is_in_it_only_when_told_and_links_are_not_followed(
    files: Files, home: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "keep").write_text("x")
    (home / "d").mkdir()
    (home / "d" / "link").symlink_to(outside)
    assert files.delete("d", recursive=True) == f"{home}/d"
    assert not (home / "d").exists()
    assert (outside / "keep").exists()
    (home / "link").symlink_to(outside)
    files.delete("link", recursive=True)
    assert (outside / "keep").exists()


@pytest.mark.parametrize("path", [".", "./", "{home}", "{home}/", "{home}/a/.."])
def test_the_home_itself_is_neither_removed_nor_moved(files: Files, home: Path, path: str) -> None:
    (home / "a").mkdir()
    given = path.format(home=home)
    for call in (
        lambda: files.delete(given, recursive=True),
        lambda: files.move(given, f"{home}-elsewhere"),
        lambda: files.move("a", given, overwrite=True),
    ):
        assert refusal(call).startswith("400 the home folder is neither removed, moved nor replaced: ")
    assert (home / "a").is_dir()
    (home / "link").symlink_to(home)
    files.delete("link")
    assert (home / "a").is_dir()


def test_making_a_folder_twice_is_fine(files: Files, home: Path) -> None:
    assert files.make_folder(f"{home}/d1/d2") == f"{home}/d1/d2"
    assert files.make_folder(f"{home}/d1/d2/") == f"{home}/d1/d2/"
    assert (home / "d1" / "d2").is_dir()


def test_a_file_is_moved_and_never_over_another_unless_told(files: Files, home: Path) -> None:
    put(files, "a", b"a")
    put(files, "e", b"e")
    assert files.move(f"{home}/a", f"{home}/m/a2") == (f"{home}/a", f"{home}/m/a2")
    assert refusal(lambda: files.move("m/a2", "e")) == f"400 destination already exists: {home}/e"
    files.move("m/a2", "e", overwrite=True)
    assert (home / "e").read_text() == "a"
    assert refusal(lambda: files.move("nope", "e2")) == f"400 path not found: {home}/nope"
    files.move("e", "e", overwrite=True)
    assert (home / "e").read_text() == "a"


def test_a_folder_takes_the_place_of_another_only_when_told(files: Files, home: Path) -> None:
    put(files, "old/1", b"1")
    put(files, "new/2", b"2")
    assert refusal(lambda: files.move("new", "old")) == f"400 destination already exists: {home}/old"
    assert (
        refusal(lambda: files.move("new", "new/inner")) == f"400 a folder cannot be moved into itself: {home}/new/inner"
    )
    files.move("new", "old", overwrite=True)
    assert [path.name for path in (home / "old").iterdir()] == ["2"]
    assert [entry.name for entry in files.entries()] == ["old"]


def test_a_folder_is_moved_to_another_file_system(files: Files, home: Path) -> None:
    shared = Path("/dev/shm")
    if not shared.is_dir() or shared.stat().st_dev == home.stat().st_dev:
        pytest.skip("there is no second file system here")
    put(files, "d/inner/f", b"far")
    (home / "d" / "link").symlink_to("inner/f")
    there = shared / f"footplate-{os.urandom(6).hex()}"
    try:
        files.move("d", str(there))
        assert not (home / "d").exists()
        assert (there / "inner" / "f").read_text() == "far"
        assert (there / "link").readlink() == Path("inner/f")
    finally:
        files.delete(str(there), recursive=True)


# ---- grounds ----


def test_only_the_named_folders_can_be_touched(confined: Files, home: Path, tmp_path: Path) -> None:
    outside = tmp_path / "secret"
    outside.write_text("s")
    put(confined, "a/f", b"in")
    assert read(confined, f"{home}/a/../a/f") == b"in"
    for call in (
        lambda: confined.open(str(outside)),
        lambda: confined.open(f"{home}/../secret"),
        lambda: confined.entries("/"),
        lambda: confined.write(f"{tmp_path}/new"),
        lambda: confined.move("a/f", f"{tmp_path}/new"),
        lambda: confined.move(str(outside), "stolen"),
        lambda: confined.make_folder(f"{tmp_path}/new"),
        lambda: confined.delete(str(outside)),
    ):
        assert refusal(call).startswith("403 ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "secret"]
    inner = Files(Grounds.of("/nowhere", (str(home),)))
    assert refusal(lambda: inner.delete(str(home), recursive=True)) == f"400 path has no name of its own: {home}"


def test_who_names_no_path_begins_in_the_home_or_in_the_first_folder_that_may_be_touched(home: Path) -> None:
    (home / "a").mkdir()
    (home / "a" / "f").touch()
    assert [entry.name for entry in Files(Grounds.of(str(home), (str(home),))).entries()] == ["a"]
    assert [entry.name for entry in Files(Grounds.of(str(home), ("~/a",))).entries()] == ["f"]


def test_no_link_leads_out(confined: Files, home: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("s")
    (home / "absolute").symlink_to(outside)
    (home / "relative").symlink_to("../outside")
    (home / "file").symlink_to(outside / "secret")
    for path in ("absolute/secret", "relative/secret", "file"):
        assert refusal(lambda path=path: confined.open(path)).startswith("403 ")  # type: ignore[misc]
        assert refusal(lambda path=path: confined.stat(path)).startswith("403 ")  # type: ignore[misc]
        assert refusal(lambda path=path: confined.write(path)).startswith("403 ")  # type: ignore[misc]
    assert refusal(lambda: confined.entries("relative")).startswith("403 ")
    assert refusal(lambda: confined.delete("relative/secret")).startswith("403 ")
    assert refusal(lambda: confined.make_folder("relative/new/folder")).startswith("403 ")
    assert [path.name for path in outside.iterdir()] == ["secret"]


def test_a_link_that_stays_inside_is_followed_also_when_it_is_absolute(confined: Files, home: Path) -> None:
    put(confined, "real/f", b"in")
    (home / "absolute").symlink_to(home / "real")
    (home / "relative").symlink_to("real")
    assert read(confined, "absolute/f") == read(confined, "relative/f") == b"in"
    put(confined, "absolute/g", b"new")
    assert (home / "real" / "g").read_text() == "new"


def test_a_caller_may_be_narrowed_further_and_never_widened(home: Path) -> None:
    (home / "a" / "b").mkdir(parents=True)
    (home / "c").mkdir()
    whole = Grounds.of(str(home), (str(home / "a"), "~/c"))
    files = Files(whole.narrowed((str(home / "a" / "b"), "/etc")))
    put(files, f"{home}/a/b/f", b"x")
    assert refusal(lambda: files.open(f"{home}/a/f")).startswith("403 ")
    assert refusal(lambda: files.open(f"{home}/c/f")).startswith("403 ")
    assert refusal(lambda: files.open("/etc/hostname")).startswith("403 ")
    wide = Files(whole.narrowed((str(home),)))
    put(wide, f"{home}/c/f", b"x")
    assert refusal(lambda: wide.write(f"{home}/d")).startswith("403 ")
    nothing = Files(whole.narrowed(("/etc",)))
    assert "the folders are: none" in refusal(lambda: nothing.entries(str(home / "a")))
    assert whole.narrowed(()) is whole
    everywhere = Files(Grounds.of(str(home)).narrowed((str(home / "a"),)))
    assert refusal(lambda: everywhere.entries("/etc")).startswith("403 ")


def test_a_narrow_root_that_is_swapped_for_a_link_leads_nowhere(home: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("s")
    (home / "a").mkdir()
    files = Files(Grounds.of(str(home), (str(home),)).narrowed((str(home / "a"),)))
    (home / "a").rmdir()
    (home / "a").symlink_to(outside)
    assert refusal(lambda: files.open(f"{home}/a/secret")).startswith("403 ")
