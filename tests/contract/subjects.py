"""The engines under contract: each says how to bring about the same situations in its own way."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Protocol

from footplate.config.acp import AcpAgentSettings
from footplate.config.settings import Settings
from footplate.events.runs import RunEvent
from footplate.runtime.run import Run, RunRequest
from footplate.testing.closed import MINIMAL_PATH, closed_environment, prepare_home
from footplate.testing.messages import api_error, say, script, tool
from tests.contract.example import install_example
from tests.contract.players import write_player, write_server
from tests.e2e.world import World

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
SOURCES = str(FIXTURES.parent.parent / "src")


class Subject(Protocol):
    """An engine with its surroundings; each situation gives a run that is ready to begin."""

    death_words: tuple[str, ...]
    """What the error of a death must say: how it died, and the agent's last words where it had any."""

    patience_s: float
    """How long a hanging agent is waited for until it must have begun: a real one takes its time to start."""

    def answer(self) -> Run:
        """A run that ends well with a text."""
        ...

    def tool(self) -> Run:
        """A run with a tool that works."""
        ...

    def failure(self) -> Run:
        """A run that fails by the engine's own verdict."""
        ...

    def death(self) -> Run:
        """The agent ends in the middle of its turn, without a result."""
        ...

    def hang(self, timeout_s: float | None = None) -> Run:
        """The agent begins its turn and never ends it."""
        ...

    def missing(self) -> Run:
        """The agent's program is not there."""
        ...

    def resumed(self, resume: str) -> Run:
        """A run that goes on with a session."""
        ...


class Scene:
    """A home and a folder of the test's own."""

    def __init__(self, folder: Path) -> None:
        self.home = prepare_home(folder / "home")
        self.work = folder / "work"
        self.work.mkdir()
        self.bin = self.home / "bin"
        self.bin.mkdir()
        self.env = closed_environment(self.home, base_url="http://127.0.0.1:9", path=f"{self.bin}:{MINIMAL_PATH}")
        self.env["FOOTPLATE_DATA_DIR"] = str(folder / "data")

    def run(self, engine: str, prompt: str, settings: Settings, **options: object) -> Run:
        """A run in this scene."""
        request = RunRequest(engine=engine, prompt=prompt, cwd=str(self.work), **options)  # type: ignore[arg-type]
        return Run(request, settings=settings, environ=self.env)


class MockSubject:
    """The built-in agent, as a task or as a program."""

    death_words: tuple[str, ...] = ("exit code 7",)

    def __init__(self, folder: Path, form: str) -> None:
        self.patience_s = 4.0 if form == "stdio" else 1.0
        self._scene = Scene(folder)
        self._settings = Settings(engines={"mock": {"form": form}})

    def _run(self, prompt: str, **options: object) -> Run:
        return self._scene.run("mock", prompt, self._settings, **options)

    def answer(self) -> Run:
        return self._run("hello")

    def tool(self) -> Run:
        return self._run("tool")

    def failure(self) -> Run:
        return self._run("error")

    def death(self) -> Run:
        return self._run("crash 7")

    def hang(self, timeout_s: float | None = None) -> Run:
        return self._run("hang", timeout_s=timeout_s)

    def missing(self) -> Run:
        return self._run("hello", resume="no-such-session")

    def garbage(self) -> Run:
        return self._run("garbage")

    def resumed(self, resume: str) -> Run:
        return self._run("history", resume=resume)


class AcpSubject:
    """A command of the settings that speaks ACP: the generic engine. The program is the mock agent, on its stdio."""

    death_words: tuple[str, ...] = ("exit code 7",)
    patience_s = 4.0

    def __init__(self, folder: Path) -> None:
        self._scene = Scene(folder)
        self._scene.env["PYTHONPATH"] = SOURCES
        self._command: tuple[str, ...] = (sys.executable, "-P", "-m", "footplate", "mock-agent")

    def _run(self, prompt: str, **options: object) -> Run:
        passed = ("FOOTPLATE_*", "PYTHONPATH")
        settings = Settings(acp_agents={"own": AcpAgentSettings(command=self._command, env_pass=passed)})
        return self._scene.run("own", prompt, settings, **options)

    def answer(self) -> Run:
        return self._run("hello")

    def tool(self) -> Run:
        return self._run("tool")

    def failure(self) -> Run:
        return self._run("error")

    def death(self) -> Run:
        return self._run("crash 7")

    def hang(self, timeout_s: float | None = None) -> Run:
        return self._run("hang", timeout_s=timeout_s)

    def missing(self) -> Run:
        self._command = ("no-such-agent", "--acp")
        return self._run("hello")

    def garbage(self) -> Run:
        return self._run("garbage")

    def resumed(self, resume: str) -> Run:
        return self._run("history", resume=resume)


