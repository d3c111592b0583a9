"""Files over HTTP: the recorded exchanges, ranges, uploads as they come, archives, limits of tokens, faults."""

from __future__ import annotations

import asyncio
import gzip
import io
import os
import tarfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from footplate.config.machine import FilesSettings
from footplate.config.settings import HttpSettings, Settings
from footplate.interfaces.http.downloads import LARGEST
from footplate.runtime.access import TokenRequest
from tests.unit.interfaces.http.exchanges import PROBLEM, content, load, play, without
from tests.unit.interfaces.http.served import TOKEN, Served, serve

BETTER = {
    "write over dir": (400, "invalid request: path is not a file: {work}/d1"),
    "delete nonempty dir": (400, "invalid request: directory is not empty (delete it with recursive=true): {work}/d1"),
    "missing path": (400, "invalid request: query: '' cannot be used; expected Object missing required field `path`"),
    "move missing field": (422, "invalid request: Object missing required field `to`"),
    "move bad json": (400, None),
    "range": (206, None),
}
"""Where that server answered 502, plain text or the whole file; ours says what is the matter, as a problem."""


async def test_the_recorded_exchanges_are_answered_alike_or_better(
    client: httpx.AsyncClient, served: Served, tmp_path: Path
) -> None:
    work = served.work
    for exchange in load("03-fs.json", {"/workspace": str(work), "/home/user": str(tmp_path)}):
        asked, told = exchange["request"], exchange["response"]
        if asked["path"].startswith("/v1/fs/upload-batch") or "hostname" in str(told["body"]):
            continue
        if exchange["name"] == "stat symlink":
            (tmp_path / "target.txt").write_text("xyz")
            (work / "link").symlink_to(tmp_path / "target.txt")
            (work / "dangling").symlink_to("/nowhere!")
        answer = await play(client, asked)
        status, detail = BETTER.get(exchange["name"], (told["status"], None))
        assert answer.status_code == status, exchange["name"]
        assert answer.headers["vary"] == told["headers"]["vary"]
        if status >= 400:
            assert answer.headers["content-type"] == PROBLEM
        if detail is not None:
            assert answer.json()["detail"] == detail.format(work=work)
        elif status == told["status"] and exchange["name"] not in ("entries default (home)", "absolute traversal"):
            mine, theirs = content(answer), told["body"]
            if isinstance(theirs, list):
                theirs = sorted(theirs, key=lambda entry: str(entry["name"]))
            if exchange["name"] != "move bad json":
                assert without(mine, "modified", "size") == without(theirs, "modified", "size"), exchange["name"]
    assert (tmp_path / "rel" / "x.txt").read_text() == "r"


async def test_a_path_may_go_up_when_it_is_absolute_and_nothing_is_narrowed(
    client: httpx.AsyncClient, served: Served
) -> None:
    (served.work / "f").write_text("here")
    answer = await client.get("/v1/fs/file", params={"path": f"{served.work}/../work/f"})
    assert (answer.status_code, answer.text) == (200, "here")


async def test_a_write_can_be_kept_to_the_file_that_was_read(client: httpx.AsyncClient, served: Served) -> None:
    file = served.work / "notes"
    where = {"path": str(file)}
    file.write_text("one")
    tag = (await client.get("/v1/fs/file", params=where)).headers["etag"]
    saved = await client.put("/v1/fs/file", params=where, content=b"two", headers={"if-match": tag})
    assert (saved.status_code, saved.json()) == (200, {"path": str(file), "bytesWritten": 3})
    assert saved.headers["etag"] == (await client.get("/v1/fs/file", params=where)).headers["etag"] != tag
    late = await client.put("/v1/fs/file", params=where, content=b"late", headers={"if-match": tag})
    assert (late.status_code, late.json()["type"].rpartition(":")[2]) == (412, "file_changed")
    made = await client.put("/v1/fs/file", params=where, content=b"new", headers={"if-none-match": "*"})
    assert (made.status_code, file.read_text()) == (412, "two")
    file.unlink()
    gone = await client.put("/v1/fs/file", params=where, content=b"x", headers={"if-match": "*"})
    assert (gone.status_code, gone.json()["detail"].count("no longer there")) == (412, 1)
    made = await client.put("/v1/fs/file", params=where, content=b"new", headers={"if-none-match": "*"})
    assert (made.status_code, file.read_text()) == (200, "new")


