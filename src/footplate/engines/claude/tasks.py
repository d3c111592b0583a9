"""Work beside the turn: sub-agents and commands, in the foreground or the background."""

from __future__ import annotations

from typing import Final, Literal

from footplate.engines.claude.ledger import Ledger, Task
from footplate.engines.claude.systems import BackgroundTasks, TaskLine, TaskUpdate
from footplate.events.ids import TaskId, ToolCallId
from footplate.events.model import TaskStarted, TaskStatus, TaskUpdated
from footplate.events.tools import CommandDetail, SubagentDetail

TaskKind = Literal["agent", "command", "other"]

KINDS: Final[dict[str, TaskKind]] = {"local_agent": "agent", "remote_agent": "agent", "local_bash": "command"}
STATUSES: Final[dict[str, TaskStatus]] = {
    "running": "running",
    "completed": "completed",
    "failed": "failed",
    "stopped": "stopped",
    "killed": "stopped",
}


class Tasks:
    """The tasks of one process.

    A task's end is told twice, first by `task_updated` (only the status), then by `task_notification` (with summary
    and output file): the second one ends it.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._background: frozenset[str] = frozenset()
        self.ended_between_turns = False

    def started(self, line: TaskLine) -> None:
        """A task began."""
        if not line.task_id or not self._ledger.start_task(self._describe(line)):
            self._ledger.ignore("system/task_started")

    def progressed(self, line: TaskLine) -> None:
        """A task says what it is at."""
        if line.task_id not in self._ledger.tasks:
            self._ledger.ignore("system/task_progress")
            return
        self._ledger.out.append(TaskUpdated(task=TaskId(line.task_id), note=line.description))

    def updated(self, line: TaskUpdate) -> None:
        """A task changed."""
        task = self._ledger.tasks.get(line.task_id)
        status = STATUSES.get(line.patch.status)
        background = line.patch.is_backgrounded
        if task is None or (status is None and background is None and not line.patch.description):
            self._ledger.ignore("system/task_updated")
            return
        if status is not None and status != "running":
            task.status = status
        if background is not None:
            task.background = background
        self._ledger.out.append(
            TaskUpdated(task=task.id, status=status, background=background, note=line.patch.description)
        )

    def notified(self, line: TaskLine) -> None:
        """A task is over."""
        if not line.task_id or line.task_id in self._ledger.ended_tasks:
            self._ledger.ignore("system/task_notification")
            return
        task = self._ledger.tasks.get(line.task_id) or self._late(line)
        status = STATUSES.get(line.status, "completed")
        self._ledger.end_task(
            task,
            "completed" if status == "running" else status,
            summary=line.summary,
            output_file=line.output_file,
        )
        self.ended_between_turns = self._ledger.turn is None

    def listed(self, line: BackgroundTasks) -> None:
        """The whole list of what runs in the background."""
        self._background = frozenset(task.task_id for task in line.tasks)
        moved = [task for task in self._ledger.tasks.values() if task.id in self._background and not task.background]
        for task in moved:
            task.background = True
            self._ledger.out.append(TaskUpdated(task=task.id, background=True))
        if not moved:
            self._ledger.ignore("system/background_tasks_changed")

    def agent_call(self, agent: str) -> ToolCallId | None:
        """The call that started an agent; an agent's id is that of its task."""
        task = self._ledger.tasks.get(agent)
        return None if task is None else task.call

    def _late(self, line: TaskLine) -> Task:
        """A task whose start we did not see: it began before we read."""
        self._ledger.start_task(self._describe(line))
        return self._ledger.tasks[line.task_id]

    def _describe(self, line: TaskLine) -> TaskStarted:
        call = ToolCallId(line.tool_use_id) if line.tool_use_id else None
        return TaskStarted(
            task=TaskId(line.task_id),
            kind=KINDS.get(line.task_type, "other"),
            title=line.description or line.summary,
            prompt=line.prompt,
            agent_type=line.subagent_type,
            background=self._is_background(line),
            call=call,
        )

    def _is_background(self, line: TaskLine) -> bool:
        """What the line says (2.1.325), else what the call asked for."""
        if line.is_backgrounded is not None:
            return line.is_backgrounded
        call = self._ledger.calls.get(line.tool_use_id)
        asked = call is not None and isinstance(call.detail, CommandDetail | SubagentDetail) and call.detail.background
        return asked or line.task_id in self._background
