"""Messages beside the protocol that clients of the older transports know: `_adapter/...` and `_sandboxagent/...`."""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.acp import jsonrpc
from footplate.acp.wire import Wire
from footplate.events.ids import SessionId
from footplate.events.model import EngineDetached, Unparsed
from footplate.runtime.acp.client import Manner

VENDOR: Final = "sandboxagent.dev"
PREFIX: Final = "_sandboxagent/"
EXIT: Final = "_adapter/agent_exited"
INVALID: Final = "_adapter/invalid_stdout"
ENDED: Final = f"{PREFIX}session/ended"
UNPARSED: Final = f"{PREFIX}agent/unparsed"
METHODS: Final = (
    f"{PREFIX}session/list_models",
    f"{PREFIX}session/set_metadata",
    f"{PREFIX}session/events",
    f"{PREFIX}session/terminate",
    f"{PREFIX}session/detach",
    f"{PREFIX}session/request_question",
)


class Exited(Wire, frozen=True, kw_only=True):
    """Parameters of `_adapter/agent_exited`."""

    success: bool
    code: int | None
    signal: int | None = None
    stderr: str = ""


class Invalid(Wire, frozen=True, kw_only=True):
    """Parameters of `_adapter/invalid_stdout`."""

    error: str
    raw: str


class UnparsedLine(Wire, frozen=True, kw_only=True):
    """Parameters of `_sandboxagent/agent/unparsed`."""

    session_id: str
    error: str
    raw: str


class SessionEnded(Wire, frozen=True, kw_only=True):
    """Parameters of `_sandboxagent/session/ended`."""

    session_id: str
    reason: str


def exit_notice(event: EngineDetached) -> bytes:
    """The agent's process is gone, and not because it was let go."""
    told = Exited(success=event.exit_code == 0, code=event.exit_code, signal=event.signal, stderr=event.stderr)
    return jsonrpc.encode_notification(EXIT, told)


def unparsed_notice(session: SessionId, event: Unparsed, manner: Manner) -> list[bytes]:
    """A line of the agent that was no message, for the clients that want to know."""
    found: list[bytes] = []
    if manner.adapter:
        found.append(jsonrpc.encode_notification(INVALID, Invalid(error=event.reason, raw=event.raw)))
    if manner.extensions:
        line = UnparsedLine(session_id=session, error=event.reason, raw=event.raw)
        found.append(jsonrpc.encode_notification(UNPARSED, line))
    return found


def ended_notice(session: SessionId, reason: str) -> bytes:
    """The session was closed."""
    return jsonrpc.encode_notification(ENDED, SessionEnded(session_id=session, reason=reason))


def advertised() -> msgspec.Raw:
    """Which of these an agent has, as the `_meta` of its capabilities says it."""
    return msgspec.Raw(msgspec.json.encode({VENDOR: {"extensions": METHODS}}))
