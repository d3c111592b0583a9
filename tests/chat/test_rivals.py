"""Rows that beat the bridges before: time-outs, budgets, waiting states, dead sessions, sizes."""

from __future__ import annotations

import ast
import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest

from footplate.chat.outbox.buckets import Pace
from footplate.chat.talk.turn import Waiting
from footplate.events import model as m
from tests.chat.bench import GROUP, ME, Bench, answered, asked

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCE = ROOT / "src" / "footplate"
MODULES = sorted([*(SOURCE / "chat").rglob("*.py"), *(SOURCE / "interfaces" / "telegram").rglob("*.py")])
SETTINGS_OF_AGENTS = "footplate.engines.commands"
"""Which agents there are, for the command that starts a bridge: it names none of them."""
MEMORY_KB = 60_000
IMPORT_S = 0.150


async def test_a_request_expires_by_its_own_timer_and_says_so(bench: Bench) -> None:
    async with bench.bridge(request_timeout_s=0.5):
        await asked(bench)
        await bench.bots.until(lambda: bench.me.sees("unanswered: nobody answered in time"))
        assert bench.me.find("unanswered").labels == []


async def test_without_a_time_out_a_request_waits(bench: Bench) -> None:
    async with bench.bridge() as bridge:
        assert bridge.kit.all_settings.runtime.request_timeout_s is None
        await asked(bench)
        await asyncio.sleep(0.5)
        assert "Allow once" in bench.me.find("permission · mock").labels


async def test_at_its_budget_a_session_asks_before_it_goes_on(bench: Bench) -> None:
    async with bench.bridge():
        await bench.me.write("usage")
        await answered(bench, "usage sent")
        await bench.me.write("/budget 0.01")
        await bench.bots.until(lambda: bench.me.sees("budget: $0.01"))
        await bench.me.write("one more")
        await bench.bots.until(lambda: bench.me.sees("Go on?"))
        assert not bench.me.sees("mock: one more")
        await bench.me.press("Stop here")
        await bench.bots.until(lambda: bench.me.sees("answered by user7 from telegram: Stop here"))
        assert not bench.me.sees("mock: one more")


def test_the_header_says_what_the_session_waits_for_by_the_protocols_own_word() -> None:
    waiting = Waiting()
    waiting.feed(m.StateChanged(state="waiting", waiting_for="you"))
    assert waiting.label == "waiting for you"
    waiting.feed(m.StateChanged(state="parked", waiting_for="limit", until=time.time()))
    assert waiting.note.startswith("waiting for a limit until ")
    waiting.feed(m.StateChanged(state="running", waiting_for="model"))
    assert (waiting.label, waiting.note) == ("working", "")


async def test_a_dead_resume_line_is_told_in_the_agents_words_with_a_button_to_begin_anew(bench: Bench) -> None:
    async with bench.bridge(session_mode="stateless"):
        await bench.me.write("hello\nmock --resume mock-gone")
        await bench.bots.until(lambda: bench.me.sees("error · mock"))
        assert "mock-gone" in bench.me.find("error · mock").text
        assert bench.me.find("error · mock").labels == ["start new"]
        await bench.me.press("start new")
        await answered(bench, "mock: hello")


async def test_a_twelve_step_run_is_edited_once_a_second_at_most(bench: Bench) -> None:
    async with bench.bridge(pace=Pace(), tick_s=0.2):
        begun = time.monotonic()
        await bench.me.write("slow 2500")
        await answered(bench, "slow end")
        took = time.monotonic() - begun
        assert len(bench.bots.calls("editMessageText")) <= took + 2


async def test_buttons_are_visible_within_two_seconds_on_a_quiet_chat_at_the_real_pace(bench: Bench) -> None:
    async with bench.bridge(pace=Pace()) as bridge:
        await bench.me.write("permission")
        await bench.bots.until(lambda: any("Allow once" in bubble.labels for bubble in bench.me.answers))
        shown = time.time()
        opened = (await bridge.kit.hub.requests()).items[0].opened_at
        assert shown - opened < 2.0
        await bench.me.press("Deny")
        await answered(bench, "permission: reject")


