"""The resume command of Claude Code."""

from __future__ import annotations

from typing import Final

from footplate.engines.resume_commands import ResumeCommand

RESUME: Final = ResumeCommand("claude", "claude --resume", short="-r")
