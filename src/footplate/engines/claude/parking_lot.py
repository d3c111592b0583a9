"""Writing to the CLI's own file: the line that parks a call, and the line that ends one. The caller holds the session.

Both are appended as one write with its newline and flushed to the disk, and only while no process has the session. A
line that a kill tore in the middle is closed off first; the CLI passes over what it cannot read.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

import msgspec

from footplate.engines.claude.lenient import read
from footplate.engines.claude.parking import FILE_TOOLS, Effect, Journal
from footplate.engines.claude.projects import read_transcript
from footplate.engines.claude.transcript import PARKED, Call, Node, Transcript
from footplate.engines.claude.wire import FIELDS, Part
from footplate.engines.claude.writers import find_writer

Reason = Literal["no session", "no such call", "has its result", "passed over", "in use"]
COPIED: Final = ("userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch")
"""What a line of ours takes over from the entry that holds the call."""

PROJECT_RULES: Final = ("settings.json", "settings.local.json")
MANAGED_RULES: Final = Path("/etc/claude-code/managed-settings.json")
COMPARED_LIMIT: Final = 16 * 1024 * 1024


class Stamp(msgspec.Struct, frozen=True, kw_only=True):
    """What makes a new entry one of its own: the time, and an id that nobody has."""

    now: datetime
    uuid: str

    @property
    def time(self) -> str:
        """The time as the CLI writes it."""
        return self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Parked(msgspec.Struct, frozen=True, kw_only=True):
    """The call is parked: `--resume` without a message asks for it again. `already`: it was, nothing was written."""

    call: str
    already: bool = False


class Appended(msgspec.Struct, frozen=True, kw_only=True):
    """The call has its result in the file."""

    call: str


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing was written."""

    reason: Reason
    detail: str = ""


def park(path: Path, call: str, *, config: Path, mode: str, stamp: Stamp) -> Parked | Refused:
    """Append the line that makes the CLI ask for the call again."""
    ready = _ready(path, call, config)
    if isinstance(ready, Refused):
        return ready
    transcript, held = ready
    if call in transcript.parked:
        return Parked(call=call, already=True)
    _append(path, park_line(_fields(path, transcript.nodes[held.place]), held, mode=mode, stamp=stamp))
    return Parked(call=call)


def append_result(
    path: Path, call: str, text: str, *, config: Path, is_error: bool, stamp: Stamp
) -> Appended | Refused:
    """Append a result of the call: one that was recorded, or the word that nobody knows it."""
    ready = _ready(path, call, config)
    if isinstance(ready, Refused):
        return ready
    transcript, held = ready
    holder = _fields(path, transcript.nodes[held.place])
    _append(path, result_line(holder, held, text=text, is_error=is_error, stamp=stamp))
    return Appended(call=call)


def _ready(path: Path, call: str, config: Path) -> tuple[Transcript, Call] | Refused:
    """The call that a line may be appended for, or why not."""
    writer = find_writer(config, path.stem, path)
    if writer is not None:
        return Refused(reason="in use", detail=writer.describe())
    try:
        transcript = read_transcript(path)
    except FileNotFoundError:
        return Refused(reason="no session")
    if transcript.tool_result_of(call) is not None:
        return Refused(reason="has its result")
    if call not in transcript.calls:
        return Refused(reason="no such call")
    held = next((each for each in transcript.open_calls() if each.id == call), None)
    return (transcript, held) if held is not None else Refused(reason="passed over")


# ------------------------------------------------------------------------------------------------- lines


def park_line(holder: Mapping[str, msgspec.Raw], call: Call, *, mode: str, stamp: Stamp) -> bytes:
    """The line by which the CLI itself parks a call when a hook defers it. `holder` is the entry with the call."""
    attachment = {
        "type": PARKED,
        "toolUseID": call.id,
        "toolName": call.name,
        "toolInput": call.input if call.input is not None else {},
        "hookName": "settings",
        "hookEvent": "PreToolUse",
        "permissionMode": mode or "default",
    }
    return _line(holder, {"type": "attachment", "attachment": attachment}, stamp)


def result_line(holder: Mapping[str, msgspec.Raw], call: Call, *, text: str, is_error: bool, stamp: Stamp) -> bytes:
    """The line of a call's result, as the CLI writes it."""
    result = {"type": "tool_result", "content": text, "is_error": is_error, "tool_use_id": call.id}
    entry = {
        "type": "user",
        "message": {"role": "user", "content": [result]},
        "toolUseResult": f"Error: {text}" if is_error else text,
        "sourceToolAssistantUUID": holder["uuid"],
    }
    return _line(holder, entry, stamp)


def _line(holder: Mapping[str, msgspec.Raw], entry: Mapping[str, object], stamp: Stamp) -> bytes:
    links = {"parentUuid": holder["uuid"], "isSidechain": False}
    own = {"uuid": stamp.uuid, "timestamp": stamp.time}
    copied = {name: holder[name] for name in COPIED if name in holder}
    return msgspec.json.encode({**links, **entry, **own, **copied}) + b"\n"


def _fields(path: Path, node: Node) -> dict[str, msgspec.Raw]:
    with path.open("rb") as file:
        file.seek(node.at)
        return read(FIELDS, file.read(node.size)) or {"uuid": msgspec.Raw(msgspec.json.encode(node.uuid))}


def _append(path: Path, line: bytes) -> None:
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    try:
        end = os.lseek(fd, 0, os.SEEK_END)
        torn = end > 0 and os.pread(fd, 1, end - 1) != b"\n"
        os.write(fd, b"\n" + line if torn else line)
        os.fsync(fd)
    finally:
        os.close(fd)


# ------------------------------------------------------------------------------------------------ effects


def rules_digest(config: Path, cwd: str) -> str:
    """A sum over the files with permission rules: where it changed since a request, a parked call may run unasked."""
    digest = hashlib.sha256()
    for path in (config / "settings.json", *(Path(cwd, ".claude", name) for name in PROJECT_RULES), MANAGED_RULES):
        try:
            digest.update(b"+" + path.read_bytes())
        except OSError:
            digest.update(b"-")
    return digest.hexdigest()


class FileInput(Part, frozen=True, kw_only=True):
    """What a call that writes a file is given, as far as its effect can be seen by it."""

    file_path: str = ""
    content: str = ""
    old_string: str = ""
    new_string: str = ""


FILE_INPUT: Final = msgspec.json.Decoder(FileInput)


def effect_on_file(journal: Journal) -> Effect:
    """What the file that a call writes shows of it: `none`, `applied`, or that it cannot be told."""
    tool = journal.tool.lower()
    given = read(FILE_INPUT, journal.input) if tool in FILE_TOOLS else None
    if given is None or not given.file_path:
        return "unknown"
    path = Path(given.file_path)
    try:
        text = path.read_text("utf-8") if path.stat().st_size <= COMPARED_LIMIT else None
    except (FileNotFoundError, NotADirectoryError):
        return "none"
    except (OSError, UnicodeDecodeError):
        return "unknown"
    if text is None:
        return "unknown"
    if tool == "write":
        return "applied" if text == given.content else "unknown"
    return _effect_of_edit(text, given)


def _effect_of_edit(text: str, given: FileInput) -> Effect:
    """The old words are there and the new ones are not, or the other way round; else nothing can be told."""
    if not given.old_string or not given.new_string:
        return "unknown"
    before, after = given.old_string in text, given.new_string in text
    if before == after:
        return "unknown"
    return "none" if before else "applied"
