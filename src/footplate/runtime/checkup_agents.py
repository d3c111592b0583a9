"""What stands in the way of the agents: a program that is not there or too old, no login, a start that is refused."""

from __future__ import annotations

import asyncio
import re
import sys

from footplate.config.settings import Settings, common_settings
from footplate.engines.base import Described, Engine, Installed, Options
from footplate.engines.catalog import engine_names, make_engine
from footplate.engines.distribution import Offer, install_advice
from footplate.engines.known_agents import KNOWN
from footplate.errors import EngineNotFound, FootplateError
from footplate.host.sandbox import read_sandbox
from footplate.runtime.checkup import Finding, Patient, Status


async def check_agents(patient: Patient) -> list[Finding]:
    """The agent of new sessions, and those others that are on this machine."""
    settings = patient.settings
    if settings is None:
        return []
    names = engine_names(settings)
    if settings.default_engine not in names:
        text = f"default_engine is {settings.default_engine!r}, and there is no such agent"
        advice = f"set it to one of {', '.join(names)}"
        return [Finding(name="agents", status="fail", text=text, advice=advice)]
    first = sorted(names, key=lambda name: name != settings.default_engine)
    found = await asyncio.gather(*(_look(patient, settings, name) for name in first))
    return [each for findings in found for each in findings]


async def _look(patient: Patient, settings: Settings, name: str) -> list[Finding]:
    engine, needed = make_engine(name, settings), name == settings.default_engine
    try:
        installed = await engine.locate(patient.environ)
    except EngineNotFound:
        return [_not_there(engine)] if needed else []
    except FootplateError as problem:
        advice = f"`footplate agents install {name}` brings one that works" if name in KNOWN else ""
        return [_finding(name, "fail" if needed else "warn", str(problem), advice)]
    found = [
        *_judge_version(installed, KNOWN.get(name)),
        *_judge_login(engine, patient, needed=needed),
        *_judge_start(engine, installed, patient, settings, needed=needed),
    ]
    where = installed.program or "part of Footplate"
    return found or [_finding(name, "ok", f"{installed.version} ({where})".strip())]


def _not_there(engine: Engine) -> Finding:
    text = f"{engine.title} is the agent of new sessions, and its program is not on this machine"
    how = install_advice(KNOWN[engine.name]) if engine.name in KNOWN else "put its program on the PATH"
    return _finding(engine.name, "fail", text, f"{how}; or set default_engine to an agent that is here")


def _judge_version(installed: Installed, offer: Offer | None) -> list[Finding]:
    version = tuple(map(int, re.findall(r"\d+", installed.version)[:3]))
    if offer is None or not offer.oldest or not version or version >= offer.oldest:
        return []
    oldest = ".".join(map(str, offer.oldest))
    text = f"{installed.version} ({installed.program}) is older than any version that was tried ({oldest} and later)"
    return [_finding(offer.id, "warn", text, other_version(offer.id, offer.version))]


def other_version(agent: str, version: str) -> str:
    """How to come to a version that was tried: what is on the PATH is used before our own install."""
    ours = f"`footplate agents install {agent} --version {version}`, and name that program in [engines.{agent}] program"
    return f"update it where it comes from; or {ours}"


def _judge_login(engine: Engine, patient: Patient, *, needed: bool) -> list[Finding]:
    """A login that has run out is renewed by the agent itself; a keychain is seen by nobody but its owner."""
    told: object = engine
    if not isinstance(told, Described) or not told.needs_login or _elsewhere(patient):
        return []
    if any(each.used_by_cli for each in told.credentials(patient.environ)):
        return []
    offer = KNOWN.get(engine.name)
    advice = offer.login if offer is not None and offer.login else "log in with its own program"
    status: Status = "fail" if needed and sys.platform == "linux" else "warn"
    return [_finding(engine.name, status, "not logged in: no key and no login of it can be seen", advice)]


def _elsewhere(patient: Patient) -> bool:
    """Whether the models come from a cloud whose own credentials are asked for."""
    return any(patient.environ.get(f"CLAUDE_CODE_USE_{cloud}") for cloud in ("BEDROCK", "VERTEX", "FOUNDRY"))


def _judge_start(
    engine: Engine, installed: Installed, patient: Patient, settings: Settings, *, needed: bool
) -> list[Finding]:
    """Build what a session is started with: an engine refuses there what cannot work, such as root with bypass."""
    try:
        sandbox = read_sandbox(common_settings(settings, engine.name))
        engine.launch(
            Options(cwd=patient.environ.get("HOME", "/"), asks=True, sandbox=sandbox), installed, patient.environ
        )
    except FootplateError as problem:
        cause, _, advice = str(problem).partition("; ")
        return [_finding(engine.name, "fail" if needed else "warn", cause, advice)]
    return []


def _finding(agent: str, status: Status, text: str, advice: str = "") -> Finding:
    return Finding(name=f"agent {agent}", status=status, text=text, advice=advice)
