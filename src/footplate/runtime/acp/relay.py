"""Any ACP command as it is: every message passes in both directions, whatever its method.

Only what a person answers and the modes that a person sets are understood: they are in the audit log before they reach
the agent.

The process starts with the first message and again with the first one after its end. A line of it that is no JSON
object is told as `_adapter/invalid_stdout`, its end as `_adapter/agent_exited`.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import shutil
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Final, TypeVar

import msgspec

from footplate.acp import jsonrpc
from footplate.acp.encode_requests import ELICITATION, PERMISSION, QUESTION
from footplate.acp.failures import Failure
from footplate.acp.jsonrpc import Envelope
from footplate.acp.wire import Wire
from footplate.config.acp import AcpAgentSettings
from footplate.engines.acp.control import KINDS
from footplate.engines.rpc import read_broken
from footplate.errors import EngineGone, EngineNotFound
from footplate.events.requests import Choose, RequestOption
from footplate.host.child import Process
from footplate.host.environment import build_environment, expand_home
from footplate.host.spawn import Exit, Spawn
from footplate.runtime.acp.client import Send
from footplate.runtime.acp.extensions import EXIT, INVALID, Exited, Invalid
from footplate.runtime.audit import AnswerRecord, Principal
from footplate.runtime.fetching import show_address
from footplate.runtime.services import Services
from footplate.store.chain import UNREADABLE
from footplate.tasks import spawn

RAW_LIMIT: Final = 64 * 1024
STDERR_LIMIT: Final = 4096
CLOSE_S: Final = 0.3
TERM_S: Final = 0.7
QUESTIONS: Final = frozenset({PERMISSION, ELICITATION, QUESTION})
"""The requests of an agent that a person answers."""

BREAKS: Final = bytes.maketrans(b"\r\n", b"  ")
T = TypeVar("T")

log = logging.getLogger(__name__)
Lost = Callable[[Failure], Awaitable[None]]
"""Called when the process has ended: whoever waits for an answer of it gets this one."""


class Relay:
    """One agent process behind one connection."""

    def __init__(self, name: str, settings: AcpAgentSettings, services: Services, send: Send, lost: Lost) -> None:
        self._name = name
        self._settings = settings
        self._services = services
        self._send = send
        self._lost = lost
        self._process: Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._answering = asyncio.Lock()
        self._asked: dict[str, Asked] = {}
        self._closing = False

    def locate(self) -> str:
        """Its program. Raises `EngineNotFound`."""
        environ = self._environ()
        program = self._settings.command[0]
        found = shutil.which(expand_home(program, environ), path=environ.get("PATH", os.defpath))
        if found is None:
            raise EngineNotFound(self._name, program, f"install it, or correct [acp_agents.{self._name}] command")
        return found

    async def receive(self, message: bytes, who: Principal) -> None:
        """Hand a message to the agent. Raises `EngineError` or `HostError` when it is not there to take it.

        Raises `StoreError` where the record of an answer cannot be written: the agent goes on waiting then.
        """
        async with self._starting:
            if self._closing:
                raise EngineGone(self._name, "its connection was closed")
            process = self._process if self._process is not None else await self._start()
        envelope = _peek(message)
        # As one line, or the agent would read a line in the middle of the message as a message of its own.
        line = message.translate(BREAKS).rstrip() + b"\n"
        if envelope.kind != "response":
            await self._record_act(envelope, who)
            await process.write(line)
            return
        async with self._answering:  # a second answer to a request must not reach the agent before the first
            asked = self._asked.get(_key(envelope))
            if asked is not None:
                record = asked.record(self._name, envelope, who, self._services.surroundings.time())
                await self._services.audit.trail.append([msgspec.json.encode(record)])
            await process.write(line)
            self._asked.pop(_key(envelope), None)

    async def _record_act(self, envelope: Envelope, who: Principal) -> None:
        """The record of a mode, a route or a logout, before the agent gets the message."""
        params = _read(envelope.params, _Params)
        record, detail = self._services.audit.record, {"agent": self._name}
        match envelope.method:
            case "session/set_mode":
                await record("session.mode", who, session=params.session_id, detail={**detail, "mode": params.mode_id})
            case "session/set_config_option" if params.config_id == "mode":
                mode = str(params.value)
                await record("session.mode", who, session=params.session_id, detail={**detail, "mode": mode})
            case "providers/set" | "providers/disable":
                address = show_address(params.base_url) if params.base_url else ""
                await record("session.route", who, target=address, detail=detail)
            case "logout" | "auth/logout":
                await record("agent.logout", who, target=self._name)
            case _:
                pass

    async def close(self) -> None:
        """End the agent and all that it started."""
        async with self._starting:
            self._closing = True
        process, reading = self._process, self._reading
        if process is not None:
            await process.end(close_wait=CLOSE_S, term_wait=TERM_S)
        if reading is not None:
            await asyncio.wait((reading,))

    async def _start(self) -> Process:
        environ = self._environ()
        cwd = expand_home(self._settings.cwd, environ) or environ.get("HOME", "/")
        program = Spawn(argv=(self.locate(), *self._settings.command[1:]), env=environ, cwd=cwd)
        process = self._process = await self._services.keeper.spawn(program)
        self._reading = spawn(self._read(process), name=f"relay {self._name}")
        return process

    def _environ(self) -> dict[str, str]:
        given = self._settings
        return build_environment(self._services.environ, allow=given.env_pass, extra=dict(given.env))

    async def _read(self, process: Process) -> None:
        try:
            await self._hand_on(process)
        except Exception as problem:
            self._process = None
            await process.end(close_wait=0.0)
            words = f"the agent {self._name} was ended: {type(problem).__name__}: {problem}"
            await self._lost(Failure(jsonrpc.INTERNAL_ERROR, words, {"kind": "internal"}))
            raise

    async def _hand_on(self, process: Process) -> None:
        while (block := await process.read()) is not None:
            frames: list[bytes] = []
            for line in filter(bytes.strip, block.lines.split(b"\n")):
                problem = _problem(line)
                frames += [line] if not problem else await self._replace(process, problem, line)
            for long in block.oversize:
                frames += await self._replace(process, long.text, long.head)
            self._note(frames)
            await self._send(frames)
        if process.exit is None:
            await process.end(close_wait=CLOSE_S, term_wait=TERM_S)
        ending = await process.wait()
        stderr = process.stderr_tail(STDERR_LIMIT)
        self._process = None
        self._asked.clear()
        await process.end(close_wait=0.0)
        if not self._closing:
            await self._tell_end(ending, stderr)

    def _note(self, frames: Iterable[bytes]) -> None:
        """What the agent asks a person."""
        for frame in frames:
            envelope = _peek(frame)
            if envelope.kind == "request" and envelope.method in QUESTIONS:
                params = _text(envelope.params)
                self._asked[_key(envelope)] = Asked(target=_key(envelope), method=envelope.method or "", params=params)

    async def _replace(self, process: Process, problem: str, line: bytes) -> list[bytes]:
        """What the client gets for a line that cannot be read. Neither side waits for ever on it."""
        broken = read_broken(line, problem)
        if broken is None:
            return [_invalid(problem, line)]
        if not broken.asks:
            return [_invalid(problem, line), broken.frame]
        with suppress(EngineGone):
            await process.write(broken.frame)
        return [_invalid(problem, line)]

    async def _tell_end(self, ending: Exit, stderr: str) -> None:
        log.info("the agent %s has ended: %s", self._name, ending.describe())
        told = Exited(success=ending.code == 0, code=ending.code, signal=ending.signal, stderr=stderr)
        await self._send([jsonrpc.encode_notification(EXIT, told)])
        words = f"the agent {self._name} has ended: {ending.describe()}"
        data = {"kind": "agent_process_exited", "code": ending.code, "signal": ending.signal, "stderr": stderr}
        await self._lost(Failure(jsonrpc.INTERNAL_ERROR, words, data))


class _ToolCall(Wire, frozen=True, kw_only=True):
    title: str | None = None
    kind: str | None = None


class _Option(Wire, frozen=True, kw_only=True):
    option_id: str = ""
    name: str = ""
    kind: str = ""

    def described(self) -> RequestOption:
        """The option in the words of every request."""
        return RequestOption(id=self.option_id, label=self.name, kind=KINDS.get(self.kind, "other"))


class _Params(Wire, frozen=True, kw_only=True):
    session_id: str = ""
    tool_call: _ToolCall = _ToolCall()
    options: tuple[_Option, ...] = ()
    message: str = ""
    mode_id: str = ""
    config_id: str = ""
    value: str | bool | None = None
    base_url: str = ""


class _Outcome(Wire, frozen=True, kw_only=True):
    option_id: str = ""


class _Result(Wire, frozen=True, kw_only=True):
    outcome: _Outcome = _Outcome()


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request of the agent that a person answers."""

    target: str
    method: str
    params: bytes

    def record(self, agent: str, response: Envelope, who: Principal, time: float) -> AnswerRecord:
        """The record of its answer: whole, as it is handed on, and in our words as far as it can be read."""
        params = _read(self.params, _Params)
        chosen = _read(response.result, _Result).outcome.option_id
        option = next((option for option in params.options if option.option_id == chosen), None)
        return AnswerRecord(
            time=time,
            act="answer",
            by=who.by,
            surface=who.surface,
            origin=who.origin,
            token=who.token,
            session=params.session_id,
            target=self.target,
            kind="permission" if self.method == PERMISSION else "question",
            tool=params.tool_call.kind or "",
            title=params.tool_call.title or params.message,
            answer=Choose(option=chosen) if chosen else None,
            chosen=option.name if option is not None else "",
            option=option.described() if option is not None else None,
            input=msgspec.Raw(self.params),
            input_sha256=hashlib.sha256(self.params).hexdigest(),
            detail={"agent": agent, "response": response.error or msgspec.Raw(_text(response.result))},
        )


