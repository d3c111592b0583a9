"""Runs the scripted Messages API: prints its base URL, then serves until a signal or the end of its stdin."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import stat
import sys

from footplate.testing.messages.server import MessagesServer


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m footplate.testing.messages", description="A Messages API that follows scripts."
    )
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 (the default) takes a free one")
    asyncio.run(serve(parser.parse_args().port))


async def serve(port: int) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    _stop_at_end_of_stdin(loop, stop)
    async with MessagesServer(port=port) as server:
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        await stop.wait()


def _stop_at_end_of_stdin(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """A pipe on stdin is somebody's hold on us; a terminal or a file is not."""
    descriptor = sys.stdin.fileno()
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return

    def look() -> None:
        if not os.read(descriptor, 4096):
            loop.remove_reader(descriptor)
            stop.set()

    loop.add_reader(descriptor, look)


if __name__ == "__main__":
    main()
