"""`[engines.codex]`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta


class CodexSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where its program is and what reaches it."""

    program: Annotated[str, Meta(description="the CLI: a path, or a name on `PATH`")] = "codex"
    env: Annotated[Mapping[str, str], Meta(description="variables that are set for it")] = {}
    env_pass: Annotated[tuple[str, ...], Meta(description="further variables that reach it, as globs")] = ()
