"""Files and terminals of the client. Written by `scripts/acp_types.py` from the published schema."""

from __future__ import annotations

import msgspec

from footplate.acp.schema.sessions import EnvVariable
from footplate.acp.wire import Wire
from footplate.events.base import OptionalRaw


class WriteTextFileRequest(Wire, frozen=True, kw_only=True):
    """Request to write content to a text file."""

    session_id: str
    path: str
    content: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ReadTextFileRequest(Wire, frozen=True, kw_only=True):
    """Request to read content from a text file."""

    session_id: str
    path: str
    line: int | None = None
    limit: int | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class CreateTerminalRequest(Wire, frozen=True, kw_only=True):
    """Request to create a new terminal and execute a command."""

    session_id: str
    command: str
    args: tuple[str, ...] | None = None
    env: tuple[EnvVariable, ...] | None = None
    cwd: str | None = None
    output_byte_limit: int | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class TerminalOutputRequest(Wire, frozen=True, kw_only=True):
    """Request to get the current output and status of a terminal."""

    session_id: str
    terminal_id: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ReleaseTerminalRequest(Wire, frozen=True, kw_only=True):
    """Request to release a terminal and free its resources."""

    session_id: str
    terminal_id: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class WaitForTerminalExitRequest(Wire, frozen=True, kw_only=True):
    """Request to wait for a terminal command to exit."""

    session_id: str
    terminal_id: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class KillTerminalRequest(Wire, frozen=True, kw_only=True):
    """Request to kill a terminal without releasing it."""

    session_id: str
    terminal_id: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class WriteTextFileResponse(Wire, frozen=True, kw_only=True):
    """Response to `fs/write_text_file`."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ReadTextFileResponse(Wire, frozen=True, kw_only=True):
    """Response containing the contents of a text file."""

    content: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class CreateTerminalResponse(Wire, frozen=True, kw_only=True):
    """Response containing the ID of the created terminal."""

    terminal_id: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class TerminalExitStatus(Wire, frozen=True, kw_only=True):
    """Exit status of a terminal command."""

    exit_code: int | None = None
    signal: str | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class TerminalOutputResponse(Wire, frozen=True, kw_only=True):
    """Response containing the terminal output and exit status."""

    output: str
    truncated: bool
    exit_status: TerminalExitStatus | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ReleaseTerminalResponse(Wire, frozen=True, kw_only=True):
    """Response to terminal/release method."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class WaitForTerminalExitResponse(Wire, frozen=True, kw_only=True):
    """Response containing the exit status of a terminal command."""

    exit_code: int | None = None
    signal: str | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class KillTerminalResponse(Wire, frozen=True, kw_only=True):
    """Response to `terminal/kill` method."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)
