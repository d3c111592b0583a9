"""A bridge in this process: the scripted Bot API, a real store, the mock agent; as fast as it can be."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec

from footplate.chat.bridge import Bridge
from footplate.chat.outbox.buckets import Pace
from footplate.config.projects import ProjectSettings
from footplate.config.settings import RuntimeSettings, Settings
from footplate.config.telegram import TelegramSettings
from footplate.interfaces.telegram.opening import open_bridge
from footplate.runtime.service import Service, open_service
from footplate.testing.bots import Bubble, Person, ScriptedBots
from footplate.testing.bots.limits import Rates

FAST = Pace(
    private_per_s=500,
    private_burst=50,
    group_per_s=500,
    group_burst=50,
    overall_per_s=1000,
    settle_s=0.05,
    retry_s=0.05,
    longest_retry_s=0.2,
    draft_s=0.01,
)
FREE = Rates(chat_per_s=1000, chat_burst=1000, group_per_min=10_000, overall_per_s=10_000)
ME = 7
OTHER = 8
GROUP = -1_000_000_000_077


class Bench:
    """Telegram on one side, a bridge (or none, or one after the other) on the other."""

    def __init__(self, bots: ScriptedBots, folder: Path) -> None:
        self.bots = bots
        self.folder = folder
        self.me: Person = bots.person(ME)
        self.environ = {
            "HOME": str(folder / "home"),
            "PATH": "/usr/bin:/bin",
            "FOOTPLATE_DATA_DIR": str(folder / "data"),
            "FOOTPLATE_MOCK_PACE_MS": "0",
        }
        self.work = folder / "work"
        self.work.mkdir(exist_ok=True)

    def settings(
        self, *, projects: dict[str, str] | None = None, request_timeout_s: float | None = None, **changes: object
    ) -> Settings:
        """Settings of a bridge for one person; `projects` by their paths."""
        base = TelegramSettings(
            bot_token=self.bots.token,
            chat_id=ME,
            api_url=self.bots.url,
            cwd=str(self.work),
            banner=False,
            tick_s=0.3,
        )
        telegram = msgspec.structs.replace(base, **changes)
        runtime = RuntimeSettings(reattach_grace_s=0, request_timeout_s=request_timeout_s)
        known = {alias: ProjectSettings(path=path) for alias, path in (projects or {}).items()}
        return Settings(default_engine="mock", telegram=telegram, runtime=runtime, projects=known)

    @asynccontextmanager
    async def service(self, settings: Settings) -> AsyncIterator[Service]:
        """A runtime on the data folder."""
        async with open_service(self.environ, settings) as service:
            yield service

    @asynccontextmanager
    async def bridge(
        self,
        *,
        pace: Pace = FAST,
        projects: dict[str, str] | None = None,
        request_timeout_s: float | None = None,
        **changes: object,
    ) -> AsyncIterator[Bridge]:
        """A bridge at work."""
        settings = self.settings(projects=projects, request_timeout_s=request_timeout_s, **changes)
        async with AsyncExitStack() as stack:
            service = await stack.enter_async_context(self.service(settings))
            yield await stack.enter_async_context(open_bridge(service, settings, pace=pace, poll_s=2))


@asynccontextmanager
async def open_bench(folder: Path) -> AsyncIterator[Bench]:
    """A bench with a Bot API that takes messages as fast as they come."""
    async with ScriptedBots(rates=FREE) as bots:
        yield Bench(bots, folder)


async def asked(bench: Bench, prompt: str = "permission", words: str = "permission · mock") -> Bubble:
    """Have the agent ask something; the message with the buttons."""
    await bench.me.write(prompt)
    await bench.bots.until(lambda: bench.me.sees(words))
    return bench.me.find(words)


async def answered(bench: Bench, words: str) -> Bubble:
    """Wait for an answer that holds these words; progress is gone by then."""
    await bench.bots.until(lambda: bench.me.sees(words) and settled(bench))
    return bench.me.find(words)


def settled(bench: Bench) -> bool:
    """Whether no progress message is left."""
    return not any("cancel" in bubble.labels for bubble in bench.me.answers)
