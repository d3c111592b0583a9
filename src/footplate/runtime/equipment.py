"""What an agent is started with beside its flags: the MCP servers and the skills of its folder."""

from __future__ import annotations

import msgspec

from footplate.errors import ConfigError, RequestError
from footplate.events.model import Event, Notice
from footplate.runtime.folder_config import write_servers
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


async def equip(services: Services, cwd: str) -> Equipment:
    """What was stored for the folder. A file that cannot be read is told, and the agent starts without it."""
    try:
        config = await write_servers(services.store, cwd, services.environ, services.data / "mcp")
        shelf = SkillShelf(services.data / "skills", services.keeper, services.environ)
        gathered = await shelf.gather(services.store, cwd)
    except (ConfigError, RequestError) as problem:
        return Equipment(problems=(str(problem),))
    plugins = (gathered.folder,) if gathered.folder else ()
    return Equipment(mcp_config=config, plugins=plugins, problems=gathered.problems)
