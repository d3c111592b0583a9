"""Values that a shell can complete, by a parameter's name: sessions, requests, processes, engines, projects, settings.

What lies on this machine is read; a server is asked only when it runs here, and not for long. Whatever goes wrong,
there is nothing to offer: a line that is being typed is no place for a problem.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Final

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType

ASK_S: Final = 1.0
"""How long a server may take to answer."""
Offered = Mapping[str, str]
"""Value -> what it is."""


class Named(StringParamType):
    """A text that names one of a few things."""

    def __init__(self, offer: Callable[[], Offered]) -> None:
        self._offer = offer

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Those that begin so; none when it is another machine's."""
        if ctx.params.get("url"):
            return []
        try:
            offered = self._offer()
        except Exception:  # noqa: BLE001  (see above: whatever it is)
            return []
        return [CompletionItem(name, help=words) for name, words in offered.items() if name.startswith(incomplete)]


def _ask(path: str, rows: str, words: str) -> Offered:
    """The ids of a list that the server here has."""
    import asyncio  # noqa: PLC0415  (only who completes pays for all this)

    import msgspec  # noqa: PLC0415

    from footplate.config.places import data_folder  # noqa: PLC0415
    from footplate.interfaces.cli.client import SOCKET_NAME, answers, open_client  # noqa: PLC0415

    async def ask() -> Offered:
        if not await answers(data_folder(os.environ) / SOCKET_NAME):
            return {}
        async with open_client() as client:
            table = msgspec.json.decode(await client.send("GET", path))
        return {row["id"]: str(row.get(words) or "") for row in table[rows]}

    return asyncio.run(asyncio.wait_for(ask(), ASK_S))


def _engines() -> Offered:
    from footplate.config.settings import load_settings  # noqa: PLC0415
    from footplate.engines.catalog import engine_names  # noqa: PLC0415
    from footplate.engines.commands import with_agents  # noqa: PLC0415

    return dict.fromkeys(engine_names(with_agents(load_settings(os.environ), os.environ)), "")


def _projects() -> Offered:
    from footplate.config.settings import load_settings  # noqa: PLC0415

    return {alias: project.path for alias, project in load_settings(os.environ).projects.items()}


def _settings() -> Offered:
    from footplate.config.keys import list_settings  # noqa: PLC0415
    from footplate.config.settings import load_settings  # noqa: PLC0415

    return {each.key: "" for each in list_settings(load_settings(os.environ), os.environ)}


def _agents() -> Offered:
    from footplate.engines.known_agents import OFFERS  # noqa: PLC0415

    return {each.id: "" for each in OFFERS}


SESSIONS: Final = Named(lambda: _ask("/api/sessions", "sessions", "title"))
PROJECTS: Final = Named(_projects)
ENGINES: Final = Named(_engines)
AGENTS: Final = Named(_agents)
KINDS: Final = {
    "session": SESSIONS,
    "sessions": SESSIONS,
    "request": Named(lambda: _ask("/api/requests", "requests", "title")),
    "process": Named(lambda: _ask("/v1/processes", "processes", "command")),
    "engine": ENGINES,
    "engines": ENGINES,
    "agent": AGENTS,
    "agents": AGENTS,
    "project": PROJECTS,
    "key": Named(_settings),
}
"""What a parameter of that name names. Another text of the same name is written as another type."""


def know_values(command: click.Command) -> None:
    """Give the texts among its parameters the kinds that can be completed."""
    for param in command.params:
        kind = KINDS.get(param.name or "")
        if kind is not None and param.type is click.STRING:
            param.type = kind
