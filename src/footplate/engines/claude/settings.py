"""The settings of the Claude engine: `[engines.claude]` as a frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Billing = Literal["auto"] | bool


class ClaudeSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the operator decided for Claude. Every field has a default."""

    program: Annotated[str, Meta(description="the CLI; default: `claude` on `PATH`")] = ""
    model: Annotated[str, Meta(description="the model; default: the CLI's own")] = ""
    allowed_tools: Annotated[
        tuple[str, ...], Meta(description="tools that need no permission when nobody can be asked for one")
    ] = ("Bash", "Read", "Edit", "Write")
    permission_mode: Annotated[str, Meta(description="the permission mode; default: the CLI's own")] = ""
    dangerously_skip_permissions: Annotated[
        bool, Meta(description="never ask; refused as root unless `sandbox` or `assume_sandbox`")
    ] = False
    use_api_billing: Annotated[
        Billing,
        Meta(
            description="whether `ANTHROPIC_API_KEY` is passed on: `auto` withholds it only when a subscription login "
            "is present, `true` always passes it, `false` never"
        ),
    ] = "auto"
    credential: Annotated[
        str,
        Meta(
            description="a key or a login that the CLI uses instead of any other, also one that it would not find by "
            "itself: a variable, or `FILE#FIELD`, as `GET /api/credentials` lists them"
        ),
    ] = ""
    assume_sandbox: Annotated[bool, Meta(description="a container is the sandbox: sets `IS_SANDBOX=1`")] = False
    max_retries: Annotated[int, Meta(description="how often the CLI repeats a failed request of the model")] = 4
    env_pass: Annotated[tuple[str, ...], Meta(description="further variables that reach the agent, as globs")] = ()
    env: Annotated[Mapping[str, str], Meta(description="variables that are set for the agent")] = {}
    profile: Annotated[str, Meta(description="a config folder of its own: sets `CLAUDE_CONFIG_DIR`")] = ""
