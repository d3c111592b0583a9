"""A session made ready for a client: its agent started, so that modes, models and commands are known and true."""

from __future__ import annotations

import asyncio
from typing import Final

from footplate.acp.encode_choices import Choices
from footplate.acp.profile import Profile
from footplate.acp.schema.choices import SessionConfigOption, SessionModeState
from footplate.engines.base import Engine
from footplate.errors import EngineGone
from footplate.events import model as m
from footplate.events.model import ConfigOption, ConfigValue
from footplate.runtime.session import Session

READY_S: Final = 30.0
"""How long an agent may take to say what it has; afterwards the client learns it by an update."""


class Offer:
    """What `session/new` and its like answer beside the id."""

    def __init__(self, modes: SessionModeState | None, options: tuple[SessionConfigOption, ...] | None) -> None:
        self.modes = modes
        self.options = options


async def make_ready(session: Session, engine: Engine) -> None:
    """Start the agent and wait until it has told its options. Raises what starting it raises, or `EngineGone`."""
    if not engine.capabilities().live or session.attached or session.view().options:
        return
    subscription = session.subscribe(session.view().last_seq)
    try:
        await session.wake()
        async with asyncio.timeout(READY_S):
            async for delivery in subscription:
                event = delivery.envelope().event
                if isinstance(event, m.ConfigChanged):
                    return
                if isinstance(event, m.EngineDetached):
                    raise EngineGone(engine.name, f"{event.reason}: {event.stderr[-500:]}".rstrip(": \n"))
    except TimeoutError:
        return
    finally:
        subscription.close()


def offer_of(session: Session, profile: Profile) -> Offer:
    """The choices as they stand; where the agent has told none, the modes that the engine is known to have."""
    view = session.view()
    choices = Choices(profile)
    options = view.options or _known_modes(session.modes, view.mode)
    choices.learn(options, mode=view.mode, model=view.model, effort=view.effort)
    return Offer(choices.modes(), choices.wire() or None)


def _known_modes(modes: tuple[str, ...], mode: str) -> tuple[ConfigOption, ...]:
    if not modes:
        return ()
    values = tuple(ConfigValue(value=each) for each in modes)
    return (ConfigOption(id="mode", label="Mode", category="mode", value=mode or modes[0], values=values),)