async def test_a_file_that_changes_while_the_new_one_comes_is_not_written_over(
    client: httpx.AsyncClient, served: Served
) -> None:
    file = served.work / "notes"
    file.write_text("one")
    tag = (await client.get("/v1/fs/file", params={"path": str(file)})).headers["etag"]

    async def slowly() -> AsyncIterator[bytes]:
        yield b"mine"
        file.write_text("theirs, in between")
        yield b" too"

    where = {"path": str(file)}
    late = await client.put("/v1/fs/file", params=where, content=slowly(), headers={"if-match": tag})
    assert (late.status_code, file.read_text()) == (412, "theirs, in between")
    assert [each.name for each in served.work.iterdir()] == ["notes"]


@pytest.mark.parametrize("path", ["a%00b", "%ff", "x" * 5000, "/proc/self/mem", "/dev/full", "/etc/passwd/x"])
async def test_no_path_is_an_error_of_the_server(client: httpx.AsyncClient, path: str) -> None:
    for method, route in (("GET", "file"), ("GET", "entries"), ("GET", "stat"), ("PUT", "file"), ("DELETE", "entry")):
        if method in ("PUT", "DELETE") and path.startswith("/"):
            continue
        answer = await client.request(method, f"/v1/fs/{route}?path={path}")
        assert answer.status_code < 500
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == PROBLEM
    await client.delete("/v1/fs/entry?path=%ff")


# ---- reading ----


@pytest.fixture
def big(served: Served) -> tuple[Path, bytes]:
    """A file that is sent in several ways: larger than every piece and window."""
    data = os.urandom(LARGEST + 3 * 1024 * 1024 + 17)
    path = served.work / "big"
    path.write_bytes(data)
    return path, data


@pytest.mark.parametrize(
    ("wanted", "status", "start", "end"),
    [
        ("", 200, 0, None),
        ("bytes=0-0", 206, 0, 1),
        ("bytes=5-", 206, 5, None),
        ("bytes=-7", 206, -7, None),
        ("bytes=100-3000000", 206, 100, 3000001),
        ("bytes=0-99999999999", 206, 0, None),
        ("bytes=0-1,5-6", 200, 0, None),
        ("bytes=9-3", 200, 0, None),
        ("lines=1-2", 200, 0, None),
    ],
)
async def test_a_file_is_read_whole_or_in_part(
    client: httpx.AsyncClient, big: tuple[Path, bytes], wanted: str, status: int, start: int, end: int | None
) -> None:
    path, data = big
    answer = await client.get("/v1/fs/file", params={"path": str(path)}, headers={"range": wanted} if wanted else {})
    assert answer.status_code == status
    assert answer.content == data[start:end]
    assert answer.headers["content-length"] == str(len(data[start:end]))
    assert answer.headers["content-type"] == "application/octet-stream"
    if status == 206:
        first = start if start >= 0 else len(data) + start
        assert answer.headers["content-range"] == f"bytes {first}-{first + len(data[start:end]) - 1}/{len(data)}"


async def test_a_part_that_the_file_does_not_have_is_told(client: httpx.AsyncClient, big: tuple[Path, bytes]) -> None:
    path, data = big
    for wanted in (f"bytes={len(data)}-", "bytes=-0"):
        answer = await client.get("/v1/fs/file", params={"path": str(path)}, headers={"range": wanted})
        assert (answer.status_code, answer.headers["content-type"]) == (416, PROBLEM)
        assert answer.json()["detail"].endswith(f"is no part of a file of {len(data)} bytes")


