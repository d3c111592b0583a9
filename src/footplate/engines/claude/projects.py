"""Where the CLI keeps its sessions: `projects/<folder>/<session>.jsonl` below its config folder; found and read here.

The name of a folder is the working folder with every character but letters and digits as `-`: several folders share a
name, so the working folder is taken from the entries. A name of more than 200 characters is cut there and gets a hash,
which differs between builds of the CLI: only its beginning is compared. Files may have hundreds of megabytes: a list
reads their two ends, a whole read goes line by line.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from footplate.engines.claude.launch import CONFIG_DIR
from footplate.engines.claude.lenient import read_struct
from footplate.engines.claude.transcript import ENTRY, Entry, Node, Transcript
from footplate.host.environment import expand_home

NAME_LIMIT: Final = 200
END_SIZE: Final = 64 * 1024
"""How much is read of each end of a file for a list."""

LINE_LIMIT: Final = 64 * 1024 * 1024
"""A longer line is passed over, and counted as one that cannot be read."""

SESSION_ID: Final = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def config_folder(environ: Mapping[str, str], profile: str = "") -> Path:
    """The CLI's own folder: that of the profile, `CLAUDE_CONFIG_DIR`, or `~/.claude`."""
    named = expand_home(profile, environ) if profile else environ.get(CONFIG_DIR, "")
    return Path(named or expand_home("~/.claude", environ))


def folder_name(cwd: str) -> str:
    """The name of a working folder's own folder, cut to what is certain of it."""
    text = unicodedata.normalize("NFC", cwd)
    plain = "".join(_plain(char) for char in text)
    return plain[:NAME_LIMIT]


def _plain(char: str) -> str:
    if char.isascii() and char.isalnum():
        return char
    return "--" if ord(char) > 0xFFFF else "-"  # the CLI counts as JavaScript does: two for what is beyond the BMP


def folders_of(config: Path, cwd: str | None = None) -> list[Path]:
    """The folders that may hold sessions of a working folder; all of them when none is named."""
    try:
        found = sorted(path for path in (config / "projects").iterdir() if path.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    if cwd is None:
        return found
    name = folder_name(os.path.realpath(cwd))
    long = f"{name}-" if len(name) == NAME_LIMIT else None
    return [path for path in found if path.name == name or (long is not None and path.name.startswith(long))]


def transcripts_in(folders: Iterable[Path]) -> Iterator[tuple[Path, os.stat_result]]:
    """Every session file in the folders, with what the disk says of it."""
    for folder in folders:
        for path in folder.glob("*.jsonl"):
            if SESSION_ID.fullmatch(path.stem):
                try:
                    yield path, path.stat()
                except FileNotFoundError:
                    continue  # it was removed while we looked


def find_transcript(config: Path, session: str, cwd: str | None = None) -> Path | None:
    """The file of a session: in the folder of its working folder, else wherever it is; the newest if there are two."""
    if not SESSION_ID.fullmatch(session):
        return None
    for folders in (folders_of(config, cwd) if cwd is not None else [], folders_of(config)):
        found = [path for folder in folders if (path := folder / f"{session}.jsonl").is_file()]
        if found:
            return max(found, key=lambda path: path.stat().st_mtime_ns)
    return None


def agent_transcript(path: Path, agent: str) -> Path:
    """The file of a sub-agent of the session, by the id under which it asks."""
    return path.with_suffix("") / "subagents" / f"agent-{Path(agent).name}.jsonl"


def read_lines(path: Path) -> Iterator[tuple[bytes, int]]:
    """The lines of a file one by one, with the length each has there; of one that is too long only its beginning."""
    with path.open("rb") as file:
        while line := file.readline(LINE_LIMIT):
            size = len(line)
            while not line.endswith(b"\n") and (rest := file.readline(LINE_LIMIT)):
                size += len(rest)
                if rest.endswith(b"\n"):
                    break
            yield line, size


def read_transcript(path: Path) -> Transcript:
    """Go through a file once; only links and places are kept of it."""
    transcript = Transcript()
    for line, size in read_lines(path):
        transcript.take(line, size=size)
    return transcript


def read_nodes(path: Path, nodes: Iterable[Node]) -> Iterator[tuple[Entry, bytes]]:
    """The entries of these places, each read when it is asked for, with its line."""
    with path.open("rb") as file:
        for node in nodes:
            file.seek(node.at)
            line = file.read(node.size)
            entry = read_struct(ENTRY, line)
            if entry is not None:
                yield entry, line


def read_ends(path: Path, size: int) -> tuple[list[Entry], list[Entry]]:
    """The entries at the beginning and at the end of a file, as far as they lie in the first and last 64 kB."""
    with path.open("rb") as file:
        head = file.read(END_SIZE)
        if size <= END_SIZE:
            return _entries(head, whole=True), []
        file.seek(max(size - END_SIZE, END_SIZE))
        tail = file.read(END_SIZE)
    first, _, rest = tail.partition(b"\n")
    joined = size < 2 * END_SIZE
    return _entries(head, whole=False), _entries(head.rpartition(b"\n")[2] + first + b"\n" + rest if joined else rest)


def _entries(data: bytes, *, whole: bool = True) -> list[Entry]:
    lines = data.split(b"\n") if whole else data.split(b"\n")[:-1]
    found = (read_struct(ENTRY, line) for line in lines if line.strip())
    return [entry for entry in found if entry is not None]
