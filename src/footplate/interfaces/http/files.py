"""Files: list, read, write, delete, make, move, unpack; as far as `[files] roots` and the caller's token reach."""

from __future__ import annotations

import asyncio

import msgspec
from starlette.responses import Response

from footplate.errors import FileTooLarge, PermissionDenied, RequestError
from footplate.host.archive import Unpacked, Unpacking
from footplate.host.files import Entry, Facts, Files
from footplate.interfaces.http.call import Call
from footplate.interfaces.http.downloads import Download, choose_range
from footplate.interfaces.http.routing import JSON, Routes
from footplate.interfaces.http.uploads import pour

OCTETS = "application/octet-stream"
TAR = "application/x-tar"
ARCHIVES = (TAR, "application/gzip", "application/x-gzip", "application/x-gtar", "application/x-compressed-tar")

routes = Routes("files")


class PathQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The path that is meant; a relative one lies below the home of the service's user."""

    path: str


class FolderQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The folder that is meant; default: the home of the service's user."""

    path: str | None = None


class DeleteQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The path to remove; a folder with what is in it only if `recursive`."""

    path: str
    recursive: bool = False


class PathDone(msgspec.Struct, frozen=True, kw_only=True):
    """The path that was made or removed."""

    path: str


class Written(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The file that was written, and how many bytes it has."""

    path: str
    bytes_written: int


class Move(msgspec.Struct, frozen=True, kw_only=True, rename={"source": "from", "target": "to"}):
    """What is to be moved, and where to."""

    source: str
    target: str
    overwrite: bool = False


class Moved(msgspec.Struct, frozen=True, kw_only=True, rename={"source": "from", "target": "to"}):
    """What was moved, and where to."""

    source: str
    target: str


def reachable(call: Call) -> Files:
    """The files that the caller reaches: those of the settings, narrowed to the folders of its token."""
    if not call.grant.limited:
        return call.api.files
    if not call.grant.projects:
        raise PermissionDenied(f"the token {call.grant.name!r} is limited to sessions; it reaches no files")
    return Files(call.api.files.grounds.narrowed(call.grant.projects))


@routes.get("/v1/fs/entries", scope="files", summary="What lies in a folder", answer=list[Entry])
async def list_entries(call: Call, query: FolderQuery) -> list[Entry]:
    return await asyncio.to_thread(reachable(call).entries, query.path)


@routes.get("/v1/fs/stat", scope="files", summary="What is known of a path", answer=Facts)
async def stat_path(call: Call, query: PathQuery) -> Facts:
    return await asyncio.to_thread(reachable(call).stat, query.path)


@routes.get("/v1/fs/file", scope="files", summary="Read a file, or a part of it (Range)", media=OCTETS, problems=(416,))
async def read_file(call: Call, query: PathQuery) -> Download:
    opened = await asyncio.to_thread(reachable(call).open, query.path)
    try:
        part = choose_range(opened, call.header("range"), call.header("if-range"))
    except BaseException:
        opened.close()
        raise
    return Download(opened, part, fresh=call.header("if-none-match"), stall_s=call.api.settings.http.stall_s)


@routes.put(
    "/v1/fs/file",
    scope="files",
    summary="Write a file; with If-Match only over what it names, with If-None-Match: * only where nothing is",
    answer=Written,
    raw_body=True,
    takes=OCTETS,
    problems=(408, 412, 413, 507),
)
async def write_file(call: Call, query: PathQuery) -> Response:
    limit = call.api.settings.files.max_file_bytes
    declared = call.header("content-length")
    if limit is not None and declared.isdecimal() and int(declared) > limit:
        raise FileTooLarge(query.path, limit)
    over, new = call.header("if-match").strip(), call.header("if-none-match").strip() == "*"
    upload = await asyncio.to_thread(reachable(call).write, query.path, only_over=over, only_new=new)

    def take(data: bytes) -> None:
        upload.write(data)
        if limit is not None and upload.size > limit:
            raise FileTooLarge(query.path, limit)

    try:
        await pour(call, take)
        if not new and await asyncio.to_thread(reachable(call).is_there, query.path):
            await call.record("file.replace", target=query.path)
        size = await asyncio.to_thread(upload.finish)
    finally:
        await asyncio.to_thread(upload.drop)
    told = msgspec.json.encode(Written(path=upload.path, bytes_written=size))
    return Response(told, media_type=JSON, headers={"etag": upload.etag})


@routes.delete("/v1/fs/entry", scope="files", summary="Remove a file or a folder", status=200, answer=PathDone)
async def delete_entry(call: Call, query: DeleteQuery) -> PathDone:
    files = reachable(call)
    await call.record("file.delete", target=query.path, recursive=query.recursive)
    return PathDone(path=await asyncio.to_thread(files.delete, query.path, recursive=query.recursive))


@routes.post("/v1/fs/mkdir", scope="files", summary="Make a folder, and those above it", answer=PathDone)
async def make_folder(call: Call, query: PathQuery) -> PathDone:
    return PathDone(path=await asyncio.to_thread(reachable(call).make_folder, query.path))


@routes.post("/v1/fs/move", scope="files", summary="Move a file or a folder", answer=Moved, problems=(507,))
async def move_entry(call: Call, body: Move) -> Moved:
    files = reachable(call)
    if body.overwrite and await asyncio.to_thread(files.is_there, body.target):
        await call.record("file.replace", target=body.target, source=body.source)
    source, target = await asyncio.to_thread(files.move, body.source, body.target, overwrite=body.overwrite)
    return Moved(source=source, target=target)


@routes.post(
    "/v1/fs/upload-batch",
    scope="files",
    summary="Unpack a tar archive, plain or gzip, into a folder",
    answer=Unpacked,
    raw_body=True,
    takes=TAR,
    problems=(408, 507),
)
async def upload_batch(call: Call, query: FolderQuery) -> Unpacked:
    if not call.header("content-type").strip().lower().startswith(ARCHIVES):
        raise RequestError(f"content-type must be {TAR}")
    files, limits = reachable(call), call.api.settings.files
    if query.path is None or await asyncio.to_thread(files.is_there, query.path):
        await call.record("file.replace", target=query.path or "", archive=True)
    work = await asyncio.to_thread(Unpacking, files.grounds, query.path, limits)
    try:
        await pour(call, work.feed)
        return await asyncio.to_thread(work.finish)
    finally:
        await asyncio.to_thread(work.drop)
