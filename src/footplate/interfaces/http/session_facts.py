"""What can be asked about a session: commands, files to name, context, cost, changed files."""

from __future__ import annotations

import msgspec

from footplate.errors import EngineGone, UnsupportedOption
from footplate.events.facts import ContextUsage, FileSuggestion, FileSuggestions, SessionUsage
from footplate.events.model import SlashCommand
from footplate.events.tools import FileChange, FileChangeDetail
from footplate.events.view import Meter, SessionView, ToolItem, Totals
from footplate.interfaces.http.call import Call
from footplate.interfaces.http.routing import Routes

routes = Routes("sessions")


class CommandList(msgspec.Struct, frozen=True, kw_only=True):
    """The slash commands of the session's engine, as far as it has told them."""

    commands: tuple[SlashCommand, ...]


class FileList(msgspec.Struct, frozen=True, kw_only=True):
    """Files that a message may name, relative to the session's folder."""

    files: tuple[FileSuggestion, ...]


@routes.get(
    "/api/sessions/{session}/commands",
    scope="read",
    summary="The slash commands that a message may start with",
    answer=CommandList,
    problems=(404,),
)
async def slash_commands(call: Call) -> CommandList:
    return CommandList(commands=(await call.session()).view().commands)


class SuggestQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What was typed after the `@`."""

    q: str = ""


@routes.get(
    "/api/sessions/{session}/suggest",
    scope="read",
    summary="Files whose names fit what was typed after an @",
    answer=FileList,
    problems=(404, 409, 502, 504),
)
async def suggest(call: Call, query: SuggestQuery) -> FileList:
    found = await (await call.session()).query("files", query=query.q)
    return FileList(files=found.files if isinstance(found, FileSuggestions) else ())


class ContextMeter(msgspec.Struct, frozen=True, kw_only=True):
    """How full the context is: as last reported, and in detail where a running agent tells."""

    meter: Meter
    detail: ContextUsage | None = None


@routes.get(
    "/api/sessions/{session}/context",
    scope="read",
    summary="How full the context is, and with what",
    answer=ContextMeter,
    problems=(404, 409, 502, 504),
)
async def context(call: Call) -> ContextMeter:
    live = await call.session()
    try:
        detail = await live.query("context")
    except (EngineGone, UnsupportedOption):
        detail = None
    return ContextMeter(meter=live.view().meter, detail=detail if isinstance(detail, ContextUsage) else None)


class UsageReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the session has used: over all turns, and in the running process where the agent tells."""

    totals: Totals
    process: SessionUsage | None = None


@routes.get(
    "/api/sessions/{session}/usage",
    scope="read",
    summary="Tokens, time and cost of the session",
    answer=UsageReport,
    problems=(404, 409, 502, 504),
)
async def usage(call: Call) -> UsageReport:
    live = await call.session()
    try:
        process = await live.query("usage")
    except (EngineGone, UnsupportedOption):
        process = None
    return UsageReport(totals=live.view().usage, process=process if isinstance(process, SessionUsage) else None)


class ChangedFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The files that the agent's tools have changed, each change in order, as the tools told them."""

    changes: tuple[FileChange, ...]


@routes.get(
    "/api/sessions/{session}/diff",
    scope="read",
    summary="The files that the agent has changed",
    answer=ChangedFiles,
    problems=(404,),
)
async def diff(call: Call) -> ChangedFiles:
    return ChangedFiles(changes=changed_files((await call.session()).view()))


def changed_files(view: SessionView) -> tuple[FileChange, ...]:
    """The changes that succeeded, in order."""
    found: list[FileChange] = []
    for item in view.items:
        if isinstance(item, ToolItem) and item.ok and isinstance(item.detail, FileChangeDetail):
            found += item.detail.changes
    return tuple(found)
