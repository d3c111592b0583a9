"""Settings that every chat bridge has, and those of transports that packages bring: `[transports.NAME]`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

MIB = 1024 * 1024


class VoiceSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[telegram.voice]`, `[transports.NAME.voice]`: voice messages as text."""

    enabled: Annotated[bool, Meta(description="whether voice messages are written down and taken as prompts")] = False
    base_url: Annotated[str, Meta(description="an OpenAI-compatible service")] = "https://api.openai.com/v1"
    api_key: Annotated[str, Meta(description="its key; default: `OPENAI_API_KEY`")] = ""
    model: Annotated[str, Meta(description="the model that writes it down")] = "gpt-4o-mini-transcribe"
    max_bytes: Annotated[int, Meta(description="the largest voice message", gt=0)] = 10 * MIB


class TransferSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[telegram.files]`, `[transports.NAME.files]`: files in and out."""

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
        tuple[int | str, ...], Meta(description="who may send and fetch files; default: all who may use the bot")
    ] = ()
    max_in_bytes: Annotated[int, Meta(description="the largest file that comes in", gt=0)] = 20 * MIB
    max_out_bytes: Annotated[int, Meta(description="the largest file that goes out", gt=0)] = 50 * MIB


class TopicSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[telegram.topics]`, `[transports.NAME.topics]`: topics of a forum as places of work."""

    enabled: Annotated[bool, Meta(description="whether topics are bound to projects and branches")] = False
    scope: Annotated[
        Literal["auto", "main", "projects", "all"],
        Meta(description="in which chats: the main one, those of projects, all; `auto`: projects if there are any"),
    ] = "auto"


class ChatSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a bridge behaves, whatever the chat service."""

    chat_id: Annotated[int | str | None, Meta(description="the main chat: told what no other chat is told")] = None
    allowed_user_ids: Annotated[tuple[int | str, ...], Meta(description="who may use the bot")] = ()
    admin_user_ids: Annotated[
        tuple[int | str, ...],
        Meta(
            description="who may use `!command`; default: in a private chat its person, in a group its administrators"
        ),
    ] = ()
    project_chats: Annotated[
        Mapping[str, int | str], Meta(description="chats of projects: `alias = chat id` in its section `project_chats`")
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
    voice: Annotated[VoiceSettings, Meta(description="its section `voice`: `[telegram.voice]`")] = VoiceSettings()
    files: Annotated[TransferSettings, Meta(description="its section `files`: `[telegram.files]`")] = TransferSettings()
    topics: Annotated[TopicSettings, Meta(description="its section `topics`: `[telegram.topics]`")] = TopicSettings()

    @property
    def people(self) -> frozenset[int | str]:
        """Who may use the bot."""
        return frozenset(self.allowed_user_ids)

    @property
    def chats(self) -> frozenset[int | str]:
        """The chats that are set up."""
        main = () if self.chat_id is None else (self.chat_id,)
        return frozenset((*main, *self.project_chats.values()))


class TransportSettings(ChatSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[transports.NAME]`: a bridge to a chat service that a package brings."""

    enabled: Annotated[bool, Meta(description="whether it runs")] = True
    uses: Annotated[str, Meta(description="the transport's name in its package; default: the section's own")] = ""
    options: Annotated[
        Mapping[str, object], Meta(description="what only the transport understands: see its package")
    ] = {}
