"""`/agent`, `/model`, `/effort`, `/mode`, `/trigger`, `/ctx`: show, set and clear what holds for a chat or topic."""

from __future__ import annotations

from footplate.chat.reading.commands import Command
from footplate.chat.reading.directives import read_directives
from footplate.chat.reading.routing import Context
from footplate.chat.talk.commands.ordered import Handler, Ordered
from footplate.chat.talk.kit import Kit
from footplate.chat.talk.places import Places, Spot
from footplate.chat.talk.prompts import Prompter
from footplate.errors import FootplateError, InvalidValue, PermissionDenied
from footplate.runtime.session import Session

CLEAR = ("clear", "reset", "default")


class Choices:
    """What is chosen where."""

    def __init__(self, kit: Kit, places: Places, prompter: Prompter) -> None:
        self._kit = kit
        self._places = places
        self._prompter = prompter

    def handlers(self) -> dict[str, Handler]:
        """The commands of this room."""
        return {
            "agent": self._agent,
            "model": self._model,
            "effort": self._effort,
            "mode": self._mode,
            "trigger": self._trigger,
            "ctx": self._ctx,
        }

    async def _agent(self, command: Command, ordered: Ordered) -> str:
        value = _value(command)
        if value is None:
            engine = await self._engine(ordered.spot)
            return f"agent: **{engine}** (of {', '.join(self._kit.roster.names)}); `/agent NAME`, `/agent clear`"
        await self._check_admin(ordered)
        if value and value not in self._kit.roster.names:
            raise InvalidValue("agent", value, f"one of {', '.join(self._kit.roster.names)}")
        await self._places.change(ordered.spot, engine=value)
        missing = await self._kit.roster.missing(value) if value else ""
        return f"agent: **{await self._engine(ordered.spot)}**{f' (but: {missing})' if missing else ''}"

    async def _model(self, command: Command, ordered: Ordered) -> str:
        value, engine = _value(command), await self._engine(ordered.spot)
        if value is None:
            chosen = await self._chosen(ordered.spot, "models", engine)
            return f"model of {engine}: **{chosen or 'its default'}**; `/model NAME`, `/model clear`"
        await self._check_admin(ordered)
        own = await self._places.own(ordered.spot)
        await self._places.change(ordered.spot, models=_changed(own.models, engine, value))
        session = await self._current(ordered)
        if session is not None:
            await session.set_model(value)
        return f"model of {engine}: **{value or 'its default'}**"

    async def _effort(self, command: Command, ordered: Ordered) -> str:
        value, engine = _value(command), await self._engine(ordered.spot)
        levels = self._kit.roster.capabilities(engine).efforts
        if value is None:
            chosen = await self._chosen(ordered.spot, "efforts", engine)
            return f"effort of {engine}: **{chosen or 'its default'}** (of {', '.join(levels) or 'none'})"
        await self._check_admin(ordered)
        if value and value not in levels:
            raise InvalidValue("effort", value, f"one of {', '.join(levels)}" if levels else f"none: {engine} has none")
        own = await self._places.own(ordered.spot)
        await self._places.change(ordered.spot, efforts=_changed(own.efforts, engine, value))
        session = await self._current(ordered)
        if session is not None and value:
            await session.set_effort(value)
        return f"effort of {engine}: **{value or 'its default'}**"

    async def _mode(self, command: Command, ordered: Ordered) -> str:
        value, engine = _value(command), await self._engine(ordered.spot)
        modes = self._kit.roster.capabilities(engine).modes
        if value is None:
            chosen = next((each.mode for each in await self._places.prefs(ordered.spot) if each.mode), "")
            return f"permission mode: **{chosen or 'the default'}** (of {', '.join(modes) or 'none'})"
        await self._check_admin(ordered)
        if value:
            self._kit.roster.check_mode(engine, value)
        principal, before = self._kit.principal(ordered.sender), (await self._places.own(ordered.spot)).mode
        if value != before:  # sessions that are opened here begin with it
            target, detail = f"chat {ordered.spot.key}", {"mode": value, "before": before}
            await self._kit.services.audit.record("session.mode", principal, target=target, detail=detail)
        await self._places.change(ordered.spot, mode=value)
        session = await self._current(ordered)
        if session is not None and value:
            await session.set_mode(value, principal)
        return f"permission mode: **{value or 'the default'}**"

    async def _trigger(self, command: Command, ordered: Ordered) -> str:
        value = _value(command)
        if value is None:
            now = await self._places.trigger(ordered.spot)
            return f"prompts here: **{now}**; `/trigger all`, `/trigger mentions`, `/trigger clear`"
        await self._check_admin(ordered)
        if value not in ("", "all", "mentions"):
            raise InvalidValue("trigger", value, "all or mentions")
        await self._places.change(ordered.spot, trigger=value or None)
        return f"prompts here: **{await self._places.trigger(ordered.spot)}**"

    async def _ctx(self, command: Command, ordered: Ordered) -> str:
        words = command.words
        if words[:1] == ["clear"]:
            await self._places.change(ordered.spot, context=None)
        elif words[:1] == ["set"] or words:
            given = " ".join(word for word in words if word != "set")
            context = self.read_context(given)
            await self._kit.folder(context)
            await self._places.change(ordered.spot, context=context)
        context = await self._places.context(ordered.spot)
        projects = ", ".join(self._kit.projects) or "none"
        shown = context.words() or "none"
        return f"context: **{shown}** (projects: {projects}); `/ctx set PROJECT @BRANCH`, `/ctx clear`"

    def read_context(self, text: str) -> Context:
        """A project and perhaps a branch, with or without their marks."""
        slashed = " ".join(word if word.startswith(("/", "@")) else f"/{word}" for word in text.split())
        read = read_directives(slashed, self._kit.names)
        if read.prompt or not read.project:
            known = ", ".join(self._kit.projects) or "none is set up"
            raise InvalidValue("context", text, f"a project and perhaps @branch; projects: {known}")
        return Context(project=read.project, branch=read.branch)

    # ------------------------------------------------------------------------------------------- inside

    async def _engine(self, spot: Spot) -> str:
        ambient = await self._prompter.ambient(spot)
        of_project = ambient.project_engines.get(ambient.context.project, "")
        return next((each for each in (*ambient.engines, of_project) if each), ambient.default_engine)

    async def _chosen(self, spot: Spot, what: str, engine: str) -> str:
        tables: list[dict[str, str]] = [getattr(each, what) for each in await self._places.prefs(spot)]
        return next((table[engine] for table in tables if table.get(engine)), "")

    async def _current(self, ordered: Ordered) -> Session | None:
        try:
            return await self._prompter.current(ordered.spot, ordered.sender.id, ordered.said)
        except FootplateError:
            return None

    async def _check_admin(self, ordered: Ordered) -> None:
        if not await is_admin(self._kit, ordered):
            raise PermissionDenied("only an administrator of the group may change that")


async def is_admin(kit: Kit, ordered: Ordered) -> bool:
    """Whether somebody looks after the chat: named in the settings, alone with the bot, or by the service's word."""
    if kit.settings.admin_user_ids:
        return ordered.sender.id in kit.settings.admin_user_ids
    if ordered.spot.private:
        return True
    return await kit.transport.is_admin(ordered.spot.chat, ordered.sender.id)


def _value(command: Command) -> str | None:
    """What is to be set; empty to clear; None to show."""
    words = command.words
    if words[:1] == ["set"]:
        words = words[1:]
    if not words:
        return None
    return "" if words[0].lower() in CLEAR else words[0]


def _changed(table: dict[str, str], engine: str, value: str) -> dict[str, str]:
    rest = {name: each for name, each in table.items() if name != engine}
    return {**rest, engine: value} if value else rest
