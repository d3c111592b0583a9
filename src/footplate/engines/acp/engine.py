"""Any program that speaks ACP on its stdin and stdout, as an engine of the product."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from footplate.config.acp import AcpAgentSettings
from footplate.config.places import data_folder
from footplate.config.settings import read_section
from footplate.engines.acp.agents import GEMINI, OPENCODE, QWEN, AcpAgent
from footplate.engines.acp.auth import KEY_NAME
from footplate.engines.acp.converse import AcpConversation
from footplate.engines.acp.options import refuse_unsupported
from footplate.engines.acp.rejoining import rejoin_acp
from footplate.engines.base import Capabilities, Credential, Installed, Options, Spawn
from footplate.engines.declared import read_declared
from footplate.engines.rejoining import Rejoining, Where
from footplate.engines.resume_commands import ResumeCommand
from footplate.engines.standing import Standing
from footplate.errors import EngineNotExecutable, EngineNotFound
from footplate.events.base import ResumeToken
from footplate.events.model import ConfigOption, ConfigValue
from footplate.host.environment import build_environment, expand_home

PACKAGE_DEPTH: Final = 4
"""How many folders above a program its `package.json` may lie."""


class AcpSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[engines.opencode]`, `[engines.gemini]`, `[engines.qwen]`."""

    program: Annotated[str, Meta(description="its program: a path, or a name on `PATH`; default: its own name")] = ""
    args: Annotated[tuple[str, ...], Meta(description="further arguments")] = ()
    env: Annotated[Mapping[str, str], Meta(description="variables that are set for it")] = {}
    env_pass: Annotated[tuple[str, ...], Meta(description="further variables that reach it, as globs")] = ()
    auth_method: Annotated[
        str, Meta(description="how it logs in, by its own name for it; default: by a key that is set, when it asks")
    ] = ""


