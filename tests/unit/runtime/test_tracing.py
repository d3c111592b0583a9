"""Stored events become spans: recordings of the real CLI, logs written by hand, and whatever else may come."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from footplate.config.otel import OtelSettings
from footplate.config.settings import load_settings
from footplate.engines.claude.translate import Translator
from footplate.errors import ConfigError
from footplate.events import model as m
from footplate.events.base import ResumeToken
from footplate.events.content import TextBlock
from footplate.events.ids import EngineSessionId, MessageId, RequestId, SessionId, ToolCallId, TurnId
from footplate.events.model import Envelope
from footplate.events.requests import Allow, Request
from footplate.events.usage import Usage
from footplate.runtime.tracing import opening
from footplate.runtime.tracing.span import Span
from footplate.runtime.tracing.translate import TEXT_LIMIT, SpanTranslator
from tests.unit.engines.claude.playing import VERSIONS, play, recording, scenarios
from tests.unit.events.log import Log
from tests.unit.events.test_reduce_properties import LOGS

SESSION = SessionId("01SESSION")
TURN = TurnId("t1")
CALL = ToolCallId("c1")
ASKED = RequestId("r1")


def _stored(events: list[m.Event]) -> list[Envelope]:
    """The events as a session's log has them: a second apart, with the turn that runs."""
    found: list[Envelope] = []
    turn: TurnId | None = None
    for number, event in enumerate((each for each in events if not m.is_ephemeral(each)), 1):
        turn = event.turn if isinstance(event, m.TurnStarted) else turn
        found.append(Envelope(seq=number, time=float(number), session=SESSION, turn=turn, event=event))
        turn = None if isinstance(event, m.TurnEnded) else turn
    return found


def _spans(envelopes: list[Envelope], *, include_text: bool = False) -> list[Span]:
    translator = SpanTranslator(include_text=include_text)
    return [span for envelope in envelopes for span in translator.feed(envelope)]


def _recorded(scenario: str, version: str = VERSIONS[0], *, include_text: bool = False) -> list[Span]:
    events = play(Translator(cwd="/workspace"), recording(version, scenario))
    return _spans(_stored(events), include_text=include_text)


def _tree(spans: list[Span]) -> dict[str, str]:
    """Who hangs under whom, by name."""
    names = {span.id: span.name for span in spans}
    return {span.name: names[span.parent] if span.parent is not None else "" for span in spans}


# --------------------------------------------------------------------------------------------- recordings


@pytest.mark.parametrize("version", VERSIONS)
def test_every_turn_of_every_recording_is_a_whole_tree(version: str) -> None:
    turns = 0
    for scenario in scenarios(version):
        events = play(Translator(), recording(version, scenario))
        spans = _spans(_stored(events))
        roots = [span for span in spans if span.parent is None]
        ended = [event for event in events if isinstance(event, m.TurnEnded)]
        assert [(span.attributes["footplate.turn.id"], span.error is None) for span in roots] == [
            (event.turn, event.ok) for event in ended
        ], scenario
        turns += len(roots)
        finished = {span.trace for span in roots}
        inside = [span for span in spans if span.trace in finished]
        assert len({span.id for span in inside}) == len(inside), scenario
        assert {span.parent for span in inside} - {None} <= {span.id for span in inside}, scenario
        assert all(span.start <= span.end for span in spans)
        assert not any("footplate.taken_over" in span.attributes for span in spans), scenario
    assert turns > 100


def test_a_recorded_turn_has_the_names_of_the_conventions() -> None:
    spans = _recorded("bash_allowed")
    call, turn = spans
    assert (turn.name, call.name, call.parent) == ("invoke_agent claude", "execute_tool Bash", turn.id)
    told = turn.attributes
    assert {name: told[name] for name in told if not name.startswith("gen_ai.usage")} == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.conversation.id": SESSION,
        "gen_ai.agent.name": "claude",
        "gen_ai.request.model": told["gen_ai.request.model"],
        "gen_ai.response.model": told["gen_ai.response.model"],
        "gen_ai.response.finish_reasons": ("end_turn",),
        "footplate.turn.id": told["footplate.turn.id"],
        "footplate.usage.cost_usd": told["footplate.usage.cost_usd"],
        **({"footplate.turn.origin": told["footplate.turn.origin"]} if "footplate.turn.origin" in told else {}),
    }
    assert told["gen_ai.request.model"]
    assert told["gen_ai.usage.input_tokens"]
    assert told["gen_ai.usage.output_tokens"]
    assert call.attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "Bash",
        "gen_ai.tool.call.id": call.attributes["gen_ai.tool.call.id"],
        "footplate.tool.kind": "command",
        "footplate.tool.ok": True,
        "footplate.tool.outcome": "completed",
    }


