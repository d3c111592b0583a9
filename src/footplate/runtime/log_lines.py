"""Log records as lines, logfmt or JSON, without what looks like a secret."""

from __future__ import annotations

import logging
import re
import time
from typing import Final, Literal

import msgspec

from footplate.config.settings import Settings

SECRET: Final = re.compile(r"(?i)((?:access_token|token|api_?key|password|secret|authorization)=)[^&\s]*")
KEYS: Final = re.compile(r"\b(?:(sk-ant-|sk-|fp_|gh[opusr]_|github_pat_)[A-Za-z0-9_\-]{6,}|(AKIA|ASIA)[A-Z0-9]{12,})")
BOTS: Final = re.compile(r"\b((?:bot)?\d{3,}:)[A-Za-z0-9_\-]{15,}")
"""Tokens of Telegram's bots, which stand in the addresses of its calls."""
LEVELS: Final = {
    "footplate.audit": logging.INFO,
    "uvicorn.error": logging.CRITICAL,
    "websockets": logging.CRITICAL,
    "httpx": logging.WARNING,
    "httpcore": logging.WARNING,
}
"""Loggers with a level of their own, whatever that of the log is.

The newest hash of the audit log is always written. Libraries that log every connection or call log what is wrong.
"""


def redact(text: str) -> str:
    """The text without what looks like a secret."""
    return BOTS.sub(r"\1***", KEYS.sub(r"\1\2***", SECRET.sub(r"\1***", text)))


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


def set_up_logging(level: str, settings: Settings) -> None:
    """Log lines go to standard error, in the form that the settings ask for."""
    handler = logging.StreamHandler()
    handler.setFormatter(LineFormatter(settings.http.log))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name, least in LEVELS.items():
        logging.getLogger(name).setLevel(least)