class CodexServerSubject:
    """`codex app-server`, played from what it once wrote."""

    death_words: tuple[str, ...] = ("exit code 7", "last words")
    patience_s = 2.0

    def __init__(self, folder: Path) -> None:
        self._scene = Scene(folder)

    def _play(self, records: bytes, *, exit_code: int = 0, **options: object) -> Run:
        program = self._scene.bin / "codex"
        write_server(program, records, version="codex-cli 0.166.0", exit_code=exit_code)
        return self._scene.run("codex", "do it", Settings(), allow_tools=("shell",), **options)

    def answer(self) -> Run:
        return self._play(_codex("appserver-question"))

    def tool(self) -> Run:
        return self._play(_codex("appserver-approve"))

    def failure(self) -> Run:
        failed = b'"status": "failed", "error": {"message": "no"}'
        return self._play(_codex("appserver-approve").replace(b'"status": "completed", "error": null', failed))

    def death(self) -> Run:
        return self._play(
            _cut(_codex("appserver-approve"), b'"item/started", "params": {"item": {"type": "command'), exit_code=7
        )

    def hang(self, timeout_s: float | None = None) -> Run:
        return self._play(_cut(_codex("appserver-interrupt"), b'"result": {"turn"'), timeout_s=timeout_s)

    def missing(self) -> Run:
        return self._scene.run("codex", "do it", Settings())

    def resumed(self, resume: str) -> Run:
        return self._play(_codex("appserver-question").replace(b'thread/start"', b'thread/resume"'), resume=resume)


class CodexSubject:
    """`codex exec`, played from what it once wrote."""

    death_words: tuple[str, ...] = ("exit code 7", "last words")
    patience_s = 1.0

    def __init__(self, folder: Path) -> None:
        self._scene = Scene(folder)

    def _play(self, output: bytes, *, exit_code: int = 0, lingers: bool = False, **options: object) -> Run:
        write_player(
            self._scene.bin / "codex",
            output,
            version="codex-cli 0.166.0",
            reads_first=False,
            exit_code=exit_code,
            last_words="last words" if exit_code else "",
            lingers="forever" if lingers else "",
        )
        return self._scene.run("codex", "do it", Settings(), one_shot=True, **options)

    def answer(self) -> Run:
        return self._play(_codex("exec-simple"))

    def tool(self) -> Run:
        return self._play(_codex("exec-bash"))

    def failure(self) -> Run:
        return self._play(_codex("exec-fail"), exit_code=1)

    def death(self) -> Run:
        return self._play(_cut(_codex("exec-bash"), b'"item.started"'), exit_code=7)

    def hang(self, timeout_s: float | None = None) -> Run:
        return self._play(_cut(_codex("exec-bash"), b'"item.started"'), lingers=True, timeout_s=timeout_s)

    def missing(self) -> Run:
        return self._scene.run("codex", "do it", Settings())

    def garbage(self) -> Run:
        return self._play(_with_garbage(_codex("exec-simple")))

    def resumed(self, resume: str) -> Run:
        return self._play(_codex("exec-resume"), resume=resume)


class TallySubject:
    """The example of an engine in a package of its own, installed and found by its entry point."""

    death_words: tuple[str, ...] = ("exit code 7", "last words")
    patience_s = 2.0

    def __init__(self, folder: Path) -> None:
        install_example()
        self._scene = Scene(folder)

    def _run(self, prompt: str, *, settings: Settings | None = None, **options: object) -> Run:
        return self._scene.run("tally", prompt, settings or Settings(), **options)

    def answer(self) -> Run:
        return self._run("three little words")

    def tool(self) -> Run:
        return self._run("three little words")

    def failure(self) -> Run:
        return self._run("fail")

    def death(self) -> Run:
        return self._run("die")

    def hang(self, timeout_s: float | None = None) -> Run:
        return self._run("hang", timeout_s=timeout_s)

    def missing(self) -> Run:
        return self._run("three", settings=Settings(engines={"tally": {"program": "/nowhere/python"}}))

    def resumed(self, resume: str) -> Run:
        return self._run("two more", resume=resume)


