"""The scripted API in a process of its own, as tests start it, ask it and stop it."""

from __future__ import annotations

import http.client
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Self, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec

import footplate
from footplate.testing.messages.catalog import Model
from footplate.testing.messages.journal import LoggedRequest, has_come

_T = TypeVar("_T")
_ANSWER_SECONDS = 30.0
_STOP_SECONDS = 5.0


class ScriptedMessages:
    """A Messages API that says what the prompts tell it to say.

    It runs as a child process: it serves while the caller is busy or blocked, and its connections are no file
    descriptors of the caller, who holds one pipe. It ends with `close`, and also when the caller dies.
    """

    def __init__(self, process: subprocess.Popen[bytes], base_url: str) -> None:
        self._process = process
        self._base_url = base_url

    @classmethod
    def start(cls, *, port: int = 0) -> Self:
        """Start it; 0 takes any free port."""
        command = [sys.executable, "-P", "-m", "footplate.testing.messages", "--port", str(port)]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"PYTHONPATH": _package_root(), "LANG": "C.UTF-8", "TZ": "UTC"},
            start_new_session=True,
        )
        assert process.stdout is not None
        with process.stdout:
            base_url = process.stdout.readline().decode().strip()
        started = cls(process, base_url)
        if not base_url:
            started.close()
            raise RuntimeError(f"the scripted Messages API did not start (exit code {process.returncode})")
        return started

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop it by the end of its input and wait for its end; again is harmless.

        No signal beside it: one that comes while its loop is closing is told in a traceback.
        """
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @property
    def base_url(self) -> str:
        return self._base_url

    @property
    def pid(self) -> int:
        return self._process.pid

    def url_for(self, key: str) -> str:
        """The base URL for one test: requests that come this way are logged under `key`."""
        return f"{self._base_url}/k/{quote(key, safe='')}"

    def log(self, key: str | None = None) -> tuple[LoggedRequest, ...]:
        """The requests under a key, oldest first; all requests without one. The last 1000 are kept."""
        return self._ask("GET", "/_log", tuple[LoggedRequest, ...], key)

    def wait_for(
        self, key: str | None = None, *, count: int = 0, ended: int = 0, timeout: float = 10.0
    ) -> tuple[LoggedRequest, ...]:
        """Wait until the model was asked `count` times and `ended` of these requests have ended; gives the log.

        Chores and looks at the server do not count. Blocks the caller: from a coroutine use
        `asyncio.to_thread`. TimeoutError tells what has come so far.
        """
        params = {"count": str(count), "ended": str(ended), "wait": str(timeout)}
        log = self._ask("GET", "/_log", tuple[LoggedRequest, ...], key, params, seconds=timeout)
        if not has_come(log, count=count, ended=ended):
            seen = [(each.method, each.path, each.step, each.outcome) for each in log]
            raise TimeoutError(f"wanted the model asked {count} times, {ended} ended, within {timeout} s; saw {seen}")
        return log

    def bodies(self, key: str | None = None) -> tuple[dict[str, object], ...]:
        """The bodies of the requests under a key that had one, oldest first."""
        return self._ask("GET", "/_bodies", tuple[dict[str, object], ...], key)

    def clear(self, key: str | None = None) -> None:
        """Forget the requests under a key, and how often its steps have failed; everything without one."""
        self._ask("POST", "/_clear", dict[str, object], key)

    def set_models(self, models: Iterable[Model | str], *, key: str | None = None) -> None:
        """What GET /v1/models lists from now on: under one key, or wherever nothing else was set."""
        body = msgspec.json.encode(list(models))
        self._ask("POST", "/_models", dict[str, object], key, body=body)

    def _ask(
        self,
        method: str,
        path: str,
        answer: type[_T],
        key: str | None,
        params: dict[str, str] | None = None,
        *,
        body: bytes | None = None,
        seconds: float = 0.0,
    ) -> _T:
        query = urlencode((params or {}) | ({} if key is None else {"key": key}))
        connection = http.client.HTTPConnection(urlsplit(self._base_url).netloc, timeout=seconds + _ANSWER_SECONDS)
        try:
            connection.request(method, f"{path}?{query}", body, {"connection": "close"})
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        if response.status != http.HTTPStatus.OK:
            raise RuntimeError(f"{method} {path} was refused: {content.decode(errors='replace')}")
        return msgspec.json.decode(content, type=answer)


def _package_root() -> str:
    """The folder that `footplate` is imported from, so that the child finds the same one."""
    assert footplate.__file__ is not None
    return str(Path(footplate.__file__).parent.parent)
