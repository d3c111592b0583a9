"""Agents that speak ACP and need no settings: those we know and those we installed, as `[acp_agents]` has them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from footplate.config.acp import AcpAgentSettings
from footplate.config.settings import Settings
from footplate.engines.catalog import BUILT_IN
from footplate.engines.known_agents import OFFERS
from footplate.engines.receipts import installed_commands


def with_agents(settings: Settings, environ: Mapping[str, str]) -> Settings:
    """The settings with every ACP agent that is known or that we installed; what the operator names comes first."""
    known = {
        offer.id: AcpAgentSettings(command=(offer.program, *offer.args), env=offer.env, env_pass=offer.passed)
        for offer in OFFERS
        if offer.wire == "acp"
    }
    found = {**known, **installed_commands(environ)}
    commands = {name: command for name, command in found.items() if name not in BUILT_IN}
    return msgspec.structs.replace(settings, acp_agents={**commands, **settings.acp_agents})
