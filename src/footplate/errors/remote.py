"""A service that this program is a client of."""

from __future__ import annotations

from typing import ClassVar

from footplate.errors.base import FootplateError


class RemoteError(FootplateError):
    """A service that this program is a client of."""

    code: ClassVar[str] = "remote_error"
    title: ClassVar[str] = "Remote error"
    status: ClassVar[int] = 502


class ServiceUnreachable(RemoteError):
    """The service does not answer, or a call was cut off so that nobody knows whether it arrived."""

    code: ClassVar[str] = "service_unreachable"
    title: ClassVar[str] = "Service unreachable"
    status: ClassVar[int] = 503
    retryable: ClassVar[bool] = True

    def __init__(self, url: str, reason: str) -> None:
        self.url = url
        self.reason = reason
        super().__init__(f"{url} does not answer: {reason}; is `footplate serve` running there?")


class ServiceFailed(RemoteError):
    """The service, or something before it, answers with an error that has no name in this tree."""

    code: ClassVar[str] = "service_failed"
    title: ClassVar[str] = "Service failed"

    def __init__(self, answered: int, words: str) -> None:
        self.answered = answered
        self.words = words
        super().__init__(f"the service answered {answered}: {words}")


class CallRefused(RemoteError):
    """An agent refuses a call of its protocol. `number` is the error's, `data` what it tells beside."""

    code: ClassVar[str] = "call_refused"
    title: ClassVar[str] = "Call refused"

    def __init__(self, method: str, number: int, words: str, data: object = None) -> None:
        self.method = method
        self.number = number
        self.words = words
        self.data = data
        super().__init__(f"{method}: {words} ({number})")
