"""Modes and models that stand outside of the options, where agents still tell them so, as options. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.acp.schema.choices import SessionConfigOption, SessionConfigSelectChoice, SessionModeState
from footplate.acp.wire import Wire
from footplate.events.base import OptionalRaw


class KnownModel(Wire, frozen=True, kw_only=True):
    """A model that can be chosen."""

    model_id: str
    name: str = ""
    description: str | None = None


class ModelState(Wire, frozen=True, kw_only=True):
    """The models and the one in force."""

    current_model_id: str = ""
    available_models: tuple[KnownModel, ...] = ()


class SetModelRequest(Wire, frozen=True, kw_only=True):
    """Parameters of `session/set_model`."""

    session_id: str
    model_id: str


MODES: Final = "modes"
MODELS: Final = "models"
APART: Final = frozenset({MODES, MODELS})
"""The ids of such options: what the agent calls the place where it tells them."""

_models_decoder: Final = msgspec.json.Decoder(ModelState)


def mode_option(state: SessionModeState) -> SessionConfigOption:
    """Modes as an option."""
    return SessionConfigOption(
        id=MODES,
        name="Mode",
        category="mode",
        type="select",
        current_value=state.current_mode_id,
        options=tuple(
            SessionConfigSelectChoice(value=mode.id, name=mode.name, description=mode.description)
            for mode in state.available_modes
        ),
    )


def model_option(raw: OptionalRaw) -> SessionConfigOption | None:
    """Models as an option; the one in force is among them even where the agent does not list it."""
    try:
        state = ModelState() if raw is None else _models_decoder.decode(raw)
    except msgspec.ValidationError:
        return None
    current = state.current_model_id
    values = tuple(
        SessionConfigSelectChoice(
            value=model.model_id, name=model.name or model.model_id, description=model.description
        )
        for model in state.available_models
    )
    if current and current not in {value.value for value in values}:
        values = (SessionConfigSelectChoice(value=current, name=current), *values)
    if not values:
        return None
    return SessionConfigOption(
        id=MODELS, name="Model", category="model", type="select", current_value=current, options=values
    )
