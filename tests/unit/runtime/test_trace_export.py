"""Spans reach a collector; one that is down, or that never answers, costs one line and a bounded wait."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Iterator

import pytest

from footplate.config.otel import OtelSettings
from footplate.events import model as m
from footplate.events.ids import SessionId, TurnId
from footplate.events.model import Envelope
from footplate.runtime.tracing import export
from footplate.runtime.tracing.opening import open_traces
from footplate.testing.collector import ScriptedCollector

SESSION = SessionId("01SESSION")


def _turn(number: int = 1) -> list[Envelope]:
    turn = TurnId(f"t{number}")
    events: tuple[m.Event, ...] = (
        m.EngineAttached(engine="mock", engine_session_id="e"),  # type: ignore[arg-type]
        m.TurnStarted(turn=turn),
        m.LimitReached(kind="rate", status="reached"),
        m.TurnEnded(turn=turn, ok=False, error="no more", error_kind="rate", stop_reason="error"),
    )
    return [
        Envelope(seq=seq, time=1000.5 + seq, session=SESSION, turn=turn, event=event)
        for seq, event in enumerate(events)
    ]


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of something that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture
def nobody() -> str:
    """An address at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"http://127.0.0.1:{listening.getsockname()[1]}"


async def test_what_was_read_is_at_the_collector_when_the_block_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=ours,authorization=other")
    with ScriptedCollector.start() as collector:
        settings = OtelSettings(
            endpoint=f"{collector.url}/", headers={"authorization": "Bearer t"}, service_name="desk"
        )
        async with open_traces(settings) as read:
            assert read is not None
            read(_turn())
        assert [(header["authorization"], header["x-team"]) for header in collector.headers] == [("Bearer t", "ours")]
        (span,) = collector.spans
        assert (span.service, span.name, span.parent, span.failed) == ("desk", "invoke_agent mock", "", True)
        assert (span.start_ns, span.end_ns) == (1_001_500_000_000, 1_003_500_000_000)
        assert span.attributes["gen_ai.response.finish_reasons"] == ["error"]
        assert span.events == ("footplate.limit",)


async def test_switched_on_without_an_endpoint_it_takes_the_variables_of_opentelemetry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ScriptedCollector.start() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_SERVICE_NAME", "from outside")
        async with open_traces(OtelSettings()) as read:
            assert read is None
        async with open_traces(OtelSettings(enabled=True)) as read:
            assert read is not None
            read(_turn())
        assert [span.service for span in collector.spans] == ["from outside"]


@pytest.mark.parametrize("place", ["nobody", "silent"])
async def test_a_collector_that_does_not_answer_costs_one_line_and_no_more_time_than_the_end_has(
    place: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(export, "FLUSH_S", 0.2)
    monkeypatch.setattr(export, "GIVE_UP_S", 0.2)
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "8")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "2")
    before = time.monotonic()
    with caplog.at_level(logging.WARNING):
        async with open_traces(OtelSettings(endpoint=request.getfixturevalue(place))) as read:
            assert read is not None
            for number in range(100):
                read(_turn(number))
    assert time.monotonic() - before < 10
    assert [record.name for record in caplog.records] == ["footplate.runtime.tracing.export"]
    assert "took no traces" in caplog.records[0].getMessage()
    assert place == "silent" or logging.getLogger("opentelemetry").propagate
