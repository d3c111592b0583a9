from __future__ import annotations

from pathlib import Path

from bench import fanout, files, prompts, servers, serving
from bench.stage import Stage

NOT_MEASURED = "not measured"


def missing() -> servers.Contestant:
    return servers.Contestant(name=servers.THEIRS, why="not here")


def test_a_few_prompts_are_measured_and_goals_without_the_peer_stay_open(tmp_path: Path) -> None:
    found = [servers.ours(Stage(tmp_path)), missing()]
    sheet = prompts.measure_prompts(prompts.Scale(clients=(1, 2), prompts=4, rounds=1), found)
    assert sheet.why == ""
    assert [row[:2] for row in sheet.rows] == [("1", servers.OURS), ("2", servers.OURS)]
    assert {(verdict.found, verdict.met) for verdict in sheet.goals} == {(NOT_MEASURED, None)}


def test_every_reader_is_given_every_event(tmp_path: Path) -> None:
    scale = fanout.Scale(readers=(1, 3), deliveries=300, rounds=1)
    sheet = fanout.measure_fanout(scale, [servers.ours(Stage(tmp_path)), missing()])
    assert sheet.why == ""
    assert [found for name, found in sheet.samples.items() if "lost" in name] == [[0.0], [0.0]]
    assert [verdict.met for verdict in sheet.goals] == [None, True]


def test_a_file_goes_out_and_in(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    sheet = files.measure_files(stage, files.Scale(size=3_000_000, rounds=1), [servers.ours(stage), missing()])
    assert sheet.why == ""
    assert [row[0] for row in sheet.rows] == [files.DOWN, files.UP]
    assert not (stage.home / "large").exists()
    assert not (stage.home / "landed").exists()


def test_a_start_and_a_few_sessions_are_measured(tmp_path: Path) -> None:
    scale = serving.Scale(starts=1, sessions=2, rounds=1)
    sheet = serving.measure_serving(scale, [servers.ours(Stage(tmp_path)), missing()])
    assert sheet.why == ""
    assert [row[:2] for row in sheet.rows] == [
        (what, servers.OURS) for what in (serving.START, serving.IDLE, serving.LIVE)
    ]


def test_a_server_that_does_not_start_is_not_measured(tmp_path: Path) -> None:
    found = servers.Contestant(name=servers.THEIRS, argv=("/bin/false",), home=tmp_path)
    sheet = serving.measure_serving(serving.QUICK, [found])
    assert sheet.why == f"{servers.THEIRS} ended with 1"
