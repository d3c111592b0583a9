"""Whether the CLI will read the rules that it keeps in a folder's own settings.

Seen on both versions: the settings of a *project* are read only where somebody has accepted the CLI's trust dialog,
which its config file remembers for the root of the repository, or for the folder outside of any. *Local* settings that
are not part of the repository count as the person's own: 2.1.325 reads them anywhere, 2.1.197 only inside a repository.
Local settings that were committed are read by neither; that is not looked for here, the CLI itself says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from footplate.engines.claude.features import NEWEST, parse_version
from footplate.engines.claude.lenient import read
from footplate.events.requests import Destination

CONFIG_FILE: Final = ".claude.json"
FILES: Final[dict[str, str]] = {"local": ".claude/settings.local.json", "project": ".claude/settings.json"}


class Project(msgspec.Struct, frozen=True, rename="camel"):
    """What the CLI remembers of a folder."""

    has_trust_dialog_accepted: bool = False


class Config(msgspec.Struct, frozen=True):
    """The CLI's config file."""

    projects: dict[str, Project] = {}


CONFIG: Final = msgspec.json.Decoder(Config)


def find_distrust(destination: Destination, cwd: str, *, version: str, config: Path) -> str:
    """Why later processes will not read a rule that is kept there, and what to do; empty when they will."""
    if destination not in FILES:
        return ""
    folder = Path(cwd).resolve()
    root = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)
    is_own = destination == "local" and (root is not None or parse_version(version) >= NEWEST)
    place = str(root or folder)
    if is_own or is_trusted(place, config):
        return ""
    return (
        f"Claude Code does not trust {place}: the rule is in {FILES[destination]}, but only this session will honour "
        f"it. To have it honoured from now on run `claude` in {place} once and accept its trust dialog."
    )


def is_trusted(place: str, config: Path) -> bool:
    """Whether somebody has accepted the trust dialog for the place."""
    try:
        known = read(CONFIG, config.read_bytes())
    except OSError:
        return False
    project = known.projects.get(place) if known is not None else None
    return project is not None and project.has_trust_dialog_accepted
