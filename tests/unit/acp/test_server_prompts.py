"""Prompts of MCP servers as commands, by the names that editors know."""

from __future__ import annotations

import pytest

from footplate.acp.profile import Profile
from footplate.acp.server_prompts import read_command, tell_commands
from footplate.events.content import ImageBlock, TextBlock
from footplate.events.model import SlashCommand

CLAUDE, OTHER = Profile(claude_code=True), Profile()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("/mcp:desk:greet", "/desk:greet (MCP)"),
        ("/mcp:desk:greet Ann\nand Bob", "/desk:greet (MCP) Ann\nand Bob"),
        ("/mcp:desk:a:b x", "/desk:a:b (MCP) x"),
        ("/mcp", "/mcp"),
        ("/mcp:desk", "/mcp:desk"),
        ("say /mcp:desk:greet", "say /mcp:desk:greet"),
    ],
)
def test_a_command_is_handed_on_by_the_agents_own_name(typed: str, meant: str) -> None:
    picture = ImageBlock(media_type="image/png", data="aa")
    assert read_command((TextBlock(text=typed), picture), CLAUDE) == (TextBlock(text=meant), picture)
    assert read_command((TextBlock(text=typed),), OTHER) == (TextBlock(text=typed),)
    assert read_command((picture,), CLAUDE) == (picture,)


def test_a_command_is_told_by_the_name_that_is_typed() -> None:
    commands = (
        SlashCommand(name="desk:greet (MCP)", description="Greets", argument_hint="who"),
        SlashCommand(name="a"),
    )
    told = tell_commands(commands, CLAUDE).available_commands
    assert [each.name for each in told] == ["mcp:desk:greet", "a"]
    assert told[0].input is not None
    assert told[0].input.hint == "who"
    assert tell_commands(commands, OTHER).available_commands[0].name == "desk:greet (MCP)"
