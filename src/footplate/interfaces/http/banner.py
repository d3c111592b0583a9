"""What a starting server tells its operator: address, link, code for the phone, engines, folder."""

from __future__ import annotations

import asyncio
import io
import socket
from collections.abc import Mapping
from typing import Final

from footplate.config.settings import Settings
from footplate.engines.catalog import engine_names, make_engine
from footplate.errors import FootplateError
from footplate.events.wording import format_count, format_duration, format_size
from footplate.runtime.service import Service
from footplate.runtime.worktrees import Collected
from footplate.version import __version__

ANYWHERE: Final = ("0.0.0.0", "::", "")
WARNING: Final = """
  ******************************************************************************************
  *  WARNING: no token, and the address is not only yours. Whoever reaches it can run      *
  *  commands as you. Inside a container the network is the boundary; elsewhere use        *
  *  --token.                                                                              *
  ******************************************************************************************
"""


def token_link(url: str, token: str) -> str:
    """The page with the token in the fragment, which no browser sends and no server logs."""
    return f"{url}/ui/#token={token}"


def render_code(link: str) -> str:
    """The link as a QR code of characters."""
    import segno  # noqa: PLC0415 - only a start that shows a link needs it

    text = io.StringIO()
    segno.make(link, error="l").terminal(text, border=1, compact=True)
    return text.getvalue()


def reachable_url(url: str, host: str) -> str:
    """The address as another machine would write it; bound to all addresses, that is the one packets leave from."""
    if host not in ANYWHERE:
        return url
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: the kernel only picks the way
            name = str(probe.getsockname()[0])
        except OSError:
            return url
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{name}:{rest.rpartition(':')[2]}"


def render_start(url: str, *, data: str, token: str, line: str) -> str:
    """The lines that say where the server is and how to get in."""
    lines = [f"Footplate {__version__} listens on {url}"]
    if token:
        link = token_link(url, token)
        lines += [f"  link     {link}", render_code(link)]
    lines += [f"  token    {line}", f"  data     {data}"]
    return "\n".join(lines)


def render_collected(collected: Collected) -> str:
    """What became of worktrees that nobody needed."""
    gone = f"{len(collected.removed)} stale removed ({format_size(collected.freed)})"
    return f"worktrees  {gone}, {len(collected.kept)} kept{''.join(f'; {line}' for line in collected.failed)}"


def render_found(service: Service, processes: tuple[str, ...] = ()) -> tuple[str, ...]:
    """What an earlier service left: a line for each session and process that went on, and for what was cleared away."""
    rejoined = tuple(f"  rejoined session {session}: its agent went on meanwhile" for session in service.rejoined)
    taken = tuple(f"  rejoined process {process}: it went on meanwhile" for process in processes)
    return (*rejoined, *taken, *(f"  found    {line}" for line in service.reaped.describe()))


def render_leaving(service: Service, processes: int = 0) -> str:
    """What becomes of the agents, and of processes that clients started, when we stop."""
    busy = [f"{format_count(service.hub.working, 'agent')} at work"] if service.hub.working else []
    busy += [format_count(processes, "process", "processes")] if processes else []
    if not busy:
        return "no agent works"
    if not service.leaving:
        return f"ended: {' and '.join(busy)}"
    grace = service.settings.runtime.reattach_grace_s
    return f"still running for {format_duration(grace)}: {' and '.join(busy)}; `footplate serve` takes over"


async def find_engines(settings: Settings, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Each engine with its version and program, or why it cannot be used."""

    async def look(name: str) -> str:
        try:
            found = await make_engine(name, settings).locate(environ)
        except FootplateError as problem:
            return f"{name}: {problem.title.lower()}"
        return f"{name} {found.version}" + (f" ({found.program})" if found.program else "")

    return tuple(await asyncio.gather(*map(look, engine_names(settings))))
