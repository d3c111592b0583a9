"""Health: 503 with a reason while nothing can be stored, and when the store is not what it was."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from footplate.errors import StoreFull
from footplate.store.sqlite import SqliteStore
from tests.unit.interfaces.http.reading import get
from tests.unit.interfaces.http.served import serve

SIZE = 400_000


async def test_a_full_store_is_told_and_so_is_its_recovery(tmp_path: Path) -> None:
    async with (
        await SqliteStore.open(tmp_path / "store", max_bytes=SIZE) as store,
        serve(tmp_path, store=store) as served,
        served.client() as client,
    ):
        assert await get(client, "/v1/health") == {"status": "ok"}
        with pytest.raises(StoreFull):
            await store.documents("n").put("k", b"x" * SIZE)
        failing = await get(client, "/v1/health", 503)
        assert failing["status"] == "failing"
        assert [(each["name"], each["ok"]) for each in failing["checks"]] == [("store", False)]
        assert "database or disk is full" in failing["checks"][0]["detail"]
        store._file.writer.execute("PRAGMA max_page_count = 100000").fetchone()
        await store.documents("n").put("k", b"x" * SIZE)
        assert await get(client, "/v1/health") == {"status": "ok"}


async def test_a_data_folder_that_was_removed_is_noticed(tmp_path: Path) -> None:
    async with (
        await SqliteStore.open(tmp_path / "store") as store,
        serve(tmp_path, store=store) as served,
        served.client() as client,
    ):
        assert (await get(client, "/v1/health", deep=1))["status"] == "ok"
        shutil.rmtree(tmp_path / "store")
        failing = await get(client, "/v1/health", 503, deep=1)
        assert (failing["checks"][0]["name"], failing["checks"][0]["ok"]) == ("store", False)
        assert "No such file or directory" in failing["checks"][0]["detail"]
