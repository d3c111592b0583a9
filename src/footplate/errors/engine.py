"""The agent's side."""

from __future__ import annotations

from typing import ClassVar

from footplate.errors.base import FootplateError


class EngineError(FootplateError):
    """Something on the agent's side."""

    code: ClassVar[str] = "engine_error"
    title: ClassVar[str] = "Engine error"
    status: ClassVar[int] = 502


class EngineNotFound(EngineError):
    """The agent's program is not on this machine."""

    code: ClassVar[str] = "agent_not_installed"
    title: ClassVar[str] = "Agent not installed"
    status: ClassVar[int] = 404

    def __init__(self, engine: str, program: str, advice: str) -> None:
        self.engine = engine
        self.program = program
        super().__init__(f"{engine}: {program!r} was not found; {advice}")


class EngineNotExecutable(EngineError):
    """The agent's program is there and cannot be started."""

    code: ClassVar[str] = "agent_not_executable"
    title: ClassVar[str] = "Agent not executable"

    def __init__(self, engine: str, program: str, reason: str) -> None:
        self.engine = engine
        self.program = program
        super().__init__(f"{engine}: {program!r} cannot be started: {reason}; check the file and its mode")


class EngineRefused(EngineError):
    """The agent will not start like this."""

    code: ClassVar[str] = "agent_refused"
    title: ClassVar[str] = "Agent refused to start"
    status: ClassVar[int] = 400

    def __init__(self, engine: str, reason: str, advice: str) -> None:
        self.engine = engine
        super().__init__(f"{engine} refused to start: {reason}; {advice}")


class EngineDeclined(EngineError):
    """The agent runs and will not do what was asked; its own words are kept."""

    code: ClassVar[str] = "agent_declined"
    title: ClassVar[str] = "Agent declined"
    status: ClassVar[int] = 409

    def __init__(self, engine: str, asked: str, words: str) -> None:
        self.engine = engine
        self.asked = asked
        self.words = words
        super().__init__(f"{engine} declined {asked}: {words}")


class EngineSilent(EngineError):
    """The agent does not answer in time."""

    code: ClassVar[str] = "agent_silent"
    title: ClassVar[str] = "Agent silent"
    status: ClassVar[int] = 504
    retryable: ClassVar[bool] = True

    def __init__(self, engine: str, asked: str, waited_s: float) -> None:
        self.engine = engine
        self.asked = asked
        self.waited_s = waited_s
        super().__init__(f"{engine} did not answer {asked} within {waited_s:g} s; try again, or end the agent")


class InstallFailed(EngineError):
    """The agent's program could not be installed."""

    code: ClassVar[str] = "install_failed"
    title: ClassVar[str] = "Install failed"
    status: ClassVar[int] = 500

    def __init__(self, engine: str, reason: str) -> None:
        self.engine = engine
        super().__init__(f"{engine} could not be installed: {reason}")


class FetchFailed(EngineError):
    """Something could not be fetched from the web, or from a file that was named instead."""

    code: ClassVar[str] = "fetch_failed"
    title: ClassVar[str] = "Fetch failed"
    status: ClassVar[int] = 502

    def __init__(self, address: str, reason: str) -> None:
        self.address = address
        super().__init__(f"{address} could not be fetched: {reason}; check the address and the network, then try again")


class AnswerLate(EngineError):
    """The agent shows no sign of life while a caller waits for its answer."""

    code: ClassVar[str] = "timeout"
    title: ClassVar[str] = "Timeout"
    status: ClassVar[int] = 504
    retryable: ClassVar[bool] = False

    def __init__(self, engine: str, asked: str, waited_s: float) -> None:
        self.engine = engine
        self.asked = asked
        self.waited_s = waited_s
        super().__init__(
            f"nothing was heard of {engine} for {waited_s:g} s while {asked} waited for its answer; "
            "the answer comes on the event stream should it still come"
        )


class EngineGone(EngineError):
    """The agent died, or its pipes are closed."""

    code: ClassVar[str] = "agent_process_exited"
    title: ClassVar[str] = "Agent process exited"

    def __init__(self, engine: str, reason: str) -> None:
        self.engine = engine
        super().__init__(f"{engine} is gone: {reason}")
