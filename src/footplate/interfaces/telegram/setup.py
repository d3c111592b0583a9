"""First steps: `footplate telegram setup`, `chat-id` and `import-takopi`."""

from __future__ import annotations

import asyncio
import os
import tomllib
from collections.abc import Mapping, MutableMapping
from functools import partial
from pathlib import Path
from typing import Final, Literal, cast

import click
import msgspec

from footplate.chat.model import Message
from footplate.config.places import settings_file
from footplate.config.settings import Settings, load_settings
from footplate.config.writing import change_settings
from footplate.errors import BotError, BotTokenWrong, ConfigError, InvalidValue
from footplate.interfaces.telegram.bot.client import API_URL, BotClient
from footplate.interfaces.telegram.opening import token_lock
from footplate.interfaces.telegram.takopi import Table, convert
from footplate.runtime.roster import Roster

Style = Literal["assistant", "workspace", "handoff"]
STYLES: Final[dict[Style, tuple[str, Table]]] = {
    "assistant": ("one chat that goes on, as with a person", {"session_mode": "chat", "show_resume_line": False}),
    "workspace": (
        "a group with a topic per project and branch",
        {"session_mode": "chat", "show_resume_line": False, "topics": {"enabled": True}},
    ),
    "handoff": (
        "every message begins anew; reply or paste a line to go on, also in a terminal",
        {"session_mode": "stateless", "show_resume_line": True},
    ),
}
POLL_S: Final = 25.0


async def set_up(token: str, api_url: str, style: Style | None, *, as_json: bool = False) -> None:
    """Ask, check, wait for the first message, write the settings; with `as_json` people are told beside the outcome."""
    environ = dict(os.environ)
    path = settings_file(environ)
    say = partial(click.echo, err=as_json)
    _put_aside_broken(path)
    api_url = api_url or load_settings(environ).telegram.api_url
    token, name = await _ask_token(token, api_url)
    say(f"the bot is @{name}")
    chosen: Style = style or _ask_style()
    async with token_lock(token), BotClient.open(token, api_url) as client:
        say(f"now write anything to @{name}{' in your group' if chosen == 'workspace' else ''} ...")
        message = await wait_for_message(client)
        values = _values(token, api_url, chosen, message)
        say(f"heard {_who(message)} in chat {message.chat.id}")
        if chosen == "workspace":
            await _check_topics(client, message)
    change_settings(path, lambda document: _write(document, {"telegram": values}))
    if as_json:
        click.echo(msgspec.json.encode({"bot": name, "chat_id": message.chat.id, "style": chosen, "path": str(path)}))
        return
    click.echo(f"written to {path}")
    await _tell_engines(load_settings(environ), environ)
    click.echo("start it with `footplate serve`, or alone with `footplate telegram`")


def _put_aside_broken(path: Path) -> None:
    """A settings file that is no TOML is kept beside, and a new one begun."""
    try:
        tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        aside = path.with_name(f"{path.name}.broken")
        path.rename(aside)
        click.echo(f"{path} cannot be read ({problem}); it is kept as {aside}", err=True)


async def _ask_token(token: str, api_url: str) -> tuple[str, str]:
    asked = not token
    while True:
        given = token or click.prompt("the token that @BotFather gave you", err=True).strip()
        async with BotClient.open(given, api_url) as client:
            try:
                return given, (await client.get_me()).username
            except BotTokenWrong as problem:
                if not asked:
                    raise InvalidValue("token", "***", "a token that Telegram knows") from problem
                click.echo("Telegram does not know that token; try again", err=True)


def _ask_style() -> Style:
    for name, (words, _) in STYLES.items():
        click.echo(f"  {name:10} {words}", err=True)
    choice = click.Choice(list(STYLES))
    answer: Style = click.prompt("how do you want to work?", type=choice, default="assistant", err=True)
    return answer


