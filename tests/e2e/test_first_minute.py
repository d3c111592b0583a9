"""The README's first minute, word for word: from a clone by `make run`, and from a wheel where there is no Node."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from zipfile import ZipFile

import httpx
import pytest

from footplate.runtime.audit import account_name
from footplate.version import __version__
from tests.e2e.server import MINIMAL_PATH, RunningServer
from tests.e2e.terminal import Terminal
from tests.e2e.transcript import Shell, blocks_of, read_section
from tests.e2e.world import ROOT, wait_until_gone

FRESH = bool(os.environ.get("FOOTPLATE_FRESH"))
"""`make test-fresh`: not this checkout as it stands, but a clone of it in which nothing is installed."""

pytestmark = pytest.mark.timeout(900 if FRESH else 240)
MINUTE = read_section(ROOT / "README.md", "The first minute")
RUN, INSTALL = blocks_of(MINUTE, "sh")
(TRANSCRIPT,) = blocks_of(MINUTE, "console")
MIRRORS = ("PIP_", "npm_config_", "UV_", "SSL_", "REQUESTS_", "NODE_EXTRA")
EPOCH = "1700000000"


@contextmanager
def _server(command: str, folder: Path, env: Mapping[str, str]) -> Iterator[RunningServer]:
    """What the README's command starts, until Ctrl-C."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", command],
        cwd=folder,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    server = RunningServer(process)
    try:
        server.wait_until_ready(within=600 if FRESH else 60)
        yield server
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.wait(30)
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            stream.close()


def _play(server: RunningServer, folder: Path, env: Mapping[str, str]) -> None:
    """The other shell. A person types slower than the agent asks: before each command the agent has nothing to do."""
    headers = {"authorization": f"Bearer {server.token}"}

    def settle() -> None:
        while httpx.get(f"{server.url}/api/sessions?state=running", headers=headers).json()["sessions"]:
            assert server.process.poll() is None, server.output

    with Shell(folder, {**env, "COLUMNS": "100"}) as shell:
        shell.play(TRANSCRIPT, before_each=settle)


def _look_at_the_page(server: RunningServer) -> None:
    page = httpx.get(f"{server.url}/ui/")
    assert page.status_code == 200
    parts = re.findall(r'(?:src|href)="(/ui/[^"]+)"', page.text)
    assert any(part.endswith(".js") for part in parts)
    assert [part for part in parts if httpx.get(server.url + part).status_code != 200] == []


def test_the_first_minute_from_a_clone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    env = {"HOME": str(home), "PATH": MINIMAL_PATH, "ARGS": "--port 0"}
    env |= {name: value for name, value in os.environ.items() if name.startswith(MIRRORS)}
    clone = ROOT
    if FRESH:
        clone = tmp_path / "footplate"
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    with _server(RUN, clone, env) as server:
        _play(server, clone, env)
        _look_at_the_page(server)
    wait_until_gone(str(home), within=30)


def test_make_try_prints_what_the_readme_shows(tmp_path: Path) -> None:
    shown = blocks_of((ROOT / "README.md").read_text(), "console")[0]
    with Shell(ROOT, {"HOME": str(tmp_path), "PATH": MINIMAL_PATH, "COLUMNS": "100"}) as shell:
        shell.play(shown)


def test_a_chat_shows_what_the_readme_shows(tmp_path: Path) -> None:
    shown = blocks_of((ROOT / "README.md").read_text(), "console")[1]
    command, *lines = shown.removeprefix("$ footplate ").replace("by ada", f"by {account_name()}").splitlines()
    env = {"HOME": str(tmp_path), "PATH": MINIMAL_PATH, "TERM": "xterm", "LANG": "C.UTF-8"}
    terminal = Terminal(env, *command.split(), cwd=str(tmp_path))
    try:
        terminal.wait("ready")
        terminal.say(lines[0].removeprefix("> "))
        terminal.wait("y once")
        terminal.wait("waiting for you")
        terminal.type("y")
        terminal.wait("permission: allow")
        differs = re.compile(r"chat pts/\d+|\([\d.]+s\)")
        seen = differs.sub("", terminal.text)
        assert [line for line in lines if differs.sub("", line) not in seen] == []
        asked = "\n".join(lines[1 : next(at for at, line in enumerate(lines) if line.startswith("y once"))])
        assert f"{asked}\nsomething is asked of you" in terminal.text, "the request is shown whole"
        terminal.type("\x04")
        assert terminal.finish() == 0
    finally:
        terminal.close()


