"""The three ways in for ACP clients, each with its connections; one core stands behind all of them."""

from __future__ import annotations

from footplate.runtime.acp.client import Manner
from footplate.runtime.acp.connections import Connections
from footplate.runtime.service import Service

TIMEOUT_VARIABLE = "SANDBOX_AGENT_ACP_REQUEST_TIMEOUT_MS"
SWEEP_S = 1800.0
"""How often unused connections are looked for: more often than one in use leaves memory (`IDLE_S`)."""


class AcpDoors:
    """`servers` is `/v1/acp/{server_id}`, `rpc` is `/v1/rpc`, `remote` is `/acp`."""

    def __init__(self, service: Service) -> None:
        hub, services = service.hub, service.services
        self.servers = Connections("servers", hub, services, Manner(surface="acp", adapter=True))
        self.rpc = Connections(
            "rpc", hub, services, Manner(surface="acp", adapter=True, extensions=True, all_engines=True)
        )
        self.remote = Connections("remote", hub, services, Manner(surface="acp"))
        self._unregister = [
            services.housekeeping.add(f"ACP connections of {name}", door.sweep, every_s=SWEEP_S)
            for name, door in (("servers", self.servers), ("rpc", self.rpc), ("remote", self.remote))
        ]
        told = services.environ.get(TIMEOUT_VARIABLE, "")
        self.idle_s = int(told) / 1000 if told.isdecimal() and int(told) else service.settings.http.acp_idle_s

    async def close(self) -> None:
        """The server stops: no agent's process is left, what is stored stays."""
        for unregister in self._unregister:
            unregister()
        for door in (self.servers, self.rpc, self.remote):
            await door.close()
