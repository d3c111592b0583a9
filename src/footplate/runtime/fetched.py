"""The ways by which an agent's program comes into a folder: npm, a Python package, a file from the web."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
import zipfile
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import msgspec

from footplate.config.machine import FilesSettings
from footplate.engines.distribution import Archive, Binary, Npm, Offer, Uvx, Way, machine_platform, node_platforms
from footplate.errors import FootplateError, InstallFailed
from footplate.host.archive import Unpacking
from footplate.host.environment import build_environment
from footplate.host.grounds import Grounds
from footplate.host.spawn import Spawn
from footplate.host.spawner import Spawner
from footplate.runtime.fetching import Told, fetch_file

PASSED: Final = (
    "npm_config_*", "NPM_CONFIG_*", "NPM_TOKEN", "NODE_*", "PIP_*", "UV_*", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"
)  # fmt: skip
"""What installers get beside what every program gets: without it they fail wherever a mirror is configured."""
NAMED: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)")
"""A variable that a settings file of npm speaks of: npm reads no file of which it cannot fill in one."""
TIMEOUT_S: Final = 900.0
TAIL: Final = 2000
TRIES: Final = 2
CERTIFICATES: Final = (
    "SELF_SIGNED_CERT",
    "UNABLE_TO_GET_ISSUER_CERT",
    "UNABLE_TO_VERIFY_LEAF",
    "CERTIFICATE_VERIFY_FAILED",
)
UNREACHED: Final = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT", "ENETUNREACH", "Failed to establish a new")
ADVICE: Final = {
    **dict.fromkeys(
        CERTIFICATES,
        "the network has a certificate authority of its own: set NODE_EXTRA_CA_CERTS, or SSL_CERT_FILE, to its file",
    ),
    **dict.fromkeys(
        UNREACHED, "set HTTPS_PROXY, or the registry (`registry` in ~/.npmrc, PIP_INDEX_URL), and try again"
    ),
    **dict.fromkeys(("E401", "E403"), "the registry wants a login: `npm login`, or a token in ~/.npmrc"),
    "ENOSPC": "the disk is full: make room in the data folder",
}
"""What to do about what an installer says."""
HOPELESS: Final = (
    "E404", "ETARGET", "EINVALIDPACKAGENAME", "EBADPLATFORM", "No matching distribution", "E401", "E403", "ENOSPC",
    *CERTIFICATES,
)  # fmt: skip
"""What a second try does not mend."""
CHUNK: Final = 1024 * 1024


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """A program in a folder, and which version of it."""

    program: str
    version: str
    args: tuple[str, ...]
    env: Mapping[str, str]


class Fetcher:
    """Fetches one offer into one folder; `told` hears how it goes. Everything raises `InstallFailed`."""

    def __init__(self, keeper: Spawner, environ: Mapping[str, str], offer: Offer, folder: Path, told: Told) -> None:
        self._keeper = keeper
        self._path = environ.get("PATH", os.defpath)
        self._env = build_environment(environ, allow=(*PASSED, *npm_variables(environ)))
        self._offer = offer
        self._folder = folder
        self._told = told

    async def fetch(self, way: Way) -> Fetched:
        """Go that way."""
        match way:
            case Npm():
                return await self._npm(way)
            case Uvx():
                return await self._uvx(way)
            case Binary():
                return await self._binary(way)

    # ---------------------------------------------------------------------------------------------- npm

    async def _npm(self, way: Npm) -> Fetched:
        npm = shutil.which("npm", path=self._path)
        if npm is None:
            raise self._failed("npm is not on the PATH; install Node (20 or later) with npm, then try again")
        flags = ("--no-audit", "--no-fund", "--ignore-scripts", "--no-save", "--loglevel=error")
        wanted = f"{way.package}@{way.version or 'latest'}"
        # Not by --prefix: with it npm looks for its global settings (a mirror, a certificate) in there, too.
        (self._folder / "package.json").write_text('{"private": true}\n')
        await self._run((npm, "install", *flags, wanted))
        package = self._folder / "node_modules" / way.package
        program = next((path for path in self._npm_programs(way, package) if path.is_file()), None)
        if program is None:
            raise self._failed(f"{wanted} brought no program for {machine_platform()}")
        program.chmod(program.stat().st_mode | 0o755)
        version = _package(package).version or way.version
        return Fetched(program=str(program), version=version, args=self._offer.args, env=self._offer.env)

    def _npm_programs(self, way: Npm, package: Path) -> Iterator[Path]:
        for place in way.found:
            yield from (self._folder / place.format(platform=each) for each in node_platforms())
        if way.found:
            return
        names = list(_package(package).programs(way.package.rpartition("/")[2]))
        names.sort(key=lambda name: (name != self._offer.program, name not in (self._offer.id, way.package)))
        yield from (self._folder / "node_modules" / ".bin" / name for name in names)

    # ---------------------------------------------------------------------------------------------- Python

    async def _uvx(self, way: Uvx) -> Fetched:
        wanted = way.package + (f"[{way.extras}]" if way.extras else "") + (f"=={way.version}" if way.version else "")
        uv = shutil.which("uv", path=self._path)
        if uv is not None:
            await self._run((uv, "venv", str(self._folder / "venv")))
            await self._run((uv, "pip", "install", "--python", str(self._folder / "venv"), wanted))
        else:
            await self._pip(wanted)
        programs = self._folder / "venv" / "bin"
        args = self._offer.args
        for name, rest in ((self._offer.program or way.package, args), (way.package, args), *_first(args)):
            if (programs / name).is_file():
                version = way.version or _python_version(self._folder / "venv", way.package)
                return Fetched(program=str(programs / name), version=version, args=rest, env=self._offer.env)
        raise self._failed(f"{wanted} brought no program of the name {self._offer.program or way.package}")

    async def _pip(self, wanted: str) -> None:
        """Without uv: our own Python's, into an environment that needs no pip of its own where we have one."""
        venv, python = str(self._folder / "venv"), str(self._folder / "venv" / "bin" / "python")
        ours = find_spec("pip") is not None
        await self._run((sys.executable, "-m", "venv", *(("--without-pip",) if ours else ()), venv))
        pip = (sys.executable, "-m", "pip", "--python", python) if ours else (python, "-m", "pip")
        await self._run((*pip, "install", "--disable-pip-version-check", "--quiet", wanted))

    # ---------------------------------------------------------------------------------------------- a file

    async def _binary(self, way: Binary) -> Fetched:
        archive = way.platforms[machine_platform()]
        try:
            await asyncio.to_thread(self._unpack, archive)
        except (FootplateError, OSError, zipfile.BadZipFile) as problem:
            raise self._failed(_advised(str(problem))) from problem
        program = (self._folder / archive.cmd.removeprefix("./")).resolve()
        if not program.is_file() or not program.is_relative_to(self._folder.resolve()):
            raise self._failed(f"{archive.archive} holds no {archive.cmd}")
        program.chmod(0o755)
        return Fetched(
            program=str(program),
            version=way.version,
            args=archive.args or self._offer.args,
            env={**self._offer.env, **archive.env},
        )

    def _unpack(self, archive: Archive) -> None:
        name = archive.archive.rpartition("/")[2].partition("?")[0]
        file = self._folder / f".{name or 'download'}"
        fetch_file(archive.archive, file, sha256=archive.sha256, told=self._told)
        if name.endswith(".zip"):
            with zipfile.ZipFile(file) as packed:
                packed.extractall(self._folder)  # it leaves out what leads out of the folder
        elif name.endswith((".tar", ".tar.gz", ".tgz")):
            _untar(file, self._folder)
        else:
            place = self._folder / archive.cmd.removeprefix("./")
            if not place.resolve().is_relative_to(self._folder.resolve()):
                raise OSError(f"{archive.cmd!r} leads out of the folder")
            place.parent.mkdir(parents=True, exist_ok=True)
            file.replace(place)
        file.unlink(missing_ok=True)

    # ---------------------------------------------------------------------------------------------- inside

    async def _run(self, argv: tuple[str, ...]) -> None:
        """Run an installer, and once more when that may help."""
        said = ""
        for left in reversed(range(TRIES)):
            code, said = await self._run_once(argv)
            if code == 0:
                return
            if not left or any(word in said for word in HOPELESS):
                break
            self._told(f"{Path(argv[0]).name} failed, trying again")
        raise self._failed(_advised(f"{Path(argv[0]).name} failed: {said.strip() or 'no word'}"))

    async def _run_once(self, argv: tuple[str, ...]) -> tuple[int | None, str]:
        shell = ("/bin/sh", "-c", 'exec 2>&1; exec "$@"', argv[0], *argv)
        process = await self._keeper.spawn(Spawn(argv=shell, env=self._env, cwd=str(self._folder)))
        process.close_stdin()
        said = bytearray()
        try:
            async with asyncio.timeout(TIMEOUT_S):
                while (block := await process.read()) is not None:
                    said += block.lines
                    del said[:-TAIL]
        except TimeoutError:
            said += f"\nnot done after {TIMEOUT_S:g} s".encode()
        finally:
            ended = await process.end(close_wait=2.0)
        return ended.code, said.decode(errors="replace")

    def _failed(self, reason: str) -> InstallFailed:
        return InstallFailed(self._offer.id, reason)


