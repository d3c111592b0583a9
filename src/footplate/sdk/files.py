"""Files where the service runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import msgspec

from footplate.sdk.shapes import FileEntry
from footplate.sdk.wire import Wire

OCTETS = "application/octet-stream"
PIECE = 1024 * 1024


class _Written(msgspec.Struct, rename="camel"):
    bytes_written: int


class _Unpacked(msgspec.Struct):
    paths: list[str]


class Files:
    """The files that the token reaches. A relative path lies below the home of the service's user."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def entries(self, path: str = "") -> list[FileEntry]:
        """What lies in a folder; default: the home of the service's user."""
        return await self._wire.get("/v1/fs/entries", list[FileEntry], {"path": path})

    async def stat(self, path: str) -> FileEntry:
        """What is known of a path."""
        return await self._wire.get("/v1/fs/stat", FileEntry, {"path": path})

    async def read(self, path: str, *, first: int | None = None, last: int | None = None) -> bytes:
        """A file, or its bytes from the first to the last of a part."""
        headers: dict[str, str] = {}
        if first is not None or last is not None:
            headers["range"] = f"bytes={first or 0}-{'' if last is None else last}"
        answer = await self._wire.exchange("GET", "/v1/fs/file", params={"path": path}, headers=headers, again=True)
        return answer.content

    async def stream(self, path: str) -> AsyncIterator[bytes]:
        """A file of any size, piece by piece."""
        async with self._wire.open("/v1/fs/file", params={"path": path}) as answer:
            async for piece in answer.aiter_raw():
                yield piece

    async def download(self, path: str, target: Path) -> int:
        """Copy a file to this machine; how many bytes it has."""
        size = 0
        with target.open("wb") as file:
            async for piece in self.stream(path):
                size += file.write(piece)
        return size

    async def write(self, path: str, data: bytes | AsyncIterator[bytes]) -> int:
        """Write a file; it is there whole or not at all. How many bytes it has."""
        answer = await self._wire.exchange(
            "PUT", "/v1/fs/file", content=data, media=OCTETS, params={"path": path}, slow=True,
            again=isinstance(data, bytes),
        )  # fmt: skip
        return msgspec.json.decode(answer.content, type=_Written).bytes_written

    async def upload(self, source: Path, path: str) -> int:
        """Copy a file of this machine, of any size."""
        with source.open("rb") as file:
            return await self.write(path, _pieces(iter(lambda: file.read(PIECE), b"")))

    async def upload_archive(self, archive: bytes | AsyncIterator[bytes], path: str = "") -> list[str]:
        """Unpack a tar archive, plain or gzip, into a folder; the first of its paths."""
        answer = await self._wire.exchange(
            "POST", "/v1/fs/upload-batch", content=archive, media="application/x-tar", params={"path": path}, slow=True
        )
        return msgspec.json.decode(answer.content, type=_Unpacked).paths

    async def make_folder(self, path: str) -> None:
        """Make a folder, and those above it."""
        await self._wire.tell("POST", "/v1/fs/mkdir", params={"path": path})

    async def move(self, source: str, target: str, *, overwrite: bool = False) -> None:
        """Move a file or a folder."""
        body = {"from": source, "to": target, "overwrite": overwrite}
        await self._wire.exchange("POST", "/v1/fs/move", body=body)

    async def delete(self, path: str, *, recursive: bool = False) -> None:
        """Remove a file, or a folder with what is in it."""
        await self._wire.exchange("DELETE", "/v1/fs/entry", params={"path": path, "recursive": recursive})


async def _pieces(source: Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in source:
        yield piece
