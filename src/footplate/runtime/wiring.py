"""What `main` hands to surfaces that may not know one another: parts by name, imported when they are needed."""

from __future__ import annotations

from importlib import import_module

import msgspec


class Wiring(msgspec.Struct, frozen=True, kw_only=True):
    """Names of the form `module:attribute`."""

    beside: tuple[str, ...] = ()
    """Surfaces that run beside the HTTP server in one process, where the settings say so."""
    checks: tuple[str, ...] = ()
    """Further checks of `footplate doctor`."""


def load(name: str) -> object:
    """The thing of that name."""
    module, _, attribute = name.partition(":")
    found: object = getattr(import_module(module), attribute)
    return found
