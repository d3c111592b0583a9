"""Faults to order: which call goes wrong, how, and how often."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec


class Refusal(Exception):
    """The Bot API says no."""

    def __init__(self, code: int, words: str, **parameters: object) -> None:
        super().__init__(words)
        self.code = code
        self.words = words
        self.parameters = parameters


class Fault(msgspec.Struct, kw_only=True):
    """One fault: for calls of `method` (all when empty) to `chat` (any when None) whose text holds `text`.

    `status` 500 answers so and does nothing, unless `effect`; 429 carries `retry_after`. `drop` closes the connection
    `before` or `after` the call took effect. `delay_s` makes the answer late.
    """

    method: str = ""
    chat: int | None = None
    text: str = ""
    status: int = 0
    words: str = ""
    retry_after: float = 0.0
    drop: Literal["", "before", "after"] = ""
    effect: bool = False
    delay_s: float = 0.0
    times: int = 1
    after: int = 0
    """How many fitting calls go well first."""

    def fits(self, method: str, parameters: Mapping[str, object]) -> bool:
        """Whether it is this call's turn to go wrong."""
        if self.times == 0 or (self.method and self.method != method):
            return False
        if self.chat is not None and parameters.get("chat_id") != self.chat:
            return False
        if self.text and self.text not in str(parameters.get("text", "")):
            return False
        if self.after > 0:
            self.after -= 1
            return False
        self.times -= 1
        return True

    def refusal(self) -> Refusal | None:
        """The refusal that it asks for."""
        if not self.status:
            return None
        words = self.words or {500: "Internal Server Error", 502: "Bad Gateway"}.get(self.status, "Too Many Requests")
        if self.status == 429:
            return Refusal(429, f"Too Many Requests: retry after {self.retry_after:g}", retry_after=self.retry_after)
        return Refusal(self.status, words)
