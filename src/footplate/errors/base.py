"""The root of the tree, and the errors of settings and of peers."""

from __future__ import annotations

from typing import ClassVar


class FootplateError(Exception):
    """Root of the tree; catch it to catch everything Footplate raises on purpose."""

    code: ClassVar[str] = "error"
    title: ClassVar[str] = "Error"
    status: ClassVar[int] = 500
    retryable: ClassVar[bool] = False


class ConfigError(FootplateError):
    """The settings cannot be used."""

    code: ClassVar[str] = "config_error"
    title: ClassVar[str] = "Settings cannot be used"

    def __init__(self, where: str, problem: str, advice: str) -> None:
        self.where = where
        super().__init__(f"{where}: {problem}; {advice}")


class ProtocolError(FootplateError):
    """A peer broke the rules of its own wire."""

    code: ClassVar[str] = "protocol_error"
    title: ClassVar[str] = "Protocol error"
    status: ClassVar[int] = 502

    def __init__(self, peer: str, problem: str) -> None:
        self.peer = peer
        super().__init__(f"{peer}: {problem}")
