"""The keeper's loop: descriptors, timers and signals of one thread. Standard library only."""

from __future__ import annotations

import os
import select
import signal
import time

TYPE_CHECKING = False  # the keeper must not pay for `typing`
if TYPE_CHECKING:
    from collections.abc import Callable


class Loop:
    """Calls who watches a descriptor when it can be read, and who asked for it when the time has come."""

    def __init__(self) -> None:
        self.done = False
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.handlers: dict[int, Callable[[], None]] = {}
        self.poll = select.poll()

    def run(self) -> None:
        """Go on until somebody says that it is done."""
        while not self.done:
            for fd, _ in self.poll.poll(self.patience()):
                if fd in self.handlers:
                    self.handlers[fd]()
            self.run_timers()

    def watch(self, fd: int, handler: Callable[[], None], events: int = select.POLLIN) -> None:
        """Call the handler whenever something can be read; a stale call, of an older descriptor, can happen."""
        self.handlers[fd] = handler
        self.poll.register(fd, events)

    def unwatch(self, fd: int) -> None:
        """Leave a descriptor alone; does nothing when it is not watched."""
        if self.handlers.pop(fd, None):
            self.poll.unregister(fd)

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call once, after so many seconds."""
        self.timers.append((time.monotonic() + seconds, call))

    def patience(self) -> int | None:
        """How many milliseconds the next wait may take; None for as long as it likes."""
        if not self.timers:
            return None
        return max(0, int((min(when for when, _ in self.timers) - time.monotonic()) * 1000) + 1)

    def run_timers(self) -> None:
        """Call whose time has come."""
        now = time.monotonic()
        due = [call for when, call in self.timers if when <= now]
        self.timers = [timer for timer in self.timers if timer[0] > now]
        for call in due:
            call()


def catch_signals() -> int:
    """Make the terminal's signals harmless, and bytes to read of SIGCHLD and SIGTERM."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    for signum in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(signum, lambda *_: None)
    for signum in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP):
        signal.signal(signum, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    return read
