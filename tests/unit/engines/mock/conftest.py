from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.engines.mock.harness import Client, ProcessAgent, TaskAgent, environment, start, stop

FORMS = ("in_process", "stdio")


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> str:
    """Both forms of the agent; every promise holds for both."""
    return str(request.param)


@pytest.fixture(params=FORMS, scope="module")
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client whose agent serves all tests of a module, each in a session of its own."""
    agent = start(str(request.param), environment(), tmp_path_factory.mktemp("agent"))
    yield Client(agent)
    assert stop(agent) == 0


@pytest.fixture
def own_agent(form: str, tmp_path: Path) -> Iterator[TaskAgent | ProcessAgent]:
    """An agent of the test's own, which the test may end."""
    agent = start(form, environment(), tmp_path)
    yield agent
    stop(agent)
