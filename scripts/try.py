"""Try Footplate by hand on the real Claude CLI without a login: a scripted model, an empty home, loopback only.

    make try                                  one run with a tool, as a first look
    make try ARGS='run "hello"'               any footplate command
    make try ARGS=shell                       a shell in the same closed environment

The "model" says what the prompt tells it to: SCRIPT:[step, ...] in the prompt, "ok" without one.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from footplate.testing.agents import claude_binary
from footplate.testing.closed import MINIMAL_PATH, closed_environment, prepare_home
from footplate.testing.messages import ScriptedMessages, script, tool

ROOT = Path(__file__).resolve().parent.parent
FIRST_LOOK = [
    "run",
    "--allow-tool",
    "Bash",
    script(
        tool("Bash", {"command": "uname -s && echo from a real tool", "description": "Look around"}),
        "The real Claude CLI ran a real command. It said: $LAST",
    ),
]


def _environment(home: Path, base_url: str) -> dict[str, str]:
    tools = home / "bin"
    tools.mkdir()
    (tools / "claude").symlink_to(claude_binary(ROOT / "tests" / "agents", "new"))
    (tools / "footplate").symlink_to(Path(sys.executable).parent / "footplate")
    env = closed_environment(home, base_url=base_url, path=f"{tools}:{MINIMAL_PATH}")
    env["TERM"] = os.environ.get("TERM", "dumb")
    return env


def main(arguments: list[str]) -> int:
    """Run the command (or the first look) in the closed environment; gives back its exit code."""
    with tempfile.TemporaryDirectory(prefix="footplate-try-") as folder, ScriptedMessages.start() as api:
        home = prepare_home(Path(folder) / "home")
        work = Path(folder) / "work"
        work.mkdir()
        env = _environment(home, api.base_url)
        if arguments == ["shell"]:
            print(f"A closed shell: `footplate` and `claude` speak to the scripted model at {api.base_url}")
            command = ["/bin/sh", "-i"]
        else:
            command = ["footplate", *(arguments or FIRST_LOOK)]
        signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is for the command; it gets its own copy
        return subprocess.run(command, env=env, cwd=work, check=False, executable=_find(command[0], env)).returncode


def _find(program: str, env: dict[str, str]) -> str:
    return program if "/" in program else str(Path(env["HOME"]) / "bin" / program)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
