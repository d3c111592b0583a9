"""The place in which examples of the help are run: what they name is there, under names of its own.

An example says `01M7...` where the reader has a session; here each such word is exchanged for the id of something that
was made for it. Everything else runs word for word, by a shell.
"""

from __future__ import annotations

import asyncio
import os
import re
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import msgspec
import pytest

from footplate.config.running import RECORD
from footplate.testing.agents import claude_binary
from footplate.testing.bots import ScriptedBots
from footplate.testing.closed import MINIMAL_PATH, closed_environment
from footplate.testing.messages import ScriptedMessages
from tests.e2e.warm import warm_footplate
from tests.e2e.world import ROOT, wait_until_gone

PATIENCE_S = 30.0
SETTINGS = 'default_engine = "mock"\n[projects.shop]\npath = "{home}/src/shop"\n'
ACP = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n'


class Ended(msgspec.Struct, frozen=True):
    """What became of an example."""

    code: int
    output: str


class Telling:
    """What a process prints, read for so long and no longer, whoever else holds the pipe."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._deadline = time.monotonic() + PATIENCE_S
        self._seen = bytearray()

    def give(self, text: str) -> None:
        """All of its input."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError), self._process.stdin as stream:
            stream.write(text.encode())

    def tells(self, cue: str) -> bool:
        """Read on until a whole line has the cue; false if none came."""
        while cue.encode() not in self._seen.rpartition(b"\n")[0]:
            if not self._more():
                return False
        return True

    def end(self) -> Ended:
        """Read on to its end; one that does not end is killed, and its output says so."""
        while self._more():
            pass
        try:
            code = self._process.wait(max(0.1, self._deadline - time.monotonic()))
            return Ended(code, self._seen.decode())
        except subprocess.TimeoutExpired:
            self.kill()
            return Ended(-signal.SIGKILL, f"{self._seen.decode()}\n(it did not end within {PATIENCE_S:g} s)")

    def kill(self) -> None:
        """With all of its group, if it runs."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)

    def _more(self) -> bool:
        assert self._process.stdout is not None
        left = max(0.0, self._deadline - time.monotonic())
        if not select.select([self._process.stdout], [], [], left)[0]:
            return False
        some = os.read(self._process.stdout.fileno(), 65536)
        self._seen += some
        return bool(some)


class Place:
    """A home with a repository, files, settings, and `footplate` and the real `claude` on the PATH."""

    def __init__(self, folder: Path, tools: Path, model_url: str) -> None:
        self.home = folder / "home"
        self.work = self.home / "src" / "shop"
        self.work.mkdir(parents=True)
        self.env = {
            **closed_environment(self.home, base_url=model_url, path=f"{tools}:{MINIMAL_PATH}"),
            "FOOTPLATE_DATA_DIR": str(folder / "data"),
            "FOOTPLATE_MOCK_PACE_MS": "0",
            "FOOTPLATE__RUNTIME__REATTACH_GRACE_S": "0",
            "SANDBOX_AGENT_REQUIRE_PREINSTALL": "1",
            **{f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }
        self._put(".config/footplate/footplate.toml", SETTINGS.format(home=self.home))
        self._put("project/README.md", "# project\n")
        self._put("project/old.txt", "old\n")
        self._put("project/build/out.o", "x")
        self._put(
            ".takopi/takopi.toml", 'transport = "telegram"\n[transports.telegram]\nbot_token = "1:x"\nchat_id = 5\n'
        )
        self._put("src/shop/notes.txt", "a note\n")
        self._put("src/shop/requests.jsonl", ACP)
        self.sh("git init -q -b main . && git add . && git commit -q -m one && echo more >> notes.txt")
        self.sh("tar -cf src.tar notes.txt")

    def _put(self, path: str, text: str) -> None:
        (self.home / path).parent.mkdir(parents=True, exist_ok=True)
        (self.home / path).write_text(text)

    def sh(self, line: str, given: str = "") -> str:
        """Run a line that must work; what it printed."""
        ended = self.run(line, given)
        assert ended.code == 0, f"{line}: {ended.output}"
        return ended.output

    def run(self, line: str, given: str = "", cue: str = "", then: Callable[[], int] | None = None) -> Ended:
        """Run a line by a shell to its end; once the cue is seen in its output, what `then` does and which signal."""
        with subprocess.Popen(
            ["/bin/bash", "-c", f"exec {line}" if cue else line],
            env=self.env,
            cwd=self.work,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            telling = Telling(process)
            try:
                telling.give(given)
                if cue and telling.tells(cue) and then is not None and (number := then()):
                    process.send_signal(number)
                return telling.end()
            finally:
                telling.kill()


class ServedPlace(Place):
    """The same with a server on its data folder, and the means to make what an example names."""

    def __init__(self, folder: Path, tools: Path, model_url: str) -> None:
        super().__init__(folder, tools, model_url)
        self._http: httpx.Client | None = None
        self.url = self.operator_token = ""

    def begin(self) -> None:
        """Start the server, in the background."""
        told = self.sh("footplate serve --detach --port 0")
        url, token = re.search(r"listens on (\S+)", told), re.search(r"#token=(\S+)", told)
        assert url, told
        assert token, told
        self.url, self.operator_token = url[1], token[1]
        headers, alone = {"authorization": f"Bearer {token[1]}"}, httpx.Limits(max_keepalive_connections=0)
        self._http = httpx.Client(base_url=url[1], headers=headers, trust_env=False, timeout=PATIENCE_S, limits=alone)

    def end(self) -> None:
        """Stop the server with everything that runs on it."""
        if self._http is not None:
            self._http.close()
        self.sh("footplate serve stop --end-agents")

    def post(self, path: str, **body: object) -> dict[str, object]:
        """A call that must work."""
        assert self._http is not None
        answer = self._http.post(path, json=body)
        assert answer.status_code < 300, answer.text
        found: dict[str, object] = answer.json()
        return found

    def session(self) -> str:
        """A session of the mock."""
        return str(self.post("/api/sessions", engine="mock", cwd=str(self.work))["id"])

    def request(self) -> str:
        """A request that is open."""
        assert self._http is not None
        session = self.session()
        self.post(f"/api/sessions/{session}/prompt", content="permission")
        deadline = time.monotonic() + PATIENCE_S
        while not (found := self._http.get("/api/requests", params={"session": session}).json()["requests"]):
            assert time.monotonic() < deadline, "the mock did not ask"
        return str(found[0]["id"])

    def process(self, *argv: str) -> str:
        """A process of the server, on a terminal where it is to stay; one that ends has ended."""
        assert self._http is not None
        stays = argv == ("cat",)
        made = str(self.post("/v1/processes", command=argv[0], args=argv[1:], tty=stays, interactive=stays)["id"])
        deadline = time.monotonic() + PATIENCE_S
        while not stays and self._http.get(f"/v1/processes/{made}").json()["status"] == "running":
            assert time.monotonic() < deadline, "it did not end"
        return made

    def token(self) -> str:
        """The id of a token."""
        return str(self.post("/api/tokens", name="old phone", scopes=["read"])["token"]).split("_")[1]

    def claude_session(self) -> str:
        """The id of a conversation of the real CLI that Footplate has no session of."""
        told = self.sh('footplate claude --json "remember me"')
        return str(next(msgspec.json.decode(line) for line in told.splitlines())["resume"]["value"])

    def audit_hash(self) -> str:
        """The hash of the newest audit record."""
        return str(msgspec.json.decode(self.sh("footplate audit verify --json"))["head"]["hash"])


@contextmanager
def bots() -> Iterator[tuple[ScriptedBots, Callable[[], int]]]:
    """Telegram on a thread of its own, and what makes a person write to the bot."""
    loop, ready, over = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    made: list[ScriptedBots] = []

    async def serve() -> None:
        async with ScriptedBots() as api:
            made.append(api)
            ready.set()
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert ready.wait(PATIENCE_S)

    def write() -> int:
        async def go() -> None:
            while not made[0].calls("getUpdates"):  # noqa: ASYNC110  (what is written before it is passed over)
                await asyncio.sleep(0.01)
            await made[0].person(7).write("hello")

        asyncio.run_coroutine_threadsafe(go(), loop).result(PATIENCE_S)
        return 0

    try:
        yield made[0], write
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(PATIENCE_S)
        loop.close()


def interrupt() -> int:
    """Ctrl-C."""
    return signal.SIGINT


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """`footplate` and `claude` for the PATH."""
    folder = tmp_path_factory.mktemp("tools")
    (folder / "claude").symlink_to(claude_binary(ROOT / "tests" / "agents", "new"))
    with warm_footplate(folder):
        yield folder


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory, tools: Path, messages: ScriptedMessages) -> Iterator[ServedPlace]:
    """One place with a server for all of them."""
    folder = tmp_path_factory.mktemp("served")
    place = ServedPlace(folder, tools, messages.url_for("examples"))
    place.begin()
    yield place
    place.end()
    wait_until_gone(str(place.home))


@pytest.fixture
def alone(tmp_path: Path, tools: Path, messages: ScriptedMessages) -> Iterator[Place]:
    """A place without a server."""
    place = Place(tmp_path, tools, messages.url_for("alone"))
    yield place
    if (tmp_path / "data" / RECORD).exists():
        place.sh("footplate serve stop --end-agents")
    wait_until_gone(str(place.home), within=30)
