"""An agent that can be had: what it is, how its program is fetched, how it is started, what it needs. Values only."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from typing import Final, Literal

import msgspec

Wire = Literal["acp", "claude", "codex"]
"""What it speaks on stdin and stdout, as far as it takes to say hello to it."""

MACHINES: Final = {"amd64": "x86_64", "x86_64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64"}
NODE_MACHINES: Final = {"x86_64": "x64", "aarch64": "arm64"}


class Npm(msgspec.Struct, frozen=True, kw_only=True, tag="npm"):
    """A package of the npm registry; an empty version means the latest. No install script is ever run.

    `found` are places of the program inside the fetched folder, where it is not `node_modules/.bin/NAME`: `{platform}`
    stands for the system and machine as npm packages name them.
    """

    package: str
    version: str = ""
    found: tuple[str, ...] = ()


class Uvx(msgspec.Struct, frozen=True, kw_only=True, tag="uvx"):
    """A package of the Python index with a program in it; `extras` are those it is asked for with."""

    package: str
    version: str = ""
    extras: str = ""


class Archive(msgspec.Struct, frozen=True, kw_only=True):
    """A file for one platform: an archive with a program in it, or the program itself."""

    archive: str
    cmd: str
    sha256: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}


class Binary(msgspec.Struct, frozen=True, kw_only=True, tag="binary"):
    """A file to download, for each platform another: `linux-x86_64`, `darwin-aarch64`."""

    platforms: Mapping[str, Archive]
    version: str = ""


Way = Npm | Uvx | Binary


class Offer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An agent that can be had.

    `program` is its name on the PATH, `args` make it speak its `wire`. `ways` are tried in their order, the first that
    fits the machine. `node` is the oldest Node that it runs on, `needs` are other programs it cannot do without (each
    with how to get it), `keys` the variables of which any one logs it in, `logins` the files in the home that it leaves
    when a person has logged in, `login` how that is done. `passed` are globs of variables that reach it. `commands`
    install it without Footplate, as its maker says; `first_run` is what to do after that.
    """

    id: str
    title: str
    description: str = ""
    version: str = ""
    wire: Wire = "acp"
    program: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    ways: tuple[Way, ...] = ()
    node: tuple[int, ...] = ()
    needs: Mapping[str, str] = {}
    keys: tuple[str, ...] = ()
    logins: tuple[str, ...] = ()
    login: str = ""
    commands: tuple[str, ...] = ()
    first_run: str = ""
    oldest: tuple[int, ...] = ()
    """The oldest version that was tried."""

    passed: tuple[str, ...] = ()
    source: str = "built-in"
    """Where we know it from: `built-in`, or the address of a registry."""


def install_advice(offer: Offer) -> str:
    """How to install an agent: by Footplate, by the commands of its maker, and what to do after that."""
    ways = [f"`{command}`" for command in (f"footplate agents install {offer.id}", *offer.commands)]
    listed = f"{', '.join(ways[:-1])} or {ways[-1]}" if len(ways) > 1 else ways[0]
    return f"run {listed}" + (f", then {offer.first_run}" if offer.first_run else "")


def machine_platform() -> str:
    """This machine as registries name it: `linux-x86_64`."""
    machine = platform.machine().lower()
    return f"{sys.platform}-{MACHINES.get(machine, machine)}"


def node_platforms() -> tuple[str, ...]:
    """This machine as npm packages name it, the likeliest first: `linux-x64`, `linux-x64-musl`."""
    machine = MACHINES.get(platform.machine().lower(), "")
    name = f"{sys.platform}-{NODE_MACHINES.get(machine, machine)}"
    if sys.platform != "linux":
        return (name,)
    both = (name, f"{name}-musl")
    return both if platform.libc_ver()[0] == "glibc" else both[::-1]


def pick_way(offer: Offer) -> Way | None:
    """The first way that leads to a program for this machine; None when there is none."""
    for way in offer.ways:
        if not isinstance(way, Binary) or machine_platform() in way.platforms:
            return way
    return None


def pin_version(way: Way, version: str) -> Way:
    """The same way to that very version; a binary has the one it has."""
    return way if isinstance(way, Binary) or not version else msgspec.structs.replace(way, version=version)


def describe_way(way: Way) -> str:
    """A few words for people: `npm @google/gemini-cli@0.61.0`."""
    match way:
        case Npm():
            return f"npm {way.package}" + (f"@{way.version}" if way.version else "")
        case Uvx():
            return f"uvx {way.package}" + (f"=={way.version}" if way.version else "")
        case Binary():
            return f"binary for {', '.join(sorted(way.platforms))}"
