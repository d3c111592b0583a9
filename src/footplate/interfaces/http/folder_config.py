"""MCP servers and skills of a folder: stored there, handed to the agents of sessions that start in it."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from footplate.errors import PermissionDenied, RequestError, UnknownEntry
from footplate.interfaces.http.call import Call
from footplate.interfaces.http.routing import Routes
from footplate.runtime.folder_config import FolderFile, McpConfig, SkillsConfig

routes = Routes("config")
Name = Annotated[str, Meta(min_length=1, max_length=200)]


class McpQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which entry of which folder."""

    directory: str
    mcp_name: Name


class SkillsQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which entry of which folder."""

    directory: str
    skill_name: Name


def _check(call: Call, directory: str) -> None:
    if not directory:
        raise RequestError("missing required 'directory' query parameter")
    if not call.grant.reaches_folder(directory):
        raise PermissionDenied(f"the token {call.grant.name!r} does not reach {directory}")


def _mcp(call: Call, query: McpQuery) -> FolderFile[McpConfig]:
    _check(call, query.directory)
    return FolderFile(call.api.store, "mcp", McpConfig, query.directory)  # type: ignore[arg-type]


def _skills(call: Call, query: SkillsQuery) -> FolderFile[SkillsConfig]:
    _check(call, query.directory)
    return FolderFile(call.api.store, "skills", SkillsConfig, query.directory)


@routes.get("/v1/config/mcp", scope="read", summary="An MCP server of a folder", answer=McpConfig, problems=(404, 500))
async def get_mcp(call: Call, query: McpQuery) -> McpConfig:
    entry = (await _mcp(call, query).read()).get(query.mcp_name)
    if entry is None:
        raise UnknownEntry(f"mcp:{query.mcp_name}")
    return entry


@routes.put("/v1/config/mcp", scope="drive", summary="Set an MCP server of a folder", status=204, problems=(500,))
async def put_mcp(call: Call, query: McpQuery, body: McpConfig) -> None:
    file = _mcp(call, query)
    await call.record("config.write", target=f"mcp:{query.mcp_name}", folder=query.directory)
    await file.put(query.mcp_name, body)


@routes.delete("/v1/config/mcp", scope="drive", summary="Remove an MCP server of a folder", problems=(500,))
async def delete_mcp(call: Call, query: McpQuery) -> None:
    file = _mcp(call, query)
    await call.record("config.delete", target=f"mcp:{query.mcp_name}", folder=query.directory)
    await file.delete(query.mcp_name)


@routes.get("/v1/config/skills", scope="read", summary="Skills of a folder", answer=SkillsConfig, problems=(404, 500))
async def get_skills(call: Call, query: SkillsQuery) -> SkillsConfig:
    entry = (await _skills(call, query).read()).get(query.skill_name)
    if entry is None:
        raise UnknownEntry(f"skills:{query.skill_name}")
    return entry


@routes.put("/v1/config/skills", scope="drive", summary="Set skills of a folder", status=204, problems=(500,))
async def put_skills(call: Call, query: SkillsQuery, body: SkillsConfig) -> None:
    file = _skills(call, query)
    await call.record("config.write", target=f"skills:{query.skill_name}", folder=query.directory)
    await file.put(query.skill_name, body)


@routes.delete("/v1/config/skills", scope="drive", summary="Remove skills of a folder", problems=(500,))
async def delete_skills(call: Call, query: SkillsQuery) -> None:
    file = _skills(call, query)
    await call.record("config.delete", target=f"skills:{query.skill_name}", folder=query.directory)
    await file.delete(query.skill_name)
