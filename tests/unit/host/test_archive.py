"""Archives: every form of tar is unpacked as it comes, and no archive leads out of its folder."""

from __future__ import annotations

import errno
import gzip
import io
import os
import shutil
import stat
import subprocess
import tarfile
from pathlib import Path

import pytest

from footplate.config.machine import FilesSettings
from footplate.errors import DiskFull, FootplateError
from footplate.host.archive import Unpacked, Unpacking
from footplate.host.grounds import Grounds

HAS_TAR = shutil.which("tar") is not None


def pack(*members: tuple[tarfile.TarInfo, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for info, data in members:
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, *, to: str = "", mode: int = 0o644) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode, info.mtime = kind, to, mode, 1_600_000_000
    return info


def unpack(folder: Path, data: bytes, *, step: int = 1 << 20, limits: FilesSettings | None = None) -> Unpacked:
    work = Unpacking(Grounds.of(str(folder)), str(folder / "up"), limits or FilesSettings())
    try:
        for at in range(0, len(data), step):
            work.feed(data[at : at + step])
        return work.finish()
    finally:
        work.drop()


def refused(folder: Path, data: bytes, *, limits: FilesSettings | None = None) -> str:
    with pytest.raises(FootplateError) as caught:
        unpack(folder, data, limits=limits)
    return f"{caught.value.status} {caught.value}"


def files_in(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


SMALL = pack(
    (member("x/1.txt"), b"one"), (member("2.txt", mode=0o755), b"two" * 500), (member("dir", tarfile.DIRTYPE), b"")
)


@pytest.mark.parametrize("step", [1, 7, 511, 512, 1 << 20])
@pytest.mark.parametrize("wrap", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_an_archive_is_unpacked_however_it_is_cut(tmp_path: Path, step: int, wrap: type[bytes]) -> None:
    done = unpack(tmp_path, wrap(SMALL), step=step)
    up = tmp_path / "up"
    assert done == Unpacked(paths=[f"{up}/x/1.txt", f"{up}/2.txt", f"{up}/dir"], truncated=False)
    assert files_in(up) == {"x/1.txt": "one", "2.txt": "two" * 500}
    assert (up / "dir").is_dir()
    assert (up / "2.txt").stat().st_mtime == 1_600_000_000
    assert stat.S_IMODE((up / "2.txt").stat().st_mode) & 0o700 == 0o700


def test_an_empty_body_makes_the_folder_and_nothing_else(tmp_path: Path) -> None:
    assert unpack(tmp_path, b"") == Unpacked(paths=[], truncated=False)
    assert (tmp_path / "up").is_dir()


def test_an_archive_of_a_folder_itself_is_unpacked_into_the_folder(tmp_path: Path) -> None:
    data = pack((member("./", tarfile.DIRTYPE), b""), (member("./a/b"), b"x"))
    assert unpack(tmp_path, data).paths == [f"{tmp_path}/up/a/b"]


def test_an_answer_names_1024_paths_and_says_that_there_are_more(tmp_path: Path) -> None:
    done = unpack(tmp_path, pack(*((member(f"f{number}"), b"") for number in range(1100))))
    assert (len(done.paths), done.truncated) == (1024, True)
    assert len(list((tmp_path / "up").iterdir())) == 1100


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_names_may_be_long_and_foreign(tmp_path: Path, form: int) -> None:
    name = "/".join(["ü" * 60] * 5)
    data = pack((member(name), b"deep"), (member("l", tarfile.SYMTYPE, to=name), b""), form=form)
    unpack(tmp_path, data, step=100)
    assert (tmp_path / "up" / name).read_text() == "deep"
    assert (tmp_path / "up" / "l").read_text() == "deep"


def test_what_is_there_is_replaced_and_a_set_user_bit_is_not_taken_over(tmp_path: Path) -> None:
    up = tmp_path / "up"
    up.mkdir()
    (up / "f").write_text("old")
    unpack(tmp_path, pack((member("f", mode=0o6777), b"new")))
    assert (up / "f").read_text() == "new"
    assert stat.S_IMODE((up / "f").stat().st_mode) & 0o7000 == 0
    assert [path.name for path in up.iterdir()] == ["f"]


def test_two_gzip_members_are_one_archive(tmp_path: Path) -> None:
    half = len(SMALL) // 2 + 100
    data = gzip.compress(SMALL[:half]) + gzip.compress(SMALL[half:])
    assert len(unpack(tmp_path, data).paths) == 3


def test_a_bad_archive_is_told_and_leaves_no_half_file(tmp_path: Path) -> None:
    assert refused(tmp_path, b"not a tar at all" * 50).startswith("400 not a tar archive, or a damaged one: ")
    assert refused(tmp_path, SMALL[:1100]).startswith("400 the archive ends too early")
    assert refused(tmp_path, gzip.compress(SMALL)[:-20]).startswith("400 the archive ends too early")
    assert refused(tmp_path, b"\x1f\x8b" + b"x" * 600).startswith("400 the archive is damaged gzip: ")
    assert set(files_in(tmp_path / "up").values()) <= {"one", "two" * 500}


def test_a_full_disk_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", no_space)
        with pytest.raises(DiskFull, match=r"no space for .*/up/x/1\.txt"):
            unpack(tmp_path, SMALL)
    assert files_in(tmp_path / "up") == {}


# ---- no way out ----


@pytest.mark.parametrize("name", ["../evil.txt", "/abs.txt", "a/../../evil", "a/.."])
def test_a_name_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    assert refused(tmp_path, pack((member(name), b"x"))) == f"400 invalid relative path: {name}"
    assert [path.name for path in tmp_path.iterdir()] == ["up"]


def test_a_file_is_never_unpacked_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    to_outside = pack((member("ln", tarfile.SYMTYPE, to=str(outside)), b""), (member("ln/pwn.txt"), b"x"))
    assert refused(tmp_path, to_outside).startswith("400 'ln' in the archive is a link that leads out, to ")
    up = tmp_path / "up"
    (up / "there").symlink_to(outside)
    assert refused(tmp_path, pack((member("there/pwn.txt"), b"x"))).startswith(
        "400 'there/pwn.txt' in the archive goes "
    )
    inside = pack(
        (member("real", tarfile.DIRTYPE), b""),
        (member("ln", tarfile.SYMTYPE, to="real"), b""),
        (member("ln/pwn.txt"), b"x"),
    )
    assert "goes through a link" in refused(tmp_path, inside)
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("to", ["/etc/passwd", "..", "../x", "a/../../x", "a/..", "b/../../up/x", ""])
def test_a_link_that_could_lead_out_is_refused(tmp_path: Path, to: str) -> None:
    assert "is a link that leads out" in refused(tmp_path, pack((member("ln", tarfile.SYMTYPE, to=to), b"")))
    assert list((tmp_path / "up").iterdir()) == []


def test_a_link_that_stays_inside_is_unpacked(tmp_path: Path) -> None:
    unpack(tmp_path, pack((member("f"), b"x"), (member("a/b/ln", tarfile.SYMTYPE, to="../../f"), b"")))
    assert (tmp_path / "up" / "a" / "b" / "ln").read_text() == "x"


def test_a_hard_link_names_a_file_that_came_before(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    up = tmp_path / "up"
    unpack(tmp_path, pack((member("d/f"), b"x"), (member("g", tarfile.LNKTYPE, to="d/f"), b"")))
    assert (up / "g").stat().st_ino == (up / "d" / "f").stat().st_ino
    unpack(tmp_path, pack((member("d/f"), b"x"), (member("g", tarfile.LNKTYPE, to="d/f"), b"")))
    assert sorted(path.name for path in up.iterdir()) == ["d", "g"]
    assert "invalid relative path" in refused(tmp_path, pack((member("h", tarfile.LNKTYPE, to="../secret"), b"")))
    assert "has not come before it" in refused(tmp_path, pack((member("h", tarfile.LNKTYPE, to="nope"), b"")))
    assert "which is not a file" in refused(tmp_path, pack((member("h", tarfile.LNKTYPE, to="d"), b"")))
    (up / "out").symlink_to(tmp_path / "secret")
    assert "which is not a file" in refused(tmp_path, pack((member("h", tarfile.LNKTYPE, to="out"), b"")))


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_devices_and_pipes_are_refused(tmp_path: Path, kind: bytes) -> None:
    assert "is neither file, folder nor link" in refused(tmp_path, pack((member("dev", kind), b"")))
    assert list((tmp_path / "up").iterdir()) == []


# ---- bombs ----


def test_a_header_that_claims_too_much_memory_is_refused(tmp_path: Path) -> None:
    info = member("x", tarfile.XHDTYPE)
    info.size = 1 << 32
    assert "claims 4294967296 bytes" in refused(tmp_path, info.tobuf(tarfile.USTAR_FORMAT))


def test_an_archive_that_unpacks_to_too_much_is_stopped(tmp_path: Path) -> None:
    data = gzip.compress(pack((member("a"), bytes(600_000)), (member("b"), bytes(600_000))))
    told = refused(tmp_path, data, limits=FilesSettings(max_unpacked_bytes=1_000_000))
    assert told.startswith("400 the archive unpacks to more than 1.0 MB, at 'b'")
    assert "max_file_bytes" in refused(tmp_path, data, limits=FilesSettings(max_file_bytes=1000))


def _sparse(folder: Path, form: str, size: int) -> bytes:
    with (folder / "holes").open("wb") as file:
        file.write(b"begin")
        file.truncate(size)
        file.seek(size - 3)
        file.write(b"end")
    argv = ["tar", "--sparse", f"--format={form}", *(["--sparse-version=1.0"] if form == "posix" else [])]
    return subprocess.run([*argv, "-cf", "-", "holes"], cwd=folder, check=True, capture_output=True).stdout


@pytest.mark.skipif(not HAS_TAR, reason="there is no tar here")
@pytest.mark.parametrize("form", ["gnu", "posix"])
def test_a_file_with_holes_has_them_again_and_cannot_be_a_bomb(tmp_path: Path, form: str) -> None:
    data = _sparse(tmp_path, form, 1 << 30)
    assert len(data) < 1 << 20
    unpack(tmp_path, data, step=777)
    found = tmp_path / "up" / "holes"
    assert found.stat().st_size == 1 << 30
    assert found.stat().st_blocks * 512 < 1 << 20
    with found.open("rb") as file:
        assert file.read(5) == b"begin"
        file.seek(-4, os.SEEK_END)
        assert file.read() == b"\0end"
    told = refused(tmp_path, data, limits=FilesSettings(max_sparse_bytes=1 << 29))
    assert "'holes' claims 1.1 GB, most of it holes; more than max_sparse_bytes in [files], which is 537 MB" in told
