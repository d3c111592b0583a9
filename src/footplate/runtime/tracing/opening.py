"""Traces for as long as a service lasts, where the settings ask for them. Costs nothing where they do not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from footplate.config.otel import OtelSettings
from footplate.errors import ConfigError
from footplate.events.model import Envelope
from footplate.version import __version__

if TYPE_CHECKING:
    from footplate.runtime.tracing.export import Traces

Reader = Callable[[Sequence[Envelope]], None]


@asynccontextmanager
async def open_traces(settings: OtelSettings) -> AsyncIterator[Reader | None]:
    """What reads the bulletin for as long as the block lasts; None where `[otel]` is off.

    Raises `ConfigError` where it is on and the extra is not installed.
    """
    if not settings.on:
        yield None
        return
    traces = await asyncio.to_thread(_begin, settings)
    try:
        yield traces.read
    finally:
        await traces.close()


def _begin(settings: OtelSettings) -> Traces:
    """A thread does it: to import the SDK takes its time."""
    try:
        import_module("opentelemetry.sdk.trace.export")
        import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    except ImportError as problem:
        channel = ".".join(__version__.split(".")[:2])
        raise ConfigError(
            "[otel]",
            "traces need the extra `otel`, which is not installed",
            f"pip install 'footplate[otel]=={channel}.*', or set `enabled = false` there",
        ) from problem
    from footplate.runtime.tracing.export import Traces  # noqa: PLC0415  (only who exports pays for it)

    return Traces(settings)
