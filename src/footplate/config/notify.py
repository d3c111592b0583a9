"""Whom to tell when a session needs somebody, has finished or has failed: values of the settings."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Occasion = Literal["needs_you", "finished", "failed"]
OCCASIONS: tuple[Occasion, ...] = ("needs_you", "finished", "failed")


class Hook(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One outgoing hook: `[[notify]]`."""

    kind: Annotated[
        Literal["webhook", "ntfy", "command"],
        Meta(description="`webhook` posts JSON, `ntfy` posts to an ntfy topic, `command` runs in a shell"),
    ]
    target: Annotated[str, Meta(description="the address, or the command line", min_length=1)]
    on: Annotated[tuple[Occasion, ...], Meta(description="what to tell of")] = OCCASIONS
    at_least_s: Annotated[
        float, Meta(description="tell of the end of a turn only when it took so long; a request is always told", ge=0)
    ] = 0.0
    headers: Annotated[dict[str, str], Meta(description="headers for a webhook or ntfy, such as a token")] = {}
    link: Annotated[str, Meta(description="the address of this server as your phone knows it, for links")] = ""
