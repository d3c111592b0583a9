"""How a thread of Codex is opened, and what each of its turns is started with. Pure values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from footplate.engines.base import Options
from footplate.engines.codex.modes import MODES, Mode, find_mode
from footplate.engines.codex.wire import ModelList
from footplate.engines.declared import Declared
from footplate.errors import UnsupportedOption
from footplate.events.content import ContentBlock, ImageBlock, ResourceBlock, TextBlock
from footplate.events.model import ConfigOption, ConfigValue
from footplate.version import __version__

Params = dict[str, object]
INITIALIZE: Final[Params] = {
    "clientInfo": {"name": "footplate", "title": "Footplate", "version": __version__},
    "capabilities": {"experimentalApi": True},
}


def open_thread(options: Options, servers: Mapping[str, Declared]) -> tuple[str, Params]:
    """The method and its parameters: a new thread, an old one, or a copy of it."""
    params = _settings(options, servers)
    if options.resume is None:
        return "thread/start", params
    method = "thread/fork" if options.fork else "thread/resume"
    return method, {"threadId": options.resume, "excludeTurns": True, **params}


def _settings(options: Options, servers: Mapping[str, Declared]) -> Params:
    """What is not given is left to Codex's own settings."""
    mode = find_mode(options.mode)
    config: Params = {}
    if options.effort:
        config["model_reasoning_effort"] = options.effort
    if options.add_dirs:
        config["sandbox_workspace_write"] = {"writable_roots": list(options.add_dirs)}
    if servers:
        config["mcp_servers"] = {name: _server(each) for name, each in servers.items()}
    given: Params = {
        "cwd": options.cwd,
        "model": options.model,
        "approvalPolicy": mode.approval if mode else "",
        "sandbox": mode.sandbox if mode else "",
        "baseInstructions": options.system_prompt,
        "developerInstructions": options.append_system_prompt,
        "config": config,
    }
    return {name: value for name, value in given.items() if value}


def _server(declared: Declared) -> Params:
    """An MCP server as `config.toml` has it."""
    if declared.type == "stdio":
        return {"command": declared.command, "args": list(declared.args), "env": dict(declared.env)}
    return {"url": declared.url, "http_headers": dict(declared.headers)}


class Choices(msgspec.Struct, kw_only=True):
    """What the next turn is to begin with, where it differs from the turn before."""

    model: str = ""
    effort: str = ""
    mode: Mode | None = None
    was_plan: bool = False

    def take(self, model: str) -> Params:
        """The parameters for a turn; each is sent once, because Codex keeps it. `model` is the one in force."""
        params: Params = {}
        if self.model:
            params["model"] = self.model
        if self.effort:
            params["effort"] = self.effort
        if self.mode is not None:
            params |= self._mode(self.mode, self.model or model)
        self.model, self.effort, self.mode = "", "", None
        return params

    def _mode(self, mode: Mode, model: str) -> Params:
        params: Params = {"approvalPolicy": mode.approval}
        if mode.policy:
            params["sandboxPolicy"] = {"type": mode.policy}
        if mode.plan or self.was_plan:
            settings = {"model": model, "reasoning_effort": self.effort or None, "developer_instructions": None}
            params["collaborationMode"] = {"mode": "plan" if mode.plan else "default", "settings": settings}
        self.was_plan = mode.plan
        return params


def first_choices(options: Options) -> Choices:
    """A thread is opened with everything but the plan mode, which only turns have."""
    mode = find_mode(options.mode)
    return Choices(mode=mode if mode is not None and mode.plan else None)


def read_prompt(content: tuple[ContentBlock, ...]) -> list[Params]:
    """A prompt as Codex takes it. Raises `UnsupportedOption` for what it cannot."""
    return [_part(block) for block in content]


def _part(block: ContentBlock) -> Params:
    match block:
        case TextBlock():
            return {"type": "text", "text": block.text}
        case ImageBlock():
            url = block.uri or f"data:{block.media_type};base64,{block.data}"
            return {"type": "image", "url": url}
        case ResourceBlock():
            text = f"{block.name or block.uri}\n\n{block.text}" if block.text else block.uri
            return {"type": "text", "text": text}
        case _:
            raise UnsupportedOption("codex", f"a prompt with a block of the type {type(block).__name__}", "send text")


def list_options(models: ModelList, *, model: str, mode: str, effort: str) -> tuple[ConfigOption, ...]:
    """What can be chosen, and what is."""
    shown = [each for each in models.data if not each.hidden]
    values = [ConfigValue(value=each.model, label=each.display_name, description=each.description) for each in shown]
    if model and model not in {value.value for value in values}:
        values.insert(0, ConfigValue(value=model))
    modes = [ConfigValue(value=name, label=name, description=each.description) for name, each in MODES.items()]
    efforts = next((each.supported_reasoning_efforts for each in shown if each.model == model), ())
    options = [
        ConfigOption(id="model", label="Model", category="model", value=model, values=tuple(values)),
        ConfigOption(id="mode", label="Mode", category="mode", value=mode, values=tuple(modes)),
    ]
    if efforts:
        listed = tuple(ConfigValue(value=each.reasoning_effort, description=each.description) for each in efforts)
        options.append(ConfigOption(id="effort", label="Effort", category="thought_level", value=effort, values=listed))
    return tuple(options)