def test_calls_and_requests_of_a_sub_agent_hang_under_its_call() -> None:
    spans = _recorded("perm_subagent")
    tree = _tree(spans)
    outer = next(name for name, parent in tree.items() if parent == "invoke_agent claude")
    inner = next(name for name, parent in tree.items() if parent == outer)
    assert (outer, inner) == ("execute_tool Agent", "execute_tool Bash")
    assert tree["permission request"] == inner


def test_a_turn_that_fails_says_so_and_its_retries_are_events() -> None:
    failed = _recorded("api_429_max1")[-1]
    assert failed.error is not None
    assert failed.attributes["error.type"]
    notes = [each for each in failed.events if each.name == "footplate.notice"]
    assert {each.attributes.get("footplate.notice.code") for each in notes} == {"api_retry"}
    assert all("footplate.notice.text" not in each.attributes for each in notes)


def test_no_text_leaves_unless_that_is_wanted() -> None:
    silent = msgspec.json.encode(_recorded("write_read_edit")).decode()
    told = _recorded("write_read_edit", include_text=True)
    written = next(span for span in told if span.name == "execute_tool Write").attributes
    arguments = json.loads(str(written["gen_ai.tool.call.arguments"]))
    assert arguments["file_path"] not in silent
    assert arguments["content"] not in silent
    answer = json.loads(str(told[-1].attributes["gen_ai.output.messages"]))[0]
    assert (answer["role"], answer["parts"][0]["type"]) == ("assistant", "text")
    assert answer["parts"][0]["content"] not in silent


# ---------------------------------------------------------------------------------------- written by hand


def _asked() -> list[m.Event]:
    call = m.ToolStarted(call=CALL, name="Bash", kind="command", title="touch x")
    return [
        m.SessionOpened(engine="claude", cwd="/", model="opus"),
        m.TurnStarted(turn=TURN),
        m.UserMessage(message=MessageId("u"), content=(TextBlock(text="x" * 2 * TEXT_LIMIT),)),
        call,
        m.RequestOpened(request=Request(id=ASKED, kind="permission", title="touch x", tool="Bash", call=CALL)),
        m.LimitReached(kind="usage", status="warning", utilization=0.9),
        m.RequestAnswered(request=ASKED, answer=Allow(), by="ada", surface="telegram"),
        m.RequestSent(request=ASKED),
        m.RequestApplied(request=ASKED),
        m.ToolEnded(call=CALL, ok=False, outcome="failed"),
        m.TurnEnded(
            turn=TURN,
            ok=True,
            usage=Usage(input_tokens=5, output_tokens=7, cache_read_tokens=100, cache_write_tokens=20, cost_usd=0.5),
            resume=ResumeToken(engine="claude", value=EngineSessionId("e")),
        ),
    ]


def test_a_request_tells_how_long_it_waited_who_answered_and_how_it_ended() -> None:
    request, call, turn = _spans(_stored(_asked()))
    assert (request.name, request.parent, request.start, request.end) == ("permission request", call.id, 5.0, 9.0)
    assert request.attributes == {
        "footplate.request.id": "r1",
        "footplate.request.kind": "permission",
        "gen_ai.tool.name": "Bash",
        "footplate.request.answer": "allow",
        "footplate.request.surface": "telegram",
        "footplate.request.waited_s": 2.0,
        "footplate.request.outcome": "applied",
    }
    assert (call.error, call.attributes["error.type"]) == ("failed", "failed")
    assert [(each.name, each.attributes) for each in turn.events] == [
        (
            "footplate.limit",
            {
                "footplate.limit.kind": "usage",
                "footplate.limit.status": "warning",
                "footplate.limit.utilization": 0.9,
            },
        )
    ]


