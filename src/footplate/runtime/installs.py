"""Installing an agent into the data folder: fetched beside what is there, greeted, and only then put in force."""

from __future__ import annotations

import asyncio
import re
import secrets
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from footplate.config.places import data_folder
from footplate.engines.distribution import Npm, Offer, Way, describe_way, machine_platform, pick_way, pin_version
from footplate.engines.receipts import (
    UNFINISHED,
    Receipt,
    installs_folder,
    own_program,
    put_in_force,
    remove_unfinished,
)
from footplate.errors import InstallFailed, InvalidValue
from footplate.host.environment import build_environment
from footplate.host.locks import SessionLock
from footplate.host.spawner import Spawner
from footplate.runtime.fetched import Fetcher
from footplate.runtime.fetching import Told
from footplate.runtime.greeting import greet

PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}")
NODE_WAIT_S: Final = 10.0


class Installer:
    """Installs agents; two of the same agent at a time cannot be, in whatever processes."""

    def __init__(self, keeper: Spawner, environ: Mapping[str, str]) -> None:
        self._keeper = keeper
        self._environ = environ

    async def install(self, offer: Offer, *, version: str = "", told: Told = lambda _: None) -> Receipt:
        """Install it at that version, or the one that is known to work. What was there stays when it fails.

        Raises `InstallFailed`, or `LockHeld` when somebody else is about it.
        """
        if version and PLAIN.fullmatch(version) is None:
            raise InvalidValue("version", version, "a version like 2.1.325, or `latest`")
        way = self._choose(offer, version)
        home = installs_folder(self._environ) / offer.id
        folder = home / f"{version or offer.version or 'latest'}.{secrets.token_hex(4)}"
        async with SessionLock(data_folder(self._environ) / "locks", f"install:{offer.id}", what="footplate install"):
            await asyncio.to_thread(_make_room, home, folder)
            try:
                return await self._install(offer, way, folder, told)
            except BaseException:
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
                raise

    def _choose(self, offer: Offer, version: str) -> Way:
        way = pick_way(offer)
        if way is None:
            ways = "; ".join(map(describe_way, offer.ways)) or "none"
            raise InstallFailed(offer.id, f"there is none for this machine ({machine_platform()}); there is: {ways}")
        if isinstance(way, Npm) and not way.found and (problem := node_problem(self._environ, offer.node)):
            raise InstallFailed(offer.id, problem)
        return pin_version(way, version)

    async def _install(self, offer: Offer, way: Way, folder: Path, told: Told) -> Receipt:
        told(f"fetching {describe_way(way)}")
        fetched = await Fetcher(self._keeper, self._environ, offer, folder, told).fetch(way)
        told(f"saying hello to {Path(fetched.program).name}")
        env = build_environment(self._environ, allow=offer.passed, extra=fetched.env)
        greeted = await greet(self._keeper, (fetched.program, *fetched.args), env, offer.wire)
        if greeted.refused:
            raise InstallFailed(offer.id, f"it was fetched and does not answer: {greeted.refused}")
        receipt = Receipt(
            offer=offer,
            version=fetched.version,
            way=describe_way(way),
            program=fetched.program,
            args=fetched.args,
            env=fetched.env,
            folder=str(folder),
            installed_at=time.time(),
            said=greeted.describe(),
        )
        await asyncio.to_thread(put_in_force, self._environ, receipt)
        told(f"{offer.title} {fetched.version} is installed: {own_program(self._environ, offer.id)}")
        return receipt


def _make_room(home: Path, folder: Path) -> None:
    """An empty folder for an install, and nothing of those that were killed."""
    remove_unfinished(home)
    folder.mkdir(parents=True)
    (folder / UNFINISHED).touch()


def node_problem(environ: Mapping[str, str], wanted: tuple[int, ...]) -> str:
    """Why Node programs that want so new a version cannot run here, and what to do; empty when they can."""
    need = ".".join(map(str, wanted))
    node = shutil.which("node", path=environ.get("PATH", ""))
    if node is None:
        return f"Node is not on the PATH; install Node {need or '20'} or later"
    if not wanted:
        return ""
    try:
        told = subprocess.run(
            [node, "--version"],
            env=build_environment(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=NODE_WAIT_S,
            check=False,
        ).stdout.decode(errors="replace")
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"{node} cannot be asked for its version: {problem}"
    found = tuple(map(int, re.findall(r"\d+", told)[:3]))
    if found and found < wanted:
        return f"Node {told.strip()} is too old; install Node {need} or later"
    return ""
