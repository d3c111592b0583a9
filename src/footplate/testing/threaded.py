"""A scripted server of the standard library in a thread of its own, for as long as a block lasts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer

POLL_S = 0.02


@contextmanager
def serving(server: ThreadingHTTPServer, name: str) -> Iterator[None]:
    """Have it answer; at the end of the block it is closed, and its thread is gone."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": POLL_S}, name=name)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
