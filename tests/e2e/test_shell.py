"""`footplate ps shell` on a real terminal: keys and sizes go there, one can leave and come back, its end is ours."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from tests.e2e.example_world import ServedPlace
from tests.e2e.terminal import Terminal

PROMPT = "# " if os.geteuid() == 0 else "$ "


@contextmanager
def _sit(place: ServedPlace, *arguments: str) -> Iterator[Terminal]:
    terminal = Terminal({**place.env, "SHELL": "/bin/sh"}, "ps", "shell", *arguments, cwd=str(place.work), columns=60)
    try:
        yield terminal
    finally:
        terminal.close()


def _wait_for_size(terminal: Terminal, size: str) -> None:
    """Have the shell wait for the new size: the signal and the keys travel by different ways.

    It is one line, so that one prompt follows: what is typed after a prompt of an older line can be lost to Ctrl-C.
    """
    terminal.say(f"until [ \"$(stty size)\" = '{size}' ]; do sleep 0.05; done; echo re''sized")
    terminal.wait("resized")


def test_a_shell_is_left_joined_from_elsewhere_and_ended(served: ServedPlace) -> None:
    with _sit(served, "--", "/bin/sh") as terminal:
        terminal.wait(PROMPT)
        terminal.say("pwd; stty size")
        terminal.wait(str(served.work))
        terminal.wait("24 60")
        terminal.resize(100, 30)
        terminal.process.send_signal(signal.SIGWINCH)
        _wait_for_size(terminal, "30 100")
        terminal.wait(PROMPT)
        terminal.type("\x03")  # for the shell, not for us
        terminal.wait(PROMPT)
        terminal.say("kept=word")
        terminal.wait(PROMPT)
        terminal.type("\x1d")
        assert terminal.finish() == 0
        assert terminal.restored
        process = terminal.text.split("--process ")[1].split("`")[0]
    remote = ("--url", served.url, "--token", served.operator_token)
    with _sit(served, "--process", process, *remote) as terminal:
        terminal.say("echo $kept-again")
        terminal.wait("word-again")
        terminal.say("exit 5")
        assert terminal.finish() == 5
        assert terminal.restored
    assert "exited 5" in served.sh("footplate ps list")


def test_in_a_pipe_it_ends_with_its_input_and_leaves_nothing(served: ServedPlace) -> None:
    before = served.sh("footplate ps list --json")
    ended = served.run("footplate ps shell -- sh -c 'read x; echo $x-$x; exit 3'", given="word\n")
    assert (ended.code, "word-word" in ended.output) == (3, True)
    assert served.sh("footplate ps list --json") == before
    gone = served.run("footplate ps shell --process nobody")
    assert gone.code == 2
    assert "nobody" in gone.output
    assert served.run("footplate ps shell --url http://127.0.0.1:1 -- ls").code == 1
