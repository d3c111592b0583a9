"""`claude-agent-sdk` for Python: `query()` on the fake CLI, every message consumed. Runs in the venv of the peers."""

from __future__ import annotations

import asyncio
import sys

from claude_agent_sdk import ClaudeAgentOptions, query  # type: ignore[import-not-found]

from bench.contenders.report import report, spent


async def consume(fake: str) -> int:
    """The number of messages that the SDK yields."""
    options = ClaudeAgentOptions(cli_path=fake, include_partial_messages=True)
    messages = 0
    async for _ in query(prompt="play", options=options):
        messages += 1
    return messages


if __name__ == "__main__":
    begun = spent()
    report(asyncio.run(consume(sys.argv[1])), spent() - begun)
