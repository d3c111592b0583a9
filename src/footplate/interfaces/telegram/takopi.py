"""The settings of takopi as ours. Pure: a table in, a table and remarks out."""

from __future__ import annotations

from typing import Final

import msgspec

Table = dict[str, object]

TELEGRAM: Final = {
    "bot_token": "bot_token",
    "chat_id": "chat_id",
    "allowed_user_ids": "allowed_user_ids",
    "message_overflow": "message_overflow",
    "session_mode": "session_mode",
    "show_resume_line": "show_resume_line",
    "forward_coalesce_s": "forward_coalesce_s",
    "media_group_debounce_s": "media_group_debounce_s",
}
VOICE: Final = {
    "voice_transcription": "enabled",
    "voice_transcription_model": "model",
    "voice_transcription_base_url": "base_url",
    "voice_transcription_api_key": "api_key",
    "voice_max_bytes": "max_bytes",
}
FILES: Final = {
    "enabled": "enabled",
    "auto_put": "auto_put",
    "auto_put_mode": "auto_put_mode",
    "uploads_dir": "uploads_dir",
    "allowed_user_ids": "allowed_user_ids",
    "deny_globs": "deny_globs",
}
TOPICS: Final = {"enabled": "enabled", "scope": "scope"}
PROJECT: Final = {
    "path": "path",
    "worktrees_dir": "worktrees_dir",
    "default_engine": "default_engine",
    "worktree_base": "worktree_base",
}
CLAUDE: Final = {
    "model": "model",
    "allowed_tools": "allowed_tools",
    "dangerously_skip_permissions": "dangerously_skip_permissions",
    "use_api_billing": "use_api_billing",
}
GENERAL: Final = ("default_engine", "default_project")
NEEDLESS: Final = {"watch_config": "the settings are always followed", "transport": "the chat is [telegram] here"}


class Imported(msgspec.Struct, frozen=True):
    """Our settings, and what could not be taken over."""

    settings: Table
    remarks: tuple[str, ...]


def convert(takopi: Table) -> Imported:
    """Every setting that has its like here; what has none is told."""
    remarks: list[str] = []
    found: Table = {name: takopi[name] for name in GENERAL if name in takopi}
    transports = _table(takopi, "transports")
    telegram = _telegram(_table(transports, "telegram"), remarks)
    projects: Table = {}
    chats: Table = {}
    for alias, value in _table(takopi, "projects").items():
        given = value if isinstance(value, dict) else {}
        projects[alias] = _taken(given, PROJECT, remarks, f"projects.{alias}", passed=("chat_id",))
        if "chat_id" in given:
            chats[alias] = given["chat_id"]
    if chats:
        telegram["project_chats"] = chats
    found |= {"telegram": telegram} if telegram else {}
    found |= {"projects": projects} if projects else {}
    claude = _taken(_table(takopi, "claude"), CLAUDE, remarks, "claude")
    found |= {"engines": {"claude": claude}} if claude else {}
    known = {*GENERAL, "transports", "projects", "claude"}
    other = "has no like here, or another form; see the page"
    remarks += [f"{name}: {NEEDLESS.get(name, other)}" for name in takopi if name not in known]
    return Imported(found, tuple(remarks))


def _telegram(given: Table, remarks: list[str]) -> Table:
    found = _taken(given, TELEGRAM, remarks, "transports.telegram", passed=(*VOICE, "files", "topics"))
    inner = {
        "voice": _taken(given, VOICE, [], ""),
        "files": _taken(_table(given, "files"), FILES, remarks, "transports.telegram.files"),
        "topics": _taken(_table(given, "topics"), TOPICS, remarks, "transports.telegram.topics"),
    }
    return found | {name: table for name, table in inner.items() if table}


def _taken(given: Table, names: dict[str, str], remarks: list[str], where: str, passed: tuple[str, ...] = ()) -> Table:
    remarks += [f"{where}.{name}: has no like here" for name in given if name not in names and name not in passed]
    return {ours: given[theirs] for theirs, ours in names.items() if theirs in given}


def _table(table: Table, name: str) -> Table:
    found = table.get(name)
    return found if isinstance(found, dict) else {}
