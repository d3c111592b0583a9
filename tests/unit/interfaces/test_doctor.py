"""`footplate doctor` finds ten planted problems: each is told in a line, with what to do, and with an exit code."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from footplate.config.running import Running, write_running
from footplate.engines.claude.launch import ROOT_REFUSAL
from footplate.events.wording import format_duration, format_size
from footplate.host.locks import Holder, lock_name
from footplate.host.messages import KeptAgent, Listed
from footplate.interfaces.cli.doctor import render_findings
from footplate.main import CHECKS, command_line
from footplate.runtime import checkup
from footplate.runtime.wiring import Wiring

KEY = {"ANTHROPIC_API_KEY": "sk-ant-test-0000-not-a-real-key"}
NOBODY = 65534
GONE = 2**22 + 1
"""A number that no process has."""

UNASKED = f"""#!{sys.executable} -S
# A CLI of a version that does not ask: it runs the tool and goes on.
import json, sys

def say(**line):
    print(json.dumps(line), flush=True)

if "--version" in sys.argv:
    print("9.9.9 (Claude Code)")
    sys.exit()
session = "5f5e3c4e-0000-4000-8000-000000000000"
for raw in sys.stdin:
    line = json.loads(raw)
    if line["type"] == "control_request":
        body = dict(subtype="success", request_id=line["request_id"], response={{}})
        say(type="control_response", response=body)
    if line["type"] == "user":
        say(type="system", subtype="init", session_id=session, cwd="/", tools=[], model="m", permissionMode="default")
        call = dict(type="tool_use", id="toolu_1", name="Bash", input=dict(command="touch made"))
        say(type="assistant", session_id=session, message=dict(id="msg_1", role="assistant", model="m", content=[call]))
        done = dict(type="tool_result", tool_use_id="toolu_1", content="")
        say(type="user", session_id=session, message=dict(role="user", content=[done]))
        say(type="result", subtype="success", is_error=False, session_id=session, result="done", num_turns=1)
"""


class Machine:
    """A home, a data folder and a PATH with nothing of ours on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.tools = folder / "bin"
        self.tools.mkdir()
        self.env = {"HOME": str(folder), "PATH": f"{self.tools}:/bin", "FOOTPLATE_DATA_DIR": str(self.data), **KEY}

    def put_claude(self, text: str = "#!/bin/sh\necho 2.1.325\n") -> Path:
        """A CLI that says that version, and no more."""
        program = self.tools / "claude"
        program.write_text(text)
        program.chmod(0o755)
        return program

    def doctor(self, *arguments: str, env: dict[str, str] | None = None) -> Result:
        """What `footplate doctor` says; without `arguments` the agent is not tried, and any port will do."""
        given = arguments or ("--quick", "--port", "0")
        with _environment({**self.env, **(env or {})}):
            return CliRunner().invoke(command_line(), ["doctor", *given], obj=Wiring(checks=CHECKS))


