"""The page's reducer and ours: the same view from the same log, on recordings of the real CLI and on random logs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from footplate.engines.base import Exit
from footplate.engines.claude.translate import Translator
from footplate.events.codec import encode
from footplate.events.model import Envelope, Event
from footplate.events.reduce import fold
from tests.page_program import bundle, run_lines
from tests.unit.engines.claude.playing import VERSIONS, play, recording, scenarios
from tests.unit.events.examples import structs
from tests.unit.events.log import ATTACHED, OPENED, Log

RANDOM_LOGS = 30
FOLD = """
import { createInterface } from "node:readline";
import { SessionReducer } from "../src/state/reduce";

const views = [];
for await (const line of createInterface({ input: process.stdin })) {
  const [from, envelopes] = JSON.parse(line);
  const reducer = new SessionReducer(from ?? undefined);
  for (const envelope of envelopes) reducer.apply(envelope);
  views.push(JSON.stringify(reducer.view()));
}
process.stdout.write(views.join("\\n") + "\\n");
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's reducer as a program: a log per line in, a view per line out."""
    return bundle("fold", FOLD, tmp_path_factory.mktemp("fold"))


def page_views(program: Path, logs: Iterable[tuple[bytes, Sequence[Envelope]]]) -> list[object]:
    """What the page makes of these logs, each on top of a stored view or of nothing."""
    lines = [b"[%s,[%s]]" % (start or b"null", b",".join(map(encode, log))) for start, log in logs]
    return run_lines(program, lines)


def our_view(envelopes: Iterable[Envelope]) -> object:
    return json.loads(msgspec.json.encode(fold(envelopes)))


def recorded_logs() -> list[Log]:
    logs: list[Log] = []
    for version in VERSIONS:
        for scenario in scenarios(version):
            translator = Translator(cwd="/workspace")
            events = [OPENED, *play(translator, recording(version, scenario)), *translator.finish(Exit(code=0))]
            logs.append(Log(events))
    return logs


def random_logs() -> list[Log]:
    """Logs drawn from the whole union of events, the same ones each time."""
    logs: list[Log] = []
    kinds = st.lists(st.one_of([structs(kind) for kind in get_args(Event)]), max_size=30)

    @settings(
        max_examples=RANDOM_LOGS,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(kinds)
    def draw(events: list[Event]) -> None:
        logs.append(Log([OPENED, ATTACHED, *events]))

    draw()
    return logs


def test_recordings_of_the_real_cli_give_the_same_view(program: Path) -> None:
    logs = recorded_logs()
    assert len(logs) > 50
    for log, theirs in zip(logs, page_views(program, [(b"", log.envelopes) for log in logs]), strict=True):
        assert theirs == our_view(log)


def test_random_logs_give_the_same_view(program: Path) -> None:
    logs = random_logs()
    for log, theirs in zip(logs, page_views(program, [(b"", log.envelopes) for log in logs]), strict=True):
        assert theirs == our_view(log)


def test_the_page_goes_on_from_a_stored_view_as_we_do(program: Path) -> None:
    logs = [log for log in recorded_logs() if len(log.envelopes) > 4]
    halves = [
        (msgspec.json.encode(fold(log.envelopes[:half])), log.envelopes[half:])
        for log in logs
        for half in [len(log.envelopes) // 2]
    ]
    for log, theirs in zip(logs, page_views(program, halves), strict=True):
        assert theirs == our_view(log)
