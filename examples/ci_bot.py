"""A bot for continuous integration: a command fails, an agent mends it, a person approves what it wants to do.

    python examples/ci_bot.py --engine claude -- pytest -q

What the agent asks is answered on the page, the phone or in `footplate chat`; the bot waits as long as it takes.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
from pathlib import Path

from footplate.errors import ServiceUnreachable
from footplate.sdk import Allow, Client, RequestInfo
from footplate.sdk.opening import Opening

TEXT = "`{command}` fails. Find out why and mend it; change as little as you can. Its output:\n\n{output}"


def service() -> Opening[Client]:
    """The server that runs, or one of our own."""
    try:
        return Client.local(patience_s=2)
    except ServiceUnreachable:
        return Client.start()


def check(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run what has to succeed."""
    return subprocess.run(command, capture_output=True, text=True, check=False)


async def mend(engine: str, command: list[str], *, attempts: int, approve: bool) -> int:
    """Let the agent try until the command succeeds; the command's exit code."""
    ran = check(command)
    async with service() as client:
        session = None
        for attempt in range(1, attempts + 1):
            if ran.returncode == 0:
                break
            session = session or await client.create_session(
                engine, cwd=str(Path.cwd()), title="ci: " + " ".join(command)
            )

            def tell(request: RequestInfo) -> Allow | None:
                print(f"  asks: {request.title} ({'allowed' if approve else 'waiting for a person'})", flush=True)
                return Allow() if approve else None

            stop = await session.on_request(tell)
            print(f"attempt {attempt}: exit code {ran.returncode}, session {session.id}", flush=True)
            text = (
                "permission" if engine == "mock" else TEXT.format(command=" ".join(command), output=ran.stdout[-8000:])
            )
            turn = await session.prompt(text)
            stop()
            print(f"  {turn.answer or turn.error}")
            ran = check(command)
    print("it succeeds" if ran.returncode == 0 else f"it still fails: exit code {ran.returncode}")
    return ran.returncode


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", default="claude")
    parser.add_argument("--attempts", type=int, default=3)
    parser.add_argument("--approve", action="store_true", help="allow everything: for a sandbox only")
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    sys.exit(asyncio.run(mend(given.engine, given.command, attempts=given.attempts, approve=given.approve)))


if __name__ == "__main__":
    main()
