"""What holds between turns: mode, model, options, commands, title, cost. Updates of it become events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from footplate.acp.schema.choices import (
    SessionConfigOption as WireOption,
)
from footplate.acp.schema.choices import SessionConfigSelectChoice, SessionConfigSelectOption, SessionModeState
from footplate.acp.schema.updates import (
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    SessionInfoUpdate,
    UsageUpdate,
)
from footplate.acp.schema.updates import Notice as NoticeUpdate
from footplate.engines.acp.legacy import APART, mode_option, model_option
from footplate.engines.acp.usage import Meter
from footplate.events.base import Level, OptionalRaw
from footplate.events.model import (
    CommandsChanged,
    ConfigChanged,
    ConfigOption,
    ConfigValue,
    Event,
    ModeChanged,
    ModelChanged,
    Notice,
    SlashCommand,
    TitleChanged,
)

SessionUpdate = (
    AvailableCommandsUpdate | ConfigOptionUpdate | CurrentModeUpdate | NoticeUpdate | SessionInfoUpdate | UsageUpdate
)
"""Updates that may come at any time, inside a turn or between two."""

LEVELS: Final[dict[str, Level]] = {"info": "info", "warning": "warning", "error": "error"}


class SessionState:
    """The session as the agent last told of it. `cost_before` is its running total before this process."""

    def __init__(self, *, cost_before: float | None) -> None:
        self.mode = ""
        self.model = ""
        self.options: tuple[WireOption, ...] = ()
        self.apart: tuple[WireOption, ...] = ()
        """Those of the options that the agent tells outside of them, and sets by methods of their own."""
        self.meter = Meter(cost_before)

    def learn(
        self, modes: SessionModeState | None, options: tuple[WireOption, ...] | None, models: OptionalRaw = None
    ) -> None:
        """What `session/new` and its like answer. An option that stands among the options is told nowhere else."""
        self.options = options or ()
        told = (None if modes is None else mode_option(modes), model_option(models))
        self.apart = tuple(each for each in told if each is not None and self.option(each.category or "") is None)
        self.options += self.apart
        self.mode = self.value_of("mode")
        self.model = self.value_of("model")

    def restore(self, options: tuple[WireOption, ...]) -> None:
        """The options as the log has them, of a session that goes on."""
        self.options = options
        self.apart = tuple(option for option in options if option.id in APART)

    def option(self, category: str) -> WireOption | None:
        """The option of that category."""
        return next((option for option in self.options if option.category == category), None)

    def named(self, name: str) -> WireOption | None:
        """The option of that id."""
        return next((option for option in self.options if option.id == name), None)

    def value_of(self, category: str) -> str:
        """The value of the option of that category; empty when there is none."""
        option = self.option(category)
        return option.current_value if option and isinstance(option.current_value, str) else ""

    def feed(self, update: SessionUpdate) -> list[Event]:
        """Events of one update."""
        match update:
            case CurrentModeUpdate():
                return self.change_mode(update.current_mode_id)
            case ConfigOptionUpdate():
                return self.change_options(update.config_options)
            case AvailableCommandsUpdate():
                return [_commands(update)]
            case SessionInfoUpdate():
                return [TitleChanged(title=update.title)] if isinstance(update.title, str) else []
            case UsageUpdate():
                return [self.meter.report(update, model=self.model)]
            case NoticeUpdate():
                level = LEVELS.get(update.severity, "info")
                return [Notice(level=level, text=update.title, code="agent", detail=update.description or "")]

    def change_mode(self, mode: str) -> list[Event]:
        """The mode in force, told once."""
        if mode == self.mode:
            return []
        self.mode = mode
        return [ModeChanged(mode=mode), *self._move("mode", mode)]

    def change_model(self, model: str) -> list[Event]:
        """The model in force, told once."""
        if model == self.model:
            return []
        self.model = model
        return [ModelChanged(model=model), *self._move("model", model)]

    def _move(self, category: str, value: str) -> list[Event]:
        """Keep an option that stands apart in step: the agent does not tell the options again."""
        if category not in {option.category for option in self.apart}:
            return []
        self.apart = tuple(_with_value(each, value) if each.category == category else each for each in self.apart)
        self.options = tuple(_with_value(each, value) if each.category == category else each for each in self.options)
        return [self.config()]

    def change_options(self, options: tuple[WireOption, ...]) -> list[Event]:
        """All options, and the mode and the model among them when they changed."""
        self.options = options
        self.options += tuple(each for each in self.apart if self.option(each.category or "") is None)
        events: list[Event] = [self.config()]
        mode, model = self.value_of("mode"), self.value_of("model")
        if mode and mode != self.mode:
            self.mode = mode
            events.append(ModeChanged(mode=mode))
        if model and model != self.model:
            self.model = model
            events.append(ModelChanged(model=model))
        return events

    def config(self) -> ConfigChanged:
        """All options as an event."""
        return ConfigChanged(options=tuple(map(_option, self.options)))


def _with_value(option: WireOption, value: str) -> WireOption:
    return msgspec.structs.replace(option, current_value=value)


def _commands(update: AvailableCommandsUpdate) -> CommandsChanged:
    return CommandsChanged(
        commands=tuple(
            SlashCommand(
                name=command.name,
                description=command.description,
                argument_hint=command.input.hint if command.input else "",
            )
            for command in update.available_commands
        )
    )


def _option(option: WireOption) -> ConfigOption:
    value = option.current_value
    return ConfigOption(
        id=option.id,
        label=option.name,
        description=option.description or "",
        category=option.category or "",
        value=value if isinstance(value, str) else str(value).lower(),
        values=tuple(_values(option.options or ())) if isinstance(value, str) else _BOOLEAN,
    )


_BOOLEAN: Final = (ConfigValue(value="true"), ConfigValue(value="false"))


def _values(choices: tuple[SessionConfigSelectChoice | SessionConfigSelectOption, ...]) -> Iterator[ConfigValue]:
    """Flat, whatever groups they stand in."""
    for choice in choices:
        if isinstance(choice, SessionConfigSelectChoice) and choice.options is not None:
            yield from _values(choice.options)
        elif choice.value is not None:
            yield ConfigValue(value=choice.value, label=choice.name, description=choice.description or "")


def allowed_values(option: WireOption) -> tuple[str, ...]:
    """Every value an option may take."""
    return tuple(value.value for value in _option(option).values)
