"""Setting it up, running it beside a server, changing its settings, stopping it, and what doctor says."""

from __future__ import annotations

import asyncio
import signal
import sys
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from footplate.config.settings import load_settings
from footplate.errors import ConfigError, InvalidValue, LockHeld
from footplate.interfaces.telegram.checkup import check_telegram
from footplate.interfaces.telegram.opening import check_settings, token_lock
from footplate.interfaces.telegram.setup import find_chat_id, import_takopi, set_up
from footplate.runtime.checkup import Patient
from tests.chat.bench import GROUP, ME, Bench

ROOT = Path(__file__).resolve().parent.parent.parent
TAKOPI = """
default_engine = "claude"
watch_config = true
[transports.telegram]
bot_token = "1:x"
chat_id = 7
session_mode = "stateless"
message_overflow = "trim"
voice_transcription = true
surprise = 1
[transports.telegram.files]
enabled = true
uploads_dir = "inbox"
[projects.shop]
path = "/srv/shop"
worktrees_dir = ".trees"
chat_id = -1001
[claude]
model = "opus"
[pi]
provider = "x"
"""


def write(path: Path, text: str) -> None:
    path.write_text(text)


def read(path: Path) -> str:
    return path.read_text()


async def polled(bench: Bench, times: int) -> None:
    """Wait until so many polls have begun."""
    async with asyncio.timeout(10):
        while bench.bots.updates.polls < times:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@pytest.fixture
