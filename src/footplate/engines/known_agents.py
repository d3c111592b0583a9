"""The agents that are known without a registry, with the versions that were tried. As of `AS_OF`."""

from __future__ import annotations

from typing import Final

from footplate.engines.distribution import Archive, Binary, Npm, Offer

AS_OF: Final = "2026-11-16"

CURSOR_VERSION: Final = "2026.10.01"
_CURSOR: Final = "https://downloads.cursor.com/lab/2026.10.01-e373342"
_CURSOR_PLATFORMS: Final = {
    "darwin-aarch64": "darwin/arm64",
    "darwin-x86_64": "darwin/x64",
    "linux-aarch64": "linux/arm64",
    "linux-x86_64": "linux/x64",
}
_AMP: Final = "https://github.com/tao12345666333/amp-acp/releases/download/v0.9.0/amp-acp"
_AMP_SUMS: Final = {
    "darwin-aarch64": "240a1a464f2a400ae51e9613b7f52b2abb6e7a29759001e9185291325671ccf1",
    "darwin-x86_64": "0dc6d1ab8054e09b10ef49eea3e61afe363473d785bc9682ecb997480ec2f61f",
    "linux-aarch64": "b9e365221838b1a6e177c2fcd8f25a30086c3630e0330f1f6f74b25d2d4126c2",
    "linux-x86_64": "afaa50a152eb86a8ff21e354ded63fe2d21b730859692e3a60b2c4c9ef23df31",
}

OFFERS: Final = (
    Offer(
        id="claude",
        title="Claude Code",
        description="Anthropic's coding agent, through its own protocol",
        version="2.1.325",
        wire="claude",
        program="claude",
        args=("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"),
        ways=(
            Npm(
                package="@anthropic-ai/claude-code",
                version="2.1.325",
                found=(
                    "node_modules/@anthropic-ai/claude-code-{platform}/claude",
                    "node_modules/@anthropic-ai/claude-code/node_modules/@anthropic-ai/claude-code-{platform}/claude",
                ),
            ),
        ),
        keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
        login="run `claude` once to log in, or set ANTHROPIC_API_KEY",
        commands=(
            "curl -fsSL https://claude.ai/install.sh | bash",
            "brew install --cask claude-code",
            "npm install -g @anthropic-ai/claude-code",
        ),
        first_run="run `claude` once to log in",
        oldest=(2, 1, 197),
    ),
    Offer(
        id="codex",
        title="Codex",
        description="OpenAI's coding agent",
        version="0.166.0",
        wire="codex",
        program="codex",
        args=("app-server",),
        ways=(Npm(package="@openai/codex", version="0.166.0"),),
        node=(16,),
        keys=("OPENAI_API_KEY", "CODEX_API_KEY"),
        logins=(".codex/auth.json",),
        login="run `codex login`, or set OPENAI_API_KEY",
        commands=("npm install -g @openai/codex",),
        oldest=(0, 166, 0),
        passed=("OPENAI_*", "CODEX_*"),
    ),
    Offer(
        id="opencode",
        title="OpenCode",
        description="An open agent for the models of many providers",
        version="1.18.33",
        program="opencode",
        args=("acp",),
        ways=(
            Npm(
                package="opencode-ai",
                version="1.18.33",
                found=(
                    "node_modules/opencode-{platform}/bin/opencode",
                    "node_modules/opencode-{platform}-baseline/bin/opencode",
                ),
            ),
        ),
        logins=(".local/share/opencode/auth.json",),
        login="run `opencode auth login`, or set the key of a provider",
        passed=("OPENCODE_*", "*_API_KEY", "*_BASE_URL"),
    ),
    Offer(
        id="gemini",
        title="Gemini CLI",
        description="Google's coding agent",
        version="0.61.0",
        program="gemini",
        args=("--acp",),
        ways=(Npm(package="@google/gemini-cli", version="0.61.0"),),
        node=(20,),
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        logins=(".gemini/oauth_creds.json",),
        login="run `gemini` once and log in, or set GEMINI_API_KEY",
        passed=("GEMINI_*", "GOOGLE_*", "CODE_ASSIST_*"),
    ),
    Offer(
        id="qwen",
        title="Qwen Code",
        description="Alibaba's coding agent",
        version="0.24.4",
        program="qwen",
        args=("--acp",),
        ways=(Npm(package="@qwen-code/qwen-code", version="0.24.4"),),
        node=(22,),
        keys=("DASHSCOPE_API_KEY", "OPENAI_API_KEY"),
        logins=(".qwen/oauth_creds.json",),
        login="run `qwen` once and log in, or set OPENAI_API_KEY and OPENAI_BASE_URL",
        oldest=(0, 15, 10),
        passed=("QWEN_*", "OPENAI_*", "DASHSCOPE_*"),
    ),
    Offer(
        id="copilot",
        title="GitHub Copilot",
        description="GitHub's coding agent",
        version="1.0.102",
        program="copilot",
        args=("--acp",),
        ways=(
            Npm(
                package="@github/copilot",
                version="1.0.102",
                found=(
                    "node_modules/@github/copilot-{platform}/copilot",
                    "node_modules/@github/copilot-linuxmusl-x64/copilot",
                    "node_modules/@github/copilot-linuxmusl-arm64/copilot",
                ),
            ),
        ),
        keys=("GH_TOKEN", "GITHUB_TOKEN", "COPILOT_GITHUB_TOKEN"),
        logins=(".copilot/config.json",),
        login="run `copilot login`, or set GH_TOKEN",
        passed=("COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN"),
    ),
    Offer(
        id="pi",
        title="Pi",
        description="A small agent for the models of many providers, through the adapter pi-acp",
        version="0.0.34",
        program="pi-acp",
        ways=(Npm(package="pi-acp", version="0.0.34"),),
        node=(20,),
        needs={"pi": "install it with `npm install -g @earendil-works/pi-coding-agent`"},
        logins=(".pi/agent/auth.json",),
        login="run `pi` once and log in, or set the key of a provider",
        passed=("PI_*", "*_API_KEY", "*_BASE_URL"),
    ),
    Offer(
        id="cursor",
        title="Cursor",
        description="Cursor's coding agent",
        version=CURSOR_VERSION,
        program="cursor-agent",
        args=("acp",),
        ways=(
            Binary(
                version=CURSOR_VERSION,
                platforms={
                    name: Archive(archive=f"{_CURSOR}/{path}/agent-cli-package.tar.gz", cmd="dist-package/cursor-agent")
                    for name, path in _CURSOR_PLATFORMS.items()
                },
            ),
        ),
        keys=("CURSOR_API_KEY",),
        logins=(".config/cursor/auth.json",),
        login="run `cursor-agent login`, or set CURSOR_API_KEY",
        passed=("CURSOR_*",),
    ),
    Offer(
        id="amp",
        title="Amp",
        description="Sourcegraph's coding agent, through the adapter amp-acp",
        version="0.9.0",
        program="amp-acp",
        ways=(
            Binary(
                version="0.9.0",
                platforms={
                    name: Archive(archive=f"{_AMP}-{name}.tar.gz", cmd="amp-acp", sha256=checksum)
                    for name, checksum in _AMP_SUMS.items()
                },
            ),
        ),
        needs={"amp": "install it with `npm install -g @sourcegraph/amp`"},
        keys=("AMP_API_KEY",),
        logins=(".local/share/amp/secrets.json",),
        login="run `amp login`, or set AMP_API_KEY",
        passed=("AMP_*",),
    ),
)

KNOWN: Final = {offer.id: offer for offer in OFFERS}
"""The same by id."""