async def test_a_client_that_has_the_file_is_told_so_and_a_part_of_another_version_is_not_sent(
    client: httpx.AsyncClient, big: tuple[Path, bytes]
) -> None:
    path, data = big
    head = await client.head("/v1/fs/file", params={"path": str(path)})
    assert (head.status_code, head.headers["content-length"], head.content) == (200, str(len(data)), b"")
    tag = head.headers["etag"]
    same = await client.get("/v1/fs/file", params={"path": str(path)}, headers={"if-none-match": tag})
    assert (same.status_code, same.content) == (304, b"")
    part = {"range": "bytes=0-4", "if-range": tag}
    assert (await client.get("/v1/fs/file", params={"path": str(path)}, headers=part)).content == data[:5]
    path.write_bytes(b"another")
    assert (await client.get("/v1/fs/file", params={"path": str(path)}, headers=part)).content == b"another"


async def test_empty_files_and_files_without_a_size_are_read(client: httpx.AsyncClient, served: Served) -> None:
    (served.work / "empty").touch()
    empty = await client.get("/v1/fs/file", params={"path": f"{served.work}/empty"})
    assert (empty.status_code, empty.content, empty.headers["content-length"]) == (200, b"", "0")
    status = await client.get("/v1/fs/file", params={"path": "/proc/self/status"})
    assert status.text.startswith("Name:")


async def test_a_reader_that_takes_nothing_is_cut_and_the_server_goes_on(tmp_path: Path) -> None:
    async with serve(tmp_path, Settings(http=HttpSettings(stall_s=0.2))) as served:
        path = served.work / "big"
        with path.open("wb") as file:
            file.truncate(64 << 20)
        host, port = served.url.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port), limit=1024)
        writer.write(f"GET /v1/fs/file?path={path} HTTP/1.1\r\nhost: x.localhost\r\n".encode())
        writer.write(f"authorization: Bearer {TOKEN}\r\n\r\n".encode())
        async with asyncio.timeout(30):
            while served.api.meters.running or not served.api.meters.calls:  # noqa: ASYNC110  it tells nobody
                await asyncio.sleep(0.01)
        writer.transport.abort()
        async with served.client() as client:
            assert (await client.get("/v1/health")).status_code == 200


