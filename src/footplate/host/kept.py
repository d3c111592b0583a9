"""One agent as the keeper has it, from fork until nothing is left of it and nobody asks for it."""

from __future__ import annotations

import os

from .channel import close_all
from .spool import LIMIT, Spool, TailSpool

TYPE_CHECKING = False  # the keeper must not pay for `typing`
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .loop import Loop
    from .table import Sweep

RETRY_S = 1.0  # between two tries to write what the disk refused


class Agent:
    """A child of the keeper. `kept` ones outlive the service: their pipes are held, and drained while it is away."""

    def __init__(self, request: dict[str, Any], marker: str, *, folder: str, limit: int = LIMIT) -> None:
        self.name = str(request["id"])
        self.marker = marker
        self.program = str(request["argv"][0]) if request["argv"] else ""
        self.sweep_on_exit = bool(request.get("sweep_on_exit", True))
        self.layers = int(request.get("layers") or 0)
        self.kept = bool(request.get("kept", False))
        self.about: dict[str, str] = dict(request.get("about") or {})
        self.waiting = False  # whether a request of it is open: then SIGTERM is the only signal that does no harm
        self.pid = self.start = 0
        self.report = -1  # where the child tells of exec; -1 once it has
        self.pipes: list[
            int
        ] = []  # the service's ends until they are sent, or our copies of them as long as we keep it
        self.copied = False
        self.alive = True
        self.code = 0
        self.swept: dict[str, Any] | None = None  # the message that told so
        self.known: set[tuple[int, int]] = set()  # descendants (pid, start) seen while it was being ended
        self.sweep: Sweep | None = None
        self.attached = True  # whether a service has its pipes
        self.lock = -1  # the lock on its session, which is held as long as any descriptor of it is open
        self.direct = True  # whether that service has read from them, and not only from the spool
        path = f"{folder}/{self.name}"
        self.whole = bool(request.get("whole", False))  # whether stderr is output like any other, and no more
        self.out = Spool(path + ".out", limit)
        self.err = Spool(path + ".err", limit) if self.whole else TailSpool(path + ".err")

    def facts(self) -> dict[str, Any]:
        """What is told of it to whoever asks."""
        return {
            "id": self.name,
            "pid": self.pid,
            "start_time": self.start,
            "marker": self.marker,
            "program": self.program,
            "layers": self.layers,
            "alive": self.alive,
            "kept": self.kept,
            "waiting": self.waiting,
            "attached": self.attached,
            "locked": self.lock >= 0,
            "stdin": bool(self.pipes) and self.pipes[0] >= 0,
            "about": self.about,
            "spooled": self.out.size - self.out.begin,
            "full": self.out.full,
            "problem": self.out.problem,
        }

    def ending(self) -> dict[str, Any]:
        """The message that tells how it ended."""
        code = self.code
        told = {"type": "exited", "id": self.name, "code": code if code >= 0 else None}
        return {**told, "signal": -code if code < 0 else None}

    def hand_over(self) -> list[int]:
        """Descriptors for a service: the three pipes, the two spools, the lock. Pipes that are closed are /dev/null."""
        handed: list[int] = []
        try:
            handed += (os.dup(fd) if fd >= 0 else os.open(os.devnull, os.O_RDWR) for fd in self.pipes)
            handed += (spool.reader() for spool in (self.out, self.err))
            handed += [os.dup(self.lock)] if self.lock >= 0 else []
        except OSError:
            close_all(handed)
            raise
        if self.whole:
            self.err.drop()  # the one who reads it has a descriptor of it
        self.attached, self.direct = True, False
        return handed

    def take_back(self) -> None:
        """The service is gone; what it has read from the pipes themselves is not in the spool."""
        if self.direct:
            self.out.part()
        self.attached = self.direct = False

    def drain(self, loop: Loop) -> None:
        """Read its output from here on, so that it need not wait for a reader."""
        for fd, spool in self.outputs():
            if not spool.ended and not spool.full:
                loop.watch(fd, self.drainer(loop, fd, spool))

    def drainer(self, loop: Loop, fd: int, spool: Spool) -> Callable[[], None]:
        """What to do when there is something to drain."""

        def drain() -> None:
            if not spool.drain(fd):
                loop.unwatch(fd)
            if spool.problem:
                loop.later(RETRY_S, again)

        def again() -> None:
            if not self.attached and self.pipes:
                loop.watch(fd, drain)

        return drain

    def discard(self, loop: Loop) -> None:
        """Read its output and forget it: it is being ended, and must not wait for a reader."""

        def forget(fd: int) -> None:
            try:
                if not os.read(fd, 65536):
                    loop.unwatch(fd)
            except BlockingIOError:
                return
            except OSError:  # a terminal that nobody has
                loop.unwatch(fd)

        for fd, _ in self.outputs():
            loop.watch(fd, lambda fd=fd: forget(fd))  # type: ignore[misc]

    def leave_alone(self, loop: Loop) -> None:
        """Read its output no more."""
        for fd, _ in self.outputs():
            loop.unwatch(fd)

    def close_stdin(self) -> None:
        """Let it see the end of its input, once the service has closed its own end."""
        if self.pipes and self.pipes[0] >= 0:
            close_all([self.pipes[0]])
            self.pipes[0] = -1

    def hold(self, fd: int) -> None:
        """Keep the lock on its session, so that nobody else writes that while no service is there."""
        self.unlock()
        self.lock = fd

    def unlock(self) -> None:
        """It has ended, or will not be kept: whoever wants its session may have it, as far as we are concerned."""
        close_all([self.lock] if self.lock >= 0 else [])
        self.lock = -1

    def forget(self, loop: Loop) -> None:
        """Close and remove everything that was kept of it."""
        self.unlock()
        self.leave_alone(loop)
        close_all(fd for fd in self.pipes if fd >= 0)
        self.pipes = []
        self.out.drop()
        self.err.drop()

    def outputs(self) -> list[tuple[int, Spool]]:
        """Its stdout and stderr, each with its spool; nothing when we have no copies of them, or none yet."""
        return list(zip(self.pipes[1:], (self.out, self.err), strict=False)) if self.report < 0 else []