def _advised(words: str) -> str:
    """What went wrong, and what to do about it where that is known."""
    advice = next((what for sign, what in ADVICE.items() if sign in words), "")
    return f"{words}; {advice}" if advice else words


def npm_variables(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The variables that the user's own settings of npm speak of: a token of a company's registry, mostly."""
    named = environ.get("npm_config_userconfig") or environ.get("NPM_CONFIG_USERCONFIG")
    try:
        text = Path(named or f"{environ.get('HOME', '')}/.npmrc").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ()
    return tuple(dict.fromkeys(NAMED.findall(text)))


class _Package(msgspec.Struct, frozen=True):
    version: str = ""
    bin: str | dict[str, str] = {}

    def programs(self, name: str) -> tuple[str, ...]:
        """The names of its programs; one without a name has that of the package."""
        return tuple(self.bin) if isinstance(self.bin, dict) else (name,)


def _package(folder: Path) -> _Package:
    try:
        return msgspec.json.decode((folder / "package.json").read_bytes(), type=_Package)
    except (OSError, msgspec.MsgspecError):
        return _Package()


def _python_version(venv: Path, package: str) -> str:
    name = package.lower().replace("-", "_").replace(".", "_")
    for found in venv.glob("lib/python*/site-packages/*.dist-info"):
        distribution, _, version = found.name.removesuffix(".dist-info").partition("-")
        if distribution.lower() == name:
            return version
    return ""


def _first(args: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """A registry may name the program as the first argument."""
    return ((args[0], args[1:]),) if args and "/" not in args[0] else ()


def _untar(file: Path, folder: Path) -> None:
    unpacking = Unpacking(Grounds.of(str(folder), ()), str(folder), FilesSettings())
    try:
        with file.open("rb") as packed:
            while chunk := packed.read(CHUNK):
                unpacking.feed(chunk)
        unpacking.finish()
    finally:
        unpacking.drop()