class _NoSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command stands in `[acp_agents.NAME]`; its `[engines.NAME]` has only what every engine has."""


class AcpEngine:
    """One ACP agent: each session is a process of its own, which is asked for everything that can be asked."""

    def __init__(self, agent: AcpAgent, settings: AcpSettings) -> None:
        self._agent = agent
        self._settings = settings
        own = ("footplate", "run", "--engine", agent.name, "--resume")
        self._resume = ResumeCommand(agent.name, shlex.join(agent.resume or own), short=agent.resume_short)

    @property
    def name(self) -> str:
        """The name in settings, commands and resume tokens."""
        return self._agent.name

    @property
    def title(self) -> str:
        """The name for people."""
        return self._agent.title

    def capabilities(self, installed: Installed | None = None) -> Capabilities:
        """What the protocol has; an agent that lacks a part says so when it is asked for it."""
        return Capabilities(
            resume=True,
            interrupt=True,
            queue=True,
            permissions=True,
            questions=True,
            images=True,
            live=True,
            mcp=True,
            modes=self._agent.modes,
        )

    @property
    def needs_login(self) -> bool:
        """Whether it does nothing without a login; of a command of the settings nobody knows."""
        return self._agent.needs_login

    def credentials(self, environ: Mapping[str, str]) -> tuple[Credential, ...]:
        """The keys that reach it, and the login that it keeps itself."""
        names = [name for name in self._environment(environ) if KEY_NAME.fullmatch(name)]
        own = f"[engines.{self.name}] env"
        keys = [
            Credential(
                kind="api_key",
                source=own if name in self._settings.env else "environment",
                field=name,
                used_by_cli=True,
            )
            for name in names
        ]
        home = Path(environ.get("HOME", "/"))
        files = [str(home / login) for login in self._agent.logins if (home / login).is_file()]
        return (*keys, *(Credential(kind="oauth", source=file, used_by_cli=True) for file in files))

    def choices(self, environ: Mapping[str, str]) -> tuple[ConfigOption, ...]:
        """The modes, where they are the same for everybody; everything else its sessions tell."""
        values = tuple(ConfigValue(value=mode, label=mode) for mode in self._agent.modes)
        return (ConfigOption(id="mode", label="Mode", category="mode", values=values),) if values else ()

    async def locate(self, environ: Mapping[str, str]) -> Installed:
        """The program named in the settings, else the one on the PATH, else one that we installed."""
        env = self._environment(environ)
        program = self._find(environ, env)
        keys = tuple(name for name in env if KEY_NAME.fullmatch(name))
        return Installed(engine=self.name, program=program, version=_package_version(program), keys=keys)

    def launch(self, options: Options, installed: Installed, environ: Mapping[str, str]) -> Spawn:
        """Its command, in the session's folder."""
        refuse_unsupported(self.name, options)
        argv = (installed.program, *self._agent.args, *self._settings.args)
        env = {**self._environment(environ), **options.env}
        return Spawn(argv=argv, env=env, cwd=options.cwd)

    def converse(self, options: Options, installed: Installed) -> AcpConversation:
        """The state machine for one process."""
        return AcpConversation(
            self.name,
            options,
            installed,
            first_turn=options.first_turn,
            auth_method=self._settings.auth_method,
            servers=read_declared(options.mcp_config),
        )

    def rejoin(self, standing: Standing, where: Where) -> Rejoining:
        """Go on with a living process where the log has all that it has said."""
        return rejoin_acp(where)

    def format_resume(self, token: ResumeToken) -> str:
        """The agent's own command where it has one, else ours."""
        return self._resume.format(token)

    def extract_resume(self, text: str) -> ResumeToken | None:
        """The last resume line in the text."""
        return self._resume.extract(text)

    def is_resume_line(self, line: str) -> bool:
        """Whether this one line is nothing but a resume line."""
        return self._resume.is_line(line)

    def _environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        allow = (*self._agent.passed, *self._settings.env_pass)
        return build_environment(environ, allow=allow, extra=self._settings.env)

    def _find(self, environ: Mapping[str, str], env: Mapping[str, str]) -> str:
        wanted = expand_home(self._settings.program or self._agent.program, environ)
        found = shutil.which(wanted, path=env.get("PATH", os.defpath))
        own = data_folder(environ) / "installs" / self.name / "bin" / self.name
        if found is None and not self._settings.program and own.exists():
            found = str(own)
        if found is None:
            if Path(wanted).is_file():
                raise EngineNotExecutable(self.name, wanted, "permission denied")
            raise EngineNotFound(self.name, wanted, self._agent.install)
        return found


class _Package(msgspec.Struct, frozen=True):
    version: str = ""


def _package_version(program: str) -> str:
    """The version in the package that the program lies in. Asking the program itself takes some of them seconds."""
    for folder in [*Path(program).resolve().parents][:PACKAGE_DEPTH]:
        try:
            return msgspec.json.decode((folder / "package.json").read_bytes(), type=_Package).version
        except FileNotFoundError:
            continue
        except (OSError, msgspec.MsgspecError):
            return ""
    return ""


def _create(agent: AcpAgent, section: Mapping[str, object]) -> AcpEngine:
    return AcpEngine(agent, read_section(AcpSettings, section, where=f"[engines.{agent.name}]"))


def create_opencode(section: Mapping[str, object]) -> AcpEngine:
    """OpenCode as the catalog makes it."""
    return _create(OPENCODE, section)


def create_gemini(section: Mapping[str, object]) -> AcpEngine:
    """Gemini as the catalog makes it."""
    return _create(GEMINI, section)


def create_qwen(section: Mapping[str, object]) -> AcpEngine:
    """Qwen as the catalog makes it."""
    return _create(QWEN, section)


def create_command(name: str, command: AcpAgentSettings, section: Mapping[str, object]) -> AcpEngine:
    """A command of the settings as the catalog makes it. Raises `ConfigError` for one without a program."""
    read_section(_NoSettings, section, where=f"[engines.{name}]")
    agent = AcpAgent(
        name=name,
        title=name,
        program=command.command[0],
        args=command.command[1:],
        install=f"install it, or correct [acp_agents.{name}] command",
    )
    settings = AcpSettings(env=command.env, env_pass=command.env_pass, auth_method=command.auth_method)
    return AcpEngine(agent, settings)
