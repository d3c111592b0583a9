"""An ACP registry (`registry.json`): the agents that it names, as offers. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from footplate.engines.distribution import Archive, Binary, Npm, Offer, Uvx, Way
from footplate.errors import ConfigError

ID: Final = re.compile(r"[a-z][a-z0-9-]{0,63}")
NPM: Final = re.compile(r"(?P<name>(?:@[a-z0-9~._-]+/)?[a-z0-9~._-]+)(?:@(?P<version>[\w.+-]+))?", re.IGNORECASE)
UVX: Final = re.compile(
    r"(?P<name>[a-z0-9][a-z0-9._-]*)(?:\[(?P<extras>[a-z0-9._,-]+)\])?(?:(?:==|@)(?P<version>[\w.+!-]+))?",
    re.IGNORECASE,
)


class _Package(msgspec.Struct, frozen=True):
    package: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}


class _Ways(msgspec.Struct, frozen=True):
    npx: _Package | None = None
    uvx: _Package | None = None
    binary: Mapping[str, Archive] | None = None


class _Agent(msgspec.Struct, frozen=True):
    id: str
    distribution: _Ways
    name: str = ""
    version: str = ""
    description: str = ""


class _Registry(msgspec.Struct, frozen=True):
    agents: tuple[msgspec.Raw, ...]


class Registry(msgspec.Struct, frozen=True, kw_only=True):
    """The offers of a registry, and what of it could not be read."""

    offers: tuple[Offer, ...]
    problems: tuple[str, ...] = ()


def read_registry(data: bytes, source: str) -> Registry:
    """The registry. Raises `ConfigError` when it is none; an agent that cannot be read is told and left out."""
    try:
        agents = msgspec.json.decode(data, type=_Registry).agents
    except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise ConfigError(source, f"not a registry of agents: {problem}", "name a registry.json") from problem
    offers: list[Offer] = []
    problems: list[str] = []
    for at, raw in enumerate(agents):
        try:
            offers.append(_offer(msgspec.json.decode(raw, type=_Agent), source))
        except (msgspec.MsgspecError, ValueError) as problem:
            problems.append(f"agent {at + 1}: {problem}")
    return Registry(offers=tuple(offers), problems=tuple(problems))


def _offer(agent: _Agent, source: str) -> Offer:
    if ID.fullmatch(agent.id) is None:
        raise ValueError(f"{agent.id!r} is no id: lower-case letters, digits and hyphens")
    given = agent.distribution
    first = given.npx or given.uvx
    ways: list[Way] = []
    program = ""
    if given.npx is not None:
        npm = _npm(given.npx.package)
        program = npm.package.rpartition("/")[2]
        ways.append(npm)
    if given.uvx is not None:
        uvx = _uvx(given.uvx.package)
        program = program or uvx.package
        ways.append(uvx)
    if given.binary:
        ways.append(Binary(platforms=given.binary, version=agent.version))
        some = next(iter(given.binary.values()))
        program = program or some.cmd.replace("\\", "/").rpartition("/")[2].removesuffix(".exe")
        first = first or _Package(package="", args=some.args, env=some.env)
    if first is None:
        raise ValueError(f"{agent.id}: no distribution that we know (npx, uvx, binary)")
    return Offer(
        id=agent.id,
        title=agent.name or agent.id,
        description=agent.description,
        version=agent.version,
        program=program,
        args=first.args,
        env=first.env,
        ways=tuple(ways),
        passed=("*_API_KEY", "*_BASE_URL"),
        source=source,
    )


def _npm(package: str) -> Npm:
    found = NPM.fullmatch(package)
    if found is None:
        raise ValueError(f"{package!r} is no npm package")
    return Npm(package=found["name"], version=found["version"] or "")


def _uvx(package: str) -> Uvx:
    found = UVX.fullmatch(package)
    if found is None:
        raise ValueError(f"{package!r} is no Python package")
    version = found["version"] or ""
    return Uvx(package=found["name"], version="" if version == "latest" else version, extras=found["extras"] or "")
