"""Commands that packages bring, and their buttons: found by entry points, routed by sealed data, each to its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from footplate.chat.command import GROUP
from footplate.chat.packages import entries
from tests.chat.bench import Bench, answered

POINTS = {"dice": "create", "broken": "broken", "cancel": "create", "Bad-Name": "create"}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with entry points, as pip leaves it."""
    folder = tmp_path / "site" / "footplate_dice-0.1.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: footplate-dice\nVersion: 0.1\n")
    lines = "\n".join(f"{name} = tests.chat.dice:{made}" for name, made in POINTS.items())
    (folder / "entry_points.txt").write_text(f"[{GROUP}]\n{lines}\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    entries.cache_clear()
    yield
    entries.cache_clear()


@pytest.mark.usefixtures("package")
async def test_a_command_of_a_package_answers_and_its_buttons_call_it(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    async with bench.bridge():
        menu = cast("list[dict[str, str]]", bench.bots.calls("setMyCommands")[-1].parameters["commands"])
        named = {each["command"]: each["description"] for each in menu}
        assert named["dice"] == "throw a dice"
        assert named["cancel"].startswith("stop what runs")
        assert "broken" not in named
        assert [word for word in ("'broken'", "'cancel'", "'Bad-Name'") if word not in caplog.text] == []
        await bench.me.write("/dice 3")
        await bench.bots.until(lambda: bench.me.sees("3 eyes"))
        thrown = bench.me.find("3 eyes")
        assert thrown.labels == ["again", "ask", "break"]
        await bench.me.press("again", on=thrown)
        await bench.bots.until(lambda: bench.me.sees("4 eyes"))
        assert bench.me.find("4 eyes").id == thrown.id
    async with bench.bridge():  # the same buttons, after a restart
        shown = bench.me.room.bubbles[thrown.id]
        data = shown.buttons[0][0]["callback_data"]
        stranger = await bench.bots.push_press(666, shown, data)
        await bench.bots.until(lambda: bench.bots.toasts.get(stranger) == "you may not use this bot.")
        await bench.me.press("ask", on=shown)
        await answered(bench, "mock: thrown by user7")
        assert bench.me.room.bubbles[thrown.id].text == "asked the agent"
        await bench.me.write("/dice 5")
        await bench.bots.until(lambda: bench.me.sees("5 eyes"))
        foreign = await bench.me.press("again", on=bench.me.find("mock: thrown"), data=data)
        await bench.bots.until(lambda: bench.me.toast(foreign) == "this button belongs to another message.")
        await bench.me.press("break", on=bench.me.find("5 eyes"))
        await bench.bots.until(lambda: bench.me.sees("✗ /dice failed: RuntimeError"))


async def test_without_the_package_its_name_is_a_prompt(bench: Bench) -> None:
    async with bench.bridge():
        await bench.me.write("/dice 3")
        await answered(bench, "mock: /dice 3")
