"""What a person does in a chat, in the audit log."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from footplate.errors import StoreFull
from tests.chat.bench import ME, Bench
from tests.chat.test_files import send


async def acts(bridge: Any, act: str) -> list[dict[str, Any]]:
    rows = await bridge.kit.services.audit.trail.read()
    return [record for row in rows if (record := msgspec.json.decode(row.body))["act"] == act]


async def test_who_replaces_a_file_by_force_is_in_the_log(bench: Bench) -> None:
    (bench.work / "there.txt").write_text("old")
    async with bench.bridge() as bridge:
        await send(bench, "x.txt", b"new", "/file put --force new.txt")
        await bench.bots.until(lambda: bench.me.sees("saved new.txt"))
        assert await acts(bridge, "file.replace") == []
        await send(bench, "x.txt", b"new", "/file put --force there.txt")
        await bench.bots.until(lambda: bench.me.sees("saved there.txt"))
        (record,) = await acts(bridge, "file.replace")
    assert record["target"] == str(bench.work / "there.txt")
    assert (record["surface"], record["origin"]) == ("telegram", f"user {ME}")


async def test_who_sets_and_clears_the_mode_of_a_chat_is_in_the_log(bench: Bench) -> None:
    async with bench.bridge() as bridge:
        for words in ("plan", "plan", "clear"):
            await bench.me.write(f"/mode {words}")
        await bench.bots.until(lambda: bench.me.sees("permission mode: the default"))
        records = await acts(bridge, "session.mode")
        assert [record["detail"] for record in records] == [
            {"mode": "plan", "before": ""},
            {"mode": "", "before": "plan"},
        ]
        assert {record["target"].partition(" ")[0] for record in records} == {"chat"}
        assert {record["origin"] for record in records} == {f"user {ME}"}


async def test_a_mode_that_cannot_be_recorded_is_not_set(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(_records: object) -> None:
        raise StoreFull("the store", "the test says so")

    async with bench.bridge() as bridge:
        monkeypatch.setattr(bridge.kit.services.audit.trail, "append", refuse)
        await bench.me.write("/mode plan")
        await bench.bots.until(lambda: bench.me.sees("✗"))
        await bench.me.write("/mode")
        await bench.bots.until(lambda: bench.me.sees("permission mode: the default"))
        assert not bench.me.sees("permission mode: plan")
