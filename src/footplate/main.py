"""The only place where parts are wired together: what `footplate` on a command line starts."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; `mock-agent` is started without the price of the rest."""
    if sys.argv[1:] == ["mock-agent"]:
        from footplate.engines.mock.stdio import main as serve  # noqa: PLC0415

        sys.exit(serve([]))
    from footplate.interfaces.cli.app import root  # noqa: PLC0415

    root(prog_name="footplate")
