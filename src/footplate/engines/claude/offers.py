"""What the CLI offers to choose from (commands, models, modes, efforts), and what is chosen. Pure.

`initialize` tells it once per process. A mode is offered only where it can work: `auto` when a model supports it,
`bypassPermissions` when the process was started so that it may be switched on.
"""

from __future__ import annotations

import msgspec

from footplate.engines.claude.answers import INITIALIZED, Initialized, read_about, read_commands, read_models
from footplate.engines.claude.lenient import read_struct
from footplate.engines.claude.modes import AUTO, BYPASS, LABELS, MODES
from footplate.engines.claude.switches import Switches
from footplate.events import facts as f
from footplate.events.model import CommandsChanged, ConfigChanged, ConfigOption, ConfigValue, SlashCommand

DEFAULT_MODEL = "default"


class Offers:
    """The choices of one process."""

    def __init__(
        self, *, version: str, mode: str, model: str, effort: str, may_bypass: bool, switches: Switches | None = None
    ) -> None:
        self.mode = mode or "default"
        self.model = model or DEFAULT_MODEL
        self.effort = effort
        self.ready = False
        self.about = f.About(version=version, mode=self.mode)
        self.switches = switches or Switches({})
        self._may_bypass = may_bypass
        self._models: tuple[f.ModelInfo, ...] = ()
        self._commands: tuple[SlashCommand, ...] = ()

    def initialized(self, raw: msgspec.Raw) -> None:
        """The CLI is there and says what it has."""
        wire = read_struct(INITIALIZED, raw) or Initialized()
        self.about = read_about(wire, version=self.about.version, mode=self.mode)
        self.mode = self.about.mode
        self._models = read_models(wire.models)
        self._commands = read_commands(wire.commands)
        self.switches.learn_agents(self.about.agents)
        self.switches.starts_fast(wire.fast_mode_state, wire.fast_mode_disabled_reason)
        self.ready = True

    def fact(self, name: str) -> f.Fact | None:
        """The answer to a question that needs no asking; None for any other."""
        if name == "about":
            return self.about
        if name == "models":
            return f.Models(models=self._models)
        return f.Commands(commands=self._commands) if name == "commands" else None

    def commands(self) -> CommandsChanged:
        """The slash commands as an event."""
        return CommandsChanged(commands=self._commands)

    def config(self) -> ConfigChanged:
        """The choices as an event."""
        models = tuple(
            ConfigValue(value=model.value, label=model.label, description=model.description) for model in self._models
        )
        modes = tuple(
            ConfigValue(value=mode, label=LABELS[mode][0], description=LABELS[mode][1]) for mode in self.modes()
        )
        efforts = tuple(ConfigValue(value=effort, label=effort.capitalize()) for effort in self.efforts())
        options = [
            ConfigOption(id="mode", label="Mode", category="mode", value=self.mode, values=modes),
            ConfigOption(id="model", label="Model", category="model", value=self.model, values=models),
        ]
        if efforts:
            options.append(
                ConfigOption(id="effort", label="Effort", category="thought_level", value=self.effort, values=efforts)
            )
        return ConfigChanged(options=(*options, *self.switches.options(self.model_in_force())))

    def modes(self) -> tuple[str, ...]:
        """The modes that can be switched to."""
        refused = set() if self._may_bypass else {BYPASS}
        if not any(model.auto_mode for model in self._models):
            refused.add(AUTO)
        return tuple(mode for mode in MODES if mode not in refused)

    def efforts(self) -> tuple[str, ...]:
        """The efforts of the model in force."""
        model = self.model_in_force()
        return () if model is None else model.efforts

    def model_in_force(self) -> f.ModelInfo | None:
        """The model that is chosen, as far as the CLI has told of it."""
        for wanted in (self.model, DEFAULT_MODEL):
            for model in self._models:
                if wanted in (model.value, model.resolved):
                    return model
        return None
