"""Fixtures of the end-to-end tests: the scripted model, and a world per test in which nothing may be left running."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from footplate.testing.agents import ClaudeVersion
from footplate.testing.messages import ScriptedMessages
from tests.e2e.example_world import alone, served, tools
from tests.e2e.pages import open_browser
from tests.e2e.world import World, wait_until_gone

__all__ = ["alone", "served", "tools"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.e2e)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test that asks for a CLI runs on the newest; on the older one too where it matters, or when asked."""
    if "claude_version" not in metafunc.fixturenames:
        return
    both = metafunc.definition.get_closest_marker("both_versions") or metafunc.config.getoption("--all-versions")
    metafunc.parametrize("claude_version", ["new", "old"] if both else ["new"])


@pytest.fixture
def world(
    tmp_path: Path, messages: ScriptedMessages, claude_version: ClaudeVersion, request: pytest.FixtureRequest
) -> Iterator[World]:
    """A world of this test's own; nothing of it may be left running afterwards."""
    made = World(tmp_path, messages, request.node.name.replace("[", "-").strip("]"), claude_version)
    yield made
    wait_until_gone(str(made.home))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """One browser for all page tests of this worker; each visit has a profile of its own."""
    async with open_browser() as opened:
        yield opened
