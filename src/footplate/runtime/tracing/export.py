"""Spans on their way to a collector, by the SDK of OpenTelemetry: its thread sends them in batches, over HTTP.

Imported only where `[otel]` is switched on. The queue of the SDK is bounded (2048 spans, `OTEL_BSP_MAX_QUEUE_SIZE`):
what a collector does not take in time is dropped, the oldest first, and the log says once that it does not take them.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, Status, StatusCode, TraceFlags

from footplate.config.otel import OtelSettings
from footplate.events.model import Envelope
from footplate.runtime.tracing.span import Span
from footplate.runtime.tracing.translate import SpanTranslator
from footplate.version import __version__

FLUSH_S: Final = 3.0
"""How long the end of the service waits for a collector."""
GIVE_UP_S: Final = 1.0
"""And how long for the SDK to let go of one that takes longer."""
PATH: Final = "/v1/traces"
SCOPE: Final = InstrumentationScope("footplate", __version__)

log = logging.getLogger(__name__)


class Traces:
    """A reader of the bulletin that exports what it reads. Reading only puts spans into a queue."""

    def __init__(self, settings: OtelSettings) -> None:
        self._translator = SpanTranslator(include_text=settings.include_text)
        name = settings.service_name or os.environ.get("OTEL_SERVICE_NAME", "") or "footplate"
        self._resource = Resource.create({SERVICE_NAME: name, SERVICE_VERSION: __version__})
        self._exporter = _ToldOnce(
            OTLPSpanExporter(endpoint=_address(settings.endpoint), headers=settings.headers or None)
        )
        self._processor = BatchSpanProcessor(self._exporter)

    def read(self, envelopes: Iterable[Envelope]) -> None:
        """Take what was stored."""
        for envelope in envelopes:
            for span in self._translator.feed(envelope):
                self._processor.on_end(_readable(span, self._resource))

    async def close(self) -> None:
        """Send what waits, for as long as the end may take; then the collector goes without."""
        loop = asyncio.get_running_loop()
        sent = asyncio.Event()

        def finish() -> None:
            self._processor.shutdown()  # type: ignore[no-untyped-call]
            self._exporter.let_go()
            with suppress(RuntimeError):  # nobody waits any more, and the loop is gone
                loop.call_soon_threadsafe(sent.set)

        threading.Thread(target=finish, name="otel-end", daemon=True).start()
        if not await _within(FLUSH_S, sent):
            self._exporter.give_up()
            await _within(GIVE_UP_S, sent)


async def _within(seconds: float, event: asyncio.Event) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


class _ToldOnce(SpanExporter):
    """The exporter of the SDK, with one line in our log when the collector takes no spans, and one when it does again.

    The SDK's own lines, of every try and every batch, are kept from the log; the first of them is the reason we tell.
    """

    def __init__(self, inner: OTLPSpanExporter) -> None:
        self._inner = inner
        self._failing = False
        self._ended = False
        self._words = _FirstWords()
        self._logger = logging.getLogger("opentelemetry")
        self._before = self._logger.propagate
        self._logger.propagate = False
        self._logger.addHandler(self._words)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send a batch; called in the thread of the SDK."""
        result = self._inner.export(spans)
        failed = result is not SpanExportResult.SUCCESS
        if failed and not self._failing:
            log.warning("the collector takes no traces, they are dropped until it does: %s", self._words.first)
        elif self._failing and not failed:
            log.warning("the collector takes traces again")
        if not failed:
            self._words.first = ""
        self._failing = failed
        return result

    def shutdown(self) -> None:
        """Send no more; a try that waits for the next is given up."""
        if not self._ended:
            self._ended = True
            self._inner.shutdown()  # type: ignore[no-untyped-call]

    def give_up(self) -> None:
        """It took too long: what waits is not sent."""
        if not self._failing:
            self._failing = True
            log.warning("the collector took no traces within %g s of the end: %s", FLUSH_S, self._words.first)
        self.shutdown()

    def let_go(self) -> None:
        """The SDK's lines go where they went before."""
        self._logger.removeHandler(self._words)
        self._logger.propagate = self._before


class _FirstWords(logging.Handler):
    """Keeps the first line that was logged."""

    first = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        self.first = self.first or record.getMessage()


def _address(endpoint: str) -> str | None:
    """The address of traces below that of the collector; None: the SDK looks at its own variables."""
    if not endpoint:
        return None
    base = endpoint.rstrip("/")
    return base if base.endswith(PATH) else base + PATH


def _readable(span: Span, resource: Resource) -> ReadableSpan:
    return ReadableSpan(
        name=span.name,
        context=_context(span.trace, span.id),
        parent=_context(span.trace, span.parent) if span.parent is not None else None,
        resource=resource,
        attributes=span.attributes,
        events=[Event(each.name, each.attributes, _nanoseconds(each.time)) for each in span.events],
        status=Status(StatusCode.ERROR, span.error) if span.error is not None else Status(StatusCode.UNSET),
        start_time=_nanoseconds(span.start),
        end_time=_nanoseconds(span.end),
        instrumentation_scope=SCOPE,
    )


def _context(trace: int, span: int) -> SpanContext:
    return SpanContext(trace, span, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1e9)
