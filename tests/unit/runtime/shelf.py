"""A small server on loopback from which agents are installed: files, a registry of ACP, a registry of npm."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from footplate.engines.distribution import machine_platform

TINY = f"""#!/bin/sh
exec {sys.executable} -P -m footplate mock-agent
"""
"""A whole ACP agent: our own, under another name."""
DUMB = "#!/bin/sh\necho I am no agent >&2\nexit 4\n"


class Shelf:
    """What is on offer, what was asked for, what breaks off at the first try, and what waits for the test's word."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.files: dict[str, bytes] = {}
        self.asked: list[tuple[str, str]] = []
        self.breaks: set[str] = set()
        self.logins: set[str] = set()
        self.holds: dict[str, threading.Event] = {}

    def put(self, path: str, data: bytes) -> str:
        """Offer a file; its address."""
        self.files[path] = data
        return self.url + path

    def registry(self, *agents: dict[str, object]) -> str:
        """Offer a registry of ACP agents; its address."""
        return self.put("/registry.json", json.dumps({"version": "1.0.0", "agents": agents}).encode())

    def binary(self, name: str, version: str, program: str, **more: object) -> dict[str, object]:
        """An agent of a registry that is an archive for this machine."""
        archive = pack({f"dist/{name}": program})
        target: dict[str, object] = {
            "archive": self.put(f"/{name}-{version}.tar.gz", archive),
            "cmd": f"./dist/{name}",
            "sha256": hashlib.sha256(archive).hexdigest(),
            **more,
        }
        return {
            "id": name,
            "name": name.title(),
            "version": version,
            "distribution": {"binary": {machine_platform(): target}},
        }

    def npm(self, name: str, version: str, program: str) -> None:
        """Offer a package as the npm registry does."""
        manifest = {"name": name, "version": version, "bin": {name: "run.sh"}}
        tarball = pack({"package/package.json": json.dumps(manifest), "package/run.sh": program})
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode()
        dist = {"tarball": self.put(f"/{name}/-/{name}-{version}.tgz", tarball), "integrity": integrity}
        about = {"name": name, "dist-tags": {"latest": version}, "versions": {version: {**manifest, "dist": dist}}}
        self.put(f"/{name}", json.dumps(about).encode())


def pack(files: dict[str, str]) -> bytes:
    """A gzipped archive of programs."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(text.encode()), 0o755
            archive.addfile(member, io.BytesIO(text.encode()))
    return buffer.getvalue()


def make_wheel(folder: Path, name: str, version: str) -> None:
    """A Python package with a program of its name that is our agent."""
    module = f"import sys\nsys.path += {sys.path!r}\nfrom footplate.engines.mock.stdio import main as serve\n"
    module += "def main():\n    sys.exit(serve([]))\n"
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": module,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name} = {name}:main\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{each},,\n" for each in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for each, text in files.items():
            wheel.writestr(each, text)


@contextmanager
def open_shelf() -> Iterator[Shelf]:
    """The server, for as long as the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            wanted = self.headers.get("range", "")
            shelf.asked.append((path, wanted))
            shelf.logins.add(self.headers.get("authorization", ""))
            data = shelf.files.get(path)
            if data is None:
                self.send_error(404)
                return
            if path in shelf.holds:
                shelf.holds[path].wait(60)
            begin = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
            self.send_response(206 if wanted else 200)
            self.send_header("content-length", str(len(data) - begin))
            self.end_headers()
            cut = path in shelf.breaks
            shelf.breaks.discard(path)
            self.wfile.write(data[begin : len(data) // 2] if cut else data[begin:])

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    shelf = Shelf(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield shelf
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
