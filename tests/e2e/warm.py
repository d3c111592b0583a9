"""`footplate` as a shell finds it, without the price of its imports: one warm process that forks for every call.

    with warm_footplate(folder) as bin:      # a folder for the front of PATH
        subprocess.run("footplate version | cat", shell=True, env={"PATH": f"{bin}:/usr/bin:/bin"}, ...)

The program in that folder hands its arguments, environment, folder and standard streams to the warm process, which
forks; the fork is a process of its own that runs `footplate.main.main` on those streams. Signals are passed on
from the first moment, and the exit code comes back. Who kills the program has killed the fork.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent.parent
STUB = """#!{python} -IS
import _thread, json, os, signal, socket, sys
passed_on = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
signal.pthread_sigmask(signal.SIG_BLOCK, passed_on)
door = socket.socket(socket.AF_UNIX)
door.connect({path!r})
call = json.dumps([sys.argv[1:], dict(os.environ), os.getcwd()]).encode()
socket.send_fds(door, [len(call).to_bytes(4, "big")], [0, 1, 2])
door.sendall(call)
for stream in (0, 1, 2):
    os.close(stream)
pid = int.from_bytes(door.recv(4), "big")
def pass_on():
    while True:
        os.kill(pid, signal.sigwait(passed_on))
_thread.start_new_thread(pass_on, ())
os._exit(door.recv(1)[0])
"""


@contextmanager
def warm_footplate(folder: Path) -> Iterator[Path]:
    """The folder with the program, for as long as the block lasts."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "door"
    program = folder / "footplate"
    program.write_text(STUB.format(python=sys.executable, path=str(path)))
    program.chmod(0o755)
    env = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(folder), "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
    with subprocess.Popen(
        [sys.executable, "-m", "tests.e2e.warm", str(path)], env=env, cwd=ROOT, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"warm\n"
        try:
            yield folder
        finally:
            process.terminate()


def _serve(path: str) -> None:
    import httpx  # noqa: F401

    import footplate.interfaces.http.local  # noqa: F401
    from tests.commands import all_commands

    all_commands()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        os.write(1, b"warm\n")
        while True:
            door, _ = listener.accept()
            size, streams, _, _ = socket.recv_fds(door, 4, 3)
            call = bytearray()
            while len(call) < int.from_bytes(size, "big"):
                call += door.recv(65536)
            if os.fork() == 0:
                listener.close()
                _attend(door, streams, bytes(call))
            door.close()
            for stream in streams:
                os.close(stream)


def _attend(door: socket.socket, streams: list[int], call: bytes) -> NoReturn:
    """In a process of its own: start the command, tell its pid, wait for it, tell its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        door.close()
        os._exit(_become(streams, *json.loads(call)) & 255)
    for stream in streams:
        os.close(stream)
    with contextlib.suppress(OSError):
        door.sendall(pid.to_bytes(4, "big"))
    command = os.pidfd_open(pid)
    if command not in select.select([door.fileno(), command], [], [])[0]:
        os.kill(pid, signal.SIGKILL)  # the program is gone, and was not told to go
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    with contextlib.suppress(OSError):
        door.sendall(bytes((code if code >= 0 else 128 - code,)))
    os._exit(0)


def _become(streams: list[int], arguments: list[str], environ: dict[str, str], cwd: str) -> int:
    """Run the command in this process; its exit code.

    Ctrl-C is heard as from a terminal, also where the tests run in the background of a script: a shell has such a job
    ignore it, every child inherits that, and what runs until Ctrl-C would run on.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for wanted, given in enumerate(streams):
        os.dup2(given, wanted)
        os.close(given)
    sys.stdin, sys.stdout, sys.stderr = (open(number, mode) for number, mode in enumerate("rww"))  # noqa: SIM115, PTH123
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(cwd)
    sys.argv = ["footplate", *arguments]
    from footplate.main import main

    code = 0
    try:
        main()
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException:  # noqa: BLE001  (told as an interpreter tells it)
        traceback.print_exc()
        code = 1
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (BrokenPipeError, ValueError):
        pass  # nobody reads any more
    return code


if __name__ == "__main__":
    _serve(sys.argv[1])
