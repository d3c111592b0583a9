"""Any ACP command as it is: every message passes in both directions, whatever its method; nothing is understood.

The process starts with the first message and again with the first one after its end. A line of it that is no JSON
object is told as `_adapter/invalid_stdout`, its end as `_adapter/agent_exited`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from footplate.acp import jsonrpc
from footplate.acp.failures import Failure
from footplate.config.acp import AcpAgentSettings
from footplate.errors import EngineGone, EngineNotFound
from footplate.host.child import Process
from footplate.host.environment import build_environment, expand_home
from footplate.host.spawn import Exit, Spawn
from footplate.runtime.acp.client import Send
from footplate.runtime.acp.extensions import EXIT, INVALID, Exited, Invalid
from footplate.runtime.services import Services
from footplate.tasks import spawn

RAW_LIMIT: Final = 64 * 1024
STDERR_LIMIT: Final = 4096
CLOSE_S: Final = 0.3
TERM_S: Final = 0.7

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
        self._closing = False

    def locate(self) -> str:
        """Its program. Raises `EngineNotFound`."""
        environ = self._environ()
        program = self._settings.command[0]
        found = shutil.which(expand_home(program, environ), path=environ.get("PATH", os.defpath))
        if found is None:
            raise EngineNotFound(self._name, program, f"install it, or correct [acp_agents.{self._name}] command")
        return found

    async def receive(self, message: bytes) -> None:
        """Hand a message to the agent. Raises `EngineError` or `HostError` when it is not there to take it."""
        async with self._starting:
            if self._closing:
                raise EngineGone(self._name, "its connection was closed")
            process = self._process if self._process is not None else await self._start()
        await process.write(message.rstrip(b"\n") + b"\n")

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
            frames = [_checked(line) for line in block.lines.split(b"\n") if line.strip()]
            frames += [_invalid(long.text, long.head) for long in block.oversize]
            await self._send(frames)
        if process.exit is None:
            await process.end(close_wait=CLOSE_S, term_wait=TERM_S)
        ending = await process.wait()
        stderr = process.stderr_tail(STDERR_LIMIT)
        self._process = None
        await process.end(close_wait=0.0)
        if not self._closing:
            await self._tell_end(ending, stderr)

    async def _tell_end(self, ending: Exit, stderr: str) -> None:
        log.info("the agent %s has ended: %s", self._name, ending.describe())
        told = Exited(success=ending.code == 0, code=ending.code, signal=ending.signal, stderr=stderr)
        await self._send([jsonrpc.encode_notification(EXIT, told)])
        words = f"the agent {self._name} has ended: {ending.describe()}"
        data = {"kind": "agent_process_exited", "code": ending.code, "signal": ending.signal, "stderr": stderr}
        await self._lost(Failure(jsonrpc.INTERNAL_ERROR, words, data))


class _Object(msgspec.Struct):
    """Any JSON object."""


_object_decoder: Final = msgspec.json.Decoder(_Object)


def _checked(line: bytes) -> bytes:
    """The line, if it is a JSON object; else the message that tells of it."""
    try:
        _object_decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        return _invalid(str(problem), line)
    return line


def _invalid(problem: str, line: bytes) -> bytes:
    raw = line[:RAW_LIMIT].decode("utf-8", "replace")
    return jsonrpc.encode_notification(INVALID, Invalid(error=problem, raw=raw))
