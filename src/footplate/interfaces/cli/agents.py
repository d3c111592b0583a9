"""`footplate mock-agent`: the built-in agent as a program of its own."""

from __future__ import annotations

import sys

import click


@click.command("mock-agent", short_help="Be the built-in agent, on standard input and output.")
def mock_agent() -> None:
    """Be the built-in agent: speaks ACP on standard input and output, needs no login, ends with its input.

    \b
    Example:
      echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}' | footplate mock-agent
    """
    from footplate.engines.mock.stdio import main  # noqa: PLC0415  (asyncio is not paid for by --help)

    sys.exit(main([]))