@contextmanager
def _environment(env: dict[str, str]) -> Iterator[None]:
    """Nothing of the developer's machine gets through."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(env)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def found(result: Result, begin: str) -> str:
    """The finding that begins so, with the line that says what to do."""
    lines = result.output.splitlines()
    [at] = [number for number, line in enumerate(lines) if line.startswith(begin)]
    assert lines[at + 1].startswith("      -> "), result.output
    return f"{lines[at]}\n{lines[at + 1]}"


def test_a_machine_without_problems_has_none(machine: Machine) -> None:
    machine.put_claude()
    result = machine.doctor()
    assert result.exit_code == 0, result.output
    assert [line[:4] for line in result.output.splitlines() if not line.startswith(" ")] == ["ok  "] * 9
    assert f"ok    agent claude: 2.1.325 ({machine.tools / 'claude'})" in result.output


def test_1_no_cli(machine: Machine) -> None:
    result = machine.doctor()
    assert found(result, "FAIL  agent claude: ") == (
        "FAIL  agent claude: Claude Code is the agent of new sessions, and its program is not on this machine\n"
        "      -> run `footplate agents install claude`, `curl -fsSL https://claude.ai/install.sh | bash`, "
        "`brew install --cask claude-code` or `npm install -g @anthropic-ai/claude-code`, then run `claude` once to "
        "log in; or set default_engine to an agent that is here"
    )
    assert result.exit_code == 1


def test_2_old_cli(machine: Machine) -> None:
    program = machine.put_claude("#!/bin/sh\necho '2.0.44 (Claude Code)'\n")
    result = machine.doctor()
    assert found(result, "warn  agent claude: ") == (
        f"warn  agent claude: 2.0.44 ({program}) is older than any version that was tried (2.1.197 and later)\n"
        "      -> update it where it comes from; or `footplate agents install claude --version 2.1.325`, and name that "
        "program in [engines.claude] program"
    )
    assert result.exit_code == 0
    assert machine.doctor("--quick", "--port", "0", "--strict").exit_code == 1
    machine.put_claude("#!/bin/sh\necho '1.0.44 (Claude Code)'\n")
    ancient = machine.doctor()
    assert found(ancient, "FAIL  agent claude: ") == (
        "FAIL  agent claude: claude does not support --input-format\n      -> update the CLI to 2.0.0 or later"
    )
    assert ancient.exit_code == 1


def test_3_not_logged_in(machine: Machine) -> None:
    machine.put_claude()
    del machine.env["ANTHROPIC_API_KEY"]
    result = machine.doctor()
    assert found(result, "FAIL  agent claude: ") == (
        "FAIL  agent claude: not logged in: no key and no login of it can be seen\n"
        "      -> run `claude` once to log in, or set ANTHROPIC_API_KEY"
    )
    assert result.exit_code == 1
    assert machine.doctor(env={"CLAUDE_CODE_USE_BEDROCK": "1"}).exit_code == 0


def test_4_root_with_bypass(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.put_claude()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    bypass = {"FOOTPLATE__ENGINES__CLAUDE__PERMISSION_MODE": "bypassPermissions"}
    result = machine.doctor(env=bypass)
    told = found(result, "FAIL  agent claude: ")
    assert f"claude refused to start: permission mode 'bypassPermissions': {ROOT_REFUSAL}\n" in told
    assert "-> run as another user, set sandbox =" in told
    assert result.exit_code == 1
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert machine.doctor(env=bypass).exit_code == 0


def test_5_port_taken(machine: Machine) -> None:
    machine.put_claude()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = machine.doctor("--quick", "--port", port)
        told = found(result, "FAIL  server: ")
        assert f"port {port} is taken by process {os.getpid()} (" in told
        assert "-> end it, or choose another port: `footplate serve --port P`" in told
        assert result.exit_code == 1
    assert f"ok    server: none runs; port {port} is free" in machine.doctor("--quick", "--port", port).output


def test_6_data_folder_read_only(machine: Machine) -> None:
    machine.put_claude()
    with tempfile.TemporaryDirectory(prefix="footplate-read-only-") as folder:
        Path(folder).chmod(0o555)
        with _as_nobody():
            result = machine.doctor(env={"FOOTPLATE_DATA_DIR": folder, "HOME": folder, "PATH": "/bin"})
    told = found(result, "FAIL  data folder: ")
    assert f"data folder: {folder} cannot be written: Permission denied\n" in told
    assert "-> make it a folder that you may write, or name another with FOOTPLATE_DATA_DIR" in told
    assert result.exit_code == 1


@contextmanager
def _as_nobody() -> Iterator[None]:
    """Nothing is read-only to root: be somebody else meanwhile, who is let into the folder of another."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_7_stale_lock(machine: Machine) -> None:
    machine.put_claude()
    locks = machine.data / "locks"
    locks.mkdir(parents=True)
    lock = locks / lock_name("claude:5f5e")
    lock.write_bytes(msgspec.json.encode(Holder(pid=GONE, start_time=1, what="footplate serve")))
    server = Running(pid=GONE, start_time=1, url="http://127.0.0.1:2468", version="0", started_at=time.time())
    write_running(machine.data, server)
    result = machine.doctor()
    told = found(result, "warn  locks: ")
    assert f"2 left by a process that is gone: server.json (a server at {server.url}, process {GONE}), " in told
    assert f"{lock.name} (process {GONE})" in told
    assert f"-> they hold nothing up and may be deleted: rm {machine.data / 'server.json'} {lock}" in told
    assert result.exit_code == 0
    assert lock.exists(), "doctor changes nothing"