async def test_a_busy_group_does_not_delay_a_private_chat(bench: Bench) -> None:
    bench.bots.world.room(GROUP)
    slow = Pace(private_per_s=500, private_burst=50, settle_s=0.05, retry_s=0.05)
    async with bench.bridge(pace=slow, project_chats={"x": GROUP}, allowed_user_ids=(ME,)):
        for number in range(6):
            await bench.bots.person(ME, GROUP).write(f"/new@footplate_bot {number}")
        await bench.me.write("hello")
        begun = time.monotonic()
        await answered(bench, "mock: hello")
        assert time.monotonic() - begun < 5.0
        assert len(bench.bots.person(ME, GROUP).answers) < 6


async def test_when_telegram_is_down_everything_comes_when_it_is_back(bench: Bench) -> None:
    async with bench.bridge():
        await bench.me.write("slow 300")
        await bench.bots.until(lambda: bench.me.sees("working"))
        bench.bots.refuse_all = 502
        await bench.bots.until(lambda: len([call for call in bench.bots.log if call.status == 502]) > 5)
        bench.bots.refuse_all = 0
        await answered(bench, "slow end")
        assert len(bench.me.answers) == 1


def test_no_module_is_long_no_function_is_long_and_no_room_knows_an_engine() -> None:
    long_modules = [path.name for path in MODULES if len(path.read_text().splitlines()) > 500]
    long_functions, strangers = [], []
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (node.end_lineno or 0) - node.lineno > 60:
                long_functions.append(f"{path.name}:{node.name}")
            module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
            if module.startswith("footplate.engines") and module != SETTINGS_OF_AGENTS:
                strangers.append(f"{path.name} imports {module}")
    assert (long_modules, long_functions, strangers) == ([], [], [])


def test_the_bridge_costs_little_to_import() -> None:
    code = (
        "import time, footplate.runtime.service, footplate.runtime.backend, footplate.runtime.roster\n"
        "begun = time.process_time()\n"
        "import footplate.interfaces.telegram.opening, footplate.chat.running\n"
        "print(time.process_time() - begun)"
    )
    env = {"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"}
    took = [
        float(subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True).stdout)
        for _ in range(3)
    ]
    assert min(took) < IMPORT_S, took


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
async def test_the_bridge_alone_with_ten_chats_stays_small_and_logs_neither_token_nor_prompt(bench: Bench) -> None:
    people = list(range(ME, ME + 10))
    settings = bench.folder / "footplate.toml"
    _write(
        settings,
        f"default_engine = 'mock'\n[telegram]\nbot_token = '{bench.bots.token}'\nchat_id = {ME}\nbanner = false\n"
        f"allowed_user_ids = {people}\napi_url = '{bench.bots.url}'\ncwd = '{bench.work}'\n",
    )
    env = {**bench.environ, "FOOTPLATE_CONFIG": str(settings), "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "footplate", "telegram", "--log-level", "debug"]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, env=env, stdout=pipe, stderr=pipe)
    try:
        for user in people:
            await bench.bots.person(user).write("tool of my secret prompt")
        await bench.bots.until(lambda: all(bench.bots.person(user).sees("tool done") for user in people), within=50)
        used = _memory_kb(process.pid)
    finally:
        process.terminate()
        _, logged = await process.communicate()
    assert used < MEMORY_KB
    lines = logged.decode().splitlines()
    assert any('msg="the Telegram bridge runs as @footplate_bot"' in line for line in lines)
    assert all(line.startswith("time=") for line in lines), lines
    assert bench.bots.token.partition(":")[2] not in logged.decode()
    assert "secret prompt" not in logged.decode()


def _write(path: Path, text: str) -> None:
    path.write_text(text)


def _memory_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS:")).split()[1])
