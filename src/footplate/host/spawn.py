"""What is asked of the host and what comes of it: `Spawn` before, `Exit` after."""

from __future__ import annotations

import signal

import msgspec


class Spawn(msgspec.Struct, frozen=True, kw_only=True):
    """A program to start: the whole environment it gets, and the folder it starts in.

    `marker` is the value of `FOOTPLATE_RUN` in its environment, by which its descendants are found and
    killed: no two keepers of one machine may use the same. Leave it out to get one that nobody else has.
    `limits` are the kernel's, by their names in the `resource` module; `oom_score_adj` says how gladly the kernel takes
    it when memory is out; `layers` is how many processes a sandbox puts between our child and the program itself.
    `tty` (rows, columns) gives it a terminal for its stdin, stdout and stderr.
    `kept` is for a program that is to outlive the service, where the keeper does; `about` is what it tells of it.
    With `whole` all of its stderr is kept meanwhile, like its stdout, and not only the end.
    """

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    marker: str | None = None
    limits: dict[str, int] = {}
    oom_score_adj: int = 0
    layers: int = 0
    tty: tuple[int, int] | None = None
    kept: bool = False
    about: dict[str, str] = {}
    whole: bool = False


class Exit(msgspec.Struct, frozen=True, kw_only=True):
    """How a program ended: a code, or a signal, or (neither being known) the reason why not."""

    code: int | None = None
    signal: int | None = None
    reason: str | None = None

    def describe(self) -> str:
        """Say it in a few words: `exit code 3`, `killed by SIGKILL`."""
        if self.code is not None:
            return f"exit code {self.code}"
        if self.signal is not None:
            return f"killed by {signal_name(self.signal)}"
        return self.reason or "ended, nobody knows how"


def signal_name(signum: int) -> str:
    """Name a signal; one without a name (the real-time ones) by its number."""
    try:
        return signal.Signals(signum).name
    except ValueError:
        return f"signal {signum}"