def test_8_bad_setting(machine: Machine) -> None:
    machine.put_claude()
    result = machine.doctor(env={"FOOTPLATE__RUNTIME__REATTACH_GRACE": "5"})
    told = found(result, "FAIL  settings: ")
    assert "reattach_grace" in told
    assert "did you mean 'reattach_grace_s'?" in told
    assert "-> mend it with `footplate config edit`" in told
    assert result.exit_code == 1
    engine = machine.doctor(env={"FOOTPLATE__ENGINES__CLAUDE__MODLE": "opus"})
    assert "did you mean 'model'?" in found(engine, "FAIL  settings: ")
    assert engine.exit_code == 1


def test_9_no_permission_round_trip_with_this_version(machine: Machine) -> None:
    machine.put_claude(UNASKED)
    result = machine.doctor("--port", "0")
    told = found(result, "FAIL  permission: ")
    assert "no permission round trip with claude 9.9.9: no RequestOpened: its turn ended as " in told
    assert (
        "-> do not rely on being asked by this version; `footplate agents doctor claude` tells more. Update it" in told
    )
    assert result.exit_code == 1
    asks = machine.doctor("--port", "0", env={"FOOTPLATE__DEFAULT_ENGINE": "mock"})
    assert "ok    permission: mock 0.1.0.dev0 asks before it acts, and goes on with the answer" in asks.output


def test_10_orphan_left(machine: Machine) -> None:
    machine.put_claude()
    keepers = machine.data / "keepers"
    keepers.mkdir(mode=0o700, parents=True)
    marker = f"orphan-{os.getpid()}"
    record = {"pid": GONE, "start_time": 1, "marker": marker, "markers": [], "keeps": True, "v": 2}
    (keepers / f"{marker}.json").write_bytes(msgspec.json.encode(record))
    orphan = subprocess.Popen(["/bin/sleep", "60"], env={"FOOTPLATE_RUN": f"{marker}.1"})
    try:
        result = machine.doctor()
    finally:
        orphan.kill()
        orphan.wait()
    told = found(result, "warn  leftovers: ")
    assert "1 process and 0 files (0 B) left by a keeper that was killed\n" in told
    assert "-> start a service on this data folder: it ends and removes them" in told
    assert result.exit_code == 0


def test_all_of_it_as_json(machine: Machine) -> None:
    told = msgspec.json.decode(machine.doctor("--json", "--quick", "--port", "0").output)
    broken = [
        (each["name"], each["status"], bool(each["advice"])) for each in told["findings"] if each["status"] != "ok"
    ]
    assert (told["ok"], broken) == (False, [("agent claude", "fail", True)])


def test_the_page_about_restarts_shows_a_keeper_as_it_is_printed() -> None:
    agent = KeptAgent(
        id="5a1f0c2e-1", pid=4719, start_time=1, marker="m", alive=True, waiting=True, attached=False, spooled=1432,
        about={"session": "01M7HE3X24FPNBYEYA6VDMWQR8"},
    )  # fmt: skip
    about = f"pid 4711, version 2, up {format_duration(312)}, {format_size(11_368 * 1024)}"
    finding = checkup._judge_keeper(about, Listed(agents=(agent,), away_s=12, grace_s=600), {"memory_kb": 11_368})
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "restart.md").read_text()
    assert render_findings([finding], width=1000) in page
