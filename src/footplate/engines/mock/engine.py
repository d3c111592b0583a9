"""The mock agent as an engine of the product: in this process, or as a program of its own."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from footplate.config.settings import read_section
from footplate.engines.acp.converse import AcpConversation
from footplate.engines.acp.options import refuse_unsupported
from footplate.engines.acp.rejoining import rejoin_acp
from footplate.engines.base import Capabilities, Conversation, Credential, InProcess, Installed, Launch, Options, Spawn
from footplate.engines.mock.agent import serve
from footplate.engines.mock.sessions import EFFORTS, MODELS, MODES
from footplate.engines.rejoining import Rejoining, Where
from footplate.engines.resume_commands import ResumeCommand
from footplate.engines.standing import Standing
from footplate.errors import InvalidValue
from footplate.events.base import ResumeToken
from footplate.events.model import ConfigOption, ConfigValue
from footplate.host.environment import build_environment
from footplate.version import __version__

NAME: Final = "mock"
Form = Literal["in_process", "stdio"]
PASSED: Final = ("FOOTPLATE_DATA_DIR", "FOOTPLATE_MOCK_*", "PYTHONPATH")
_RESUME: Final = ResumeCommand(NAME, "mock --resume", short="-r")


class MockSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[engines.mock]`: which form it runs in."""

    form: Annotated[Form, Meta(description="`in_process`: a task of ours; `stdio`: a program of its own")] = (
        "in_process"
    )


def create(section: Mapping[str, object]) -> MockEngine:
    """The engine as the catalog makes it."""
    return MockEngine(read_section(MockSettings, section, where="[engines.mock]").form)


class MockEngine:
    """An agent without a model: every trigger word of its script, no key, no cost."""

    def __init__(self, form: Form = "in_process") -> None:
        self.form = form

    @property
    def name(self) -> str:
        """The name in settings, commands and resume tokens."""
        return NAME

    @property
    def title(self) -> str:
        """The name for people."""
        return "Mock agent"

    def capabilities(self, installed: Installed | None = None) -> Capabilities:
        """What it can do."""
        return Capabilities(
            resume=True,
            interrupt=True,
            queue=True,
            permissions=True,
            questions=True,
            images=True,
            live=True,
            modes=tuple(MODES),
            efforts=tuple(EFFORTS),
        )

    @property
    def needs_login(self) -> bool:
        """It needs none."""
        return False

    def credentials(self, environ: Mapping[str, str]) -> tuple[Credential, ...]:
        """It uses none."""
        return ()

    def choices(self, environ: Mapping[str, str]) -> tuple[ConfigOption, ...]:
        """The same as each of its sessions offers."""
        offered = (("model", "Model", "model", MODELS), ("mode", "Mode", "mode", MODES))
        efforts = ("thought_level", "Thought level", "thought_level", EFFORTS)
        return tuple(
            ConfigOption(
                id=name,
                label=label,
                category=category,
                value=next(iter(values)),
                values=tuple(ConfigValue(value=value, label=title) for value, title in values.items()),
            )
            for name, label, category, values in (*offered, efforts)
        )

    def check_option(self, option: str, value: str) -> None:
        """It has no other options."""
        raise InvalidValue("option", option, "one of mode, model, effort")

    async def locate(self, environ: Mapping[str, str]) -> Installed:
        """It is always there."""
        program = sys.executable if self.form == "stdio" else ""
        return Installed(engine=NAME, program=program, version=__version__)

    def launch(self, options: Options, installed: Installed, environ: Mapping[str, str]) -> Launch:
        """A task of ours, or `python -P -m footplate mock-agent`: -P, so that nothing is imported from its folder."""
        refuse_unsupported(NAME, options)
        env = build_environment(environ, allow=PASSED, extra=options.env)
        if self.form == "stdio":
            argv = (installed.program or sys.executable, "-P", "-m", "footplate", "mock-agent")
            return Spawn(argv=argv, env=env, cwd=options.cwd)

        async def run(lines: AsyncIterator[bytes], write: Callable[[bytes], Awaitable[None]]) -> int:
            return await serve(lines, write, env=env, cwd=options.cwd)

        return InProcess(serve=run, env=env, cwd=options.cwd)

    def converse(self, options: Options, installed: Installed) -> Conversation:
        """The same state machine for both forms."""
        return AcpConversation(NAME, options, installed, first_turn=options.first_turn)

    def rejoin(self, standing: Standing, where: Where) -> Rejoining:
        """Go on with a program that outlived the service; one inside the service does not."""
        return rejoin_acp(where)

    def format_resume(self, token: ResumeToken) -> str:
        """`mock --resume ID`."""
        return _RESUME.format(token)

    def extract_resume(self, text: str) -> ResumeToken | None:
        """The last resume line in the text."""
        return _RESUME.extract(text)

    def is_resume_line(self, line: str) -> bool:
        """Whether the line is nothing but a resume line."""
        return _RESUME.is_line(line)
