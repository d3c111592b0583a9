"""The agent's to-do list as its tools write it: whole by TodoWrite, task by task by TaskCreate and its kin."""

from __future__ import annotations

import msgspec

from footplate.engines.claude.outcomes import Outcome
from footplate.engines.claude.toolbox import STATUSES, TodoWire, entries_of
from footplate.events.tools import PlanEntry, TodoDetail, ToolDetail


class Todos:
    """One list per process, kept by the ids that the tools give out."""

    def __init__(self) -> None:
        self._tasks: dict[str, PlanEntry] = {}

    def after(self, outcome: Outcome, detail: ToolDetail | None) -> tuple[PlanEntry, ...] | None:
        """The whole list after a successful call of one of the tools; None when the call changed nothing."""
        if outcome.new_todos is not None:
            return entries_of(outcome.new_todos)
        if outcome.tasks is not None:
            return self._replace(outcome.tasks)
        if outcome.task is not None and outcome.task.id:
            return self._add(outcome.task, detail)
        if outcome.status_change is not None and outcome.task_id:
            return self._change(outcome.task_id, outcome.status_change.to)
        return None

    def _replace(self, tasks: tuple[TodoWire, ...]) -> tuple[PlanEntry, ...] | None:
        before = self.entries
        entries = entries_of(tasks)
        known = self._tasks
        self._tasks = {
            task.id: msgspec.structs.replace(entry, active_form=known[task.id].active_form)
            if task.id in known
            else entry
            for task, entry in zip(tasks, entries, strict=True)
        }
        return self.entries if self.entries != before else None

    def _add(self, task: TodoWire, detail: ToolDetail | None) -> tuple[PlanEntry, ...] | None:
        if task.id in self._tasks:
            return None
        written = detail.entries if isinstance(detail, TodoDetail) and detail.entries else entries_of((task,))
        self._tasks[task.id] = written[0]
        return self.entries

    def _change(self, task: str, status: str) -> tuple[PlanEntry, ...] | None:
        entry = self._tasks.get(task)
        if entry is None:
            return None
        if status == "deleted":
            del self._tasks[task]
        else:
            self._tasks[task] = msgspec.structs.replace(entry, status=STATUSES.get(status, "pending"))
        return self.entries

    @property
    def entries(self) -> tuple[PlanEntry, ...]:
        """The list as it stands."""
        return tuple(self._tasks.values())
