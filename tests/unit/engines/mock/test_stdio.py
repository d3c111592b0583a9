"""What is particular to the program: its help, files and closed pipes at its ends, and what it costs to import."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from footplate.engines.mock.stdio import main
from tests.unit.engines.mock.harness import DEADLINE_S, SOURCE, Client, ProcessAgent, environment, stop, text_block

CODE = "import sys; from footplate.engines.mock.stdio import main; sys.exit(main(sys.argv[1:]))"
ENV = {"PATH": os.defpath, "PYTHONPATH": str(SOURCE)}


def run(stdin: Path) -> subprocess.CompletedProcess[bytes]:
    argv = [sys.executable, "-P", "-c", CODE]
    with stdin.open("rb") as file:
        return subprocess.run(argv, stdin=file, env=ENV, capture_output=True, timeout=DEADLINE_S, check=False)


@pytest.mark.parametrize(("arguments", "code"), [(("--help",), 0), (("-x",), 2)])
def test_it_tells_how_it_is_used(arguments: tuple[str, ...], code: int, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == code
    assert "".join(capfd.readouterr()).startswith("usage: footplate mock-agent\n")


def test_its_input_may_be_a_file_whose_last_line_has_no_end(tmp_path: Path) -> None:
    session = "mock-0000000000000000-a2006b64"
    lines = (
        f'{{"id":1,"method":"session/load","params":{{"sessionId":"{session}","cwd":"/","mcpServers":[]}}}}\n'
        f'{{"id":2,"method":"session/prompt","params":{{"sessionId":"{session}",'
        f'"prompt":[{{"type":"text","text":"hello"}}]}}}}'
    )
    (tmp_path / "requests.jsonl").write_text(lines)
    done = run(tmp_path / "requests.jsonl")
    assert (done.returncode, done.stderr) == (0, b"")
    assert [b"mock: hello" in line for line in done.stdout.splitlines()] == [False, True, False]


def test_a_line_larger_than_any_buffer_gets_through_both_ways(tmp_path: Path) -> None:
    agent = ProcessAgent(environment(), str(tmp_path))
    client = Client(agent)
    text = "y" * 300_000
    [update] = client.prompt(client.new_session(), text).updates
    assert stop(agent) == 0
    assert update == {
        "sessionUpdate": "agent_message_chunk",
        "content": text_block(f"mock: {text}"),
        "messageId": "msg-1-1",
    }


def test_a_client_that_does_not_read_any_more_is_its_end(tmp_path: Path) -> None:
    agent = ProcessAgent(environment(), str(tmp_path))
    client = Client(agent)
    session = client.new_session()
    client.send("session/prompt", {"sessionId": session, "prompt": [text_block("stream 100000000 1")]})
    assert client.next()["method"] == "session/update"
    agent.stop_reading()
    assert agent.wait() == 0
    assert agent.stderr() == ""
    agent.release()


def test_it_imports_nothing_of_the_product_but_the_agent() -> None:
    code = "import sys, footplate.engines.mock.stdio; print(*(m for m in sys.modules if m.startswith('footplate')))"
    done = subprocess.run([sys.executable, "-P", "-c", code], env=ENV, capture_output=True, check=True)
    rooms = {name.split(".")[1] for name in done.stdout.decode().split() if "." in name}
    assert rooms == {"acp", "engines", "events", "tasks", "version"}