async def test_calls_that_are_sent_without_waiting_are_answered_whole_and_in_order(
    served: Served, big: tuple[Path, bytes]
) -> None:
    path, data = big
    wanted = (f"/v1/fs/file?path={path}", "/v1/health", f"/v1/fs/file?path={path}", "/v1/health")
    host, port = served.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = f" HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {TOKEN}\r\n\r\n"
    writer.write("".join(f"GET {each}{head}" for each in wanted).encode())
    bodies: list[bytes] = []
    async with asyncio.timeout(30):
        for _ in wanted:
            answer = await reader.readuntil(b"\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 200 ")
            (length,) = [line for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            bodies.append(await reader.readexactly(int(length.partition(b":")[2])))
    writer.close()
    await writer.wait_closed()
    assert bodies == [data, b'{"status":"ok"}', data, b'{"status":"ok"}']


async def test_a_reader_that_goes_away_is_no_error(client: httpx.AsyncClient, served: Served) -> None:
    path = served.work / "big"
    with path.open("wb") as file:
        file.truncate(256 << 20)
    async with client.stream("GET", "/v1/fs/file", params={"path": str(path)}) as answer:
        async for _ in answer.aiter_raw():
            break
    assert (await client.get("/v1/health")).status_code == 200


# ---- writing ----


async def test_a_body_is_written_as_it_comes_and_is_there_when_it_is_whole(
    client: httpx.AsyncClient, served: Served
) -> None:
    piece = os.urandom(700_001)
    path = served.work / "new" / "up.bin"
    seen: list[bool] = []

    async def body() -> AsyncIterator[bytes]:
        for _ in range(6):
            yield piece
            seen.append(path.exists())

    answer = await client.put("/v1/fs/file", params={"path": str(path)}, content=body())
    assert answer.json() == {"path": str(path), "bytesWritten": 6 * len(piece)}
    assert path.read_bytes() == piece * 6
    assert not any(seen)


async def test_an_upload_that_breaks_off_leaves_nothing(client: httpx.AsyncClient, served: Served) -> None:
    async def body() -> AsyncIterator[bytes]:
        yield bytes(3 << 20)
        raise RuntimeError("the client breaks off")

    (served.work / "old").write_text("old")
    with pytest.raises(RuntimeError, match="breaks off"):
        await client.put("/v1/fs/file", params={"path": f"{served.work}/old"}, content=body())
    async with asyncio.timeout(30):
        while served.api.meters.running:  # noqa: ASYNC110  it tells nobody
            await asyncio.sleep(0.01)
    assert [(path.name, path.read_text()) for path in served.work.iterdir()] == [("old", "old")]


async def test_a_body_of_more_than_two_megabytes_is_taken(client: httpx.AsyncClient, served: Served) -> None:
    answer = await client.put("/v1/fs/file", params={"path": f"{served.work}/f"}, content=bytes(5 << 20))
    assert answer.json()["bytesWritten"] == 5 << 20


async def test_the_operator_may_limit_the_size_of_a_file(tmp_path: Path) -> None:
    async with serve(tmp_path, Settings(files=FilesSettings(max_file_bytes=100))) as served, served.client() as client:
        path = f"{served.work}/f"

        async def unsaid() -> AsyncIterator[bytes]:
            yield bytes(101)

        for body in (bytes(101), unsaid()):
            answer = await client.put("/v1/fs/file", params={"path": path}, content=body)
            assert (answer.status_code, answer.headers["content-type"]) == (413, PROBLEM)
        assert (await client.put("/v1/fs/file", params={"path": path}, content=bytes(100))).status_code == 200


async def test_a_full_disk_is_507_and_nothing_half_is_left(client: httpx.AsyncClient, tmp_path: Path) -> None:
    """The disk is made small by a limit on the size of the files of this process."""
    import resource
    import signal

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    try:
        answer = await client.put("/v1/fs/file", params={"path": "work/big"}, content=bytes(4 << 20))
        packed = await client.post(
            "/v1/fs/upload-batch?path=work", content=tar(("ok", b"1"), ("big", bytes(4 << 20))), headers=TAR
        )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    for each in (answer, packed):
        assert (each.status_code, each.headers["content-type"]) == (507, PROBLEM)
        assert each.json()["type"] == "urn:sandbox-agent:error:disk_full"
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["ok"]


# ---- archives ----

TAR = {"content-type": "application/x-tar"}


def tar(*files: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def link_then_file(target: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        info = tarfile.TarInfo("ln")
        info.type, info.linkname = tarfile.SYMTYPE, target
        archive.addfile(info)
        file = tarfile.TarInfo("ln/pwn.txt")
        file.size = 1
        archive.addfile(file, io.BytesIO(b"x"))
    return out.getvalue()


@pytest.mark.parametrize(
    ("headers", "wrap"),
    [
        (TAR, bytes),
        ({"content-type": "application/x-tar", "content-encoding": "gzip"}, gzip.compress),
        ({"content-type": "application/gzip"}, gzip.compress),
    ],
    ids=["plain", "encoded", "gzip"],
)
async def test_an_archive_is_unpacked(
    client: httpx.AsyncClient, served: Served, headers: dict[str, str], wrap: type[bytes]
) -> None:
    data = wrap(tar(("x/1.txt", b"one"), ("2.txt", b"two")))

    async def body() -> AsyncIterator[bytes]:
        for at in range(0, len(data), 1000):
            yield data[at : at + 1000]

    up = f"{served.work}/up"
    answer = await client.post("/v1/fs/upload-batch", params={"path": up}, content=body(), headers=headers)
    assert answer.json() == {"paths": [f"{up}/x/1.txt", f"{up}/2.txt"], "truncated": False}
    assert (served.work / "up" / "x" / "1.txt").read_text() == "one"


async def test_archives_that_are_wrong_are_told_and_lead_nowhere(client: httpx.AsyncClient, served: Served) -> None:
    up, outside = served.work / "up", served.work / "outside"
    outside.mkdir()

    async def told(body: bytes, kind: str = "application/x-tar") -> tuple[int, str]:
        answer = await client.post(
            "/v1/fs/upload-batch", params={"path": str(up)}, content=body, headers={"content-type": kind}
        )
        return answer.status_code, str(answer.json()["detail"])

    assert await told(b"xx", "application/octet-stream") == (
        400,
        "invalid request: content-type must be application/x-tar",
    )
    assert await told(tar(("../evil.txt", b"x"))) == (400, "invalid request: invalid relative path: ../evil.txt")
    assert await told(tar(("/abs.txt", b"x"))) == (400, "invalid request: invalid relative path: /abs.txt")
    assert (await told(b"not a tar at all" * 50))[0] == 400
    status, detail = await told(link_then_file(str(outside)))
    assert (status, "leads out" in detail) == (400, True)
    assert list(outside.iterdir()) == []
    assert not (served.work / "evil.txt").exists()


async def test_an_empty_archive_and_one_without_a_folder_are_fine(
    client: httpx.AsyncClient, served: Served, tmp_path: Path
) -> None:
    empty = await client.post("/v1/fs/upload-batch", params={"path": f"{served.work}/e"}, content=b"", headers=TAR)
    assert empty.json() == {"paths": [], "truncated": False}
    home = await client.post("/v1/fs/upload-batch", content=tar(("in-home", b"x")), headers=TAR)
    assert home.json()["paths"] == [f"{tmp_path}/in-home"]


# ---- who may ----


async def test_a_token_reaches_its_own_folders_only(served: Served) -> None:
    (served.work / "mine").mkdir()
    (served.work / "other").mkdir()
    (served.work / "other" / "f").write_text("x")
    folder = str(served.work / "mine")
    issued = await served.api.access.issue(TokenRequest(name="t", scopes=("files",), projects=(folder,)))
    async with served.client(issued.token) as client:
        assert (await client.put("/v1/fs/file", params={"path": f"{folder}/f"}, content=b"x")).status_code == 200
        for path in (f"{served.work}/other/f", f"{folder}/../other/f", "/etc/hostname"):
            answer = await client.get("/v1/fs/file", params={"path": path})
            assert (answer.status_code, answer.json()["type"]) == (403, "urn:sandbox-agent:error:permission_denied")


async def test_the_operator_names_the_folders(tmp_path: Path) -> None:
    async with serve(tmp_path, Settings(files=FilesSettings(roots=("~/work",)))) as served, served.client() as client:
        (served.work / "f").write_text("x")
        assert [entry["name"] for entry in (await client.get("/v1/fs/entries")).json()] == ["f"]
        refused = await client.get("/v1/fs/entries", params={"path": str(tmp_path)})
        assert refused.status_code == 403
        assert f"the folders are: {served.work}" in refused.json()["detail"]


async def test_files_want_their_own_scope_and_a_token_of_sessions_reaches_none(served: Served) -> None:
    drive = await served.api.access.issue(TokenRequest(name="d", scopes=("drive",)))
    some = await served.api.access.issue(TokenRequest(name="s", scopes=("files",), sessions=("x",)))  # type: ignore[arg-type]
    for token, status in ((drive.token, 403), (some.token, 403), ("wrong", 401)):
        async with served.client(token) as client:
            assert (await client.get("/v1/fs/entries")).status_code == status


@pytest.fixture(autouse=True)
def small_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)
