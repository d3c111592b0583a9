"""The Claude engine: finds the CLI, starts it, talks with it."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from footplate.config.settings import read_section
from footplate.engines.base import Capabilities, Credential, Installed, Options, Spawn
from footplate.engines.claude.conversation import ClaudeConversation
from footplate.engines.claude.credentials import LOGIN_VARIABLES, find_login
from footplate.engines.claude.discovery import find_credentials, pick_credential
from footplate.engines.claude.features import parse_version
from footplate.engines.claude.launch import CONFIG_DIR, Facts, build_env, build_launch, check_start
from footplate.engines.claude.login import LOGOUT, STATUS, find_logins, find_route, gateway_variables, read_status
from footplate.engines.claude.modes import BYPASS, EFFORTS, MODES, static_choices, wire_mode
from footplate.engines.claude.provider import find_access
from footplate.engines.claude.rejoining import ClaudeRejoining, rejoin_claude
from footplate.engines.claude.resume import RESUME
from footplate.engines.claude.revival import ClaudeParking
from footplate.engines.claude.sdk_options import read_sdk_options
from footplate.engines.claude.settings import ClaudeSettings
from footplate.engines.claude.switches import check_switch
from footplate.engines.claude.trust import CONFIG_FILE, find_distrust
from footplate.engines.distribution import install_advice
from footplate.engines.known_agents import KNOWN
from footplate.engines.login import Gateway, LoginMethod, LoginState, ProviderAccess
from footplate.engines.receipts import own_program
from footplate.engines.rejoining import Where
from footplate.engines.standing import Standing
from footplate.engines.tuning import Tuning
from footplate.errors import EngineNotExecutable, EngineNotFound
from footplate.events.base import ResumeToken
from footplate.events.model import ConfigOption
from footplate.events.requests import Destination
from footplate.host.environment import build_environment, expand_home

NAME: Final = "claude"
VERSION_TIMEOUT_S: Final = 15.0


class ClaudeEngine:
    """Claude Code through its own bidirectional protocol."""

    def __init__(self, settings: ClaudeSettings | None = None) -> None:
        self._settings = settings or ClaudeSettings()
        self._versions: dict[tuple[str, int], str] = {}

    @property
    def name(self) -> str:
        """The name in settings, commands and resume tokens."""
        return NAME

    @property
    def title(self) -> str:
        """The name for people."""
        return "Claude Code"

    def capabilities(self, installed: Installed | None = None) -> Capabilities:
        """What it can do; both measured versions can do the same."""
        return Capabilities(
            resume=True,
            fork=True,
            interrupt=True,
            queue=True,
            steer=True,
            permissions=True,
            questions=True,
            plans=True,
            images=True,
            one_shot=True,
            live=True,
            structured_output=True,
            max_turns=True,
            max_budget=True,
            hooks=True,
            background=True,
            mcp=True,
            add_dirs=True,
            system_prompt=True,
            chooses_session_id=True,
            modes=MODES,
            efforts=EFFORTS,
            effort_tokens=True,
        )

    def read_options(self, raw: msgspec.Raw) -> Tuning:
        """Options of the Claude Agent SDK as we have them."""
        return read_sdk_options(raw)

    def logins(self, environ: Mapping[str, str]) -> tuple[LoginMethod, ...]:
        """How one can log in on this machine."""
        return find_logins(environ)

    @property
    def logout(self) -> tuple[str, ...]:
        """The arguments with which the CLI logs out."""
        return LOGOUT

    @property
    def status(self) -> tuple[str, ...]:
        """The arguments with which the CLI says who is logged in."""
        return STATUS

    def read_status(self, output: str) -> LoginState:
        """What the CLI said to that."""
        return read_status(output)

    def route(self, environ: Mapping[str, str]) -> Gateway:
        """Where its requests go, by the variables and the settings."""
        return find_route({**environ, **self._settings.env})

    def through(self, gateway: Gateway) -> dict[str, str]:
        """The variables that send its requests through a gateway."""
        return gateway_variables(gateway)

    async def locate(self, environ: Mapping[str, str]) -> Installed:
        """The program named in the settings, else the one on the PATH, else one that we installed; and its version."""
        program = self._find(environ)
        return Installed(engine=NAME, program=program, version=await asyncio.to_thread(self._version, program, environ))

    def launch(self, options: Options, installed: Installed, environ: Mapping[str, str]) -> Spawn:
        """How to start it, with what the machine says of us and of the login."""
        profile = expand_home(options.profile or self._settings.profile, environ)
        facts = Facts(root=os.geteuid() == 0, login=find_login({**environ, **options.env}, profile))
        return build_launch(options, installed, environ, self._with_picked_credential(environ), facts)

    def _with_picked_credential(self, environ: Mapping[str, str]) -> ClaudeSettings:
        if not self._settings.credential:
            return self._settings
        picked = pick_credential(self._settings.credential, environ, self._settings.env)
        others = {name: value for name, value in self._settings.env.items() if name not in LOGIN_VARIABLES}
        return msgspec.structs.replace(self._settings, env={**others, **picked})

    def provider_access(self, environ: Mapping[str, str]) -> ProviderAccess | None:
        """How the provider is asked for its models: with the credential that a session would use."""
        profile = expand_home(self._settings.profile, environ)
        facts = Facts(login=find_login(environ, profile))
        return find_access(build_env(Options(cwd="/"), environ, self._with_picked_credential(environ), facts))

    @property
    def needs_login(self) -> bool:
        """It can do nothing without a credential."""
        return True

    def credentials(self, environ: Mapping[str, str]) -> tuple[Credential, ...]:
        """Every credential on this machine, whether the CLI would read it or not."""
        return find_credentials(environ, self._settings.env, picked=self._settings.credential)

    def choices(self, environ: Mapping[str, str]) -> tuple[ConfigOption, ...]:
        """The models and the modes that every version knows."""
        return static_choices()

    def check_option(self, option: str, value: str) -> None:
        """Refuse an option that no version has."""
        check_switch(option, value)

    def check_start(self, options: Options, environ: Mapping[str, str]) -> None:
        """Refuse a mode that the CLI does not know, and as root one that skips permissions."""
        check_start(options, environ, self._settings, Facts(root=os.geteuid() == 0))

    def converse(self, options: Options, installed: Installed) -> ClaudeConversation:
        """The state machine for one process."""
        mode = wire_mode(options.mode or self._settings.permission_mode)
        return ClaudeConversation(
            options,
            version=installed.version,
            mode=mode,
            may_bypass=mode == BYPASS or self._settings.dangerously_skip_permissions,
        )

    @property
    def parking(self) -> ClaudeParking:
        """How requests are brought back whose CLI is gone."""
        return ClaudeParking(self._settings.profile)

    def rejoin(self, standing: Standing, where: Where) -> ClaudeRejoining:
        """What a killed service had read and not stored, out of the CLI's own file."""
        profile = where.profile or self._settings.profile
        return rejoin_claude(standing, msgspec.structs.replace(where, profile=profile))

    def find_distrust(
        self, destination: Destination, options: Options, version: str, environ: Mapping[str, str]
    ) -> str:
        """Why later processes will not read a rule that is kept there, and what to do; empty when they will."""
        given = {**environ, **options.env}
        named = expand_home(options.profile or self._settings.profile, environ) or given.get(CONFIG_DIR, "")
        folder = Path(named or given.get("HOME", "/"))
        return find_distrust(destination, options.cwd, version=version, config=folder / CONFIG_FILE)

    def format_resume(self, token: ResumeToken) -> str:
        """The line a person can paste in a terminal."""
        return RESUME.format(token)

    def extract_resume(self, text: str) -> ResumeToken | None:
        """The last resume line in the text."""
        return RESUME.extract(text)

    def is_resume_line(self, line: str) -> bool:
        """Whether this one line is nothing but a resume line."""
        return RESUME.is_line(line)

    def _find(self, environ: Mapping[str, str]) -> str:
        wanted = self._settings.program or NAME
        found = shutil.which(wanted, path=environ.get("PATH", os.defpath))
        if found is None and not self._settings.program:
            found = own_program(environ, NAME) or None
        if found is None:
            if self._settings.program and Path(wanted).is_file():
                raise EngineNotExecutable(NAME, wanted, "permission denied")
            raise EngineNotFound(NAME, wanted, install_advice(KNOWN[NAME]))
        return found

    def _version(self, program: str, environ: Mapping[str, str]) -> str:
        """Asked once per file: a changed file is another program."""
        try:
            key = (program, Path(program).stat().st_mtime_ns)
        except OSError as problem:
            raise EngineNotExecutable(NAME, program, problem.strerror or str(problem)) from problem
        if key not in self._versions:
            self._versions[key] = ask_version(program, environ)
        return self._versions[key]


def ask_version(program: str, environ: Mapping[str, str]) -> str:
    """The version that the program tells, with nothing of the environment but what every agent may see."""
    try:
        answer = subprocess.run(
            [program, "--version"],
            env=build_environment(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=VERSION_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as problem:
        raise EngineNotExecutable(NAME, program, f"no answer to --version in {VERSION_TIMEOUT_S:g} s") from problem
    except OSError as problem:
        raise EngineNotExecutable(NAME, program, problem.strerror or str(problem)) from problem
    version = ".".join(map(str, parse_version(answer.stdout.decode("utf-8", "replace"))))
    if not version:
        said = (answer.stderr or answer.stdout).decode("utf-8", "replace").strip()[-200:]
        raise EngineNotExecutable(NAME, program, f"--version gave no version: {said or 'nothing'}")
    return version


def create(section: Mapping[str, object]) -> ClaudeEngine:
    """The engine with its section of the settings."""
    return ClaudeEngine(read_section(ClaudeSettings, section, where="[engines.claude]"))
