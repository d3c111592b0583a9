"""Every example of every command's help, run by a shell: on one server, or in a home of its own where none runs.

A new command is run as soon as it has an example, and `tests/unit/interfaces/test_help.py` sees to it that it has one.
"""

from __future__ import annotations

import pytest

from tests.commands import all_commands, examples_of
from tests.e2e.example_world import Ended, Place, ServedPlace, bots, interrupt
from tests.unit.runtime.shelf import TINY, open_shelf

pytestmark = pytest.mark.timeout(180)

EXAMPLES = {line: words for words, command in all_commands().items() for line in examples_of(command)}
ALONE = ("store", "config", "init", "projects", "agents", "install-agent", "telegram", "mock-agent", "version")
BEGIN_OR_END = ("footplate serve --port", "footplate server", "footplate serve stop", "footplate daemon stop")
"""Commands that need no server, or must not find one: each of their examples has a home of its own."""
ELSEWHERE = {"footplate agents doctor claude": "the drill takes its time; e2e/test_agents_doctor.py runs it"}
ENDLESS = {
    "footplate serve --port": ("listens on", 0),
    "footplate server": ("listens on", 0),
    "footplate requests watch": ("permission", 130),
    "footplate api acp stream": ("jsonrpc", 130),
    "footplate telegram": ("bridge runs", 0),
}
"""What runs until Ctrl-C, how one sees that it works, and how it ends."""


def _check(line: str, ended: Ended) -> None:
    assert "Traceback" not in ended.output, ended.output
    assert ended.code == _code(line), ended.output


def _is_alone(line: str) -> bool:
    return EXAMPLES[line].startswith(ALONE) or line.startswith(BEGIN_OR_END)


@pytest.mark.parametrize("line", [line for line in EXAMPLES if not _is_alone(line)])
def test_the_example_works_on_a_server(line: str, served: ServedPlace) -> None:
    _check(line, _on_a_server(served, line))


@pytest.mark.parametrize("line", [line for line in EXAMPLES if _is_alone(line) and line not in ELSEWHERE])
def test_the_example_works_by_itself(line: str, alone: Place) -> None:
    noun = EXAMPLES[line].split()[0]
    how = {"telegram": _by_telegram, "agents": _of_agents, "install-agent": _of_agents}.get(noun, _by_itself)
    _check(line, how(alone, line))


def _code(line: str) -> int:
    return next((code for start, (_, code) in ENDLESS.items() if line.startswith(start)), 0)


def _run(place: Place, line: str) -> Ended:
    cue = next((cue for start, (cue, _) in ENDLESS.items() if line.startswith(start) and "--detach" not in line), "")
    return place.run(line, cue=cue, then=interrupt)


def _on_a_server(place: ServedPlace, line: str) -> Ended:
    if "requests watch" in line or "requests list" in line:
        place.request()
    if "acp stream" in line or "acp close" in line:
        place.sh("footplate api acp post --server-id s1 --agent mock --json-file requests.jsonl")
    if "api DELETE" in line:
        place.sh(line.replace("DELETE", "PUT") + """ --data '{"type":"local","command":"x"}'""")
    if "audit verify --file" in line:
        place.sh("footplate audit export > audit.jsonl")
    if "worktrees remove" in line:
        place.post("/api/worktrees", project="shop", branch="fix/login")
    if '"claude --resume 0d5b..."' in line:
        told = place.sh("footplate run --engine mock hello").split("mock --resume ")[1].split()[0]
        line = line.replace("claude --resume 0d5b...", f"mock --resume {told}")
    if "sessions fork" in line:
        session = place.session()
        place.sh(f"footplate sessions prompt {session} --wait hello")
        line = line.replace("01M7...", session)
    stays = any(each in line for each in ("ps stop", "ps input", "ps shell"))
    for word, make in (
        ("01M7...", place.session),
        ("http://127.0.0.1:2468 --token T", lambda: f"{place.url} --token {place.operator_token}"),
        ("VDMWQR8", lambda: place.session()[-10:]),
        ("req_01M8...", place.request),
        ("proc_1", lambda: place.process(*(["cat"] if stays else ["echo", "out"]))),
        ("3f9c2a71", place.token),
        ("0d5b...", place.claude_session),
        ("3f7a...", place.audit_hash),
    ):
        if word in line:
            line = line.replace(word, make())
    return _run(place, line)


def _by_itself(place: Place, line: str) -> Ended:
    if "cert.pem" in line:
        _certify(place)
    if "projects remove" not in line and line.startswith(("footplate projects", "footplate init")):
        place.sh("footplate projects remove shop")
    if "01M7..." in line or "store import" in line:
        session = place.sh("footplate sessions open --engine mock").strip()
        line = line.replace("01M7...", session)
    if "store import" in line:
        place.sh(f"footplate store export {session} > session.jsonl")
        place.env["FOOTPLATE_DATA_DIR"] += "-new"
    if " stop" in line:
        place.sh("footplate serve --detach --port 0")
    return _run(place, line.replace("2468", "0"))


def _certify(place: Place) -> None:
    place.sh(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem"
        " -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -days 2"
    )


def _of_agents(place: Place, line: str) -> Ended:
    with open_shelf() as shelf:
        shelf.registry(shelf.binary("tiny", "1.0.0", TINY))
        place.env["FOOTPLATE__AGENTS__REGISTRIES"] = f'["{shelf.url}/registry.json"]'
        if "agents remove" in line:
            place.sh("footplate agents install tiny")
        return place.run(line.replace("gemini", "tiny"))


def _by_telegram(place: Place, line: str) -> Ended:
    with bots() as (api, write):
        if "import-takopi" in line:
            return place.run(line)
        place.env["FOOTPLATE__TELEGRAM__API_URL"] = api.url
        if "setup" in line:
            return place.run(line, given=f"{api.token}\nassistant\n", cue="now write anything", then=write)
        place.env["FOOTPLATE__TELEGRAM__BOT_TOKEN"] = api.token
        place.env["FOOTPLATE__TELEGRAM__CHAT_ID"] = "7"
        if "chat-id" in line:
            return place.run(line, cue="write anything", then=write)
        return _run(place, line)
