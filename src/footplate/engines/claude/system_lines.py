"""`system` lines: one reader per subtype, in a table. A subtype that is not in it is handed back as unknown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

from footplate.engines.claude import remarks
from footplate.engines.claude import systems as wires
from footplate.engines.claude.attachment import Attachment
from footplate.engines.claude.ledger import Ledger, Trigger
from footplate.engines.claude.lenient import read_whole
from footplate.engines.claude.tasks import Tasks
from footplate.engines.claude.turns import Turns
from footplate.events.model import TitleChanged

S = TypeVar("S", bound=msgspec.Struct)

TRIGGERS: Final[dict[str, Trigger]] = {"manual": "manual", "auto": "auto"}
SILENT: Final = frozenset({"thinking_tokens", "ui_invalidate", "control_request_progress"})
"""Subtypes that are ignored without a second look; the reasons stand in `IGNORED`."""


class SystemLines:
    """What the CLI says about the session."""

    def __init__(self, ledger: Ledger, attachment: Attachment, tasks: Tasks, turns: Turns) -> None:
        self._ledger = ledger
        self._attachment = attachment
        self._readers: dict[str, Callable[[bytes], bool]] = {
            "init": self._reader(wires.INIT, turns.begin),
            "status": self._reader(wires.STATUS, self._status),
            "compact_boundary": self._reader(wires.COMPACT_BOUNDARY, self._boundary),
            "task_started": self._reader(wires.TASK, tasks.started),
            "task_progress": self._reader(wires.TASK, tasks.progressed),
            "task_updated": self._reader(wires.TASK_UPDATE, tasks.updated),
            "task_notification": self._reader(wires.TASK, tasks.notified),
            "background_tasks_changed": self._reader(wires.BACKGROUND_TASKS, tasks.listed),
            "api_retry": self._reader(wires.API_RETRY, lambda line: remarks.retry(ledger, line)),
            "permission_denied": self._reader(wires.PERMISSION_DENIED, lambda line: remarks.denied(ledger, line)),
            "hook_started": self._reader(wires.HOOK, lambda line: remarks.hook_started(ledger, line)),
            "hook_response": self._reader(wires.HOOK, lambda line: remarks.hook_ended(ledger, line)),
            "session_state_changed": self._reader(wires.STATE, lambda line: remarks.state(ledger, line)),
            "model_fallback": self._reader(wires.FALLBACK, attachment.fell_back),
            "session_title_changed": self._reader(wires.TITLE, self._title),
            "commands_changed": self._reader(wires.COMMANDS, lambda line: remarks.commands(ledger, line)),
        }

    def take(self, subtype: str, raw: Callable[[], bytes]) -> bool:
        """One line; False when the subtype is unknown or the line cannot be read."""
        if subtype in SILENT:
            self._ledger.ignore(f"system/{subtype}")
            return True
        reader = self._readers.get(subtype)
        if reader is not None:
            return reader(raw())
        if subtype in remarks.REMARKS:
            remarks.remark(self._ledger, subtype, raw())
            return True
        return False

    @staticmethod
    def _reader(decoder: msgspec.json.Decoder[S], handle: Callable[[S], bool | None]) -> Callable[[bytes], bool]:
        def take(raw: bytes) -> bool:
            line, whole = read_whole(decoder, raw)
            return line is not None and handle(line) is not False and whole

        return take

    def _status(self, line: wires.Status) -> None:
        told = self._attachment.mode_is(line.permission_mode)
        if line.status == "compacting":
            told = self._ledger.start_compaction() or told
        elif line.compact_result:
            told = self._compacted(line) or told
        elif line.status not in (None, "requesting"):
            self._ledger.notice("debug", f"status: {line.status}", code="status")
            told = True
        if not told:
            self._ledger.ignore("system/status")

    def _compacted(self, line: wires.Status) -> bool:
        """Success is told once more, with figures, by the boundary that follows; failure is not."""
        if line.compact_result == "success":
            self._ledger.compaction_said("success")
            return False
        self._ledger.start_compaction()
        self._ledger.end_compaction(ok=False, error=line.compact_error or line.compact_result)
        return True

    def _boundary(self, line: wires.CompactBoundary) -> None:
        figures = line.compact_metadata
        trigger = TRIGGERS.get(figures.trigger, "")
        self._ledger.start_compaction(trigger)
        self._ledger.end_compaction(ok=True, trigger=trigger, before=figures.pre_tokens, after=figures.post_tokens)

    def _title(self, line: wires.Title) -> None:
        self._ledger.out.append(TitleChanged(title=line.title))
