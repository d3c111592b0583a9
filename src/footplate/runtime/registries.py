"""The registries of agents that the operator named: fetched, kept for a while, and used when nobody answers."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from footplate.config.agents import AgentsSettings
from footplate.config.places import data_folder
from footplate.engines.distribution import Offer
from footplate.engines.registry import Registry, read_registry
from footplate.errors import ConfigError, FetchFailed
from footplate.runtime.fetching import fetch_text

VARIABLE: Final = "SANDBOX_AGENT_ACP_REGISTRY_URL"
FETCH_S: Final = 15.0


def read_registries(settings: AgentsSettings, environ: Mapping[str, str]) -> Registry:
    """Every agent of every registry; the first that names an id has it. What is wrong is told. Blocking."""
    named = (*settings.registries, *filter(None, (environ.get(VARIABLE),)))
    offers: dict[str, Offer] = {}
    problems: list[str] = []
    for address in dict.fromkeys(named):
        try:
            data, problem = _read(address, settings.registry_age_s, data_folder(environ) / "registries")
            found = read_registry(data, address)
        except (FetchFailed, ConfigError) as wrong:
            problems.append(str(wrong))
            continue
        problems += [*filter(None, (problem,)), *(f"{address}: {each}" for each in found.problems)]
        for offer in found.offers:
            offers.setdefault(offer.id, offer)
    return Registry(offers=tuple(offers.values()), problems=tuple(problems))


def _read(address: str, age_s: float, folder: Path) -> tuple[bytes, str]:
    """The registry, and what went wrong though we have an older one."""
    if not address.startswith(("http://", "https://")):
        return fetch_text(address), ""
    kept = folder / f"{hashlib.sha256(address.encode()).hexdigest()[:16]}.json"
    if kept.exists() and time.time() - kept.stat().st_mtime < age_s:
        return kept.read_bytes(), ""
    try:
        data = fetch_text(address, timeout_s=FETCH_S)
    except FetchFailed as problem:
        if not kept.exists():
            raise
        return (
            kept.read_bytes(),
            f"{problem} (the one of {time.strftime('%F', time.gmtime(kept.stat().st_mtime))} is used)",
        )
    folder.mkdir(parents=True, exist_ok=True)
    fresh = kept.with_suffix(".new")
    fresh.write_bytes(data)
    fresh.replace(kept)
    return data, ""
