"""Settings of the catalog: which agents are offered, and when they are installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta


class AgentsSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the catalog offers beside the agents that it knows."""

    registries: Annotated[
        tuple[str, ...],
        Meta(
            description="ACP registries (`registry.json`): files or addresses; "
            "`SANDBOX_AGENT_ACP_REGISTRY_URL` names a further one"
        ),
    ] = ()
    registry_age_s: Annotated[
        float, Meta(description="a registry that was fetched is asked again after so long", ge=0)
    ] = 86_400.0
    pins: Annotated[
        Mapping[str, str], Meta(description="the version to install of an agent, in place of the one we know: by name")
    ] = {}
    install_on_use: Annotated[
        bool,
        Meta(
            description="whether a server installs a known agent when somebody asks for it the first time; "
            "`SANDBOX_AGENT_REQUIRE_PREINSTALL=1` means no"
        ),
    ] = True
