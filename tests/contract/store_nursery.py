"""Raises processes that append to a store, for a test that kills them: imports once, forks for each.

For each line on stdin it forks a child that appends and writes `session seq` for each acknowledged append; it says
`born PID` before and `gone` when the child is dead. Run: python -m tests.contract.store_nursery FOLDER APPENDS
"""

from __future__ import annotations

import asyncio
import os
import sys

from footplate.events.ids import SessionId
from footplate.events.model import Envelope, Notice
from footplate.store.sqlite import SqliteStore

SESSIONS = 4
DURABLE_EACH = 10


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


async def append_all(store: SqliteStore, session: SessionId, appends: int) -> None:
    lease = await store.claim(session)
    seq = lease.last_seq
    for count in range(appends):
        event = Notice(level="info", text=f"{session} {seq + 1}")
        envelope = Envelope(seq=seq + 1, time=float(count), session=session, epoch=lease.epoch, event=event)
        seq = await store.append(session, lease.epoch, seq, [envelope], durable=count % DURABLE_EACH == 0)
        say(f"{session} {seq}")


async def run(folder: str, appends: int) -> None:
    async with await SqliteStore.open(folder) as store:
        names = [SessionId(f"s{number}") for number in range(SESSIONS)]
        await asyncio.gather(*(append_all(store, name, appends // SESSIONS) for name in names))


def main(folder: str, appends: int) -> None:
    for _ in sys.stdin:
        child = os.fork()
        if not child:
            say(f"born {os.getpid()}")
            asyncio.run(run(folder, appends))
            os._exit(0)
        os.waitpid(child, 0)
        say("gone")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
