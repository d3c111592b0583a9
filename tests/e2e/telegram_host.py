"""`footplate telegram` as a process of its own, against the scripted Bot API of the test."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from footplate.testing.bots import Bubble, Person, ScriptedBots
from footplate.testing.bots.limits import Rates
from tests.e2e.world import ROOT, World

ME = 7
FREE = Rates(chat_per_s=1000, chat_burst=1000, group_per_min=10_000, overall_per_s=10_000)
PATIENCE_S = 60.0


class TelegramHost:
    """Telegram, and one bridge after the other."""

    def __init__(self, world: World, bots: ScriptedBots) -> None:
        self.world = world
        self.bots = bots
        self.me: Person = bots.person(ME)
        self.process: asyncio.subprocess.Process | None = None
        settings = world.home / "footplate.toml"
        settings.write_text(
            f'[telegram]\nbot_token = "{bots.token}"\nchat_id = {ME}\napi_url = "{bots.url}"\nbanner = false\n'
            f'cwd = "{world.work}"\ntick_s = 1.0\n[runtime]\nreattach_grace_s = 60\n'
        )
        self._env = {**world.env, "FOOTPLATE_CONFIG": str(settings), "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}

    async def start(self) -> None:
        """Start a bridge; it is ready when it polls."""
        polls = len(self.bots.calls("deleteWebhook"))
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "footplate",
            "telegram",
            env=self._env,
            cwd=self.world.work,
            stdout=asyncio.subprocess.PIPE,
        )
        await self.until(lambda: len(self.bots.calls("deleteWebhook")) > polls)

    async def kill(self) -> None:
        """Kill the bridge as a crash would."""
        assert self.process is not None
        self.process.kill()
        await self.process.communicate()

    async def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        """End it in order."""
        if self.process is not None and self.process.returncode is None:
            self.process.send_signal(number)
            async with asyncio.timeout(PATIENCE_S):
                await self.process.communicate()

    async def until(self, seen) -> None:  # type: ignore[no-untyped-def]
        await self.bots.until(seen, within=PATIENCE_S)

    async def ask(self, prompt: str, words: str) -> Bubble:
        """Write a prompt and wait for words of the bot."""
        await self.me.write(prompt)
        return await self.see(words)

    async def see(self, words: str) -> Bubble:
        """Wait for words of the bot."""
        await self.until(lambda: self.me.sees(words))
        return self.me.find(words)

    async def allow(self, words: str) -> None:
        """Wait for a permission about that, and give it."""

        def asking() -> list[Bubble]:
            return [each for each in self.me.answers if "Allow once" in each.labels and words in each.text]

        await self.until(asking)
        await self.me.press("Allow once", on=asking()[0])

    async def settled(self) -> None:
        """Wait until no progress message is left."""
        await self.until(lambda: not any("cancel" in bubble.labels for bubble in self.me.answers))


@asynccontextmanager
async def telegram(world: World) -> AsyncIterator[TelegramHost]:
    """A bridge at work; ended with the block, with all its agents."""
    async with ScriptedBots(rates=FREE) as bots:
        host = TelegramHost(world, bots)
        await host.start()
        try:
            yield host
        finally:
            await host.stop()
