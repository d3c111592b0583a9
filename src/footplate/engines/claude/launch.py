"""How the CLI is started: argv and environment as values. Pure.

`FLAGS` is the table of every option that becomes an argument, in the order in which they stand, with the version from
which on the CLI knows it: an unknown flag is exit 1. A flag that somebody asked for and that is too new is refused by
name; one that is merely nice to have is left out.

The environment is built from a list. `CLAUDE_CODE_MAX_RETRIES` is set unless the user set it: the CLI repeats also what
cannot be mended (a wrong key, 401) ten times with doubling waits, so that a bad key looks like a hang of minutes; the
default of 4 ends it after about ten seconds and still rides out a short overload. A live process keeps copies of the
files that it changes, so that they can be put back, and a process that asks has its tools for asking from the start.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from footplate.engines.base import Installed, Options, Spawn
from footplate.engines.claude.credentials import API_KEY, LOGIN_VARIABLES, passes_key, who_pays
from footplate.engines.claude.features import Version, parse_version
from footplate.engines.claude.modes import BYPASS, known_mode, thinking_tokens, wire_mode
from footplate.engines.claude.settings import ClaudeSettings
from footplate.errors import EngineRefused, InvalidValue, UnsupportedOption
from footplate.host.environment import build_environment, expand_home

ENGINE: Final = "claude"
ROOT_REFUSAL: Final = "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons"
"""What the CLI says on stderr, also to `--permission-mode bypassPermissions`, before it exits with code 1."""

SANDBOXED: Final = ("IS_SANDBOX", "CLAUDE_CODE_BUBBLEWRAP")
"""Each of them, set to exactly `1`, lifts the refusal. Measured on 2.1.325 and 2.1.197: `true` does not."""

ARGUMENT_LIMIT: Final = 128 * 1024 - 1
"""What the kernel takes as one argument; a longer prompt goes through stdin, in the live form."""

ALLOWED_NAMES: Final = (
    "ANTHROPIC_*",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_*",
    "DISABLE_*",
    "ENABLE_TOOL_SEARCH",
    "IS_SANDBOX",
    "BASH_*",
    "MCP_*",
)
CLOUD_NAMES: Final = {
    "CLAUDE_CODE_USE_BEDROCK": ("AWS_*",),
    "CLAUDE_CODE_USE_VERTEX": ("GOOGLE_*", "CLOUD_ML_REGION"),
}
SESSION_MARKERS: Final = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT")
"""The host's own session, when Footplate itself runs inside a Claude session."""

CONFIG_DIR: Final = "CLAUDE_CONFIG_DIR"
SHARED_FILES: Final = (
    "settings.json",
    "settings.local.json",
    "CLAUDE.md",
    "agents",
    "commands",
    "hooks",
    "output-styles",
    "skills",
)
"""What of the config folder also a CLI outside of the sandbox obeys."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What the machine says: are we root, is there a subscription login."""

    root: bool = False
    login: bool = False