class RecordedClaude:
    """The Claude CLI, played from what it once wrote: for what the real one cannot be brought to do."""

    death_words: tuple[str, ...] = ("exit code 7", "last words")
    patience_s = 1.0

    def __init__(self, folder: Path) -> None:
        self._scene = Scene(folder)

    def _play(self, output: bytes, *, exit_code: int = 0, lingers: bool = False, **options: object) -> Run:
        write_player(
            self._scene.bin / "claude",
            output,
            version="2.1.325 (Claude Code)",
            reads_first=True,
            exit_code=exit_code,
            last_words="last words" if exit_code else "",
            lingers="until_told" if lingers else "",
        )
        return self._scene.run("claude", "do it", Settings(), **options)

    def answer(self) -> Run:
        return self._play(_claude("bare"))

    def tool(self) -> Run:
        return self._play(_claude("bash_allowed"))

    def failure(self) -> Run:
        return self._play(_claude("api_400"), exit_code=1)

    def death(self) -> Run:
        return self._play(_cut(_claude("bash_allowed"), b'"tool_use"'), exit_code=7)

    def hang(self, timeout_s: float | None = None) -> Run:
        return self._play(_cut(_claude("bash_allowed"), b'"tool_use"'), lingers=True, timeout_s=timeout_s)

    def missing(self) -> Run:
        return self._scene.run("claude", "do it", Settings())

    def garbage(self) -> Run:
        return self._play(_with_garbage(_claude("bare")))

    def late(self) -> Run:
        """Lines after the result: a turn that the agent started by itself."""
        return self._play(_claude("bash_background"))

    def resumed(self, resume: str) -> Run:
        recorded = _claude("bare")
        own = recorded.split(b'"session_id":"', 1)[1][:36]
        return self._play(recorded.replace(own, resume.encode()), resume=resume)


class RealClaude:
    """The real Claude CLI on the scripted model."""

    death_words: tuple[str, ...] = ("SIGKILL",)
    patience_s = 4.0

    def __init__(self, world: World) -> None:
        self._world = world

    def _run(self, prompt: str, **options: object) -> Run:
        given = {"engine": "claude", "cwd": str(self._world.work), "allow_tools": ("Bash",), **options}
        return self._world.start(RunRequest(prompt=prompt, **given))  # type: ignore[arg-type]

    def answer(self) -> Run:
        return self._run(script("Hello."))

    def tool(self) -> Run:
        return self._run(script(tool("Bash", {"command": "touch made; echo hi"}), "Done: $LAST"))

    def failure(self) -> Run:
        return self._run(script(api_error(400, message="no")))

    def death(self) -> Run:
        return self._run(script(tool("Bash", {"command": "kill -9 $PPID"}), "never"))

    def hang(self, timeout_s: float | None = None) -> Run:
        return self._run(script(say("never", hang=True)), timeout_s=timeout_s)

    def missing(self) -> Run:
        self._world.env["PATH"] = "/nonexistent"
        return self._run("hello")

    def resumed(self, resume: str) -> Run:
        return self._run(script("Again."), resume=resume)


def _claude(name: str) -> bytes:
    return (FIXTURES / "claude" / "2.1.325" / f"{name}.jsonl").read_bytes()


def _codex(name: str) -> bytes:
    return (FIXTURES / "codex" / f"{name}.jsonl").read_bytes()


def _cut(recorded: bytes, after: bytes) -> bytes:
    """The recording up to and including the first line that holds the mark."""
    lines = recorded.splitlines(keepends=True)
    last = next(index for index, line in enumerate(lines) if after in line)
    return b"".join(lines[: last + 1])


def _with_garbage(recorded: bytes) -> bytes:
    """The recording with a line that is not JSON in the middle, and without its last newline."""
    first, rest = recorded.split(b"\n", 1)
    return first + b"\nthis is not JSON\n" + rest.rstrip(b"\n")


async def watch(run: Run) -> list[RunEvent]:
    """Everything the run shows."""
    return [event async for event in run.events()]