def test_cached_tokens_are_input_as_the_conventions_count() -> None:
    turn = _spans(_stored(_asked()))[-1].attributes
    assert turn["gen_ai.usage.input_tokens"] == 125
    assert turn["gen_ai.usage.cache_read.input_tokens"] == 100
    assert turn["gen_ai.usage.cache_creation.input_tokens"] == 20
    assert (turn["gen_ai.usage.output_tokens"], turn["footplate.usage.cost_usd"]) == (7, 0.5)


def test_long_texts_are_cut_and_stay_json() -> None:
    turn = _spans(_stored(_asked()), include_text=True)[-1].attributes
    said = json.loads(str(turn["gen_ai.input.messages"]))
    assert [len(each["parts"][0]["content"]) for each in said] == [TEXT_LIMIT]


@pytest.mark.parametrize("cut", range(2, 11))
def test_a_turn_under_way_at_a_restart_is_begun_anew_under_the_same_ids(cut: int) -> None:
    stored = _stored(_asked())
    whole = _spans(stored)
    before, after = _spans(stored[:cut]), _spans(stored[cut:])
    assert [span.id for span in (*before, *after)] == [span.id for span in whole]
    assert {span.trace for span in (*before, *after)} == {whole[0].trace}
    turn = after[-1]
    assert turn.attributes["footplate.taken_over"] is True
    assert (turn.start, turn.end) == (stored[cut].time, stored[-1].time)
    assert turn.name == "invoke_agent claude"
    waited = [span.attributes.get("footplate.request.waited_s") for span in after if "request" in span.name]
    assert waited in ([], [2.0] if cut < 5 else [None])


def test_an_end_without_a_beginning_is_left_out_of_a_turn_that_was_seen_from_its_start() -> None:
    events = _asked()
    del events[3:5]
    assert [span.name for span in _spans(_stored(events))] == ["invoke_agent claude"]


@pytest.mark.parametrize("last", [m.SessionClosed(), m.EngineDetached(reason="idle")])
def test_a_session_that_is_over_or_asleep_leaves_nothing_in_memory(last: m.Event) -> None:
    translator = SpanTranslator()
    for envelope in _stored([*_asked(), last, m.StateChanged(state="parked")]):
        translator.feed(envelope)
    assert translator._sessions == {}


@settings(max_examples=40, deadline=None, database=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(LOGS)
def test_whatever_comes_nothing_raises_and_every_span_can_be_sent(log: Log) -> None:
    for span in _spans(list(log), include_text=True):
        assert span.start <= span.end
        assert 0 < span.id < 1 << 64
        assert 0 < span.trace < 1 << 128


# ------------------------------------------------------------------------------------------- switching on


def test_it_is_off_until_there_is_an_endpoint_or_a_word() -> None:
    assert not OtelSettings().on
    assert OtelSettings(endpoint="http://localhost:4318").on
    assert not OtelSettings(endpoint="http://localhost:4318", enabled=False).on
    assert OtelSettings(enabled=True).on


def test_headers_come_from_the_environment_as_other_secrets_do(tmp_path: Path) -> None:
    environ = {
        "HOME": str(tmp_path),
        "COLLECTOR": "Bearer secret",
        "FOOTPLATE__OTEL__HEADERS__AUTHORIZATION": '{ env = "COLLECTOR" }',
    }
    assert load_settings(environ).otel.headers == {"authorization": "Bearer secret"}
    with pytest.raises(ConfigError, match="endpoint"):
        load_settings({"HOME": str(tmp_path), "FOOTPLATE__OTEL__ENDPOINT": "localhost:4318"})


async def test_without_the_extra_the_start_is_refused_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace.export", None)
    with pytest.raises(ConfigError, match=r"pip install 'footplate\[otel\]==0\.1\.\*'"):
        async with opening.open_traces(OtelSettings(enabled=True)):
            raise AssertionError("it began")


def test_nothing_of_it_is_imported_while_it_is_off() -> None:
    code = "import sys, footplate.runtime.service, footplate.interfaces.http.command; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    loaded = ran.stdout.split()
    assert "footplate.runtime.tracing.opening" in loaded
    assert [name for name in loaded if name.startswith(("opentelemetry", "google.protobuf"))] == []
    assert "footplate.runtime.tracing.translate" not in loaded
