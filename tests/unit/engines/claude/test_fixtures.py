"""Every recorded stream of both versions: nothing lost, nothing raised, and everything closes wherever it is cut."""

from __future__ import annotations

import pytest

from footplate.engines.base import Exit
from footplate.engines.claude.ignored import IGNORED
from footplate.engines.claude.translate import Translator
from footplate.events.model import EngineDetached, Event, Message, MessageDelta, TurnEnded, Unparsed
from footplate.host.lines import Block
from footplate.testing.invariants import check_invariants
from tests.unit.engines.claude.playing import VERSIONS, play, recording, scenarios

NOT_A_STREAM = {"agents_json", "auth_status", "auth_status_json", "mcp_list", "output_text"}
"""Scenarios that ran another command of the CLI: their output is text, or JSON that is no line of the stream."""


@pytest.mark.parametrize("version", VERSIONS)
def test_every_line_is_accounted_for_by_events_or_by_the_table_of_ignored_kinds(version: str) -> None:
    unaccounted: list[tuple[str, bytes]] = []
    for scenario in scenarios(version):
        translator = Translator()
        for line in recording(version, scenario).lines:
            before = translator.ignored.total()
            if not translator.feed(Block(line)) and translator.ignored.total() != before + 1 and line.strip():
                unaccounted.append((scenario, line[:200]))
        assert set(translator.ignored) <= set(IGNORED)
    assert unaccounted == []


@pytest.mark.parametrize("version", VERSIONS)
def test_only_output_that_is_no_stream_is_unparsed(version: str) -> None:
    found = {
        scenario
        for scenario in scenarios(version)
        if any(isinstance(event, Unparsed) for event in play(Translator(), recording(version, scenario)))
    }
    assert found == NOT_A_STREAM


@pytest.mark.parametrize("version", VERSIONS)
def test_cut_off_after_any_line_everything_closes(version: str) -> None:
    broken: list[tuple[str, int, list[str]]] = []
    for scenario in scenarios(version):
        recorded = recording(version, scenario)
        for count in range(len(recorded.lines) + 1):
            translator = Translator(cwd="/workspace")
            events = play(translator, recorded, recorded.lines[:count])
            events += translator.finish(Exit(code=1, stderr="boom"))
            assert isinstance(events[-1], EngineDetached)
            found = check_invariants(events, finished=True)
            if found:
                broken.append((scenario, count, found))
    assert broken == []


@pytest.mark.parametrize("version", VERSIONS)
def test_what_comes_before_the_end_breaks_no_promise_either(version: str) -> None:
    broken = {
        scenario: found
        for scenario in scenarios(version)
        if (found := check_invariants(play(Translator(), recording(version, scenario)), finished=False))
    }
    assert broken == {}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_part_has_the_text_of_its_deltas(version: str) -> None:
    streamed = 0
    for scenario in scenarios(version):
        events = play(Translator(), recording(version, scenario))
        drawn: dict[tuple[str, int], str] = {}
        for event in events:
            if isinstance(event, MessageDelta):
                key = (event.message, event.part)
                drawn[key] = drawn.get(key, "") + event.text
            elif isinstance(event, Message) and (event.message, event.part) in drawn:
                assert drawn[event.message, event.part] == event.text
                streamed += 1
    assert streamed > 4


@pytest.mark.parametrize("version", VERSIONS)
def test_each_result_is_one_turn_and_costs_add_up_to_what_the_process_adds_to_its_total(version: str) -> None:
    restored = {  # totals with which the conversation was resumed
        ("2.1.325", "sess_continue"): 0.140024,
        ("2.1.325", "sess_fork_sid"): 0.093224,
        ("2.1.325", "sess_resume"): 0.046548,
        ("2.1.325", "sess_resume_other_cwd"): 0.093224,
    }
    for scenario in sorted(set(scenarios(version)) - NOT_A_STREAM):
        recorded = recording(version, scenario)
        ended = _turns(play(Translator(), recorded))
        assert len(ended) == sum(b'"subtype":"' in line and b'"num_turns"' in line for line in recorded.lines)
        costs = [turn.usage.cost_usd or 0.0 for turn in ended if turn.usage is not None]
        totals = [turn.usage.total_cost_usd or 0.0 for turn in ended if turn.usage is not None]
        before = restored.get((version, scenario), 0.0)
        assert sum(costs) == pytest.approx(totals[-1] - before if totals else 0.0)


def _turns(events: list[Event]) -> list[TurnEnded]:
    return [event for event in events if isinstance(event, TurnEnded)]