def test_the_commands_of_the_first_run_succeed(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "tutorials" / "first-run.md").read_text() + (
        ROOT / "docs" / "how-to" / "mock.md"
    ).read_text()
    lines = [
        line for block in blocks_of(page, "sh") for line in block.splitlines() if "footplate run --engine mock" in line
    ]
    assert len(lines) == 5
    env = {
        "HOME": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}:{MINIMAL_PATH}",
        "FOOTPLATE_MOCK_PACE_MS": "0",
    }
    with Shell(ROOT, env) as shell:
        assert [line for line in lines if shell.run(line)[0] != 0] == []


def _build(target: str, source: Path, out: Path) -> Path:
    """A package, built in a folder of its own."""
    env = {"PATH": MINIMAL_PATH, "HOME": str(out.parent), "SOURCE_DATE_EPOCH": EPOCH}
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    ran = subprocess.run(command, cwd=source, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    (made,) = out.iterdir()
    return made


def _wheel(folder: Path) -> Path:
    """Sources, packed and unpacked, then a wheel of them: as whoever builds from the source package has it."""
    folder.mkdir()
    source = _build("sdist", ROOT, folder / "source")
    with tarfile.open(source) as packed:
        packed.extractall(folder, filter="data")
    unpacked = folder / source.name.removesuffix(".tar.gz")
    (unpacked / "web" / "node_modules").symlink_to(ROOT / "web" / "node_modules")
    return _build("wheel", unpacked, folder / "wheel")


def _judge(one: Path, two: Path) -> None:
    """The same bytes, however often and wherever it is built; typed, and with the page inside."""
    assert one.read_bytes() == two.read_bytes()
    sources = [next((wheel.parent.parent / "source").iterdir()) for wheel in (one, two)]
    assert sources[0].read_bytes() == sources[1].read_bytes()
    assert one.name == f"footplate-{__version__}-py3-none-any.whl"
    with ZipFile(one) as packed:
        names = set(packed.namelist())
    assert {"footplate/py.typed", "footplate/interfaces/http/page/index.html"} <= names
    assert [name for name in names if not name.startswith(("footplate/", f"footplate-{__version__}."))] == []


def test_the_first_minute_from_a_whole_wheel_without_node(tmp_path: Path) -> None:
    wheel = _wheel(tmp_path / "one")
    _judge(wheel, _wheel(tmp_path / "two"))
    folder, home, tools = (tmp_path / name for name in ("folder", "home", "tools"))
    for each in (folder, home, tools):
        each.mkdir()
    shutil.copy(wheel, folder)
    python = Path(sys.base_prefix) / "bin" / "python3"
    (tools / "python3").symlink_to(python)
    env = {"HOME": str(home), "PATH": str(tools), "PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1"}
    assert shutil.which("node", path=env["PATH"]) is None

    make, install, serve = INSTALL.splitlines()
    with Shell(folder, env) as shell:
        assert shell.run(make) == (0, [])
        (libraries,) = (folder / ".venv" / "lib").glob("*/site-packages")
        # The checkout lends its dependencies; as no .pth beside them is followed, it does not lend itself.
        (libraries / "offline.pth").write_text(sysconfig.get_path("purelib") + "\n")
        code, said = shell.run(install)
        assert code == 0, said
        assert shell.run(".venv/bin/footplate --version") == (0, [f"footplate, version {__version__}"])
        where = shell.run(".venv/bin/python -c 'import footplate; print(footplate.__file__)'")
        assert where == (0, [str(libraries / "footplate" / "__init__.py")])

    with _server(f"{serve} --port 0", folder, env) as server:
        _play(server, folder, env)
        _look_at_the_page(server)
        headers = {"authorization": f"Bearer {server.token}"}
        assert httpx.get(f"{server.url}/api/info", headers=headers).json()["version"] == __version__
    wait_until_gone(str(home), within=30)
