"""The started / action / completed view of one prompt, folded from events.

Feed the events of a session in order and take what each call returns. A run that begins in a session that is already
attached is told so by feeding it the session's latest `EngineAttached` first. Whatever the events are, what comes out
keeps the promises of a run: at most one `Started`, exactly one `Completed` (the last), every started action completed,
ids unique, only warnings before `Started`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar, cast

import msgspec

from footplate.events import model as m
from footplate.events.base import OptionalRaw, ResumeToken
from footplate.events.model import Event
from footplate.events.run_actions import CallAction
from footplate.events.run_answer import LatestWords
from footplate.events.run_events import Action, ActionKind, Completed, RunEvent, RunMeta, Started
from footplate.events.run_notes import (
    Told,
    Worded,
    word,
    word_closing,
    word_denial,
    word_engine,
    word_exit,
    word_move,
    word_tasks,
    word_wrong_session,
)
from footplate.events.usage import Usage

__all__ = ["Action", "Completed", "ResumeToken", "RunEvent", "RunFold", "RunMeta", "Started"]

_E = TypeVar("_E")
_Handler = Callable[["RunFold", Event], None]

_NOT_SHOWN: tuple[type, ...] = (
    *(m.ModeChanged, m.EffortChanged, m.ConfigChanged, m.CommandsChanged, m.TitleChanged),
    *(
        m.PromptQueued,
        m.PromptWithdrawn,
        m.PromptSteered,
        m.UserMessage,
        m.ThoughtDelta,
        m.TaskUpdated,
        m.UsageReported,
    ),
    *(m.RequestOpened, m.RequestAnswered, m.RequestSent, m.RequestApplied),
    *(m.RequestRejected, m.RequestWithdrawn, m.RequestUnanswered, m.RuleAdded, m.RuleRevoked),
    *(m.CompactionStarted, m.CommandRan, m.FilesRewound),
)
"""Events that a run has no line for."""


def _on(kind: type[_E], handler: Callable[[RunFold, _E], None]) -> tuple[type, _Handler]:
    """One line of the table; the handler must take events of that kind."""
    return kind, cast("_Handler", handler)


class RunFold:
    """One run as a state machine: `feed` every event, then `finish`; both return what is to be shown.

    `resume` is the conversation that was asked for (leave it out for a new one and for a fork): another one in its
    place ends the run with an error. `wait_background` holds the completion back until background work that was running
    at the result has ended and the agent has taken it up; what it reports is added to the answer. Otherwise such work
    is named in a warning.
    """

    def __init__(self, *, resume: ResumeToken | None = None, wait_background: bool = False) -> None:
        self._wanted = resume
        self._wait = wait_background
        self._token: ResumeToken | None = None
        self._cwd = ""
        self._out: list[RunEvent] = []
        self._held: list[Action] = []
        self._ids: set[str] = set()
        self._told: dict[ActionKind, int] = {"note": 0, "warning": 0}
        self._calls: dict[str, CallAction] = {}
        self._ended: set[str] = set()
        self._tasks: dict[str, m.TaskStarted] = {}
        self._words = LatestWords()
        self._origin = ""
        self._in_turn = False
        self._report_due = False
        self._result: m.TurnEnded | None = None
        self._cost: float | None = None
        self._reports: list[str] = []
        self._gone: m.EngineDetached | None = None
        self._told_engine = False
        self._told_todos = False
        self._completed = False

    @property
    def completed(self) -> bool:
        """Whether `Completed` was given out: nothing follows it."""
        return self._completed

    @property
    def running_tasks(self) -> tuple[m.TaskStarted, ...]:
        """Background work that has not ended; kept up to date after the completion too."""
        return tuple(self._tasks.values())

    def feed(self, event: Event) -> tuple[RunEvent, ...]:
        """What the event means for the run, in order; often nothing."""
        if not self._completed or isinstance(event, m.TaskStarted | m.TaskEnded):
            self._table[type(event)](self, event)
            self._complete_late()
        return self._drain()

    def finish(self, *, error: str = "", resume: ResumeToken | None = None) -> tuple[RunEvent, ...]:
        """No more events will come: the completion, if it was not given out yet.

        `error` says why in the caller's words (`timed out after 5 s`); without it the end of the agent's process does.
        A result that was held back for background work stands unless there is such an `error`. `resume` is used when
        the engine's session never became known.
        """
        if self._completed:
            return ()
        self._wanted = self._wanted or resume
        if self._result is not None:
            self._complete_turn(self._result, error=error)
        else:
            self._complete(ok=False, error=error or word_exit(self._gone))
        return self._drain()

    # ---------------------------------------------------------------------------------------- giving out

    def _drain(self) -> tuple[RunEvent, ...]:
        out = tuple(self._out)
        self._out.clear()
        return out

    def _show(self, action: Action) -> None:
        """Give the action out, or keep it until `Started` when it may not come before."""
        if self._token is not None or action.kind == "warning":
            self._out.append(action)
        else:
            self._held.append(action)

    def _tell(self, told: Told | None) -> None:
        """A note or a warning as one completed action."""
        if told is None:
            return
        warning = told.level in ("warning", "error")
        kind: ActionKind = "warning" if warning else "note"
        self._told[kind] += 1
        self._show(
            Action(
                id=self._claim(f"{kind}-{self._told[kind]}"),
                kind=kind,
                title=told.title,
                phase="completed",
                ok=not warning,
                level=told.level,
                detail=told.detail,
            )
        )

    def _claim(self, wanted: str) -> str:
        """The id, or one beside it when another action of the run has it already."""
        while wanted in self._ids:
            wanted += "+"
        self._ids.add(wanted)
        return wanted

    def _start(self, token: ResumeToken, meta: RunMeta) -> None:
        self._token = token
        self._out.append(Started(engine=token.engine, resume=token, title=meta.model or token.engine, meta=meta))
        self._out.extend(self._held)
        self._held.clear()

    # ---------------------------------------------------------------------------------------- completing

    def _complete_late(self) -> None:
        """Give out a result that waited for background work, once that has ended and was taken up."""
        if self._result is None or self._completed or self._tasks or self._in_turn or self._report_due:
            return
        self._complete_turn(self._result)

    def _complete_turn(self, event: m.TurnEnded, *, error: str = "") -> None:
        for denial in event.denials:
            self._tell(word_denial(denial))
        ok = event.ok and not error
        self._complete(
            ok=ok,
            answer="\n\n".join(text for text in (event.answer, *self._reports) if text),
            error="" if ok else error or event.error or f"the turn ended: {event.stop_reason}",
            usage=_figures(event.usage),
            structured_output=event.structured_output,
        )

    def _complete(
        self,
        *,
        ok: bool,
        answer: str = "",
        error: str = "",
        usage: OptionalRaw = None,
        structured_output: OptionalRaw = None,
    ) -> None:
        for call in self._calls.values():
            if not call.shown:
                self._show(call.start())
            self._show(call.lose())
        self._calls.clear()
        if self._tasks:
            self._tell(word_tasks(self._tasks.values()))
        self._out.extend(self._held)
        self._held.clear()
        self._completed = True
        self._out.append(
            Completed(
                ok=ok,
                answer=self._words.answer(answer),
                error=error,
                resume=self._token or self._wanted,
                usage=usage,
                cost_usd=self._cost,
                structured_output=structured_output,
            )
        )

    # ------------------------------------------------------------------------------------------- session

    def _opened(self, event: m.SessionOpened) -> None:
        self._cwd = event.cwd
        self._wanted = self._wanted or event.resumed

    def refuses(self, event: m.EngineAttached) -> bool:
        """Whether the agent is in another conversation than the run, and nobody asked for that: the run ends."""
        known = self._token or self._wanted
        moved = known is not None and known.value != event.engine_session_id
        return moved and event.reason not in ("cleared", "forked")

    def _attached(self, event: m.EngineAttached) -> None:
        token = ResumeToken(engine=event.engine, value=event.engine_session_id)
        known = self._token or self._wanted
        moved = known is not None and known.value != token.value
        if known is not None and self.refuses(event):
            self._complete(ok=False, error=word_wrong_session(known, token))
            return
        self._gone = None
        self._cwd = event.cwd or self._cwd
        if self._token is None:
            self._start(token, _meta(event, self._cwd))
        elif moved:
            self._token = token
            self._tell(word_move(token, event.reason))
        if not self._told_engine:
            told = word_engine(event)
            self._told_engine = told is not None
            self._tell(told)

    def _detached(self, event: m.EngineDetached) -> None:
        self._gone = event

    def _state(self, event: m.StateChanged) -> None:
        if event.state == "idle":
            self._report_due = False

    def _closed(self, event: m.SessionClosed) -> None:
        self._out.extend(self.finish(error="" if self._result else word_closing(event.reason)))

    # ---------------------------------------------------------------------------------------------- turn

    def _turn_started(self, event: m.TurnStarted) -> None:
        self._origin = event.origin
        self._in_turn = True
        self._report_due = False

    def _turn_ended(self, event: m.TurnEnded) -> None:
        origins = (event.origin, self._origin)
        self._origin = ""
        self._in_turn = False
        if event.usage is not None and event.usage.cost_usd is not None:
            self._cost = (self._cost or 0.0) + event.usage.cost_usd
        if "task" in origins or self._result is not None:
            self._words.report(event.answer)
            return
        self._result = event
        self._words.close()
        known = self._token or self._wanted
        if event.resume is not None and known is not None and event.resume.value != known.value:
            self._complete_turn(event, error=word_wrong_session(known, event.resume))
            return
        if event.resume is not None and self._token is None:
            self._start(event.resume, RunMeta(cwd=self._cwd))
        if not (self._wait and self._tasks):
            self._complete_turn(event)

    def _message_delta(self, event: m.MessageDelta) -> None:
        self._words.hear_piece(event)

    def _message(self, event: m.Message) -> None:
        self._words.hear(event)

    def _worded(self, event: Worded) -> None:
        self._tell(word(event))

    def _plan(self, event: m.PlanChanged) -> None:
        if not self._told_todos:
            self._tell(word(event))

    # --------------------------------------------------------------------------------------------- tools

    def _tool_started(self, event: m.ToolStarted) -> None:
        if event.call in self._calls or event.call in self._ended:
            return
        self._told_todos = self._told_todos or event.kind == "todo"
        call = CallAction(event, action=self._claim(event.call), cwd=self._cwd)
        self._calls[event.call] = call
        if call.ready:
            self._show(call.start())

    def _tool_updated(self, event: m.ToolUpdated) -> None:
        call = self._calls.get(event.call)
        if call is None:
            return
        changed = call.learn(event)
        if not call.shown:
            if call.ready:
                self._show(call.start())
        elif changed or event.note:
            self._show(call.update(event.note))

    def _tool_ended(self, event: m.ToolEnded) -> None:
        call = self._calls.pop(event.call, None)
        if call is None:
            return
        self._ended.add(event.call)
        call.learn(event)
        if not call.shown:
            self._show(call.start())
        self._show(call.end(event))

    # --------------------------------------------------------------------------------------------- tasks

    def _task_started(self, event: m.TaskStarted) -> None:
        self._tasks[event.task] = event

    def _task_ended(self, event: m.TaskEnded) -> None:
        known = self._tasks.pop(event.task, None)
        reports = event.status in ("completed", "failed")
        if known is not None and reports and not self._in_turn:
            self._report_due = True

    def _ignore(self, event: Event) -> None:
        """Nothing a run would show."""

    _table: ClassVar[dict[type, _Handler]] = {
        **dict.fromkeys(_NOT_SHOWN, cast("_Handler", _ignore)),
        **dict(
            (
                _on(m.SessionOpened, _opened),
                _on(m.EngineAttached, _attached),
                _on(m.EngineDetached, _detached),
                _on(m.StateChanged, _state),
                _on(m.ModelChanged, _worded),
                _on(m.SessionClosed, _closed),
                _on(m.TurnStarted, _turn_started),
                _on(m.MessageDelta, _message_delta),
                _on(m.Message, _message),
                _on(m.Thought, _worded),
                _on(m.ToolStarted, _tool_started),
                _on(m.ToolUpdated, _tool_updated),
                _on(m.ToolEnded, _tool_ended),
                _on(m.PlanChanged, _plan),
                _on(m.TaskStarted, _task_started),
                _on(m.TaskEnded, _task_ended),
                _on(m.TurnEnded, _turn_ended),
                _on(m.CompactionEnded, _worded),
                _on(m.LimitReached, _worded),
                _on(m.Parked, _worded),
                _on(m.Notice, _worded),
                _on(m.Unparsed, _worded),
            )
        ),
    }


def _meta(event: m.EngineAttached, cwd: str) -> RunMeta:
    return RunMeta(
        cwd=cwd,
        tools=event.tools,
        permission_mode=event.mode,
        output_style=event.output_style,
        model=event.model,
        version=event.version,
        billing=event.credentials,
    )


def _figures(usage: Usage | None) -> OptionalRaw:
    """The engine's own figures untouched, else ours as JSON."""
    if usage is None:
        return None
    return usage.reported if usage.reported is not None else msgspec.Raw(msgspec.json.encode(usage))
