"""ACP: how editors are served (`[acp]`), and commands that speak it themselves (`[acp_agents.NAME]`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Attach = Literal["auto", "always", "never"]


class AcpSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How `footplate acp` serves an editor."""

    attach: Annotated[
        Attach,
        Meta(
            description="`auto` joins the Footplate that runs on the data folder, if one does, else runs the agents "
            "itself; `always` only joins; `never` only runs them itself"
        ),
    ] = "auto"
    draft: Annotated[
        bool, Meta(description="speak the draft of ACP version 2 with editors that ask for it; it may change")
    ] = False


class AcpAgentSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One such command: an engine of that name; over `/v1/acp` and its like its messages are relayed as they are."""

    command: Annotated[
        tuple[str, ...],
        Meta(description="the program and its arguments; the program is a path, or a name on `PATH`", min_length=1),
    ]
    cwd: Annotated[str, Meta(description="the folder it starts in when it is relayed; default: the home folder")] = ""
    env: Annotated[Mapping[str, str], Meta(description="variables that are set for it")] = {}
    env_pass: Annotated[tuple[str, ...], Meta(description="further variables that reach it, as globs")] = ()
    auth_method: Annotated[
        str, Meta(description="how it logs in, by its own name for it; default: by a key that is set, when it asks")
    ] = ""
