"""A server for each test, and a client of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.unit.interfaces.http.served import Served, serve


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    """A server with a token."""
    async with serve(tmp_path) as running:
        yield running


@pytest.fixture
async def client(served: Served) -> AsyncIterator[httpx.AsyncClient]:
    """A client that may do everything."""
    async with served.client() as made:
        yield made