class Wish(msgspec.Struct, frozen=True):
    """What a launch is made of."""

    options: Options
    settings: ClaudeSettings

    @property
    def mode(self) -> str:
        """The permission mode that is asked for."""
        return wire_mode(self.options.mode or self.settings.permission_mode)

    @property
    def bypass(self) -> bool:
        """Whether the CLI is asked to skip permissions."""
        return self.mode == BYPASS or self.settings.dangerously_skip_permissions

    @property
    def fresh(self) -> bool:
        """Whether the conversation gets an id of its own."""
        return self.options.resume is None or self.options.fork

    @property
    def thinking_tokens(self) -> int | None:
        """The effort where it is a number of tokens. Raises `InvalidValue` for one that the CLI would ignore."""
        return thinking_tokens(self.options.effort) if self.options.effort else None

    @property
    def named_effort(self) -> str:
        """The effort where it is a name."""
        return self.options.effort if self.thinking_tokens is None else ""

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that need not be asked about."""
        if self.options.allow_tools is not None:
            return self.options.allow_tools
        return () if self.options.asks else self.settings.allowed_tools


class Flag(msgspec.Struct, frozen=True, kw_only=True):
    """One flag: its arguments for a wish (none: it is left out), and since which version the CLI knows it."""

    name: str
    values: Callable[[Wish], tuple[str, ...] | None]
    since: Version = (2, 0, 0)
    optional: bool = False


def _value(get: Callable[[Wish], object]) -> Callable[[Wish], tuple[str, ...] | None]:
    """A flag with one value, left out when the value is empty."""

    def values(wish: Wish) -> tuple[str, ...] | None:
        value = get(wish)
        return None if value is None or value == "" else (f"{value}",)

    return values


def _switch(get: Callable[[Wish], bool]) -> Callable[[Wish], tuple[str, ...] | None]:
    """A flag without a value."""
    return lambda wish: () if get(wish) else None


def _live(get: Callable[[Wish], bool]) -> Callable[[Wish], tuple[str, ...] | None]:
    """A switch that only the live form has."""
    return _switch(lambda wish: not wish.options.one_shot and get(wish))


def _servers(options: Options) -> str:
    """The servers inside our process, as the CLI wants them declared beside `initialize`."""
    if not options.servers:
        return ""
    servers = {server.name: {"type": "sdk", "name": server.name} for server in options.servers}
    return msgspec.json.encode({"mcpServers": servers}).decode()


def _mcp_configs(wish: Wish) -> tuple[str, ...] | None:
    """The file with the servers of the folder, and those of ours."""
    return tuple(each for each in (wish.options.mcp_config, _servers(wish.options)) if each) or None


def _plugins(wish: Wish) -> tuple[str, ...] | None:
    return wish.options.plugins or None


FLAGS: Final = (
    Flag(name="--input-format", values=lambda wish: None if wish.options.one_shot else ("stream-json",)),
    Flag(name="--output-format", values=lambda _: ("stream-json",)),
    Flag(name="--verbose", values=lambda _: ()),
    Flag(
        name="--permission-prompt-tool",
        values=lambda wish: ("stdio",) if wish.options.asks and not wish.options.one_shot else None,
    ),
    Flag(name="--include-partial-messages", values=_switch(lambda wish: wish.options.partial)),
    Flag(name="--replay-user-messages", values=_live(lambda _: True)),
    Flag(
        name="--forward-subagent-text",
        values=_live(lambda wish: wish.options.partial),
        since=(2, 1, 325),
        optional=True,
    ),
    Flag(name="--resume", values=_value(lambda wish: wish.options.resume)),
    Flag(name="--fork-session", values=_switch(lambda wish: wish.options.resume is not None and wish.options.fork)),
    Flag(name="--session-id", values=_value(lambda wish: wish.options.session_id if wish.fresh else None)),
    Flag(name="--model", values=_value(lambda wish: wish.options.model or wish.settings.model)),
    Flag(name="--effort", values=_value(lambda wish: wish.named_effort), since=(2, 1, 197)),
    Flag(name="--max-thinking-tokens", values=_value(lambda wish: wish.thinking_tokens)),
    Flag(name="--permission-mode", values=_value(lambda wish: wish.mode)),
    Flag(
        name="--dangerously-skip-permissions",
        values=_switch(lambda wish: wish.settings.dangerously_skip_permissions),
    ),
    Flag(name="--allowedTools", values=_value(lambda wish: ",".join(wish.tools))),
    Flag(name="--disallowedTools", values=_value(lambda wish: ",".join(wish.options.deny_tools))),
    Flag(name="--max-turns", values=_value(lambda wish: wish.options.max_turns)),
    Flag(name="--max-budget-usd", values=_value(lambda wish: _money(wish.options.max_budget_usd)), since=(2, 1, 197)),
    Flag(name="--json-schema", values=_value(lambda wish: wish.options.json_schema), since=(2, 1, 197)),
    Flag(name="--system-prompt", values=_value(lambda wish: wish.options.system_prompt)),
    Flag(name="--append-system-prompt", values=_value(lambda wish: wish.options.append_system_prompt)),
    Flag(name="--agents", values=_value(lambda wish: wish.options.agents), since=(2, 1, 197)),
    Flag(name="--mcp-config", values=_mcp_configs),
    Flag(name="--plugin-dir", values=_plugins, since=(2, 1, 197)),
    Flag(name="--add-dir", values=lambda wish: wish.options.add_dirs or None),
)


def build_launch(
    options: Options, installed: Installed, environ: Mapping[str, str], settings: ClaudeSettings, facts: Facts
) -> Spawn:
    """The program, its arguments and its environment. Raises `RequestError` or `EngineRefused` for what cannot be."""
    wish = Wish(options, settings)
    env = build_env(options, environ, settings, facts)
    _check(wish, env, facts)
    argv = [installed.program, "-p", *arguments(wish, parse_version(installed.version)), *options.arguments]
    if options.one_shot:
        argv += ["--", options.prompt]
    writes, reads = own_files(env)
    return Spawn(
        argv=tuple(argv),
        env=env,
        cwd=options.cwd,
        stdin=not options.one_shot,
        writes=(*writes, *options.add_dirs),
        reads=(*reads, *options.plugins, *((options.mcp_config,) if options.mcp_config else ())),
        notes={"billing": who_pays(env, login=facts.login)},
    )


def arguments(wish: Wish, version: Version) -> list[str]:
    """Every flag of the table that the wish calls for and the version knows."""
    argv: list[str] = []
    for flag in FLAGS:
        values = flag.values(wish)
        if values is None:
            continue
        if knows(version, flag):
            argv += [flag.name, *values]
        elif not flag.optional:
            wanted = ".".join(map(str, flag.since))
            raise UnsupportedOption(ENGINE, flag.name, f"update the CLI to {wanted} or later")
    return argv


def knows(version: Version, flag: Flag) -> bool:
    """Whether the version knows the flag; of a version that nobody could read only what all know is expected."""
    return version >= flag.since if version else not flag.optional


def build_env(options: Options, environ: Mapping[str, str], settings: ClaudeSettings, facts: Facts) -> dict[str, str]:
    """The whole environment of the CLI: from the list, then our defaults, then what was set on purpose."""
    cloud = [name for switch, names in CLOUD_NAMES.items() if environ.get(switch) for name in names]
    withheld: tuple[str, ...] = () if passes_key(settings.use_api_billing, environ, login=facts.login) else (API_KEY,)
    if settings.credential:
        # The picked one is in `settings.env`; the CLI would prefer a key, or another token, to a picked login.
        withheld = LOGIN_VARIABLES
    chosen = build_environment(
        environ,
        allow=(*ALLOWED_NAMES, *cloud, *settings.env_pass),
        deny=(*SESSION_MARKERS, *withheld),
    )
    defaults = {"CLAUDE_CODE_MAX_RETRIES": str(settings.max_retries)}
    if options.asks:
        defaults["ENABLE_TOOL_SEARCH"] = "false"
    if not options.one_shot:
        defaults["CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"] = "1"
    purpose = dict(settings.env)
    if settings.assume_sandbox or options.sandbox is not None:
        purpose["IS_SANDBOX"] = "1"
    profile = options.profile or settings.profile
    if profile:
        purpose[CONFIG_DIR] = expand_home(profile, environ)
    return {**defaults, **chosen, **purpose, **options.env}


def own_files(env: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the CLI must be able to write in a sandbox, and what of that it must not: what would run outside of it."""
    home = env.get("HOME", "/").rstrip("/")
    config = env.get(CONFIG_DIR) or f"{home}/.claude"
    writes = (config,) if CONFIG_DIR in env else (config, f"{home}/.claude.json")
    return writes, tuple(f"{config}/{name}" for name in SHARED_FILES)


