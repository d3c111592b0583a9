"""The server's numbers in the words of Prometheus: made when somebody asks."""

from __future__ import annotations

import time
from collections.abc import Iterator

from prometheus_client.core import CollectorRegistry, CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from footplate.interfaces.http.api import Api
from footplate.interfaces.http.meters import BOUNDS, Meters
from footplate.store.values import RequestFilter
from footplate.version import __version__

Family = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily
MOST = 500


class _Numbers(Collector):
    """What is known at the moment of asking."""

    def __init__(self, api: Api, sessions: dict[str, int], requests: int) -> None:
        self._api = api
        self._sessions = sessions
        self._requests = requests

    def collect(self) -> Iterator[Family]:
        """Every family of numbers."""
        meters = self._api.meters
        yield _gauge("footplate_info", "Which version this is", {"version": __version__}, 1)
        yield _gauge("footplate_uptime_seconds", "How long it runs", {}, time.time() - self._api.started_at)
        yield _gauge("footplate_http_running", "Calls that are being served", {}, meters.running)
        yield _gauge("footplate_http_streams", "Open event streams", {}, meters.streams)
        cut = CounterMetricFamily("footplate_http_streams_cut", "Streams whose reader took nothing and was cut")
        cut.add_metric([], meters.streams_cut)
        yield cut
        sessions = GaugeMetricFamily("footplate_sessions", "Sessions that are not closed", labels=["state"])
        for state, count in sorted(self._sessions.items()):
            sessions.add_metric([state], count)
        yield sessions
        yield _gauge("footplate_requests_open", "Requests that wait for a person", {}, self._requests)
        processes = GaugeMetricFamily("footplate_processes", "Processes that clients started", labels=["status"])
        listed = self._api.children.list()
        for status in ("running", "exited"):
            processes.add_metric([status], sum(each.status == status for each in listed))
        yield processes
        yield _calls(meters)


def _gauge(name: str, meaning: str, labels: dict[str, str], value: float) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, meaning, labels=list(labels))
    family.add_metric(list(labels.values()), value)
    return family


def _calls(meters: Meters) -> HistogramMetricFamily:
    family = HistogramMetricFamily(
        "footplate_http_call_seconds", "How long calls took", labels=["method", "path", "status"]
    )
    for (method, path, status), served in meters.calls.items():
        total = 0
        buckets: list[tuple[str, float]] = []
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), served.buckets, strict=True):
            total += count
            buckets.append((bound, total))
        family.add_metric([method, path, str(status)], buckets, served.seconds)
    return family


async def render_metrics(api: Api) -> bytes:
    """The page that Prometheus reads."""
    states = await api.store.projections.count_states()
    counts: dict[str, int] = {state: count for state, count in states.items() if state != "closed"}
    waiting = await api.store.projections.requests(RequestFilter(states=("open",)), limit=MOST)
    registry = CollectorRegistry()
    registry.register(_Numbers(api, counts, len(waiting.items)))
    ProcessCollector(registry=registry)
    return generate_latest(registry)
