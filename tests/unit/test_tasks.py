"""Every task has an owner, and the failure of one is known at once."""

from __future__ import annotations

import ast
import asyncio
import logging
from pathlib import Path

import pytest

import footplate
from footplate.tasks import Tasks, spawn

PACKAGE = Path(footplate.__file__).parent
STARTERS = {"create_task", "ensure_future", "TaskGroup"}


async def fail() -> None:
    raise OSError("the disk is gone")


def _modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "conformance" not in path.parts)


def test_only_the_tasks_module_starts_a_task() -> None:
    strays = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in _modules()
        if path != PACKAGE / "tasks.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in STARTERS
    ]
    assert strays == []


def test_no_task_is_started_and_forgotten() -> None:
    forgotten = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in _modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id == "spawn"
    ]
    assert forgotten == []


async def test_a_failure_is_logged_at_once_under_the_name_of_the_task(caplog: pytest.LogCaptureFixture) -> None:
    told: list[BaseException] = []
    task = spawn(fail(), name="reader of session 7", on_failure=told.append)
    await asyncio.wait((task,))
    await asyncio.sleep(0)
    assert [record.message for record in caplog.records] == [
        "task 'reader of session 7' failed: OSError: the disk is gone"
    ]
    assert caplog.records[0].levelno == logging.ERROR
    assert [str(problem) for problem in told] == ["the disk is gone"]


async def test_an_awaited_task_leaves_its_exception_to_its_owner(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(OSError, match="the disk is gone"):
        await spawn(fail(), name="lock", awaited=True)
    assert caplog.records == []


async def test_an_owner_cancels_its_tasks_in_order_and_waits_for_them() -> None:
    ended: list[int] = []

    async def wait(number: int) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(number)

    tasks = Tasks()
    for number in range(5):
        tasks.spawn(wait(number), name=f"worker {number}")
    await asyncio.sleep(0)
    assert len(tasks) == 5
    await tasks.cancel()
    await asyncio.sleep(0)
    assert (ended, len(tasks)) == ([0, 1, 2, 3, 4], 0)
