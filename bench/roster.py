"""Who is measured, in the order of the table, and how each is started."""

from __future__ import annotations

import sys
from typing import Final, Literal, get_args

import msgspec

from bench import setup
from bench.stage import NotMeasured

Name = Literal["newlines", "untyped", "bare", "core", "ours", "python-sdk", "typescript-sdk"]
NAMES: Final[tuple[Name, ...]] = get_args(Name)


class Contender(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a table: `argv` plus the path of a fake CLI is the program. `why` says that it cannot run."""

    name: Name
    title: str
    argv: tuple[str, ...] = ()
    why: str = ""


def contender(name: Name) -> Contender:
    """The contender of that name, installed where it is a peer."""
    try:
        return _prepare(name)
    except NotMeasured as why:
        return Contender(name=name, title=name, why=str(why))


def module(name: str, *arguments: str) -> tuple[str, ...]:
    """How a contender of this package is started with our own interpreter."""
    return (sys.executable, "-m", f"bench.contenders.{name}", *arguments)


def _prepare(name: Name) -> Contender:
    match name:
        case "newlines":
            return Contender(name=name, title="os.read + count newlines", argv=module("newlines"))
        case "untyped":
            return Contender(name=name, title="decode_lines, untyped", argv=module("decode", "untyped"))
        case "bare":
            return Contender(name=name, title="decode_lines, our wire types", argv=module("decode", "typed"))
        case "core":
            return Contender(name=name, title="ours without the loop: pipe to events", argv=module("core"))
        case "ours":
            return Contender(name=name, title="ours: keeper, runner, events", argv=module("ours"))
        case "python-sdk":
            title = f"claude-agent-sdk {setup.python_sdk()} (Python)"
            return Contender(name=name, title=title, argv=(str(setup.PYTHON), "-m", "bench.contenders.python_sdk"))
        case "typescript-sdk":
            title = f"claude-agent-sdk {setup.typescript_sdk()} (TypeScript)"
            argv = (setup.program("node"), str(setup.PEERS / "typescript_sdk.mjs"))
            return Contender(name=name, title=title, argv=argv)
