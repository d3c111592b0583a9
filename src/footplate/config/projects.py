"""Projects of the settings: `[projects.ALIAS]`, a repository by a short name; and which names may be used."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Final

import msgspec
from msgspec import Meta

ALIAS: Final = re.compile(r"[a-z0-9_]{1,32}")
COMMANDS: Final = frozenset(
    [
        "acp",
        "agents",
        "api",
        "attach",
        "audit",
        "chat",
        "completions",
        "config",
        "credentials",
        "daemon",
        "doctor",
        "files",
        "help",
        "history",
        "init",
        "install_agent",
        "keeper",
        "mock_agent",
        "models",
        "projects",
        "ps",
        "requests",
        "run",
        "serve",
        "server",
        "sessions",
        "setup",
        "store",
        "telegram",
        "tokens",
        "transports",
        "usage",
        "version",
        "worktrees",
    ]
)
"""The words of the command line."""
CHAT: Final = frozenset(
    [
        "agent",
        "at",
        "budget",
        "cancel",
        "ctx",
        "effort",
        "export",
        "file",
        "help",
        "mode",
        "model",
        "new",
        "reasoning",
        "requests",
        "revoke",
        "rules",
        "sessions",
        "start",
        "steer",
        "stop",
        "topic",
        "trigger",
        "usage",
    ]
)
"""The words of a chat."""
ENGINES: Final = frozenset(["amp", "claude", "codex", "copilot", "cursor", "gemini", "mock", "opencode", "pi", "qwen"])
"""The engines that a chat message may name where a project could stand."""
RESERVED: Final = COMMANDS | CHAT | ENGINES


class ProjectSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One project."""

    path: Annotated[str, Meta(description="the folder of its main checkout; `~/` is the home", min_length=1)]
    default_engine: Annotated[str, Meta(description="the engine of its sessions when nothing else names one")] = ""
    worktrees_dir: Annotated[
        str, Meta(description="where the worktrees of its branches lie, below `path` unless absolute", min_length=1)
    ] = ".worktrees"
    worktree_base: Annotated[
        str, Meta(description="what a new branch begins at; default: origin's default branch, else the current one")
    ] = ""

    def __post_init__(self) -> None:
        """Refuse a path that would mean another folder wherever the service is started, and one that climbs."""
        if not self.path.startswith(("/", "~/")):
            raise ValueError(f"path {self.path!r} is relative; write /a/folder or ~/a/folder")
        if ".." in self.worktrees_dir.split("/"):
            raise ValueError(f"worktrees_dir {self.worktrees_dir!r} climbs with `..`; write where it really lies")


def alias_problem(alias: str, taken: Iterable[str] = ()) -> str:
    """Why the name cannot be a project's; empty when it can."""
    if not ALIAS.fullmatch(alias):
        return "a name is 1 to 32 of a-z, 0-9 and _"
    if alias in RESERVED or alias in taken:
        return f"{alias!r} is a word of the command line, of a chat or of an engine"
    return ""
