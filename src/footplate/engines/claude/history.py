"""Sessions that the CLI has on disk, whoever started them: listed, read as events, and told apart from those in use.

A list looks at the names, the sizes and the times of all files and reads the two ends of those that it shows. A past is
read in two passes, the links first, then the entries of the conversation one by one: no file is ever in memory whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from footplate.config.settings import own_section, read_section
from footplate.engines.claude.past import ENGINE, Past, PastEvent, is_prompt, plain_text, spoken_command
from footplate.engines.claude.projects import (
    config_folder,
    find_transcript,
    folders_of,
    read_ends,
    read_nodes,
    read_transcript,
    transcripts_in,
)
from footplate.engines.claude.settings import ClaudeSettings
from footplate.engines.claude.transcript import Entry
from footplate.engines.claude.writers import Writer, find_writer
from footplate.errors import InvalidValue, SessionBusy, UnknownSession
from footplate.events.base import ResumeToken
from footplate.events.ids import EngineSessionId
from footplate.events.model import Event

LIMIT: Final = 50
SHORTEST: Final = 4
"""How much of an id must be given."""
TITLE_LIMIT: Final = 200


class HistoryEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One session on disk, as a list shows it. `entrypoint` is `cli` for a terminal, `sdk-cli` for a program."""

    session: EngineSessionId
    cwd: str
    title: str
    started: float | None
    modified: float
    size: int
    version: str = ""
    branch: str = ""
    entrypoint: str = ""
    path: str = ""

    @property
    def token(self) -> ResumeToken:
        """What continues it."""
        return ResumeToken(engine=ENGINE, value=self.session)


class HistoryPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some of the sessions, the latest first. `after` is where the next page begins; None when there is no more."""

    entries: tuple[HistoryEntry, ...]
    after: str | None = None


class History:
    """The sessions below one config folder of the CLI."""

    def __init__(self, environ: Mapping[str, str], settings: ClaudeSettings | None = None) -> None:
        chosen = settings or ClaudeSettings()
        self.config = config_folder({**environ, **chosen.env}, chosen.profile)

    @classmethod
    def of(cls, environ: Mapping[str, str], engines: Mapping[str, Mapping[str, object]]) -> History:
        """Those of the config folder that the settings of the engine name."""
        section = own_section(engines.get(ENGINE, {}))
        return cls(environ, read_section(ClaudeSettings, section, where="[engines.claude]"))

    def list(self, *, cwd: str | None = None, limit: int = LIMIT, after: str | None = None) -> HistoryPage:
        """The sessions of a working folder, or all, the latest written first. Raises `InvalidValue` for `after`."""
        found = [((stat.st_mtime_ns, path.stem), path, stat) for path, stat in self._files(cwd)]
        found.sort(key=lambda each: each[0], reverse=True)
        cursor = None if after is None else _read_cursor(after)
        wanted = None if cwd is None else os.path.realpath(cwd)
        entries: list[HistoryEntry] = []
        last = ""
        for key, path, stat in found:
            if cursor is not None and key >= cursor:
                continue
            entry = describe(path, stat)
            if entry is None or (wanted is not None and entry.cwd not in ("", wanted)):
                continue
            if len(entries) == limit:
                return HistoryPage(entries=tuple(entries), after=last)
            entries.append(entry)
            last = f"{key[0]}:{key[1]}"
        return HistoryPage(entries=tuple(entries))

    def _files(self, cwd: str | None) -> Iterator[tuple[Path, os.stat_result]]:
        return transcripts_in(folders_of(self.config, cwd))

    def find(self, session: str, *, cwd: str | None = None) -> HistoryEntry:
        """The session of that id, or of its beginning. Raises `UnknownSession`, or `InvalidValue` if several fit."""
        path = find_transcript(self.config, session, cwd) or self._find_beginning(session)
        entry = None if path is None else describe(path, path.stat())
        if entry is None:
            raise UnknownSession(session)
        return entry

    def _find_beginning(self, session: str) -> Path | None:
        if len(session) < SHORTEST:
            return None
        found = {path.stem: path for path, _ in self._files(None) if path.stem.startswith(session)}
        if len(found) > 1:
            raise InvalidValue("session", session, f"the id of one session; it fits {', '.join(sorted(found)[:5])}")
        return next(iter(found.values()), None)

    def tell(self, entry: HistoryEntry) -> Iterator[PastEvent]:
        """The session's past, event by event; closed at its end, so that a log of it is whole."""
        path = Path(entry.path)
        transcript = read_transcript(path)
        past = Past(entry.session)
        for read, line in read_nodes(path, [transcript.nodes[place] for place in transcript.thread()]):
            yield from past.take(read, line)
        yield from past.finish(strange=transcript.strange, unreadable=transcript.unreadable)

    def writer(self, entry: HistoryEntry) -> Writer | None:
        """A living process that has the session."""
        return find_writer(self.config, entry.session, Path(entry.path))

    def require_unused(self, entry: HistoryEntry) -> None:
        """Raise `SessionBusy` while another process has the session: two writers lose one of two branches."""
        writer = self.writer(entry)
        if writer is not None:
            raise SessionBusy(entry.session, writer.describe())


def list_sessions(
    environ: Mapping[str, str], *, cwd: str | None = None, limit: int = LIMIT, after: str | None = None
) -> HistoryPage:
    """The sessions on disk, of a working folder or all, the latest written first, a page at a time."""
    return History(environ).list(cwd=cwd, limit=limit, after=after)


def read_past(environ: Mapping[str, str], session: str) -> list[Event]:
    """The whole past of a session as events. Raises `UnknownSession`."""
    history = History(environ)
    return [told.event for told in history.tell(history.find(session))]


def is_in_use(environ: Mapping[str, str], session: str) -> bool:
    """Whether a living process has the session, as far as that can be seen. Raises `UnknownSession`."""
    history = History(environ)
    return history.writer(history.find(session)) is not None


def describe(path: Path, stat: os.stat_result) -> HistoryEntry | None:
    """What the two ends of a file say of its session; None when nobody ever said anything in it."""
    try:
        head, tail = read_ends(path, stat.st_size)
    except FileNotFoundError:
        return None
    entries = [*head, *tail]
    first = next((entry for entry in entries if entry.uuid and not entry.is_sidechain), None)
    if first is None:
        return None
    last = next((entry for entry in reversed(entries) if entry.version), first)
    return HistoryEntry(
        session=EngineSessionId(path.stem),
        cwd=first.cwd,
        title=title_of(entries),
        started=next((entry.time for entry in entries if entry.time is not None), None),
        modified=stat.st_mtime,
        size=stat.st_size,
        version=last.version,
        branch=last.git_branch,
        entrypoint=first.entrypoint,
        path=str(path),
    )


def title_of(entries: list[Entry]) -> str:
    """The title somebody gave, else the latest prompt, else the first one, on one line."""
    backwards = entries[::-1]
    for field in ("custom_title", "ai_title", "last_prompt", "summary"):
        for entry in backwards:
            text: str = getattr(entry, field)
            if text:
                return _one_line(text)
    first = next((plain_text(entry) for entry in entries if is_prompt(entry)), "")
    return _one_line(spoken_command(first) or first)


def _one_line(text: str) -> str:
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= TITLE_LIMIT else f"{line[: TITLE_LIMIT - 1]}…"


def _read_cursor(after: str) -> tuple[int, str]:
    time, _, session = after.partition(":")
    if not time.isdecimal() or not session:
        raise InvalidValue("after", after, "what a page before gave")
    return int(time), session
