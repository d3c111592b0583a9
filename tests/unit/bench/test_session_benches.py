from __future__ import annotations

import os
from pathlib import Path

from bench import answers, appends, idle, interrupt, journals, keeper, many, recording
from bench.goals import Verdict
from bench.sheet import Sheet, at_least, below, render_sheet
from bench.stage import Stage


def test_a_few_appends_are_measured_in_every_way(tmp_path: Path) -> None:
    scale = appends.Scale(sessions=(1, 3), seconds=0.01, rounds=1)
    sheet = appends.measure_appends(Stage(tmp_path), scale)
    ways = [(row[0], row[1]) for row in sheet.rows]
    assert ways == [
        (appends.EACH, "1"),
        *((name, sessions) for sessions in "13" for name in (appends.GROUPED, appends.VISIBLE, appends.FSYNCED)),
    ]
    assert all(len(rates) == 1 and min(rates) > 0 for rates in sheet.samples.values())
    assert [verdict.met is None for verdict in sheet.goals] == [False, False]
    assert list((tmp_path / "home" / "appends").iterdir()) == []


def test_a_few_journals_are_measured_in_every_way(tmp_path: Path) -> None:
    scale = journals.Scale(journals=(1, 3), seconds=0.01, rounds=1)
    sheet = journals.measure_journals(Stage(tmp_path), scale)
    ways = (journals.APPENDED, journals.READ, journals.PAGED, journals.FOLLOWED, journals.SHARED)
    assert [(row[0], row[1]) for row in sheet.rows] == [(way, count) for way in ways for count in "13"]
    assert all(len(rates) == 1 and min(rates) > 0 for rates in sheet.samples.values())
    assert [verdict.met is None for verdict in sheet.goals] == [False]
    assert list((tmp_path / "home").iterdir()) == []


def test_a_store_with_a_few_sessions_is_measured(tmp_path: Path) -> None:
    sheet = many.measure_many(Stage(tmp_path), many.Scale(sessions=(10, 20), starts=1, calls=1))
    assert sheet.why == ""
    assert [row[0] for row in sheet.rows] == [many.START, *many.CALLS]
    assert len(sheet.samples) == 2 * len(sheet.rows)
    assert len(sheet.goals) == 2


def test_a_few_idle_sessions_are_measured(tmp_path: Path) -> None:
    sheet = idle.measure_idle(Stage(tmp_path), idle.Scale(sessions=10, rounds=1))
    assert sheet.why == ""
    assert [len(found) for found in sheet.samples.values()] == [1, 1, 1]
    assert "KB per session" in render_sheet(sheet)


def test_a_few_answers_are_measured_with_and_without_their_records(tmp_path: Path) -> None:
    sheet = answers.measure_answers(Stage(tmp_path), answers.Scale(answers=4, rounds=1))
    assert sheet.why == ""
    assert sheet.rows[0][0] == "8", "the answers of the round that warms up have records, too"
    assert "less than 5 %" in sheet.goals[0].goal


def test_a_few_lines_are_measured_with_and_without_their_recording(tmp_path: Path) -> None:
    scale = recording.Scale(paced=100, per_s=1_000, flood=1_000, rounds=1)
    sheet = recording.measure_recording(Stage(tmp_path), scale)
    assert sheet.why == ""
    assert [row[0] for row in sheet.rows] == [recording.PACED, recording.FLOOD]
    assert all(int(row[-1]) >= int(row[1]) for row in sheet.rows), "every line was stored"
    assert "less than 3 %" in sheet.goals[0].goal


def test_a_few_lines_are_measured_with_and_without_a_keeper(tmp_path: Path) -> None:
    sheet = keeper.measure_keeper(Stage(tmp_path), keeper.Scale(lines=5_000, rounds=1))
    assert sheet.why == ""
    assert [len(found) for found in sheet.samples.values()] == [1, 1]
    assert "at most 1.05x" in sheet.goals[0].goal


def test_the_answer_to_an_interrupt_is_found_behind_the_flood_and_across_two_reads() -> None:
    for until_answered in (interrupt.scan, interrupt.decode):
        reading, writing = os.pipe()
        os.write(writing, b'{"type": "stream_event"}\n' * 2 + interrupt.ANSWERED[:9])
        os.write(writing, interrupt.ANSWERED[9:] + b', "response": {}}\n')
        os.close(writing)
        until_answered(reading)
        os.close(reading)


def test_a_sheet_without_numbers_says_why() -> None:
    assert render_sheet(Sheet(name="warm", title="turns", why="no CLI")) == "warm: turns\n  not measured: no CLI"


def test_goals_are_judged_by_the_median() -> None:
    assert at_least("a", [0.3, 0.5, 0.4], 0.4) == Verdict(goal="a", found="0.40x (0.30-0.50)", met=True)
    assert below("b", [5.0], 5.0, " ms") == Verdict(goal="b", found="5.00 ms", met=False)
