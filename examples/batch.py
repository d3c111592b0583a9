"""One prompt over many folders, a few at a time, each with a budget of its own.

python examples/batch.py --engine claude --prompt "add type hints" --budget 0.50 ~/src/*
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from footplate.errors import ServiceUnreachable
from footplate.sdk import Client
from footplate.sdk.opening import Opening


def service() -> Opening[Client]:
    """The server that runs, or one of our own."""
    try:
        return Client.local(patience_s=2)
    except ServiceUnreachable:
        return Client.start()


async def work(client: Client, folder: Path, given: argparse.Namespace, room: asyncio.Semaphore) -> bool:
    """One folder; whether it went well."""
    async with room:
        limits = {"seconds": given.minutes * 60}
        if given.engine != "mock":  # it costs nothing
            limits["cost_usd"] = given.budget
        session = await client.create_session(
            given.engine, cwd=str(folder), title=f"batch: {folder.name}", limits=limits
        )
        turn = await session.prompt(given.prompt)
        cost = (await session.refresh()).cost_usd
        state = "ok" if turn.ok else f"failed ({turn.stop_reason})"
        print(f"{folder}: {state}, ${cost or 0:.2f}: {(turn.answer or turn.error).splitlines()[0][:80]}", flush=True)
        await session.end("the batch is done")
        return turn.ok is True


async def run(given: argparse.Namespace) -> int:
    """All of them; how many did not go well."""
    room = asyncio.Semaphore(given.at_once)
    async with service() as client:
        done = await asyncio.gather(*(work(client, folder.resolve(), given, room) for folder in given.folders))
    print(f"{sum(done)} of {len(done)} folders went well")
    return len(done) - sum(done)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", default="claude")
    parser.add_argument("--prompt", required=True)
    parser.add_argument("--budget", type=float, default=1.0, help="dollars for each folder")
    parser.add_argument("--minutes", type=float, default=30.0, help="time for each folder")
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("folders", nargs="+", type=Path)
    sys.exit(min(asyncio.run(run(parser.parse_args())), 1))


if __name__ == "__main__":
    main()
