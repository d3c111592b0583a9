"""Web Push: `[push]`, who is told to push services and which of them may be called."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

SERVICES: Final = (
    "fcm.googleapis.com",
    "*.push.services.mozilla.com",
    "*.push.apple.com",
    "*.notify.windows.com",
)


class PushSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How browsers are told."""

    contact: Annotated[
        str, Meta(description="whom a push service may write to: `mailto:` or `https:`", pattern="^(mailto:|https://).")
    ] = "mailto:footplate@example.com"
    services: Annotated[
        tuple[str, ...], Meta(description="hosts of push services that may be called, as globs; no other is")
    ] = SERVICES
    keep_s: Annotated[
        float, Meta(description="how long a message waits for a browser that is away, and is tried again", gt=0)
    ] = 86_400.0