def _check(wish: Wish, env: Mapping[str, str], facts: Facts) -> None:
    options = wish.options
    if options.resume is not None and (not options.resume or options.resume.startswith("-")):
        raise InvalidValue("resume", options.resume, "a session id")
    if options.session_id is not None and wish.fresh and not _is_uuid(options.session_id):
        raise InvalidValue("session_id", options.session_id, "a UUID")
    if options.one_shot and len(options.prompt.encode()) > ARGUMENT_LIMIT:
        raise InvalidValue(
            "prompt", f"{options.prompt[:40]}...", "at most 128 kB in the one-shot form; use the live form"
        )
    if options.one_shot and (options.servers or options.hooks):
        raise UnsupportedOption(ENGINE, "hooks and tools of ours in the one-shot form", "use the live form")
    _check_root(wish, env, facts)


def check_start(options: Options, environ: Mapping[str, str], settings: ClaudeSettings, facts: Facts) -> None:
    """Raise what a launch would raise about the permission mode."""
    if options.mode:
        known_mode(options.mode)
    wish = Wish(options, settings)
    if wish.bypass and facts.root:
        _check_root(wish, build_env(options, environ, settings, facts), facts)


def _check_root(wish: Wish, env: Mapping[str, str], facts: Facts) -> None:
    if wish.bypass and facts.root and not any(env.get(name) == "1" for name in SANDBOXED):
        raise EngineRefused(
            ENGINE,
            f"permission mode {BYPASS!r}: {ROOT_REFUSAL}",
            'run as another user, set sandbox = "bwrap", or assume_sandbox = true if a container is the sandbox',
        )


def _money(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _is_uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True
