"""`[retention]`: how long the service keeps what only debugging and catching up need."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta


class RetentionSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is stored for how long. The logs of sessions are kept unless `closed_sessions_days` is set."""

    frames: Annotated[
        bool, Meta(description="store the raw lines of agents; a change takes effect with the next agent process")
    ] = True
    frames_days: Annotated[float, Meta(description="raw lines are removed after this many days", gt=0)] = 7.0
    frames_mb: Annotated[
        int, Meta(description="the most that raw lines of all sessions take on disk; the oldest are removed", gt=0)
    ] = 256
    journal_days: Annotated[
        float, Meta(description="what was sent on an ACP connection can be replayed for this many days", gt=0)
    ] = 1.0
    journal_mb: Annotated[int, Meta(description="the most that is kept for the replay of one ACP connection", gt=0)] = (
        16
    )
    connection_days: Annotated[
        float, Meta(description="an ACP connection that was not used for this many days is deleted", gt=0)
    ] = 7.0
    queue_days: Annotated[
        float,
        Meta(description="how long a delivered message is remembered, so that it is not sent twice", gt=0),
    ] = 1.0
    audit_days: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        Meta(description="audit records are removed after this many days; default: never"),
    ] = None
    closed_sessions_days: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(description="a session that was closed this many days ago is deleted with its log; default: never"),
    ] = None
