"""One line per call, as logfmt or JSON. A query is shown without the values that could be secrets."""

from __future__ import annotations

import logging
import re
import time
from typing import Final, Literal

import msgspec
from starlette.types import Scope

log = logging.getLogger("footplate.http")

SECRET: Final = re.compile(r"(?i)((?:access_token|token|api_?key|password|secret|authorization)=)[^&\s]*")
KEYS: Final = re.compile(r"\b(sk-ant-|sk-|fp_)[A-Za-z0-9_\-]{6,}")


def redact(text: str) -> str:
    """The text without what looks like a secret."""
    return KEYS.sub(r"\1***", SECRET.sub(r"\1***", text))


class LineFormatter(logging.Formatter):
    """Log records as lines for programs; the fields of a record stand in `fields`."""

    def __init__(self, form: Literal["logfmt", "json"]) -> None:
        super().__init__()
        self._form = form

    def format(self, record: logging.LogRecord) -> str:
        """One record as one line; a traceback follows on lines of its own."""
        facts: dict[str, object] = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": redact(record.getMessage()),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and self._form == "json":
            facts["trace"] = redact(self.formatException(record.exc_info))
        if self._form == "json":
            return msgspec.json.encode(facts, enc_hook=str).decode()
        line = " ".join(f"{name}={_logfmt(value)}" for name, value in facts.items())
        return f"{line}\n{redact(self.formatException(record.exc_info))}" if record.exc_info else line


def _logfmt(value: object) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    if text and not any(char in text for char in ' "=\n\t'):
        return text
    return msgspec.json.encode(text).decode()


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