def config(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = bench.folder / "footplate.toml"
    path.write_text("# mine\ndefault_engine = 'mock'\n")
    monkeypatch.setenv("FOOTPLATE_CONFIG", str(path))
    monkeypatch.setenv("HOME", bench.environ["HOME"])
    return path


async def test_setup_learns_the_chat_from_the_first_message_and_keeps_the_rest(
    bench: Bench, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await bench.me.write("from before")
    setting_up = asyncio.create_task(set_up(bench.bots.token, bench.bots.url, "handoff"))
    await polled(bench, 2)
    await bench.me.write("hello")
    await setting_up
    telegram = load_settings({"FOOTPLATE_CONFIG": str(config)}).telegram
    assert (telegram.chat_id, telegram.allowed_user_ids, telegram.session_mode) == (ME, (ME,), "stateless")
    assert read(config).startswith("# mine")
    told = capsys.readouterr().out
    assert "the bot is @footplate_bot" in told
    assert "mock       ready" in told
    assert bench.bots.token not in told


async def test_setup_refuses_a_token_that_telegram_does_not_know(bench: Bench, config: Path) -> None:
    with pytest.raises(InvalidValue, match="a token that Telegram knows"):
        await set_up("1:wrong", bench.bots.url, "assistant")


async def test_setup_puts_a_broken_file_aside(bench: Bench, config: Path) -> None:
    write(config, "this is = not [ toml")
    setting_up = asyncio.create_task(set_up(bench.bots.token, bench.bots.url, "assistant"))
    await polled(bench, 2)
    await bench.me.write("hello")
    await setting_up
    assert read(config.with_name("footplate.toml.broken")) == "this is = not [ toml"


async def test_the_id_of_a_projects_chat_is_told_and_written(
    bench: Bench, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.bots.world.room(GROUP)
    write(
        config,
        f'[telegram]\nbot_token = "{bench.bots.token}"\nchat_id = {ME}\napi_url = "{bench.bots.url}"\n'
        f'[projects.shop]\npath = "{bench.work}"\n',
    )
    finding = asyncio.create_task(find_chat_id("shop"))
    await polled(bench, 2)
    await bench.bots.person(ME, GROUP).write("here")
    await finding
    assert capsys.readouterr().out.strip() == str(GROUP)
    assert load_settings({"FOOTPLATE_CONFIG": str(config)}).telegram.project_chats == {"shop": GROUP}


async def test_takopis_settings_become_ours_and_what_has_no_like_is_told(
    bench: Bench, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = bench.folder / "takopi.toml"
    write(source, TAKOPI)
    await import_takopi(source, force=False)
    told = capsys.readouterr().out
    settings = load_settings({"FOOTPLATE_CONFIG": str(config)})
    assert settings.telegram.bot_token == "1:x"
    assert settings.telegram.message_overflow == "trim"
    assert settings.telegram.voice.enabled
    assert settings.telegram.files.uploads_dir == "inbox"
    assert settings.telegram.project_chats == {"shop": -1001}
    assert settings.projects["shop"].worktrees_dir == ".trees"
    assert settings.engines["claude"] == {"model": "opus"}
    assert "transports.telegram.surprise: has no like here" in told
    assert "pi: " in told
    with pytest.raises(ConfigError, match="set up already"):
        await import_takopi(source, force=False)
    await import_takopi(source, force=True)


async def test_doctor_looks_at_token_chat_topics_and_voice(bench: Bench, config: Path) -> None:
    environ = {"FOOTPLATE_CONFIG": str(config)}
    patient = Patient(environ, bench.folder)
    assert [finding.text for finding in await check_telegram(patient)] == ["not set up"]
    bench.bots.world.room(GROUP, forum=True)
    base = f'[telegram]\nbot_token = "{bench.bots.token}"\napi_url = "{bench.bots.url}"\nallowed_user_ids = [7]\n'
    write(config, f"{base}chat_id = {GROUP}\n[telegram.topics]\nenabled = true\n[telegram.voice]\nenabled = true\n")
    found = {finding.text: finding.status for finding in await check_telegram(patient)}
    assert found["the bot is @footplate_bot"] == "ok"
    assert found[f"the bot may not make topics in chat {GROUP}"] == "fail"
    assert found["voice is on without a key"] == "warn"
    write(config, base.replace(bench.bots.token, "1:wrong") + "chat_id = 7\n")
    assert [finding.status for finding in await check_telegram(patient)] == ["fail"]
    write(config, base.replace("allowed_user_ids = [7]\n", ""))
    assert "nobody may use the bot" in (await check_telegram(patient))[0].text


@asynccontextmanager
async def process(bench: Bench, config: Path, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    env = {**bench.environ, "FOOTPLATE_CONFIG": str(config), "PYTHONPATH": str(ROOT / "src")}
    started = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "footplate", *arguments, env=env, stdout=asyncio.subprocess.PIPE
    )
    try:
        yield started
    finally:
        if started.returncode is None:
            started.kill()
        await started.communicate()


def configure(bench: Bench, config: Path, **changes: object) -> None:
    values = {
        "bot_token": bench.bots.token,
        "chat_id": ME,
        "api_url": bench.bots.url,
        "cwd": str(bench.work),
        **changes,
    }
    lines = [
        f"{name} = {str(value).lower() if isinstance(value, bool) else repr(value)}" for name, value in values.items()
    ]
    text = "\n".join(["default_engine = 'mock'", "[runtime]", "reattach_grace_s = 0", "[telegram]", *lines, ""])
    write(config, text)


async def test_serve_runs_the_bridge_follows_the_settings_and_drains_on_sigterm(bench: Bench, config: Path) -> None:
    configure(bench, config)
    async with process(bench, config, "serve", "--port", "0", "--no-token") as server:
        await bench.bots.until(lambda: bench.me.sees("footplate is ready"), within=30)
        await bench.me.write("hello")
        await bench.bots.until(lambda: bench.me.sees("mock --resume"), within=30)
        configure(bench, config, show_resume_line=False)
        for number in range(10):
            words = f"mock: try {number}"
            await bench.me.write(f"try {number}")
            await bench.bots.until(partial(bench.me.sees, words), within=30)
            if "mock --resume" not in bench.me.find(words).text:
                break
        assert "mock --resume" not in bench.me.answers[-1].text
        configure(bench, config, session_mode="nonsense")
        await bench.bots.until(lambda: bench.me.sees("those before stay in force"), within=30)
        await bench.me.write("still here")
        await bench.bots.until(lambda: bench.me.sees("mock: still here"), within=30)
        await bench.me.write("big 5000")
        await bench.bots.until(lambda: any("xxx" in text for text in bench.me.texts), within=30)
        server.send_signal(signal.SIGTERM)
        await asyncio.wait_for(server.communicate(), 30)
        assert server.returncode == 0
        assert sum(text.count("x" * 500) > 0 for text in bench.me.texts) == 2


async def test_a_bad_telegram_section_is_exit_code_2(bench: Bench, config: Path) -> None:
    write(config, '[telegram]\nbot_token = "1:x"\n')
    async with process(bench, config, "telegram") as bridge:
        assert await asyncio.wait_for(bridge.wait(), 30) == 2


async def test_a_second_bridge_of_the_same_bot_on_this_machine_is_refused(bench: Bench) -> None:
    async with token_lock(bench.bots.token):
        with pytest.raises(LockHeld):
            async with bench.bridge():
                pass


def test_settings_that_let_nobody_in_are_refused() -> None:
    settings = load_settings({"FOOTPLATE__TELEGRAM__BOT_TOKEN": "'1:x'", "FOOTPLATE__TELEGRAM__CHAT_ID": "-5"})
    with pytest.raises(ConfigError, match="nobody may use the bot"):
        check_settings(settings.telegram)


def test_the_example_of_takopi_is_toml() -> None:
    assert tomllib.loads(TAKOPI)
