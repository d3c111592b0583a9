"""One line per call. A query is shown without the values that could be secrets."""

from __future__ import annotations

import logging

from starlette.types import Scope

from footplate.runtime.log_lines import redact

log = logging.getLogger("footplate.http")


def log_call(scope: Scope, *, status: int, seconds: float, who: str) -> None:
    """Write the line of one call: broken ones as errors, all others when somebody listens."""
    level = logging.ERROR if status >= 500 and status not in (501, 503) else logging.INFO
    if not log.isEnabledFor(level):
        return
    query = scope["query_string"].decode("latin-1")
    client = scope.get("client")
    fields = {
        "method": scope.get("method", "WS"),
        "path": scope["path"] + (f"?{redact(query)}" if query else ""),
        "status": status,
        "ms": round(seconds * 1000, 1),
        "client": client[0] if client else "",
        "who": who,
    }
    log.log(level, "call", extra={"fields": fields})
