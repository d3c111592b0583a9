"""Traces for OpenTelemetry: `[otel]`, where they go and what they may tell."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta


class OtelSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[otel]`: off until there is an endpoint, or until it is switched on."""

    endpoint: Annotated[
        str,
        Meta(
            description="a collector that takes OTLP over HTTP, such as `http://localhost:4318`; `/v1/traces` is "
            "added. Empty: off, unless `enabled`",
            pattern="^(https?://.+)?$",
        ),
    ] = ""
    enabled: Annotated[
        bool | None,
        Meta(
            description="`true` without an endpoint takes that of `OTEL_EXPORTER_OTLP_ENDPOINT`; `false` switches off; "
            "default: on where there is an endpoint"
        ),
    ] = None
    headers: Annotated[
        dict[str, str],
        Meta(description="headers of every export, such as a token; those of `OTEL_EXPORTER_OTLP_HEADERS` come first"),
    ] = {}
    service_name: Annotated[
        str, Meta(description="the name of this service in traces; default: `OTEL_SERVICE_NAME`, else `footplate`")
    ] = ""
    include_text: Annotated[
        bool, Meta(description="also export the text of prompts, answers, tools, requests and errors")
    ] = False

    @property
    def on(self) -> bool:
        """Whether traces are exported at all."""
        return bool(self.endpoint) if self.enabled is None else self.enabled
