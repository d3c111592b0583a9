"""Terminals and background work of version 1 as the draft of version 2 has them: things that can be cancelled.

Version 1 tells a command's terminal in the `_meta` of its call; in the draft it stands by itself. A call whose work
goes on in the background has not ended in the draft: its end is that of the work. Pure, JSON in and out.
"""

from __future__ import annotations

import base64
from typing import Any, Final

import msgspec

Json = dict[str, Any]
CAN_CANCEL: Final[Json] = {"cancel": {}}
STATUSES: Final = {"completed": "completed", "failed": "failed", "stopped": "cancelled", "lost": "failed"}
TERMINAL: Final = ("terminal_info", "terminal_output", "terminal_exit")


class _Running(msgspec.Struct):
    task: str
    terminal: Json | None = None
    """The end of its terminal, held back until the work has ended."""


class Work:
    """What runs beside the turns of the sessions of one connection."""

    def __init__(self) -> None:
        self._running: dict[tuple[str, str], _Running] = {}
        self._terminals: set[tuple[str, str]] = set()

    def task(self, session: str, name: object, *, terminal: bool = False) -> str | None:
        """The task behind a call or a terminal that can be cancelled."""
        key = (session, str(name))
        found = self._running.get(key)
        return None if found is None or (terminal and key not in self._terminals) else found.task

    def tell(self, session: str, update: Json) -> list[Json]:
        """A tool call, and what is told of its terminal and its work with it."""
        key = (session, str(update["toolCallId"]))
        meta = update.get("_meta") or {}
        terminal = self._terminal(key, meta)
        call = {name: value for name, value in update.items() if name != "_meta"}
        rest = {name: value for name, value in meta.items() if name not in TERMINAL}
        if rest:
            call["_meta"] = rest
        task = (rest.get("footplate") or {}).get("task")
        if task is not None:
            terminal += self._task(key, call, task)
        elif key in self._running and call.get("status") in STATUSES:
            call["status"] = "in_progress"
        return [*terminal, call]

    def _task(self, key: tuple[str, str], call: Json, task: Json) -> list[Json]:
        if task["status"] == "running":
            self._running[key] = _Running(task["id"])
            call |= {"capabilities": CAN_CANCEL, "status": "in_progress"}
            return [_terminal_update(key, capabilities=CAN_CANCEL)] if key in self._terminals else []
        ended = self._running.pop(key, None)
        call |= {"capabilities": None, "status": STATUSES[task["status"]]}
        if key not in self._terminals:
            return []
        self._terminals.discard(key)
        status = (ended.terminal if ended is not None else None) or {}
        return [_terminal_update(key, capabilities=None, exitStatus=status)]

    def _terminal(self, key: tuple[str, str], meta: Json) -> list[Json]:
        found: list[Json] = []
        info, output, end = (meta.get(name) for name in TERMINAL)
        if info is not None and key not in self._terminals:
            self._terminals.add(key)
            found.append(_terminal_update(key, **({"cwd": info["cwd"]} if info.get("cwd") else {})))
        if output is not None:
            data = base64.b64encode(output["data"].encode()).decode()
            found.append({"sessionUpdate": "terminal_output_chunk", "terminalId": key[1], "data": data})
        if end is not None:
            status = {"exitCode": end.get("exit_code"), "signal": end.get("signal")}
            status = {name: value for name, value in status.items() if value is not None}
            running = self._running.get(key)
            if running is not None:
                running.terminal = status
            else:
                self._terminals.discard(key)
                found.append(_terminal_update(key, exitStatus=status))
        return found


def _terminal_update(key: tuple[str, str], **more: object) -> Json:
    return {"sessionUpdate": "terminal_update", "terminalId": key[1], **more}
