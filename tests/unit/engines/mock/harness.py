"""A client of the mock agent for tests, the same for both forms: an agent in this process, and a child process."""

from __future__ import annotations

import asyncio
import os
import queue
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from footplate.engines.mock.agent import PACE_VARIABLE, serve

SOURCE = Path(__file__).parents[4] / "src"
DEADLINE_S = 20.0

Json = dict[str, object]
Answer = Callable[[str, Json], object]


class Agent(Protocol):
    """A running agent as a client sees it."""

    def write(self, data: bytes) -> None: ...

    def read(self) -> bytes | None: ...

    def close(self) -> None: ...

    def wait(self) -> int: ...

    def stderr(self) -> str: ...


class TaskAgent:
    """The agent core on a loop in a thread, at the end of two queues."""

    def __init__(self, env: Mapping[str, str], cwd: str) -> None:
        self._out: queue.Queue[bytes | None] = queue.Queue()
        self._loop = asyncio.new_event_loop()
        self._in: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._code = -1
        self._thread = threading.Thread(target=self._run, args=(env, cwd))
        self._thread.start()

    def _run(self, env: Mapping[str, str], cwd: str) -> None:
        async def lines() -> AsyncIterator[bytes]:
            while (line := await self._in.get()) is not None:
                yield line

        async def write(data: bytes) -> None:
            self._out.put(data)
            await asyncio.sleep(0)

        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            self._code = runner.run(serve(lines(), write, env=env, cwd=cwd))
        self._out.put(None)

    def write(self, data: bytes) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._in.put_nowait, data)

    def read(self) -> bytes | None:
        return self._out.get(timeout=DEADLINE_S)

    def close(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._in.put_nowait, None)

    def wait(self) -> int:
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive()
        return self._code

    def stderr(self) -> str:
        return ""


class ProcessAgent:
    """`footplate mock-agent` as a child process with an environment of its own."""

    def __init__(self, env: Mapping[str, str], cwd: str) -> None:
        code = "import sys; from footplate.engines.mock.stdio import main; sys.exit(main(sys.argv[1:]))"
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": os.defpath, "PYTHONPATH": str(SOURCE), **env},
            cwd=cwd,
        )
        self._timer = threading.Timer(DEADLINE_S, self._process.kill)
        self._timer.start()

    def write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def read(self) -> bytes | None:
        assert self._process.stdout is not None
        return self._process.stdout.readline() or None

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()

    def wait(self) -> int:
        code = self._process.wait(DEADLINE_S)
        self._timer.cancel()
        self._timer.join()
        return code

    def stderr(self) -> str:
        """All of it; the agent must have ended."""
        assert self._process.stderr is not None
        return self._process.stderr.read().decode()

    def stop_reading(self) -> None:
        """Let go of its output while it still writes."""
        assert self._process.stdout is not None
        self._process.stdout.close()

    def release(self) -> None:
        """Close what is left of the pipes."""
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()


class Outcome(msgspec.Struct):
    """What came of one call: the notifications before it, the requests of the agent, the end."""

    updates: list[object]
    asked: list[Json]
    result: object = None
    error: object = None


def refuse(method: str, params: Json) -> object:
    raise AssertionError(f"not expected to be asked: {method} {params}")


class Client:
    """Speaks JSON-RPC to an agent, one call at a time."""

    def __init__(self, agent: Agent, *, forms: bool = True) -> None:
        self.agent = agent
        self._calls = 0
        capabilities: Json = {"elicitation": {"form": {}}, "session": {"notices": {}}} if forms else {}
        self.greeting = self.call("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities}).result

    def new_session(self, cwd: str = "/project") -> str:
        result = self.call("session/new", {"cwd": cwd, "mcpServers": []}).result
        assert isinstance(result, dict)
        return str(result["sessionId"])

    def prompt(self, session: str, text: str, answer: Answer = refuse) -> Outcome:
        return self.call("session/prompt", {"sessionId": session, "prompt": [text_block(text)]}, answer)

    def call(self, method: str, params: Json, answer: Answer = refuse) -> Outcome:
        return self.finish(self.send(method, params), answer)

    def send(self, method: str, params: Json) -> int:
        self._calls += 1
        self.write({"jsonrpc": "2.0", "id": self._calls, "method": method, "params": params})
        return self._calls

    def notify(self, method: str, params: Json) -> None:
        self.write({"jsonrpc": "2.0", "method": method, "params": params})

    def write(self, message: Json) -> None:
        self.agent.write(msgspec.json.encode(message) + b"\n")

    def next(self) -> Json:
        line = self.agent.read()
        assert line is not None, "the agent ended"
        return msgspec.json.decode(line, type=Json)

    def finish(self, call: int, answer: Answer = refuse) -> Outcome:
        outcome = Outcome([], [])
        while True:
            message = self.next()
            method, params = str(message.get("method")), message.get("params")
            if "method" not in message:
                assert message["id"] == call
                outcome.result, outcome.error = message.get("result"), message.get("error")
                return outcome
            assert isinstance(params, dict)
            if "id" in message:
                outcome.asked.append({"method": method, **{k: v for k, v in params.items() if k != "sessionId"}})
                self.write({"jsonrpc": "2.0", "id": message["id"], "result": answer(method, params)})
            else:
                outcome.updates.append(params["update"])


def text_block(text: str) -> Json:
    return {"type": "text", "text": text}


def environment(**more: str) -> dict[str, str]:
    """All that the agent gets to see."""
    return {PACE_VARIABLE: "0", "GREETING": "hello there", **more}


def start(form: str, env: Mapping[str, str], cwd: Path) -> TaskAgent | ProcessAgent:
    return ProcessAgent(env, str(cwd)) if form == "stdio" else TaskAgent(env, str(cwd))


def stop(agent: TaskAgent | ProcessAgent) -> int:
    """Close its input and see it out; nothing is left of it."""
    agent.close()
    code = agent.wait()
    if isinstance(agent, ProcessAgent):
        agent.release()
    return code
