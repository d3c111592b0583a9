"""What an agent is started with beside its flags: the MCP servers and the skills of its folder."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from footplate.errors import ConfigError, RequestError
from footplate.events.model import Event, Notice
from footplate.runtime.folder_config import McpConfig, write_servers
from footplate.runtime.services import Services
from footplate.runtime.skills import SkillShelf


class Equipment(msgspec.Struct, frozen=True, kw_only=True):
    """A file with MCP servers, folders with plugins, and what could not be had."""

    mcp_config: str = ""
    plugins: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def notices(self) -> list[Event]:
        """What could not be had, for the log."""
        return [Notice(level="warning", text=problem, code="folder_config") for problem in self.problems]


async def equip(services: Services, cwd: str, brought: Mapping[str, McpConfig]) -> Equipment:
    """What was stored for the folder, and the servers that a client brought.

    A file that cannot be read is told, and the agent starts without it.
    """
    try:
        config = await write_servers(services.store, cwd, services.environ, services.data / "mcp", brought)
        shelf = SkillShelf(services.data / "skills", services.keeper, services.environ)
        gathered = await shelf.gather(services.store, cwd)
    except (ConfigError, RequestError) as problem:
        return Equipment(problems=(str(problem),))
    plugins = (gathered.folder,) if gathered.folder else ()
    return Equipment(mcp_config=config, plugins=plugins, problems=gathered.problems)
