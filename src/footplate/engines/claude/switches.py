"""Options of the CLI that are settings of its process: fast mode, ultracode, and the agent that speaks. Pure.

They are set by `apply_flag_settings`, which adds to the settings that were given before; null takes one away. Whether
fast mode is really on the CLI says with each turn: an account or a provider may not have it. An effort that is set
alone ends ultracode, so that it is told again with it. Seen on 2.1.325 and 2.1.197.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from footplate.engines.claude.lenient import read_struct
from footplate.engines.claude.wire import Part
from footplate.errors import InvalidValue
from footplate.events import facts as f
from footplate.events.model import ConfigOption, ConfigValue

FAST: Final = "fast"
ULTRACODE: Final = "ultracode"
AGENT: Final = "agent"
ON: Final = "on"
OFF: Final = "off"
CATEGORY: Final = "model_config"
WORDS: Final = (ConfigValue(value=ON, label="On"), ConfigValue(value=OFF, label="Off"))
NO_AGENT: Final = "default"
BUILT_IN: Final = frozenset({"claude", "general-purpose", "Explore", "Plan", "statusline-setup", NO_AGENT})
"""Agents that the CLI starts for tasks; none of them is to lead a conversation."""

WHY_NOT: Final = {
    "free": "the free plan does not have it",
    "extra_usage_disabled": "extra usage has to be switched on for this account",
    "model_not_allowed": "this model does not have it",
    "not_first_party": "this provider does not have it",
    "disabled_by_env": "it is switched off in the environment",
    "network_error": "whether it may be used could not be asked",
}
"""Reasons for which fast mode stays off, where a person can do something about them."""


class AppliedWire(Part, frozen=True, kw_only=True, rename="camel"):
    """What of its settings is in force; 2.1.197 does not say what is available."""

    ultracode: bool = False
    ultracode_available: bool | None = None


class SettingsWire(Part, frozen=True, kw_only=True):
    """The answer to `get_settings`."""

    applied: AppliedWire = AppliedWire()


SETTINGS: Final = msgspec.json.Decoder(SettingsWire)


def check_switch(option: str, value: str) -> None:
    """Raise `InvalidValue` for what no process of the CLI offers; what this one offers it says itself."""
    if option not in (FAST, ULTRACODE, AGENT):
        raise InvalidValue("option", option, f"one of mode, model, effort, {FAST}, {ULTRACODE}, {AGENT}")
    if option != AGENT and value not in (ON, OFF):
        raise InvalidValue(option, value, f"one of {ON}, {OFF}")


class Switches:
    """The options of one process. `chosen` are those that somebody set."""

    def __init__(self, chosen: Mapping[str, str]) -> None:
        self._chosen = {name: value for name, value in chosen.items() if name in (FAST, ULTRACODE, AGENT)}
        self._fast = self._chosen.get(FAST, OFF)
        self._why_not = ""
        self._ultracode = self._chosen.get(ULTRACODE, OFF)
        self._workflows = True
        self._agent = self._chosen.get(AGENT, NO_AGENT)
        self._agents: tuple[f.AgentInfo, ...] = ()

    def begin(self) -> list[dict[str, object]]:
        """The settings that a new process is given, each by itself: one that it refuses takes no other with it."""
        return [self._settings(name, value) for name, value in self._chosen.items()]

    def starts_fast(self, state: str, reason: str) -> None:
        """What the CLI says of fast mode as it starts: what was chosen it is given only after that."""
        if FAST not in self._chosen:
            self.fast_is(state, reason)

    def learn_agents(self, agents: tuple[f.AgentInfo, ...]) -> None:
        """Which agents there are beside the CLI's own."""
        self._agents = tuple(agent for agent in agents if agent.name not in BUILT_IN)

    def asks(self, model: f.ModelInfo | None) -> bool:
        """Whether the CLI has to be asked for its settings: they say what a model that could may do here."""
        return any(each.id == ULTRACODE for each in self.options(model))

    def learn_settings(self, raw: msgspec.Raw) -> bool:
        """What `get_settings` tells; whether it is news."""
        before = self._workflows, self._ultracode
        wire = (read_struct(SETTINGS, raw) or SettingsWire()).applied
        self._workflows = wire.ultracode_available is not False
        if wire.ultracode:
            self._ultracode = ON
        return before != (self._workflows, self._ultracode)

    def fast_is(self, state: str, reason: str) -> bool:
        """What the CLI says of fast mode; whether it is news. A pause after a rate limit is no end of it."""
        if not state:
            return False
        before = self._fast, self._why_not
        self._fast = OFF if state == OFF else ON
        self._why_not = WHY_NOT.get(reason, "") if state == OFF else ""
        return before != (self._fast, self._why_not)

    def check(self, option: str, value: str, model: f.ModelInfo | None) -> dict[str, object]:
        """The settings that an option with this value is. Raises `InvalidValue` for one that is not offered."""
        offered = {each.id: tuple(word.value for word in each.values) for each in self.options(model)}
        if option not in offered:
            raise InvalidValue("option", option, f"one of {', '.join(offered)}" if offered else "none: there is none")
        if value not in offered[option]:
            raise InvalidValue(option, value, f"one of {', '.join(offered[option])}")
        return self._settings(option, value)

    def was_set(self, option: str, value: str) -> None:
        """The CLI took it."""
        if option == FAST:
            self._fast, self._why_not = value, ""
        elif option == ULTRACODE:
            self._ultracode = value
        else:
            self._agent = value

    def beside_effort(self) -> dict[str, object]:
        """What has to be told again when the effort is set."""
        return {"ultracode": True} if self._ultracode == ON else {}

    def options(self, model: f.ModelInfo | None) -> list[ConfigOption]:
        """What can be chosen with this model."""
        found: list[ConfigOption] = []
        if model is not None and model.fast_mode:
            words = "Faster answers" + (f" ({self._why_not})" if self._why_not else "")
            found.append(_switch(FAST, "Fast mode", words, self._fast))
        if model is not None and self._workflows and "xhigh" in model.efforts:
            words = "Workflows of many agents for every task, at any effort"
            found.append(_switch(ULTRACODE, "Ultracode", words, self._ultracode))
        if self._agents:
            named = (
                ConfigValue(value=each.name, label=each.name, description=each.description) for each in self._agents
            )
            values = (ConfigValue(value=NO_AGENT, label="Default", description="Claude Code itself"), *named)
            found.append(ConfigOption(id=AGENT, label="Agent", value=self._agent, values=values))
        return found

    def _settings(self, option: str, value: str) -> dict[str, object]:
        if option == AGENT:
            return {"agent": None if value == NO_AGENT else value}
        return {"fastMode" if option == FAST else "ultracode": value == ON}


def _switch(name: str, label: str, description: str, value: str) -> ConfigOption:
    return ConfigOption(id=name, label=label, description=description, category=CATEGORY, value=value, values=WORDS)