def _read(raw: bytes | msgspec.Raw | None, shape: type[T]) -> T:
    """What of it can be read; the shape without a value where it is something else."""
    try:
        return msgspec.json.decode(raw or b"{}", type=shape)
    except UNREADABLE:
        return shape()


def _text(raw: msgspec.Raw | None) -> bytes:
    """The JSON as it can be recorded, which is UTF-8."""
    return bytes(raw or b"null").decode(errors="replace").encode()


def _peek(message: bytes) -> Envelope:
    try:
        return jsonrpc.envelope_decoder.decode(message)
    except UNREADABLE:
        return Envelope()


def _key(envelope: Envelope) -> str:
    """The id of a request, the same for ids that an agent may take for one: 1, 1.0 and "1"."""
    name = jsonrpc.id_of(envelope)
    return str(int(name) if isinstance(name, float) and name.is_integer() else name)


class _Object(msgspec.Struct):
    """Any JSON object."""


_object_decoder: Final = msgspec.json.Decoder(_Object)


def _problem(line: bytes) -> str:
    """Why the line is no JSON object; empty when it is one."""
    try:
        line.decode()
        _object_decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        return str(problem)
    return ""


def _invalid(problem: str, line: bytes) -> bytes:
    raw = line[:RAW_LIMIT].decode("utf-8", "replace")
    return jsonrpc.encode_notification(INVALID, Invalid(error=problem, raw=raw))
