"""The checks of `footplate doctor` that need no surface, in their order."""

from __future__ import annotations

from typing import Final

from footplate.runtime.checkup import Check, check_data_folder, check_keepers, check_leftovers
from footplate.runtime.checkup_agents import check_agents
from footplate.runtime.checkup_machine import check_locks, check_port, check_settings

CHECKS: Final[tuple[Check, ...]] = (
    check_settings,
    check_data_folder,
    check_locks,
    check_keepers,
    check_leftovers,
    check_port,
    check_agents,
)
