"""What which version of the CLI can do: one table, and words for whoever asks for more. Pure.

Two versions were measured. Of what lies between them only the newer one's number is known for sure, so that is what an
update is advised to; a version that nobody measured is trusted with what the measured one before it can do.
"""

from __future__ import annotations

import re
from typing import Final

from footplate.errors import UnsupportedOption
from footplate.events.base import Level
from footplate.events.model import Notice

Version = tuple[int, ...]
OLDEST: Final = (2, 1, 197)
NEWEST: Final = (2, 1, 325)

SINCE: Final[dict[str, Version]] = {
    "get_plan": (2, 1, 325),
    "get_task_output": (2, 1, 325),
    "cancel_queued": (2, 1, 325),
}
"""Control requests, and parts of them, that the oldest measured version lacks."""

UNKNOWN_REQUEST: Final = "Unsupported control request subtype"


def knows(version: Version, feature: str) -> bool:
    """Whether the version has the feature; one that nobody could read is taken for the oldest."""
    return (version or OLDEST) >= SINCE.get(feature, ())


def require(version: Version, feature: str) -> None:
    """Raise `UnsupportedOption`, naming the version and the update, unless the version has the feature."""
    if not knows(version, feature):
        found = dotted(version) or "of an unknown version"
        raise UnsupportedOption(
            "claude", f"{feature} ({found})", f"update the CLI to {dotted(SINCE[feature])} or later"
        )


def explain(version: Version, words: str) -> str:
    """The CLI's words of refusal, with its version where that is the reason."""
    if not words.startswith(UNKNOWN_REQUEST):
        return words
    return f"{words} (this is {dotted(version) or 'an unknown version'}; another version of the CLI may know it)"


def remark(version: Version) -> Notice | None:
    """What is to be said of a version outside of those that were measured."""
    if not version or OLDEST <= version <= NEWEST:
        return None
    level: Level = "warning" if version < OLDEST else "debug"
    words = "older than any version" if version < OLDEST else "newer than every version"
    return Notice(
        level=level,
        code="cli_version",
        text=f"Claude Code {dotted(version)} is {words} that Footplate was measured with "
        f"({dotted(OLDEST)} to {dotted(NEWEST)}); most things will work",
    )


def dotted(version: Version) -> str:
    """The version as people write it."""
    return ".".join(map(str, version))


def parse_version(text: str) -> Version:
    """`2.1.325 (Claude Code)` as numbers to compare; empty when there are none."""
    match = re.search(r"\d+(?:\.\d+)+", text)
    return tuple(map(int, match[0].split("."))) if match else ()
