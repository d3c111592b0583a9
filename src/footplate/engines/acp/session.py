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
from footplate.acp.wire import Wire
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
    UsageReported,
)
from footplate.events.usage import Usage

SessionUpdate = (
    AvailableCommandsUpdate | ConfigOptionUpdate | CurrentModeUpdate | NoticeUpdate | SessionInfoUpdate | UsageUpdate
)
"""Updates that may come at any time, inside a turn or between two."""

LEVELS: Final[dict[str, Level]] = {"info": "info", "warning": "warning", "error": "error"}


class TokenUsage(Wire, frozen=True, kw_only=True):
    """Tokens of a turn. The schema calls for more than most agents tell."""

    input_tokens: int = 0
    output_tokens: int = 0
    thought_tokens: int | None = None
    cached_read_tokens: int | None = None
    cached_write_tokens: int | None = None


_usage_decoder: Final = msgspec.json.Decoder(TokenUsage)


class SessionState:
    """The session as the agent last told of it. `fresh`: it began with this process, so its cost began at 0."""

    def __init__(self, *, fresh: bool) -> None:
        self.mode = ""
        self.model = ""
        self.modes: tuple[str, ...] = ()
        self.options: tuple[WireOption, ...] = ()
        self._cost: float | None = None
        self._cost_told = False
        self._cost_before: float | None = 0.0 if fresh else None

    def learn(self, modes: SessionModeState | None, options: tuple[WireOption, ...] | None) -> None:
        """What `session/new` and its like answer."""
        if modes is not None:
            self.mode = modes.current_mode_id
            self.modes = tuple(mode.id for mode in modes.available_modes)
        self.options = options or ()
        self.mode = self.value_of("mode") or self.mode
        self.model = self.value_of("model")

    def option(self, category: str) -> WireOption | None:
        """The option of that category."""
        return next((option for option in self.options if option.category == category), None)

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
                return [self._usage(update)]
            case NoticeUpdate():
                level = LEVELS.get(update.severity, "info")
                return [Notice(level=level, text=update.title, code="agent", detail=update.description or "")]

    def change_mode(self, mode: str) -> list[Event]:
        """The mode in force, told once."""
        if mode == self.mode:
            return []
        self.mode = mode
        return [ModeChanged(mode=mode)]

    def change_options(self, options: tuple[WireOption, ...]) -> list[Event]:
        """All options, and the mode and the model among them when they changed."""
        self.options = options
        events: list[Event] = [self.config()]
        mode, model = self.value_of("mode"), self.value_of("model")
        if mode:
            events += self.change_mode(mode)
        if model and model != self.model:
            self.model = model
            events.append(ModelChanged(model=model))
        return events

    def config(self) -> ConfigChanged:
        """All options as an event."""
        return ConfigChanged(options=tuple(map(_option, self.options)))

    def _usage(self, update: UsageUpdate) -> UsageReported:
        if update.cost is not None and update.cost.currency == "USD":
            self._cost, self._cost_told = update.cost.amount, True
        return UsageReported(context_used=update.used, context_size=update.size, cost_usd=self._cost, model=self.model)

    def turn_usage(self, reported: OptionalRaw) -> Usage | None:
        """What the turn that ends now has cost: the tokens the agent reports, the money by the difference."""
        total, before = self._cost if self._cost_told else None, self._cost_before
        if reported is None and total is None:
            return None
        tokens = _read_tokens(reported)
        self._cost_before, self._cost_told = total if total is not None else before, False
        return Usage(
            input_tokens=tokens.input_tokens,
            output_tokens=tokens.output_tokens,
            cache_read_tokens=tokens.cached_read_tokens or 0,
            cache_write_tokens=tokens.cached_write_tokens or 0,
            reasoning_tokens=tokens.thought_tokens or 0,
            cost_usd=total - before if total is not None and before is not None else None,
            total_cost_usd=total,
            reported=None if reported is None else reported.copy(),
        )


def _read_tokens(reported: OptionalRaw) -> TokenUsage:
    try:
        return TokenUsage() if reported is None else _usage_decoder.decode(reported)
    except msgspec.ValidationError:
        return TokenUsage()


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
    return tuple(value.value for value in _values(option.options or ()))
