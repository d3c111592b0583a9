"""What a folder's sessions get beside their prompt: MCP servers and skills, kept in files in that folder.

The files lie where the published clients' server puts them. A file is handed to an agent only as long as it is what was
stored through us: one that came with somebody's repository could name any command, so it is not trusted.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Generic, Literal, TypeVar

import msgspec

from footplate.errors import ConfigError, InvalidValue, PermissionDenied
from footplate.store.base import Store

Kind = Literal["mcp", "skills"]
FOLDER: Final = ".sandbox-agent/config"
TRUSTED: Final = "folder-config"
"""The documents that hold the hash of each file as we wrote it."""

E = TypeVar("E")


class McpBase(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", omit_defaults=True, rename="camel"):
    """Base of all MCP servers as they are stored."""

    enabled: bool | None = None
    timeout_ms: int | None = None


class LocalMcp(McpBase, frozen=True, kw_only=True, tag="local"):
    """A program that is spoken to on its standard input and output."""

    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] | None = None
    cwd: str | None = None


class StdioMcp(LocalMcp, frozen=True, kw_only=True, tag="stdio"):
    """The same by its other name."""


class RemoteMcp(McpBase, frozen=True, kw_only=True, tag="remote"):
    """A server that is reached over HTTP."""

    url: str
    headers: dict[str, str] | None = None
    bearer_token_env_var: str | None = None
    env_headers: dict[str, str] | None = None
    oauth: dict[str, object] | bool | None = None
    transport: str | None = None


class HttpMcp(RemoteMcp, frozen=True, kw_only=True, tag="http"):
    """The same by its other name."""


McpConfig = LocalMcp | StdioMcp | RemoteMcp | HttpMcp


class SkillSource(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where skills come from."""

    type: str
    source: str
    skills: tuple[str, ...] | None = None
    ref: str | None = None
    subpath: str | None = None


class SkillsConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Skills under one name."""

    sources: tuple[SkillSource, ...]


class FolderFile(Generic[E]):
    """One file of named entries in a folder."""

    def __init__(self, store: Store, kind: Kind, shape: type[E], directory: str) -> None:
        if not directory.startswith("/"):
            raise InvalidValue("directory", directory, "an absolute folder")
        self._trust = store.documents(TRUSTED)
        self._key = f"{kind}:{os.path.normpath(directory)}"
        self.path = Path(directory) / FOLDER / f"{kind}.json"
        self._decoder: msgspec.json.Decoder[dict[str, E]] = msgspec.json.Decoder(dict[str, shape])  # type: ignore[valid-type]

    async def read(self) -> dict[str, E]:
        """Every entry, whoever wrote it. Raises `ConfigError` for a file that cannot be read."""
        raw = await asyncio.to_thread(self._bytes)
        return self._decode(raw) if raw else {}

    async def read_trusted(self) -> dict[str, E]:
        """Every entry, if the file is as we wrote it; else none."""
        raw = await asyncio.to_thread(self._bytes)
        known = await self._trust.get(self._key) if raw else None
        return self._decode(raw) if known is not None and known.body == _digest(raw) else {}

    async def put(self, name: str, entry: E) -> None:
        """Set an entry."""
        await self._write({**await self.read(), name: entry})

    async def delete(self, name: str) -> None:
        """Remove an entry, if it is there."""
        entries = await self.read()
        if entries.pop(name, None) is not None:
            await self._write(entries)

    async def _write(self, entries: Mapping[str, E]) -> None:
        raw = msgspec.json.format(msgspec.json.encode(entries), indent=2)
        await asyncio.to_thread(self._replace, raw)
        await self._trust.put(self._key, _digest(raw))

    def _bytes(self) -> bytes:
        try:
            return self.path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return b""
        except (OSError, ValueError) as problem:
            raise PermissionDenied(f"{self.path} cannot be read: {problem}") from problem

    def _decode(self, raw: bytes) -> dict[str, E]:
        try:
            return self._decoder.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError) as problem:
            raise ConfigError(str(self.path), str(problem), "mend or remove the file") from problem

    def _replace(self, raw: bytes) -> None:
        fresh = self.path.with_suffix(f".{os.getpid()}.new")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            fresh.write_bytes(raw)
            fresh.replace(self.path)
        except (OSError, ValueError) as problem:
            raise PermissionDenied(f"{self.path} cannot be written: {problem}") from problem


def _digest(raw: bytes) -> bytes:
    return hashlib.sha256(raw).hexdigest().encode()


async def write_servers(
    store: Store, cwd: str, environ: Mapping[str, str], place: Path, brought: Mapping[str, McpConfig]
) -> str:
    """The MCP servers that a session in this folder starts with, as a file that only we may read; empty: none.

    Those that a client `brought` come before the folder's of the same name.
    """
    file: FolderFile[McpConfig] = FolderFile(store, "mcp", McpConfig, cwd)  # type: ignore[arg-type]
    entries = {**await file.read_trusted(), **brought}
    servers = {name: declare(entry, environ) for name, entry in entries.items() if entry.enabled is not False}
    if not servers:
        return ""
    return await asyncio.to_thread(_keep, place, msgspec.json.encode({"mcpServers": servers}))


def _keep(place: Path, raw: bytes) -> str:
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = place / f"{hashlib.sha256(raw).hexdigest()[:24]}.json"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(raw)
    return str(path)


def declare(entry: McpConfig, environ: Mapping[str, str]) -> dict[str, object]:
    """The entry in the words that agents read; headers that name variables get their values."""
    if isinstance(entry, LocalMcp):
        command, args = entry.command, entry.args
        if entry.cwd:  # an agent starts every server in its own folder
            command, args = "/bin/sh", ("-c", 'cd "$0" && exec "$@"', entry.cwd, command, *args)
        return {"type": "stdio", "command": command, "args": args, "env": entry.env or {}}
    headers = dict(entry.headers or {})
    for header, variable in (entry.env_headers or {}).items():
        if variable in environ:
            headers[header] = environ[variable]
    if entry.bearer_token_env_var and entry.bearer_token_env_var in environ:
        headers["Authorization"] = f"Bearer {environ[entry.bearer_token_env_var]}"
    return {"type": "sse" if entry.transport == "sse" else "http", "url": entry.url, "headers": headers}
