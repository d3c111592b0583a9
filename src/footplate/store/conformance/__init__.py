"""The public conformance suite: what every `Store` must do, as tests for pytest.

Make a subclass in a test module of yours and say how a store is opened; pytest (with pytest-asyncio in auto mode)
collects the rest:

    class TestMyStore(StoreConformance):
        @asynccontextmanager
        async def make_store(self, clock):
            async with await MyStore.open(clock=clock) as store:
                yield store

Each test opens a store of its own, which must be empty. `clock` is the time that the store must go by where it looks at
a clock at all: due times of messages, ages of what is kept.
"""

from footplate.store.conformance.audit import AuditConformance
from footplate.store.conformance.beside import BesideConformance
from footplate.store.conformance.frames import FrameConformance
from footplate.store.conformance.index import IndexConformance
from footplate.store.conformance.logs import LogConformance
from footplate.store.conformance.queues import QueueConformance
from footplate.store.conformance.scene import ManualClock
from footplate.store.conformance.upkeep import UpkeepConformance

__all__ = ["ManualClock", "StoreConformance"]


class StoreConformance(
    LogConformance,
    FrameConformance,
    IndexConformance,
    BesideConformance,
    QueueConformance,
    UpkeepConformance,
    AuditConformance,
):
    """Everything."""
