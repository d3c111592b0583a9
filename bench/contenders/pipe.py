"""The fake CLI's stdout as a plain pipe, for the contenders that read it themselves."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

CHUNK: Final = 64 * 1024
"""What a pipe holds. More would have every read pay for fresh pages: glibc maps blocks of 128 KB and up anew."""


@contextmanager
def play(fake: str) -> Iterator[Iterator[bytes]]:
    """Start the fake CLI, give its output in the chunks that the pipe gives, and see it end."""
    with subprocess.Popen([fake], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            yield _chunks(child.stdout.fileno())
        except BaseException:
            child.kill()
            raise
    if child.returncode:
        raise SystemExit(f"the fake CLI ended with {child.returncode}")


def _chunks(descriptor: int) -> Iterator[bytes]:
    while chunk := os.read(descriptor, CHUNK):
        yield chunk
