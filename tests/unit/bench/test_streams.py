from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from bench import goals, recorded, rounds, streams, table
from bench.__main__ import QUICK, run
from bench.stage import ROOT, Stage
from bench.streams import Stream
from footplate.engines.claude.translate import Translator
from footplate.events.model import Unparsed
from footplate.host.lines import Block

SMALL = {
    "empty": streams.empty(),
    "deltas": streams.deltas(4000),
    "mixed": streams.mixed(lines=2000),
    "results": streams.results(20),
}


def frames(stream: Stream) -> list[dict[str, object]]:
    return [json.loads(line) for block in stream.play() for line in block.splitlines()]


def kind(frame: dict[str, object]) -> str:
    event = frame.get("event")
    inner = event.get("type") if isinstance(event, dict) else frame.get("subtype")
    return f"{frame['type']}/{inner}" if inner else str(frame["type"])


@pytest.mark.parametrize("name", SMALL)
def test_every_line_is_an_object_of_the_one_session_and_all_are_counted(name: str) -> None:
    stream = SMALL[name]
    played = frames(stream)
    assert len(played) == stream.lines
    assert {frame["session_id"] for frame in played} == {recorded.SESSION}
    assert sum(len(block) for block in stream.play()) == stream.size


@pytest.mark.parametrize("name", SMALL)
def test_no_two_lines_share_an_id(name: str) -> None:
    ids = [frame["uuid"] for frame in frames(SMALL[name])]
    repeated = {count for count in Counter(ids).values() if count > 1}
    # A recorded line that is repeated inside one block (a tool call per file) keeps its id.
    assert not repeated or name == "results"


@pytest.mark.parametrize("name", SMALL)
def test_every_turn_begins_with_init_and_ends_with_result(name: str) -> None:
    kinds = Counter(kind(frame) for frame in frames(SMALL[name]))
    assert kinds["system/init"] == kinds["result/success"] > 0
    assert kind(frames(SMALL[name])[0]) == "system/init"


def test_the_deltas_are_framed_as_the_cli_frames_them() -> None:
    kinds = Counter(kind(frame) for frame in frames(SMALL["deltas"]))
    assert kinds["stream_event/content_block_delta"] == 4000
    framing = ("message_start", "content_block_start", "content_block_stop", "message_delta", "message_stop")
    assert [kinds[f"stream_event/{name}"] for name in framing] == [2] * 5
    assert kinds["assistant"] == 2


def test_a_delta_has_the_fields_of_a_recorded_one() -> None:
    lines = (recorded.FIXTURES / "partial.jsonl").read_text().splitlines()
    real = next(json.loads(line) for line in lines if "content_block_delta" in line)
    ours = next(frame for frame in frames(SMALL["deltas"]) if kind(frame) == "stream_event/content_block_delta")
    assert list(ours) == list(real)
    assert ours["event"] == real["event"] | {"delta": {"type": "text_delta", "text": recorded.PROSE[: recorded.PIECE]}}


def test_mixed_holds_every_kind_of_work() -> None:
    kinds = {kind(frame) for frame in frames(SMALL["mixed"])}
    assert kinds >= {"user", "assistant", "system/task_started", "system/task_notification", "system/thinking_tokens"}
    text = SMALL["mixed"].block
    for delta in (b"text_delta", b"thinking_delta", b"signature_delta", b"input_json_delta"):
        assert delta in text


def test_a_tool_result_is_64_kb() -> None:
    user = next(frame for frame in frames(SMALL["results"]) if frame["type"] == "user")
    assert isinstance(user["message"], dict)
    assert len(user["message"]["content"][0]["content"]) == streams.RESULT_SIZE


def test_the_fake_cli_plays_the_stream(tmp_path: Path) -> None:
    stream = SMALL["mixed"]
    fake = Stage(tmp_path).fake_cli(stream)
    played = subprocess.run([fake, "-p", "hi"], capture_output=True, check=True, stdin=subprocess.DEVNULL)
    assert played.stdout == b"".join(stream.play())


def test_the_fake_cli_answers_initialize_before_it_plays(tmp_path: Path) -> None:
    fake = Stage(tmp_path).fake_cli(SMALL["empty"])
    asked = {"type": "control_request", "request_id": "r1", "request": {"subtype": "initialize"}}
    typed = json.dumps(asked) + '\n{"type":"user"}\n'
    argv = [str(fake), "--input-format", "stream-json"]
    played = subprocess.run(argv, capture_output=True, check=True, input=typed.encode())
    first, *rest = played.stdout.splitlines(keepends=True)
    assert json.loads(first)["response"]["request_id"] == "r1"
    assert b"".join(rest) == b"".join(SMALL["empty"].play())


def test_a_contender_that_cannot_run_says_why_and_the_others_are_still_shown() -> None:
    rows = (
        rounds.Row(name="bare", title="bare", costs=(0.5,), events=3),
        rounds.Row(name="ours", title="ours", costs=(2.0,), events=3),
        rounds.Row(name="python-sdk", title="python-sdk", why="no network"),
    )
    measured = rounds.Table(stream="deltas", title="few", lines=3, size=9, rounds=1, rows=rows)
    text = table.render_table(measured)
    assert "not measured: no network" in text
    assert "4.00" in text
    assert [verdict.met for verdict in goals.judge(measured)] == [True, None, None]


def test_the_quick_bench_of_ours_runs(tmp_path: Path) -> None:
    found = run(["mixed"], QUICK, Stage(tmp_path), only=["bare", "ours"])
    assert [row.why for row in found.tables[0].rows] == ["", ""]
    assert all(row.events > 0 for row in found.tables[0].rows)


def test_ratios_are_taken_round_by_round() -> None:
    rows = (
        rounds.Row(name="bare", title="bare", costs=(1.0, 2.0, 1.0), events=3),
        rounds.Row(name="ours", title="ours", costs=(4.0, 8.0, 3.0), events=3),
    )
    measured = rounds.Table(stream="mixed", title="few", lines=3, size=9, rounds=3, rows=rows)
    assert measured.ratio("ours", "bare") == 4.0
    assert measured.ratio("python-sdk", "ours") is None


@pytest.mark.parametrize("name", SMALL)
def test_our_translator_knows_every_line(name: str) -> None:
    translator = Translator()
    events = [event for block in SMALL[name].play() for event in translator.feed(Block(block))]
    assert events
    assert not [event for event in events if isinstance(event, Unparsed)]


def test_the_command_line_names_what_it_does_not_know() -> None:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    argv = [sys.executable, "-m", "bench", "nonsense"]
    done = subprocess.run(argv, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 2
    assert "no such measurement: nonsense" in done.stderr
