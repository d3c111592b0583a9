"""The ACP agents that need no settings: how each is started, what reaches it, how a person takes its session up."""

from __future__ import annotations

from typing import Final

import msgspec


class AcpAgent(msgspec.Struct, frozen=True, kw_only=True):
    """One agent: the facts that its protocol does not tell.

    `resume` is the command that comes before the id of a session when a person goes on with it in a terminal, and
    `resume_short` the short form of its last word; an agent without one is continued through Footplate. `modes` only
    where they are the same for everybody. `logins` are files below the home folder that it keeps of a person's login;
    `needs_login`: without one, or a key, it does nothing.
    """

    name: str
    title: str
    program: str
    args: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    resume: tuple[str, ...] = ()
    resume_short: str = ""
    modes: tuple[str, ...] = ()
    logins: tuple[str, ...] = ()
    needs_login: bool = False
    install: str = "install it, or name another program in its settings"


OPENCODE: Final = AcpAgent(
    name="opencode",
    title="OpenCode",
    program="opencode",
    args=("acp",),
    passed=("OPENCODE_*", "*_API_KEY", "*_BASE_URL", "AWS_*", "AZURE_*", "GOOGLE_*"),
    resume=("opencode", "--session"),
    resume_short="-s",
    logins=(".local/share/opencode/auth.json",),
    install="install it with `npm install -g opencode-ai`",
)
GEMINI: Final = AcpAgent(
    name="gemini",
    title="Gemini CLI",
    program="gemini",
    args=("--acp",),
    passed=("GEMINI_*", "GOOGLE_*", "CODE_ASSIST_*"),
    modes=("default", "autoEdit", "yolo", "plan"),
    logins=(".gemini/oauth_creds.json",),
    needs_login=True,
    install="install it with `npm install -g @google/gemini-cli`",
)
QWEN: Final = AcpAgent(
    name="qwen",
    title="Qwen Code",
    program="qwen",
    args=("--acp",),
    passed=("QWEN_*", "OPENAI_*", "DASHSCOPE_*", "ANTHROPIC_*", "GEMINI_*", "GOOGLE_*"),
    resume=("qwen", "--resume"),
    resume_short="-r",
    modes=("plan", "default", "auto-edit", "yolo"),
    logins=(".qwen/oauth_creds.json",),
    needs_login=True,
    install="install it with `npm install -g @qwen-code/qwen-code`",
)
