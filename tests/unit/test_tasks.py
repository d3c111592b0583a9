"""Every task has an owner, and the failure of one is known at once."""

from __future__ import annotations

import ast
import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

import footplate
from footplate.tasks import Tasks, complete, spawn

PACKAGE = Path(footplate.__file__).parent
STARTERS = {"create_task", "ensure_future", "TaskGroup"}


async def fail() -> None:
    raise OSError("the disk is gone")


def _nodes(*names: str) -> Iterator[tuple[str, ast.AST]]:
    """The syntax of the modules in which one of the names stands, each node with its file."""
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text()
        if "conformance" not in path.parts and any(name in text for name in names):
            yield from ((str(path.relative_to(PACKAGE)), node) for node in ast.walk(ast.parse(text)))


def test_only_the_tasks_module_starts_a_task() -> None:
    starting = [
        (file, node.lineno)
        for file, node in _nodes(*STARTERS)
        if isinstance(node, ast.Attribute) and node.attr in STARTERS
    ]
    assert {file for file, _ in starting} == {"tasks.py"}, starting


def test_no_task_is_started_and_forgotten() -> None:
    forgotten = [
        f"{file}:{node.lineno}"
        for file, node in _nodes("spawn")
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


async def test_work_is_completed_though_its_caller_is_cancelled_again_and_again() -> None:
    go_on, done = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        await go_on.wait()
        done.set()

    task = spawn(complete(work(), name="work"), name="caller")
    for _ in range(3):
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    go_on.set()
    await asyncio.wait((task,))
    assert (task.cancelled(), done.is_set()) == (True, True)


async def test_completed_work_gives_its_result_or_its_error() -> None:
    async def work() -> int:
        return 7

    assert await complete(work(), name="work") == 7
    with pytest.raises(OSError, match="the disk is gone"):
        await complete(fail(), name="fails")


async def test_the_cancellation_of_a_caller_whose_work_fails_names_the_failure() -> None:
    task = spawn(complete(fail(), name="fails"), name="caller")
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    assert isinstance(caught.value.__cause__, OSError)
