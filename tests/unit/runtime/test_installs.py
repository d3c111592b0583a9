"""Installing agents: from a registry, npm and the Python index; whole or not at all, and only what answers."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from footplate.config.agents import AgentsSettings
from footplate.config.settings import Settings
from footplate.engines.commands import with_agents
from footplate.engines.distribution import Archive, Binary, Npm, Offer, Uvx
from footplate.engines.receipts import find_receipt, installs_folder, own_program
from footplate.errors import Conflict, InstallFailed, InvalidValue, LockHeld, UnknownEngine
from footplate.host.locks import SessionLock
from footplate.host.process import Keeper
from footplate.runtime.agents import Roster
from footplate.runtime.fetched import npm_variables
from footplate.runtime.installs import Installer, node_problem
from tests.unit.runtime.shelf import DUMB, TINY, Shelf, make_wheel, open_shelf


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    with open_shelf() as shelf:
        yield shelf


@pytest.fixture
def environ(tmp_path: Path, shelf: Shelf) -> dict[str, str]:
    return {
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "FOOTPLATE_DATA_DIR": str(tmp_path / "data"),
        "npm_config_registry": shelf.url,
        "npm_config_update_notifier": "false",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(tmp_path),
    }


@pytest.fixture
async def keeper(tmp_path: Path) -> AsyncIterator[Keeper]:
    async with Keeper.start() as keeper:
        yield keeper


def roster_of(environ: dict[str, str], *registries: str, **pins: str) -> Roster:
    return Roster(Settings(agents=AgentsSettings(registries=registries, registry_age_s=0, pins=pins)), environ)


async def test_an_agent_of_a_registry_is_installed_greeted_and_removed(
    environ: dict[str, str], shelf: Shelf, keeper: Keeper
) -> None:
    roster = roster_of(environ, shelf.registry(shelf.binary("tiny", "1.2.0", TINY)))
    before = await roster.look("tiny")
    assert (before.installed, before.offered, before.missing[0].advice) == (
        False,
        "1.2.0",
        "run `footplate agents install tiny`",
    )
    told: list[str] = []
    shelf.breaks.add("/tiny-1.2.0.tar.gz")
    receipt = await roster.install("tiny", keeper, told=told.append)
    assert (receipt.version, receipt.said) == ("1.2.0", "footplate-mock 0.1.0.dev0")
    ranges = [wanted for path, wanted in shelf.asked if path == "/tiny-1.2.0.tar.gz"]
    assert ranges[0] == ""
    assert ranges[1].startswith("bytes=")  # it went on where it had broken off
    assert told[0] == f"fetching binary for {next(iter(_platforms(receipt.offer)))}"
    after = await roster.look("tiny")
    assert (after.installed, after.version, after.origin) == (True, "1.2.0", "installed")
    assert after.program == own_program(environ, "tiny")
    assert with_agents(Settings(), environ).acp_agents["tiny"].command == (after.program,)
    await roster.remove("tiny")
    assert list(installs_folder(environ).iterdir()) == []
    with pytest.raises(Conflict, match="not installed by Footplate"):
        await roster.remove("tiny")
    with pytest.raises(UnknownEngine):
        await roster.remove("nobody")


def _platforms(offer: Offer) -> tuple[str, ...]:
    (way,) = offer.ways
    assert isinstance(way, Binary)
    return tuple(way.platforms)


async def test_what_does_not_answer_or_is_damaged_leaves_what_was_there(
    environ: dict[str, str], shelf: Shelf, keeper: Keeper
) -> None:
    await roster_of(environ, shelf.registry(shelf.binary("tiny", "1.0.0", TINY))).install("tiny", keeper)
    bad = shelf.registry(shelf.binary("tiny", "2.0.0", DUMB))
    with pytest.raises(InstallFailed, match=r"does not answer: .*exit code 4.*I am no agent"):
        await roster_of(environ, bad).install("tiny", keeper)
    damaged = shelf.registry(shelf.binary("tiny", "3.0.0", TINY, sha256="00" * 32))
    with pytest.raises(InstallFailed, match="its checksum is"):
        await roster_of(environ, damaged).install("tiny", keeper)
    elsewhere = Offer(
        id="tiny", title="T", ways=(Binary(platforms={"plan9-mips": Archive(archive="http://127.0.0.1:1/x", cmd="x")}),)
    )
    with pytest.raises(InstallFailed, match=r"none for this machine .*plan9-mips"):
        await Installer(keeper, environ).install(elsewhere)
    receipt = find_receipt(environ, "tiny")
    assert receipt is not None
    assert receipt.version == "1.0.0"
    assert sorted(each.name for each in (installs_folder(environ) / "tiny").iterdir()) == sorted(
        ["bin", "receipt.json", Path(receipt.folder).name]
    )


async def test_a_version_stays_for_those_who_run_it_until_the_one_after_next(
    environ: dict[str, str], shelf: Shelf, keeper: Keeper
) -> None:
    for version in ("1.0.0", "2.0.0", "3.0.0"):
        await roster_of(environ, shelf.registry(shelf.binary("tiny", version, TINY))).install("tiny", keeper)
    kept = [
        each.name.partition(".")[0] for each in (installs_folder(environ) / "tiny").iterdir() if each.name[0].isdigit()
    ]
    assert sorted(kept) == ["2", "3"]
    receipt = find_receipt(environ, "tiny")
    assert receipt is not None
    assert receipt.version == "3.0.0"


async def test_an_install_that_was_killed_leaves_what_was_there_and_is_tidied_up_by_the_next(
    environ: dict[str, str], shelf: Shelf, keeper: Keeper
) -> None:
    await roster_of(environ, shelf.registry(shelf.binary("tiny", "1.0.0", TINY))).install("tiny", keeper)
    address = shelf.registry(shelf.binary("tiny", "2.0.0", TINY))
    held = shelf.holds["/tiny-2.0.0.tar.gz"] = threading.Event()
    given = {**environ, "FOOTPLATE__AGENTS__REGISTRIES": f'["{address}"]', "FOOTPLATE__AGENTS__REGISTRY_AGE_S": "0"}
    killed = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "footplate", "agents", "update", "tiny", env=given, stdout=asyncio.subprocess.DEVNULL
    )
    async with asyncio.timeout(60):
        while "/tiny-2.0.0.tar.gz" not in {path for path, _ in shelf.asked}:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    killed.kill()
    await killed.wait()
    held.set()
    home = installs_folder(environ) / "tiny"
    assert len(list(home.glob("2.0.0.*"))) == 1
    before = find_receipt(environ, "tiny")
    assert before is not None
    assert before.version == "1.0.0"
    receipt = await roster_of(environ, address).install("tiny", keeper)
    assert [str(each) for each in home.glob("2.0.0.*")] == [receipt.folder]
    assert [str(each) for each in home.glob("1.0.0.*")] == [before.folder], "somebody may run it still"
    assert not list(home.glob("*/.fetching"))


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not here")
async def test_a_package_of_npm_is_installed_at_its_pinned_version(
    environ: dict[str, str], shelf: Shelf, keeper: Keeper
) -> None:
    shelf.npm("tiny-acp", "1.4.0", TINY)
    offer = Offer(id="tiny", title="T", ways=(Npm(package="tiny-acp", version="1.4.0"),))
    receipt = await Installer(keeper, environ).install(offer)
    assert (receipt.version, receipt.way) == ("1.4.0", "npm tiny-acp@1.4.0")
    with pytest.raises(InstallFailed, match=r"(?s)npm failed: .*tiny-acp@9\.9\.9"):
        await Installer(keeper, environ).install(offer, version="9.9.9")
    again = find_receipt(environ, "tiny")
    assert again is not None
    assert again.version == "1.4.0"


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not here")
async def test_npm_sees_the_settings_of_machine_and_user_and_a_download_that_broke_off_is_made_again(
    environ: dict[str, str], shelf: Shelf, keeper: Keeper, tmp_path: Path
) -> None:
    shelf.npm("tiny-acp", "1.4.0", TINY)
    machine = tmp_path / "machine" / "etc"
    machine.mkdir(parents=True)
    (machine / "npmrc").write_text(f"registry={shelf.url}\nfetch-retries=0\n")
    (tmp_path / ".npmrc").write_text(f"{shelf.url.removeprefix('http:')}/:_authToken=${{COMPANY_TOKEN}}\n")
    del environ["npm_config_registry"]
    given = {**environ, "npm_config_prefix": str(machine.parent), "COMPANY_TOKEN": "not-a-real-token", "OTHER": "x"}
    assert npm_variables(given) == ("COMPANY_TOKEN",)
    shelf.breaks.add("/tiny-acp/-/tiny-acp-1.4.0.tgz")
    told: list[str] = []
    offer = Offer(id="tiny", title="T", ways=(Npm(package="tiny-acp", version="1.4.0"),))
    receipt = await Installer(keeper, given).install(offer, told=told.append)
    assert receipt.version == "1.4.0"
    assert [path for path, _ in shelf.asked].count("/tiny-acp/-/tiny-acp-1.4.0.tgz") == 2
    assert "Bearer not-a-real-token" in shelf.logins


async def test_what_an_installer_cannot_do_is_told_with_what_to_do(
    environ: dict[str, str], tmp_path: Path, keeper: Keeper
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, text in (("node", "echo v22.0.0"), ("npm", "echo x >> tried; echo npm error code $COMPANY_CODE; exit 1")):
        (tools / name).write_text(f"#!/bin/sh\n{text.replace('tried', str(tmp_path / 'tried'))}\n")
        (tools / name).chmod(0o755)
    offer = Offer(id="tiny", title="T", ways=(Npm(package="tiny-acp"),))
    (tmp_path / ".npmrc").write_text("note=${COMPANY_CODE}\n")
    for code, advice, tries in (
        ("SELF_SIGNED_CERT_IN_CHAIN", "set NODE_EXTRA_CA_CERTS", 1),
        ("ENOTFOUND", "set HTTPS_PROXY", 2),
        ("E401", "the registry wants a login", 1),
    ):
        (tmp_path / "tried").unlink(missing_ok=True)
        given = {**environ, "PATH": f"{tools}:/bin", "COMPANY_CODE": code}
        with pytest.raises(InstallFailed, match=f"npm error code {code}; .*{advice}"):
            await Installer(keeper, given).install(offer)
        assert (tmp_path / "tried").read_text() == "x\n" * tries
    assert not list((installs_folder(environ) / "tiny").iterdir())


async def test_a_python_package_is_installed_into_an_environment_of_its_own(
    environ: dict[str, str], tmp_path: Path, keeper: Keeper
) -> None:
    make_wheel(tmp_path, "tinypy", "0.3")
    bare = {**environ, "PATH": "/usr/bin:/bin"}  # no uv
    receipt = await Installer(keeper, bare).install(Offer(id="tinypy", title="T", ways=(Uvx(package="tinypy"),)))
    assert (receipt.version, receipt.said) == ("0.3", "footplate-mock 0.1.0.dev0")


async def test_bad_versions_other_installers_and_old_nodes_are_told(
    environ: dict[str, str], tmp_path: Path, keeper: Keeper
) -> None:
    offer = Offer(id="tiny", title="T", ways=(Npm(package="tiny-acp"),), node=(99,))
    with pytest.raises(InvalidValue, match="a version like"):
        await Installer(keeper, environ).install(offer, version="1; rm -rf /")
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "node").write_text("#!/bin/sh\necho v18.1.0\n")
    (tools / "node").chmod(0o755)
    old = {**environ, "PATH": f"{tools}:/bin"}
    with pytest.raises(InstallFailed, match=r"Node v18.1.0 is too old; install Node 99 or later"):
        await Installer(keeper, old).install(offer)
    assert node_problem(old, (18, 1)) == ""
    assert "not on the PATH" in node_problem({"PATH": str(tmp_path)}, (20,))
    async with SessionLock(tmp_path / "data" / "locks", "install:tinypy"):
        with pytest.raises(LockHeld):
            await Installer(keeper, environ).install(Offer(id="tinypy", title="T", ways=(Uvx(package="tinypy"),)))


async def test_a_registry_that_is_gone_is_told_and_the_last_one_is_used(environ: dict[str, str], shelf: Shelf) -> None:
    address = shelf.registry(shelf.binary("tiny", "1.0.0", TINY), {"id": "NOT AN ID", "distribution": {}})
    first = roster_of(environ, address)
    assert "tiny" in await first.names()
    assert any("NOT AN ID" in problem for problem in first.problems)
    shelf.files.clear()
    again = roster_of(environ, address, str(Path(environ["HOME"]) / "none.json"), tiny="7.7.7")
    state = await again.look("tiny")
    assert state.source == address
    assert any("is used" in problem for problem in again.problems)
    assert any("none.json could not be fetched" in problem for problem in again.problems)
