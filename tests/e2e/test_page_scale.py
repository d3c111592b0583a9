"""The page under load: what it weighs, ten thousand items, a thousand deltas a second."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from playwright.async_api import Browser, expect

from footplate.events import model as m
from footplate.events.codec import encode
from footplate.events.content import TextBlock
from footplate.events.ids import EngineSessionId, MessageId, SessionId, ToolCallId, TurnId
from footplate.events.tools import CommandDetail
from footplate.store.transfer import Line, write_title
from tests.e2e.pages import visit
from tests.e2e.server import MINIMAL_PATH, running_server

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="session")]

ITEMS = 10_000
FIRST_LOAD = 150 * 1024
SESSION = SessionId("01PAGE00000000000000000000")
GAPS = """
() => new Promise((resolve) => {
  const gaps = [];
  let last = performance.now();
  const end = last + 3000;
  const tick = (now) => {
    gaps.push(now - last);
    last = now;
    if (now < end) requestAnimationFrame(tick); else resolve(gaps);
  };
  requestAnimationFrame(tick);
})
"""


def long_log(folder: Path) -> Path:
    """A session of ten thousand items: messages, and every third a command."""
    events: list[m.Event] = [
        m.SessionOpened(engine="mock", cwd=str(folder), title="A long one"),
        m.EngineAttached(engine="mock", engine_session_id=EngineSessionId("long")),
        m.TurnStarted(turn=TurnId("t1")),
    ]
    for number in range(ITEMS):
        name = f"m{number}"
        if number % 3:
            text = f"Answer {number}\n\n" + "with some words in it " * (number % 9)
            events.append(m.Message(message=MessageId(name), part=0, text=text))
            continue
        call = ToolCallId(name)
        detail = CommandDetail(command=f"make part-{number}", exit_code=0, output=f"part {number} done")
        events.append(m.ToolStarted(call=call, name="Bash", kind="command", title=f"make part-{number}", detail=detail))
        events.append(m.ToolEnded(call=call, ok=True, outcome="completed", content=(TextBlock(text="done"),)))
    events += [m.TurnEnded(turn=TurnId("t1"), ok=True, answer="done"), m.StateChanged(state="idle")]
    file = folder / "long.jsonl"
    bodies = [
        encode(m.Envelope(seq=seq, time=1_700_000_000.0 + seq, session=SESSION, event=event))
        for seq, event in enumerate(events, 1)
    ]
    lines = [msgspec.json.encode(Line(schema=m.SCHEMA_VERSION, envelope=msgspec.Raw(body))) for body in bodies]
    file.write_bytes(write_title(SESSION, len(lines)) + b"\n".join(lines) + b"\n")
    return file


def import_long(folder: Path) -> None:
    """Put that session into the store, as somebody brings one along."""
    environ = {"HOME": str(folder), "PATH": MINIMAL_PATH, "FOOTPLATE_DATA_DIR": str(folder / "data")}
    command = [sys.executable, "-m", "footplate", "store", "import", str(long_log(folder))]
    subprocess.run(command, env=environ, check=True, capture_output=True, timeout=60)


async def test_the_first_load_is_small_and_the_heavy_parts_come_later(browser: Browser, tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        async with visit(browser, server) as person:
            await person.arrive()
            loaded = await person.page.evaluate(
                """() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
                  .filter((each) => new URL(each.name).pathname.startsWith("/ui/"))
                  .map((each) => [new URL(each.name).pathname, each.encodedBodySize])"""
            )
    weight = sum(size for _, size in loaded)
    print(f"\nfirst load: {weight / 1024:.0f} KB gzipped in {len(loaded)} files")
    assert 10_000 < weight < FIRST_LOAD
    assert not any("highlight" in name for name, _ in loaded)


async def test_ten_thousand_items_open_scroll_and_are_searched(browser: Browser, tmp_path: Path) -> None:
    import_long(tmp_path)
    with running_server(tmp_path) as server:
        async with visit(browser, server) as person:
            page = person.page
            await person.arrive(f"/ui/sessions/{SESSION}")
            await person.sees(f"make part-{ITEMS - 1}")
            painted = await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
            shown = await page.evaluate("performance.now()")
            assert await page.locator(".row").count() < 200
            took = await page.evaluate(
                """async () => {
                  const box = document.querySelector(".timeline"), began = performance.now();
                  for (let step = 1; step <= 20; step += 1) {
                    box.scrollTop = (box.scrollHeight * step) / 21;
                    await new Promise(requestAnimationFrame);
                  }
                  return (performance.now() - began) / 20;
                }"""
            )
            print(
                f"\n10,000 items: first paint {painted:.0f} ms, open after {shown:.0f} ms, {took:.0f} ms a scroll step"
            )
            await page.keyboard.press("Control+f")
            await page.get_by_role("textbox", name="Find in conversation").fill("part-4200")
            await expect(page.get_by_text("1 of 1")).to_be_visible()
            await expect(page.locator(".card", has_text="part-4200")).to_be_in_viewport()
            await page.keyboard.press("Escape")
            await page.get_by_role("button", name="Jump to latest").click()
            await expect(page.locator(".card", has_text=f"make part-{ITEMS - 1}")).to_be_in_viewport()


async def test_a_thousand_deltas_a_second_do_not_stop_the_page(browser: Browser, tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        async with visit(browser, server) as person:
            await person.arrive()
            await person.start(tmp_path)
            await person.say("stream 4000 1")
            await person.sees("chunk 20")
            gaps = sorted(await person.page.evaluate(GAPS))
            middle, late = gaps[len(gaps) // 2], gaps[int(len(gaps) * 0.95)]
            print(f"\nwhile it streams: a frame per {middle:.0f} ms, 95 % in {late:.0f} ms, longest {gaps[-1]:.0f} ms")
            assert middle < 100
            await person.field.fill("still here")
            await expect(person.field).to_have_value("still here")
            await person.page.get_by_role("button", name="Stop", exact=True).click()
            await expect(person.page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)


async def test_a_text_of_megabytes_is_shown_in_part_and_kept_as_a_file(browser: Browser, tmp_path: Path) -> None:
    size = 60_000_000 if os.environ.get("FOOTPLATE_READERS") else 3_000_000
    with running_server(tmp_path) as server:
        async with visit(browser, server) as person:
            await person.arrive()
            await person.start(tmp_path, prompt=f"big {size}")
            page = person.page
            shown = page.locator(".said.agent .large-text")
            await expect(shown).to_contain_text(
                f"the beginning of a text of {size / 1e6:.{1 if size < 1e7 else 0}f} MB"
            )
            async with page.expect_download() as download:
                await shown.get_by_role("button", name="Download all of it").click()
            file = await (await download.value).path()
            assert file.stat().st_size == size
            await person.say("hello")
            await person.sees("mock: hello")
