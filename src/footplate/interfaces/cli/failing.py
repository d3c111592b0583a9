"""How a command ends that could not do its work: one line for a person, an exit code for a program."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Final, NoReturn, TypeVar

import click

from footplate.errors import ConfigError, FootplateError, RequestError
from footplate.events.visible import show_hidden

FAILED: Final = 1
USAGE: Final = 2
CANCELLED: Final = 130

T = TypeVar("T")


def fail(problem: FootplateError) -> NoReturn:
    """Tell it in one line. Exit code 2: the caller can mend it; 1: it is something else."""
    click.echo(f"footplate: {show_hidden(str(problem))}", err=True)
    sys.exit(USAGE if isinstance(problem, RequestError | ConfigError) else FAILED)


def guarded(work: Callable[[], T]) -> T:
    """Do the work; a refusal is told in one line, and a reader that left is nothing to tell."""
    try:
        return work()
    except FootplateError as problem:
        fail(problem)
    except KeyboardInterrupt:
        sys.exit(CANCELLED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(FAILED)


def guarded_run(work: Callable[[], Coroutine[object, object, T]]) -> T:
    """The same for work that is awaited."""
    return guarded(lambda: asyncio.run(work()))
