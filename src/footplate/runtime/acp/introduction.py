"""What we say of ourselves in the answer to `initialize`."""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.acp.reading import PROTOCOL_VERSION
from footplate.acp.schema.start import (
    AgentCapabilities,
    Implementation,
    InitializeResponse,
    McpCapabilities,
    PromptCapabilities,
    SessionArchiveCapabilities,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionDeleteCapabilities,
    SessionForkCapabilities,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SessionTitleCapabilities,
)
from footplate.engines.base import Engine
from footplate.runtime.acp.client import Manner
from footplate.runtime.acp.extensions import advertised
from footplate.version import __version__

STEERING: Final = msgspec.Raw(b'{"steering":{"supported":true}}')


def introduce(engine: Engine, manner: Manner) -> InitializeResponse:
    """Truthful for this engine."""
    can = engine.capabilities()
    return InitializeResponse(
        protocol_version=PROTOCOL_VERSION,
        agent_capabilities=AgentCapabilities(
            load_session=True,
            prompt_capabilities=PromptCapabilities(image=can.images, embedded_context=True),
            mcp_capabilities=McpCapabilities(http=can.mcp, sse=can.mcp),
            session_capabilities=SessionCapabilities(
                list=SessionListCapabilities(),
                resume=SessionResumeCapabilities(),
                close=SessionCloseCapabilities(),
                delete=SessionDeleteCapabilities(),
                fork=SessionForkCapabilities() if can.fork else None,
                archive=SessionArchiveCapabilities(),
                title=SessionTitleCapabilities(),
            ),
            meta=advertised() if manner.extensions else None,
        ),
        auth_methods=(),
        agent_info=Implementation(name=f"footplate-{engine.name}", title=engine.title, version=__version__),
        meta=STEERING if can.steer else None,
    )
