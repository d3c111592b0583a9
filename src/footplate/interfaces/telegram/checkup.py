"""What `footplate doctor` says of the bridge: token, chat, topics, files, voice."""

from __future__ import annotations

from footplate.chat.model import Id
from footplate.config.settings import load_settings
from footplate.config.telegram import TelegramSettings
from footplate.errors import BotError, BotUnreachable, ConfigError
from footplate.events.wording import format_size
from footplate.interfaces.telegram.bot.client import BotClient
from footplate.interfaces.telegram.opening import check_settings
from footplate.runtime.checkup import Finding, Patient, Status

NAME = "telegram"


async def check_telegram(patient: Patient) -> list[Finding]:
    """Nothing to say where there is no token."""
    try:
        settings = load_settings(patient.environ).telegram
    except ConfigError:
        return []  # what is wrong with them is told already
    try:
        if not settings.bot_token:
            return [_finding("ok", "not set up", "`footplate telegram setup` sets it up")]
        check_settings(settings)
    except ConfigError as problem:
        return [_finding("fail", str(problem))]
    async with BotClient.open(settings.bot_token, settings.api_url) as client:
        try:
            return await _look(client, settings, patient)
        except BotUnreachable as problem:
            return [_finding("warn", f"{settings.api_url} cannot be reached: {problem}", "look at the network")]
        except BotError as problem:
            return [_finding("fail", str(problem), "put the token that BotFather shows into [telegram] bot_token")]


async def _look(client: BotClient, settings: TelegramSettings, patient: Patient) -> list[Finding]:
    me = await client.get_me()
    found = [_finding("ok", f"the bot is @{me.username}")]
    for chat in sorted(settings.chats, key=str):
        found += await _look_at_chat(client, settings, chat, me.id)
    if settings.voice.enabled and not (settings.voice.api_key or patient.environ.get("OPENAI_API_KEY")):
        found.append(_finding("warn", "voice is on without a key", "set [telegram.voice] api_key or OPENAI_API_KEY"))
    files = settings.files
    if files.enabled:
        into, out = format_size(files.max_in_bytes), format_size(files.max_out_bytes)
        found.append(_finding("ok", f"files go in (up to {into}) and out ({out})"))
    return found


async def _look_at_chat(client: BotClient, settings: TelegramSettings, chat: Id, bot: Id) -> list[Finding]:
    try:
        known = await client.get_chat(chat)
    except BotUnreachable:
        raise
    except BotError as problem:
        return [_finding("fail", f"chat {chat}: {problem}", "write to the bot there once, or add it to the group")]
    found = [_finding("ok", f"chat {chat} ({known.type}{f' {known.title}' if known.title else ''})")]
    if settings.topics.enabled and not known.private:
        member = await client.get_member(chat, bot)
        if not known.is_forum:
            found.append(_finding("warn", f"chat {chat} has no topics", "switch them on in the group's settings"))
        elif not (member.admin and (member.can_manage_topics or member.status == "creator")):
            advice = "make the bot an administrator with the right to manage topics"
            found.append(_finding("fail", f"the bot may not make topics in chat {chat}", advice))
    return found


def _finding(status: Status, text: str, advice: str = "") -> Finding:
    return Finding(name=NAME, status=status, text=text, advice=advice)
