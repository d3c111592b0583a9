"""Remarks of the CLI beside the conversation: retries, limits, hooks, denials, states. One function per kind."""

from __future__ import annotations

from typing import Final

from footplate.engines.claude.ledger import Ledger
from footplate.engines.claude.lenient import read, read_struct
from footplate.engines.claude.systems import REMARK, ApiRetry, Commands, Hook, PermissionDenied, State
from footplate.engines.claude.wire import TEXT, RateLimitInfo
from footplate.events.base import Level
from footplate.events.ids import ToolCallId
from footplate.events.model import (
    CommandsChanged,
    LimitReached,
    SessionState,
    SlashCommand,
    StateChanged,
    ToolUpdated,
    WaitingFor,
)
from footplate.events.wording import format_duration

DETAIL_LIMIT: Final = 4096

STATES: Final[dict[str, tuple[SessionState, WaitingFor]]] = {
    "running": ("running", ""),
    "requires_action": ("waiting", "you"),
    "idle": ("idle", ""),
}

LEVELS: Final[dict[str, Level]] = {
    "debug": "debug",
    "info": "info",
    "warning": "warning",
    "warn": "warning",
    "error": "error",
}

REMARKS: Final[dict[str, Level]] = {
    "informational": "info",
    "notification": "info",
    "local_command_output": "info",
    "model_refusal_no_fallback": "warning",
    "model_refusal_fallback": "warning",
    "hook_progress": "debug",
    "plugin_install": "debug",
    "files_persisted": "debug",
    "memory_recall": "debug",
    "elicitation_complete": "debug",
    "mirror_error": "warning",
    "worker_shutting_down": "warning",
    "session_writes_lost": "error",
}
"""Subtypes that are told as a notice, with the level where they name none; most are declared by the SDK, never seen."""


def remark(ledger: Ledger, kind: str, raw: bytes) -> None:
    """Any other remark, in its own words; the whole line stands in the detail."""
    line = read_struct(REMARK, raw)
    error = None if line is None else read(TEXT, line.error)
    text = (line.content or line.message or line.text or error) if line is not None else ""
    level = LEVELS.get(line.level if line is not None else "", REMARKS.get(kind, "info"))
    ledger.notice(level, text or kind, code=kind, detail=raw[:DETAIL_LIMIT].decode("utf-8", "replace"))


def retry(ledger: Ledger, line: ApiRetry) -> None:
    """A request to the model failed and will be made again."""
    status = "no answer" if line.error_status is None else str(line.error_status)
    reason = f"{status}, {line.error}" if line.error else status
    wait = format_duration(line.retry_delay_ms / 1000)
    text = f"the model's API failed ({reason}); try {line.attempt} of {line.max_retries} again in {wait}"
    ledger.notice("warning", text, code="api_retry")


def limit(ledger: Ledger, info: RateLimitInfo, *, clear_before: bool) -> bool:
    """A limit of the account; gives back whether it is clear now. One that stays clear is not told."""
    clear = info.status == "allowed"
    if clear and clear_before:
        ledger.ignore("rate_limit_event")
        return True
    ledger.out.append(
        LimitReached(
            kind="usage",
            status="clear" if clear else ("warning" if info.status == "allowed_warning" else "reached"),
            resets_at=info.resets_at,
            utilization=info.utilization,
            name=info.rate_limit_type,
        )
    )
    return clear


def denied(ledger: Ledger, line: PermissionDenied) -> None:
    """A call was refused without anybody being asked; its result follows."""
    call = ledger.calls.get(line.tool_use_id)
    if call is None:
        ledger.notice("warning", line.message or f"{line.tool_name} was denied", code="permission_denied")
        return
    call.denied = True
    ledger.update_call(ToolUpdated(call=ToolCallId(line.tool_use_id), note=line.message or "denied"))


def hook_started(ledger: Ledger, line: Hook) -> None:
    """A hook of the user's settings runs."""
    ledger.notice("debug", f"hook {line.hook_name} started", code="hook_started")


def hook_ended(ledger: Ledger, line: Hook) -> None:
    """A hook ended; one that failed is a warning."""
    fine = line.outcome in ("", "success")
    said = (line.stderr if not fine and line.stderr else line.stdout)[:DETAIL_LIMIT]
    ledger.notice(
        "debug" if fine else "warning", f"hook {line.hook_name}: {line.outcome or 'done'}", code="hook", detail=said
    )


def state(ledger: Ledger, line: State) -> bool:
    """The session's state; False for one we do not know."""
    known = STATES.get(line.state)
    if known is None:
        return False
    ledger.out.append(StateChanged(state=known[0], waiting_for=known[1]))
    return True


def commands(ledger: Ledger, line: Commands) -> None:
    """The slash commands, the whole list."""
    ledger.out.append(
        CommandsChanged(
            commands=tuple(
                SlashCommand(name=each.name, description=each.description, argument_hint=each.argument_hint)
                for each in line.commands
            )
        )
    )
