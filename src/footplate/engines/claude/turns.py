"""Turns: begun by an init or the first sign of one, ended by a result or by the death of the process."""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.engines.base import Exit
from footplate.engines.claude import results
from footplate.engines.claude.attachment import Attachment
from footplate.engines.claude.ledger import Ledger, Turn
from footplate.engines.claude.lenient import read, read_struct
from footplate.engines.claude.messages import Messages
from footplate.engines.claude.prompts import Prompts
from footplate.engines.claude.systems import Init
from footplate.engines.claude.tasks import Tasks
from footplate.engines.claude.wire import TEXTS, Origin, Result
from footplate.events.model import EngineDetached, TurnEnded, TurnOrigin, UsageReported
from footplate.events.run_notes import signal_name, word_exit_status

ORIGIN: Final = msgspec.json.Decoder(Origin)
TAIL_LINES: Final = 20
TAIL_LIMIT: Final = 2000


class Turns:
    """Begins and ends turns.

    An init while a turn is open continues it: with background agents the CLI holds back the results of two turns and
    writes both at the end. A result without a turn is a turn of its own.
    """

    def __init__(
        self, ledger: Ledger, attachment: Attachment, prompts: Prompts, tasks: Tasks, messages: Messages
    ) -> None:
        self._ledger = ledger
        self._attachment = attachment
        self._prompts = prompts
        self._tasks = tasks
        self._messages = messages
        self._totals = results.Totals()

    def take_over(self, cost_usd: float) -> None:
        """What the process had cost before: only what comes on top of it is news."""
        self._totals = results.Totals(cost_usd)

    def begin(self, init: Init) -> None:
        """An init: news of the session, and a turn if none is open."""
        told = self._attachment.init(init)
        self._attachment.fast_is(init.fast_mode_state, init.fast_mode_disabled_reason)
        if self._ledger.turn is None:
            prompts = self._prompts.of_turn(init.user_message_uuids)
            self._ledger.open_turn(prompts=prompts, origin="task" if self._tasks.ended_between_turns else "")
            return
        self._prompts.of_result(init.user_message_uuids)
        if not told:
            self._ledger.ignore("system/init")

    def end(self, line: Result) -> None:
        """A result: everything of the turn closes, then the turn."""
        ok = results.is_ok(line)
        self._attachment.ended(line.session_id, is_error=not ok)
        self._attachment.fast_is(line.fast_mode_state, line.fast_mode_disabled_reason)
        named = read(TEXTS, line.user_message_uuids) or []
        turn = self._ledger.turn or self._ledger.open_turn(
            prompts=self._prompts.of_turn(named), origin=self._origin(line)
        )
        self._prompts.of_result(named)
        if not self._prompts.outstanding:  # a clear names its conversation within its own turn, and not later
            self._attachment.clearing = False
        stop = results.stop_reason(line, interrupted=turn.interrupted)
        self._ledger.close_turn(interrupted=stop == "interrupted")
        self._messages.abandon()
        usage, self._totals = results.usage(line, self._totals)
        self._report_context()
        refused = results.denials(line)
        error = self._attachment.mismatch or ("" if ok else results.error_text(line, stop, refused))
        self._ledger.out.append(
            TurnEnded(
                turn=turn.id,
                ok=not error,
                answer=results.answer(line, self._messages.answer),
                error=error,
                error_kind=self._error_kind(line, turn) if error else "",
                stop_reason="error" if error and stop == "end_turn" else stop,
                structured_output=results.structured_output(line),
                usage=usage,
                resume=self._attachment.token,
                origin=self._origin(line) or turn.origin or ("prompt" if turn.prompts else ""),
                denials=refused,
                prompts=tuple(turn.prompts),
            )
        )
        self._leave()

    def lose(self, ending: Exit, *, prompted: bool) -> None:
        """The process is gone: close everything, honestly."""
        reason = self._attachment.mismatch or exit_reason(ending)
        self._messages.flush()
        self._ledger.close_all(reason)
        outstanding = self._prompts.outstanding
        if not self._ledger.turns and (prompted or outstanding):
            self._ledger.open_turn(prompts=outstanding)
        turn = self._ledger.turn
        if turn is not None:
            self._ledger.out.append(
                TurnEnded(
                    turn=turn.id,
                    ok=False,
                    answer="".join(self._messages.answer),
                    error=self._attachment.mismatch or lost_error(ending),
                    error_kind="session_id_mismatch" if self._attachment.mismatch else "lost",
                    stop_reason="lost",
                    resume=self._attachment.token,
                    origin=turn.origin or ("prompt" if turn.prompts else ""),
                    prompts=tuple(turn.prompts),
                )
            )
            self._leave()
        self._ledger.out.append(
            EngineDetached(
                reason=reason, exit_code=ending.code, signal=ending.signal, stderr=stderr_tail(ending.stderr)
            )
        )

    def _leave(self) -> None:
        self._ledger.turn = None
        self._messages.answer = []
        self._tasks.ended_between_turns = False

    def _report_context(self) -> None:
        used = self._messages.context_used
        if used is None:
            return
        model = self._attachment.model
        self._ledger.out.append(
            UsageReported(
                context_used=used,
                context_size=results.context_size(self._totals, model),
                cost_usd=self._totals.cost_usd,
                model=model,
            )
        )

    def _error_kind(self, line: Result, turn: Turn) -> str:
        if self._attachment.mismatch:
            return "session_id_mismatch"
        stop = results.stop_reason(line, interrupted=turn.interrupted)
        return results.error_kind(line, stop, turn.error_kind)

    def _origin(self, line: Result) -> TurnOrigin:
        origin = read_struct(ORIGIN, line.origin)
        if origin is not None and origin.kind == "task-notification":
            return "task"
        return "command" if line.local_command else ""


def exit_reason(ending: Exit) -> str:
    """How the process ended, in a few words."""
    if ending.reason:
        return ending.reason
    if ending.signal is not None:
        return f"killed by {signal_name(ending.signal)}"
    return "ended" if ending.code is None else f"exited with code {ending.code}"


def lost_error(ending: Exit) -> str:
    """Why a turn has no result, with the last words on stderr."""
    said = stderr_tail(ending.stderr)
    verb = "was " if ending.signal is not None else ""
    text = f"claude {verb}{exit_reason(ending)} before the turn ended"
    if ending.reason:
        status = word_exit_status(ending.reason, ending.code, ending.signal)
        text = f"claude ended before the turn did: {ending.reason}" + (f" ({status})" if status else "")
    return f"{text}: {said}" if said else text


def stderr_tail(text: str) -> str:
    """The last lines of stderr, as many as are bearable."""
    return "\n".join(text.strip().splitlines()[-TAIL_LINES:])[-TAIL_LIMIT:]
