"""A rule that answers a permission: a value of the settings, and of a session that was told "for this session"."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule: `tool` and `pattern` are globs; no pattern fits every call of the tool."""

    tool: Annotated[str, Meta(description="the tool, as a glob: `Bash`, `mcp__github__*`", min_length=1)]
    decision: Annotated[Literal["allow", "deny", "ask"], Meta(description="what happens")]
    pattern: Annotated[str, Meta(description="what the call is about, as a glob: `git status*`")] = ""
    message: Annotated[str, Meta(description="what a refused agent is told")] = ""
