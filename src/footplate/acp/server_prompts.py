"""Prompts of MCP servers as slash commands: editors write `/mcp:server:prompt`, Claude Code has its own name. Pure."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from footplate.acp.profile import Profile
from footplate.acp.schema.updates import AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate
from footplate.events.content import ContentBlock, TextBlock
from footplate.events.model import SlashCommand

MARK: Final = " (MCP)"
TYPED: Final = re.compile(r"/mcp:([^:\s]+):(\S+)(?=\s|$)")


def tell_commands(commands: tuple[SlashCommand, ...], profile: Profile) -> AvailableCommandsUpdate:
    """The commands of a session as a client is told them."""
    return AvailableCommandsUpdate(
        available_commands=tuple(
            AvailableCommand(
                name=_shown(each.name) if profile.claude_code else each.name,
                description=each.description,
                input=AvailableCommandInput(hint=each.argument_hint) if each.argument_hint else None,
            )
            for each in commands
        )
    )


def read_command(content: tuple[ContentBlock, ...], profile: Profile) -> tuple[ContentBlock, ...]:
    """A prompt with its command by the name that the agent knows."""
    if not (profile.claude_code and content and isinstance(content[0], TextBlock)):
        return content
    typed = TYPED.match(content[0].text)
    if typed is None:
        return content
    text = f"/{typed[1]}:{typed[2]}{MARK}{content[0].text[typed.end() :]}"
    return (msgspec.structs.replace(content[0], text=text), *content[1:])


def _shown(name: str) -> str:
    return f"mcp:{name.removesuffix(MARK)}" if name.endswith(MARK) else name
