"""Modes, models and other options of a session, as a client sees and sets them. Pure; the last state is kept."""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.acp.profile import Profile
from footplate.acp.schema.choices import (
    SessionConfigOption,
    SessionConfigSelectChoice,
    SessionMode,
    SessionModeState,
)
from footplate.acp.schema.updates import ConfigOptionUpdate, CurrentModeUpdate, SessionUpdate
from footplate.events.model import ConfigOption

MODE: Final = "mode"
MODEL: Final = "model"
EFFORT: Final = "thought_level"
TRUTHS: Final = (("true", "false"), ("on", "off"))
"""The words of options that are switches: yes, and no."""


class Choices:
    """What can be chosen in a session, and what is."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self.options: tuple[ConfigOption, ...] = ()
        self.mode = ""

    def learn(self, options: tuple[ConfigOption, ...], *, mode: str = "", model: str = "", effort: str = "") -> None:
        """How things stand; what is empty is not known."""
        self.options = options
        self.mode = mode or self._value(MODE)
        if mode:
            self._set(MODE, mode)
        if model:
            self._set(MODEL, model)
        if effort:
            self._set(EFFORT, effort)

    def changed(self, options: tuple[ConfigOption, ...]) -> list[SessionUpdate]:
        """The engine told all its options."""
        before = self.options
        self.options = options
        self.mode = self._value(MODE) or self.mode
        return [self._told()] if options != before else []

    def mode_changed(self, mode: str) -> list[SessionUpdate]:
        """Another mode is in force."""
        self.mode = mode
        told: list[SessionUpdate] = [CurrentModeUpdate(current_mode_id=mode)]
        return [*told, self._told()] if self._set(MODE, mode) else told

    def chosen(self, category: str, value: str) -> list[SessionUpdate]:
        """Another value of an option is in force."""
        return [self._told()] if self._set(category, value) else []

    def find(self, name: str) -> ConfigOption | None:
        """The option of that id, or of that category."""
        for option in self.options:
            if option.id == name:
                return option
        return next((option for option in self.options if option.category == name), None)

    def word(self, name: str, *, truth: bool) -> str:
        """A switch's word for yes or no; the option need not be there."""
        option = self.find(name)
        yes, no = (option and _switch_words(option)) or TRUTHS[0]
        return yes if truth else no

    def has(self, name: str, value: str) -> bool:
        """Whether the option has the value; one that there is not has every value."""
        option = self.find(name)
        return option is None or option.value == value

    def modes(self) -> SessionModeState | None:
        """The modes as `session/new` answers them."""
        option = self.find(MODE)
        if option is None or not option.values:
            return None
        modes = tuple(
            SessionMode(id=each.value, name=each.label or each.value, description=each.description or None)
            for each in option.values
        )
        return SessionModeState(current_mode_id=self.mode or option.value, available_modes=modes)

    def wire(self) -> tuple[SessionConfigOption, ...]:
        """Every option on the wire."""
        return tuple(map(self._option, self.options))

    def _told(self) -> ConfigOptionUpdate:
        return ConfigOptionUpdate(config_options=self.wire())

    def _value(self, category: str) -> str:
        option = self.find(category)
        return option.value if option is not None else ""

    def _set(self, category: str, value: str) -> bool:
        """Note the value; False when there is no such option, or it had that value."""
        option = self.find(category)
        if option is None or option.value == value:
            return False
        changed = msgspec.structs.replace(option, value=value)
        self.options = tuple(changed if each.id == option.id else each for each in self.options)
        return True

    def _option(self, option: ConfigOption) -> SessionConfigOption:
        words = _switch_words(option)
        if words is not None and self._profile.booleans:
            return SessionConfigOption(
                id=option.id,
                name=option.label or option.id,
                description=option.description or None,
                category=option.category or None,
                type="boolean",
                current_value=option.value == words[0],
            )
        return SessionConfigOption(
            id=option.id,
            name=option.label or option.id,
            description=option.description or None,
            category=option.category or None,
            type="select",
            current_value=option.value,
            options=tuple(
                SessionConfigSelectChoice(
                    value=each.value, name=each.label or each.value, description=each.description or None
                )
                for each in option.values
            ),
        )


def _switch_words(option: ConfigOption) -> tuple[str, str] | None:
    """The option's words for yes and no, if it is a switch."""
    values = {each.value for each in option.values}
    return next((words for words in TRUTHS if values == set(words)), None)
