"""Settings of the Telegram bridge: `[telegram]`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

MIB = 1024 * 1024


class VoiceSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[telegram.voice]`: voice messages as text."""

    enabled: Annotated[bool, Meta(description="whether voice messages are written down and taken as prompts")] = False
    base_url: Annotated[str, Meta(description="an OpenAI-compatible service")] = "https://api.openai.com/v1"
    api_key: Annotated[str, Meta(description="its key; default: `OPENAI_API_KEY`")] = ""
    model: Annotated[str, Meta(description="the model that writes it down")] = "gpt-4o-mini-transcribe"
    max_bytes: Annotated[int, Meta(description="the largest voice message", gt=0)] = 10 * MIB


class TransferSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[telegram.files]`: files in and out."""

    enabled: Annotated[bool, Meta(description="whether files go in and out")] = True
    auto_put: Annotated[bool, Meta(description="whether a file that comes without a command is kept")] = True
    auto_put_mode: Annotated[
        Literal["upload", "prompt"],
        Meta(description="`upload`: kept, and told; `prompt`: what is written under it is the prompt"),
    ] = "prompt"
    uploads_dir: Annotated[str, Meta(description="where files are kept, in the folder of the project")] = "incoming"
    deny_globs: Annotated[tuple[str, ...], Meta(description="files that go neither in nor out")] = (
        ".git/**",
        ".env",
        "**/.env",
        ".envrc",
        "**/*.pem",
        "**/.ssh/**",
    )
    allowed_user_ids: Annotated[
        tuple[int, ...], Meta(description="who may send and fetch files; default: all who may use the bot")
    ] = ()
    max_in_bytes: Annotated[int, Meta(description="the largest file that comes in", gt=0)] = 20 * MIB
    max_out_bytes: Annotated[int, Meta(description="the largest file that goes out", gt=0)] = 50 * MIB


class TopicSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[telegram.topics]`: topics of a forum as places of work."""

    enabled: Annotated[bool, Meta(description="whether topics are bound to projects and branches")] = False
    scope: Annotated[
        Literal["auto", "main", "projects", "all"],
        Meta(description="in which chats: the main one, those of projects, all; `auto`: projects if there are any"),
    ] = "auto"


class TelegramSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[telegram]`: off until there is a token."""

    bot_token: Annotated[str, Meta(description="the token that BotFather gave you; the bridge is off without one")] = ""
    chat_id: Annotated[int | None, Meta(description="the main chat: yours with the bot, or a group")] = None
    allowed_user_ids: Annotated[
        tuple[int, ...],
        Meta(description="who may use the bot; default: the person of the private main chat. A group needs it"),
    ] = ()
    admin_user_ids: Annotated[
        tuple[int, ...],
        Meta(
            description="who may use `!command`; default: in a private chat its person, in a group its administrators"
        ),
    ] = ()
    api_url: Annotated[str, Meta(description="where the Bot API is")] = "https://api.telegram.org"
    project_chats: Annotated[
        dict[str, int], Meta(description="chats of projects: `alias = chat id` in `[telegram.project_chats]`")
    ] = {}
    cwd: Annotated[str, Meta(description="the folder of a prompt without a project; default: where it was started")] = (
        ""
    )
    session_mode: Annotated[
        Literal["chat", "stateless"],
        Meta(description="`chat`: a message goes on with the chat's session; `stateless`: only a reply does"),
    ] = "chat"
    show_resume_line: Annotated[
        bool, Meta(description="whether answers end with the line that goes on with the session in a terminal")
    ] = True
    message_overflow: Annotated[
        Literal["split", "trim"], Meta(description="a long answer comes in several messages, or is cut")
    ] = "split"
    final_notify: Annotated[
        bool, Meta(description="an answer is a new message with a sound; else the progress message turns into it")
    ] = True
    banner: Annotated[
        bool, Meta(description="whether the main chat is told, without a sound, that the bot is ready")
    ] = True
    drafts: Annotated[bool, Meta(description="whether text is shown in private chats as it is written")] = True
    trigger: Annotated[
        Literal["all", "mentions"], Meta(description="in groups: every message is a prompt, or those that name the bot")
    ] = "all"
    reminder_s: Annotated[
        float | None, Meta(description="remind once of a request that nobody answered for so long; `0`: never")
    ] = 1800.0
    all_requests: Annotated[
        bool, Meta(description="whether requests of sessions from elsewhere are shown in the main chat")
    ] = True
    forward_coalesce_s: Annotated[float, Meta(description="how long after a comment its forwards may come", ge=0)] = 1.0
    media_group_debounce_s: Annotated[
        float, Meta(description="how long the files of one album may take to come", ge=0)
    ] = 1.0
    tick_s: Annotated[float, Meta(description="how often the clock of a silent turn moves", gt=0)] = 5.0
    drain_s: Annotated[float, Meta(description="how long messages may still go out when it stops", ge=0)] = 5.0
    voice: Annotated[VoiceSettings, Meta(description="`[telegram.voice]`, see below")] = VoiceSettings()
    files: Annotated[TransferSettings, Meta(description="`[telegram.files]`, see below")] = TransferSettings()
    topics: Annotated[TopicSettings, Meta(description="`[telegram.topics]`, see below")] = TopicSettings()
