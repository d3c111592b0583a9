"""What a session allows, as settings of the CLI's process. Pure.

A rule that the CLI takes with an answer lasts as long as the process and cannot be taken back. The same rule in the
settings of the command line (`apply_flag_settings`) can: they are replaced as a whole, at once, also in the middle of
a turn, and each new process is given them before its first prompt. Seen on 2.1.325 and 2.1.197.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from footplate.engines.claude.asking import SUGGESTED, SuggestionWire, can_hold, rule_text
from footplate.engines.claude.lenient import read_struct


class Grants:
    """The rules that the process holds for the session, in the order in which they came."""

    def __init__(self, raws: Iterable[msgspec.Raw] = ()) -> None:
        self._held = [wire for raw in raws if (wire := _read(raw)) is not None]

    def __bool__(self) -> bool:
        return bool(self._held)

    def add(self, raw: msgspec.Raw) -> None:
        """One more."""
        wire = _read(raw)
        if wire is not None:
            self._held.append(wire)

    def remove(self, raw: msgspec.Raw) -> None:
        """Not this one any more; one that came twice stays once."""
        wire = _read(raw)
        if wire in self._held:
            self._held.remove(wire)

    def settings(self) -> dict[str, object]:
        """All of them, as they replace those before."""
        allow = [rule_text(rule) for wire in self._held for rule in wire.rules]
        directories = [directory for wire in self._held for directory in wire.directories]
        return {"permissions": {"allow": _once(allow), "additionalDirectories": _once(directories)}}


def _read(raw: msgspec.Raw) -> SuggestionWire | None:
    wire = read_struct(SUGGESTED, raw)
    return wire if wire is not None and can_hold(wire) else None


def _once(texts: list[str]) -> list[str]:
    return list(dict.fromkeys(texts))
