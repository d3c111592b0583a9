"""What `footplate doctor` says of the bridges of `[transports]`."""

from __future__ import annotations

from footplate.chat.plugins import PluginKind
from footplate.config.settings import Settings
from footplate.errors import ConfigError
from footplate.runtime.checkup import Finding, Patient


async def check_transports(patient: Patient) -> list[Finding]:
    """Whether each section can be opened: its package is installed, and somebody may use it."""
    settings = patient.settings
    if settings is None:
        return []
    return [_look(name, settings) for name, section in settings.transports.items() if section.enabled]


def _look(name: str, settings: Settings) -> Finding:
    try:
        PluginKind(name).check(settings)
    except ConfigError as problem:
        return Finding(name=name, status="fail", text=str(problem))
    people = len(settings.transports[name].people)
    return Finding(name=name, status="ok", text=f"its package is installed; {people} may use it")
