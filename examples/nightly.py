"""A job at night that asks nobody: what it needs approved waits, as long as it must, for the morning.

footplate serve --detach
python examples/nightly.py start --engine claude --prompt "update the dependencies"     # from cron
python examples/nightly.py morning                                                      # with the coffee
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from footplate.events.model import RequestOpened, TurnEnded
from footplate.sdk import Allow, Client, Deny, RequestInfo


async def start(engine: str, prompt: str) -> None:
    """Begin, and leave as soon as it is done or asks something. The agent waits; the server may even restart."""
    async with Client.local() as client:
        session = await client.create_session(engine, cwd=str(Path.cwd()), title="nightly")
        await session.queue(prompt)
        async for envelope in session.events():
            if isinstance(envelope.event, RequestOpened):
                print(f"{session.id} waits for you: {envelope.event.request.title}")
                return
            if isinstance(envelope.event, TurnEnded):
                print(f"{session.id} is done: {envelope.event.answer}")
                return


async def morning(answer: str) -> None:
    """Go through what waits, and see each job to its end."""
    async with Client.local() as client:
        for request in await client.requests():
            session = await client.resume_session(request.session)
            if session.info.title != "nightly":
                continue
            allowed = (answer or await asyncio.to_thread(input, f"{describe(request)}\nallow? [y/N] ")).startswith("y")
            await client.answer(request.id, Allow() if allowed else Deny(message="not this time"))
            async for envelope in session.events():
                if isinstance(envelope.event, TurnEnded):
                    print(f"{session.id} is done: {envelope.event.answer or envelope.event.error}")
                    break


def describe(request: RequestInfo) -> str:
    """What is asked, in a few lines."""
    return "\n".join(line for line in (request.title, request.description, request.reason) if line)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    begin = commands.add_parser("start")
    begin.add_argument("--engine", default="claude")
    begin.add_argument("--prompt", required=True)
    later = commands.add_parser("morning")
    later.add_argument("--answer", default="", help="y or n for all of them; default: ask")
    given = parser.parse_args()
    asyncio.run(start(given.engine, given.prompt) if given.command == "start" else morning(given.answer))


if __name__ == "__main__":
    main()
