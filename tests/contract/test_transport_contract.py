"""The contract of transports, on every one that there is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from footplate.testing.transports import CASES, Case, Stage
from tests.contract.stages import line_stage, telegram_stage

pytestmark = pytest.mark.timeout(60)
STAGES: dict[str, Callable[[Path], AbstractAsyncContextManager[Stage]]] = {
    "telegram": telegram_stage,
    "line": line_stage,
}


@pytest.fixture(params=STAGES)
async def stage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stage]:
    async with STAGES[request.param](tmp_path) as made:
        yield made


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
async def test_a_transport_keeps_the_contract(case: Case, stage: Stage) -> None:
    await case(stage)
