"""The only place where parts are wired together: what `footplate` on a command line starts."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import click

SURFACES: Final = {
    "acp": ("footplate.interfaces.acp.command:acp_command", "Be the agent of an editor, on standard input and output."),
    "daemon": (
        "footplate.interfaces.http.daemon_commands:daemon_group",
        "The server in the background, by the names of sandbox-agent.",
    ),
    "serve": ("footplate.interfaces.http.command:serve_command", "Serve sessions over HTTP."),
    "server": (
        "footplate.interfaces.http.command:server_command",
        "The same, as launchers of the sandbox-agent SDK call it.",
    ),
    "telegram": (
        "footplate.interfaces.telegram.command:telegram_group",
        "Run the Telegram bridge, or set it up.",
    ),
}
"""The commands of surfaces other than the command line itself."""

DRILLS: Final = {"doctor": "footplate.testing.doctor:doctor_command"}
"""The subcommands of `footplate agents` that stand on a scripted model."""

PARTS: Final = {"service": "footplate.interfaces.http.local:serve_embedded"}
"""What commands use of other surfaces."""

BESIDE: Final = (
    "footplate.interfaces.telegram.beside:beside_server",
    "footplate.chat.beside:transports_beside_server",
)
CHECKS: Final = (
    "footplate.testing.checkup:check_permission",
    "footplate.interfaces.telegram.checkup:check_telegram",
    "footplate.chat.checkup:check_transports",
)
"""What surfaces offer one another, by name: see `runtime.wiring`."""


def command_line() -> click.Group:
    """The root command with every subcommand of the product."""
    from footplate.interfaces.cli import app  # noqa: PLC0415

    app.COMMANDS.update(SURFACES)
    app.PARTS.update(PARTS)
    app.AGENT_COMMANDS.update(DRILLS)
    return app.root


def main() -> None:
    """Run the command line; `mock-agent` is started without the price of the rest."""
    if sys.argv[1:] == ["mock-agent"]:
        from footplate.engines.mock.stdio import main as serve  # noqa: PLC0415

        sys.exit(serve([]))
    from footplate.runtime.wiring import Wiring  # noqa: PLC0415

    command_line()(prog_name="footplate", obj=Wiring(beside=BESIDE, checks=CHECKS))
