"""What `footplate doctor` tries: whether the agent of new sessions asks before it acts, on a scripted model."""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.engines.catalog import engine_names
from footplate.events.wording import format_duration
from footplate.runtime.agents import Roster
from footplate.runtime.checkup import Finding, Patient
from footplate.runtime.checkup_agents import other_version
from footplate.testing.doctor import subject_of
from footplate.testing.drill import drill
from footplate.testing.exercises import KNOWN

NAME: Final = "permission"


async def check_permission(patient: Patient) -> list[Finding]:
    """Nothing to say where the agent is not there, or where nothing is known of how to lead it to the model."""
    settings = patient.settings
    if settings is None or not patient.drilled or settings.default_engine not in KNOWN:
        return []
    if settings.default_engine not in engine_names(settings):
        return []
    local = msgspec.structs.replace(settings.agents, registries=())
    roster = Roster(msgspec.structs.replace(settings, agents=local), patient.environ)
    state = await roster.look(settings.default_engine)
    if not state.installed:
        return []
    (step,) = (await drill(subject_of(state, None, settings), patient.environ, only=(NAME,))).steps
    who = f"{state.id} {state.version}".strip()
    if step.ok:
        text = f"{who} asks before it acts, and goes on with the answer ({format_duration(step.seconds)})"
        return [Finding(name=NAME, status="ok", text=text)]
    text = f"no permission round trip with {who}: {step.problem}"
    more = f"do not rely on being asked by this version; `footplate agents doctor {state.id}` tells more"
    other = other_version(state.id, state.offered)
    advice = f"{more}. {other[0].upper()}{other[1:]}" if state.offered else more
    return [Finding(name=NAME, status="fail", text=text, advice=advice)]
