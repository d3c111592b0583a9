"""A scripted collector: takes traces over OTLP/HTTP on the loopback, as a real one would, and keeps their spans.

    with ScriptedCollector.start() as collector:
        ... a service whose `[otel] endpoint` is `collector.url` ...
        spans = collector.spans

It needs the extra `otel` (or `dev`) for the wire format.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from footplate.testing.threaded import serving


class TakenSpan(msgspec.Struct, frozen=True, kw_only=True):
    """One span as it came. `parent` is empty for the root of a trace."""

    service: str
    name: str
    trace: str
    id: str
    parent: str
    start_ns: int
    end_ns: int
    attributes: dict[str, object]
    events: tuple[str, ...]
    failed: bool


class ScriptedCollector:
    """What was taken, and with which headers."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self._server = server
        self.spans: list[TakenSpan] = []
        self.headers: list[dict[str, str]] = []

    @classmethod
    @contextmanager
    def start(cls) -> Iterator[ScriptedCollector]:
        """A collector for as long as the block lasts."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        collector = cls(server)
        server.RequestHandlerClass = type("Handler", (_Handler,), {"collector": collector})
        with serving(server, "collector"):
            yield collector

    @property
    def url(self) -> str:
        """Its address, as settings name it."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def take(self, headers: dict[str, str], body: bytes) -> None:
        """Keep the spans of one export."""
        self.headers.append(headers)
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            service = str(_values(resource.resource.attributes).get("service.name", ""))
            self.spans += [_taken(service, span) for scope in resource.scope_spans for span in scope.spans]


def _taken(service: str, span: Span) -> TakenSpan:
    return TakenSpan(
        service=service,
        name=span.name,
        trace=span.trace_id.hex(),
        id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        start_ns=span.start_time_unix_nano,
        end_ns=span.end_time_unix_nano,
        attributes=_values(span.attributes),
        events=tuple(event.name for event in span.events),
        failed=span.status.code == Status.STATUS_CODE_ERROR,
    )


def _values(pairs: Iterable[KeyValue]) -> dict[str, object]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: AnyValue) -> object:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    found: object = getattr(value, kind) if kind else None
    return found


class _Handler(BaseHTTPRequestHandler):
    collector: ScriptedCollector
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Take an export; anything but traces is not found."""
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        known = self.path == "/v1/traces"
        if known:
            self.collector.take({name.lower(): value for name, value in self.headers.items()}, body)
        self.send_response(200 if known else 404)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", "0")
        self.send_header("connection", "close")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""
