"""Completion as a shell does it: a real bash runs the function that `footplate completions bash` defines."""

from __future__ import annotations

import shutil
import subprocess
import time

import pytest

from tests.e2e.example_world import PATIENCE_S, ServedPlace

SCRIPT = """
eval "$(footplate completions bash)"
complete -p footplate
for line in "$@"; do
    read -r -a COMP_WORDS <<< "$line"
    [[ "$line" == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    COMPREPLY=()
    _footplate_completion footplate
    echo "${COMPREPLY[*]}"
done
"""


def _complete(place: ServedPlace, *lines: str) -> list[str]:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash here")
    done = subprocess.run(
        [bash, "--norc", "-c", SCRIPT, "bash", *lines],
        env=place.env,
        cwd=place.work,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
    registered, *found = done.stdout.splitlines()
    assert registered == "complete -o nosort -F _footplate_completion footplate"
    return found


def test_bash_completes_commands_options_and_what_is_here(served: ServedPlace) -> None:
    assert _complete(
        served,
        "footplate se",
        "footplate sessions ex",
        "footplate sessions list --st",
        "footplate run --engine mo",
        "footplate run --project ",
        "footplate config get http.sto",
        "footplate agents install gem",
    ) == ["sessions serve server", "export", "--state", "mock", "shop", "http.stop_s", "gemini"]


def test_bash_completes_what_the_server_here_has(served: ServedPlace) -> None:
    session, request = served.session(), served.request()
    lines = (f"footplate sessions show {session[:-1]}", f"footplate requests answer {request[:-1]}")
    deadline = time.monotonic() + PATIENCE_S
    while (found := _complete(served, *lines)) != [session, request]:
        assert time.monotonic() < deadline, found  # a server that has no second to spare is not waited for
    assert _complete(served, f"footplate sessions show --url http://127.0.0.1:1 {session[:-1]}") == [""]


@pytest.mark.parametrize(("shell", "line"), [("zsh", "plain\nversion\nSay"), ("fish", "plain,version")])
def test_the_others_are_told_in_their_own_way(served: ServedPlace, shell: str, line: str) -> None:
    assert "footplate" in served.sh(f"footplate completions {shell}")
    words = {"zsh": 'COMP_WORDS="footplate vers" COMP_CWORD=1', "fish": 'COMP_WORDS="footplate vers" COMP_CWORD=vers'}
    assert served.sh(f"env {words[shell]} _FOOTPLATE_COMPLETE={shell}_complete footplate").startswith(line)