async def wait_for_message(client: BotClient) -> Message:
    """The next message of a person to the bot; those before it are passed over, and it is taken."""
    await client.delete_webhook()
    offset: int | None = -1
    waiting = await client.get_updates(offset=offset, timeout_s=0)
    offset = waiting[-1].update_id + 1 if waiting else None
    while True:
        for update in await client.get_updates(offset=offset, timeout_s=POLL_S):
            offset = update.update_id + 1
            message = update.message
            if message is not None and message.sender is not None and not message.sender.is_bot:
                await client.get_updates(offset=offset, timeout_s=0, limit=1)
                return message


def _values(token: str, api_url: str, style: Style, message: Message) -> Table:
    own = {} if api_url == API_URL else {"api_url": api_url}
    sender = message.sender.id if message.sender is not None else message.chat.id
    return {
        "bot_token": token,
        "chat_id": message.chat.id,
        "allowed_user_ids": [sender],
        **own,
        **STYLES[style][1],
    }


async def _check_topics(client: BotClient, message: Message) -> None:
    if message.chat.private or not message.chat.is_forum:
        click.echo("note: that chat has no topics; switch them on in the group's settings", err=True)
        return
    me = await client.get_me()
    try:
        member = await client.get_member(message.chat.id, me.id)
    except BotError as problem:
        click.echo(f"note: the rights of the bot could not be looked up: {problem}", err=True)
        return
    if not member.can_manage_topics:
        click.echo("note: make the bot an administrator with the right to manage topics", err=True)


async def _tell_engines(settings: Settings, environ: Mapping[str, str]) -> None:
    roster = Roster(settings, environ)
    for name in roster.names:
        problem = await roster.missing(name)
        click.echo(f"  {name:10} {problem or 'ready'}")


def _who(message: Message) -> str:
    return message.sender.name if message.sender is not None else "somebody"


def _write(place: MutableMapping[str, object], values: Table) -> None:
    """Put values into a document, table by table; what is there and not named stays."""
    for name, value in values.items():
        if isinstance(value, dict):
            place.setdefault(name, {})
            _write(cast("MutableMapping[str, object]", place[name]), value)  # as the document holds it
        else:
            place[name] = value


async def find_chat_id(project: str, *, as_json: bool = False) -> None:
    """Tell the id of the chat of the next message; for a project it is written into the settings."""
    environ = dict(os.environ)
    settings = load_settings(environ)
    if not settings.telegram.bot_token:
        raise ConfigError("[telegram]", "no bot_token", "run `footplate telegram setup` first")
    if project and project not in settings.projects:
        raise InvalidValue("project", project, f"one of {', '.join(settings.projects) or 'none: see footplate init'}")
    token = settings.telegram.bot_token
    async with token_lock(token), BotClient.open(token, settings.telegram.api_url) as client:
        me = await client.get_me()
        click.echo(f"write anything to @{me.username} in that chat ...", err=True)
        message = await wait_for_message(client)
    told = {"chat_id": message.chat.id, "project": project or None}
    click.echo(msgspec.json.encode(told) if as_json else str(message.chat.id))
    if project:
        values: Table = {"telegram": {"project_chats": {project: message.chat.id}}}
        path = settings_file(environ)
        change_settings(path, lambda document: _write(document, values))
        click.echo(f"written to {path} as the chat of {project}", err=True)


async def import_takopi(source: Path, *, force: bool, as_json: bool = False) -> None:
    """Convert the settings of takopi and write them into ours."""
    environ = dict(os.environ)
    try:
        table = tomllib.loads(await asyncio.to_thread(source.read_text, encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise ConfigError(str(source), str(problem), "name takopi's settings file") from problem
    if load_settings(environ).telegram.bot_token and not force:
        raise ConfigError(str(settings_file(environ)), "[telegram] is set up already", "--force writes over it")
    imported = convert(table)
    change_settings(settings_file(environ), lambda document: _write(document, imported.settings))
    if as_json:
        told = {"path": str(settings_file(environ)), "not_taken_over": imported.remarks}
        click.echo(msgspec.json.encode(told))
        return
    click.echo(f"written to {settings_file(environ)}")
    for remark in imported.remarks:
        click.echo(f"  not taken over: {remark}")
