"""What every test gets: a leak check (no child, task, thread or descriptor left), and a scripted model if it asks."""

from __future__ import annotations

import asyncio
import gc
import inspect
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from footplate.testing.messages import ScriptedMessages

SETTLE_S = 3.0


LONG = (
    "chat/",
    "simulation/test_determinism.py",
    "simulation/test_doors.py",
    "simulation/test_month.py",
    "unit/bench/",
    "unit/docs/test_curl_sessions.py",
    "unit/docs/test_curl.py",
    "unit/engines/claude/test_history.py",
    "unit/engines/claude/test_hostile.py",
    "unit/engines/claude/test_standing.py",
    "unit/engines/mock/test_triggers.py",
    "unit/events/test_reduce_cost.py",
    "unit/events/test_reduce_page.py",
    "unit/host/test_file_races.py",
    "unit/host/test_keeper.py",
    "unit/host/test_keepers.py",
    "unit/host/test_process.py",
    "unit/host/test_protocol.py",
    "unit/host/test_resources.py",
    "unit/host/test_sandbox.py",
    "unit/host/test_sweep.py",
    "unit/interfaces/http/test_catalog.py",
    "unit/host/test_repository.py",
    "unit/host/test_worktrees.py",
    "unit/interfaces/http/test_contract_v1.py",
    "unit/interfaces/http/test_session_socket.py",
    "unit/interfaces/http/test_deaf_peers.py",
    "unit/interfaces/http/test_files.py",
    "unit/interfaces/http/test_git.py",
    "unit/interfaces/http/test_processes.py",
    "unit/interfaces/http/test_projects.py",
    "unit/interfaces/http/test_push.py",
    "unit/interfaces/http/test_restarts.py",
    "unit/interfaces/http/test_acp_",
    "unit/interfaces/http/test_sessions_api.py",
    "unit/interfaces/http/test_terminals.py",
    "unit/chat/test_outbox_pace.py",
    "unit/chat/test_inbox.py",
    "unit/interfaces/test_local_backend.py",
    "unit/interfaces/test_nouns.py",
    "unit/runtime/acp/test_agent.py",
    "unit/runtime/test_children.py",
    "unit/runtime/test_full_disk.py",
    "unit/runtime/test_installs.py",
    "unit/runtime/test_memory.py",
    "unit/runtime/test_notify.py",
    "unit/runtime/test_projects.py",
    "unit/runtime/test_skills.py",
    "unit/runtime/test_warm.py",
    "unit/store/test_projection.py",
    "unit/store/test_sqlite_faults.py",
    "unit/testing/test_messages_server.py",
    "contract/test_runner_answers.py",
)
"""What starts many processes or measures: it runs with the end-to-end tests, so that the rest answers at once."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    tests = Path(__file__).parent
    for item in items:
        if item.path.relative_to(tests).as_posix().startswith(LONG):
            item.add_marker(pytest.mark.long)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all-versions", action="store_true", help="run every end-to-end test on every Claude CLI")


def _children() -> set[int]:
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        try:
            found.update(int(pid) for pid in (task / "children").read_text().split())
        except FileNotFoundError:
            continue  # the thread ended while we looked
    return found


def _descriptors() -> dict[int, str]:
    found: dict[int, str] = {}
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found[int(entry.name)] = str(entry.readlink())
        except FileNotFoundError:
            continue  # the descriptor of the listing itself
    return found


def _threads() -> set[threading.Thread]:
    """Every thread but those of the loop's own pool, which ends with the loop."""
    return {thread for thread in threading.enumerate() if not thread.name.startswith("asyncio_")}


def _settled(left: Callable[[], object]) -> object:
    """What is still left once things had time to settle; empty when nothing is."""
    deadline = time.monotonic() + SETTLE_S
    while rest := left():
        gc.collect()
        if time.monotonic() > deadline:
            return rest
        time.sleep(0.01)
    return None


@pytest.fixture(scope="session")
def messages() -> Iterator[ScriptedMessages]:
    """One scripted model for all tests of this worker; requests are told apart by key."""
    with ScriptedMessages.start() as api:
        yield api


@pytest.fixture
async def tasks_left() -> AsyncIterator[None]:
    """No task of the test is left on its loop."""
    before = asyncio.all_tasks()
    yield
    left = {task for task in asyncio.all_tasks() - before if not task.done()} - {asyncio.current_task()}
    assert not left, f"tasks left behind: {left}"


@pytest.fixture(autouse=True)
def nothing_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """No child, thread or descriptor is left that was not there before."""
    function = getattr(request, "function", None)
    if function is not None and inspect.iscoroutinefunction(function):
        request.getfixturevalue("tasks_left")
    if request.node.get_closest_marker("e2e"):
        request.getfixturevalue("messages")  # lives as long as the session, so it must not begin within the test
        for name in ("browser", "served", "tools"):
            if name in request.fixturenames:
                request.getfixturevalue(name)  # as long-lived; a `served` of a unit test is of that test alone
    children, descriptors, threads = _children(), set(_descriptors()), _threads()
    yield
    assert not _settled(lambda: _children() - children), f"children left behind: {_children() - children}"
    left = _settled(lambda: {n: to for n, to in _descriptors().items() if n not in descriptors})
    assert not left, f"descriptors left behind: {left}"
    assert not _settled(lambda: _threads() - threads), f"threads left behind: {_threads() - threads}"
