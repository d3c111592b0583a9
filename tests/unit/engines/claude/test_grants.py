"""What a session allows, as settings of the CLI's process; and whether the CLI reads what it keeps in a folder."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from footplate.engines.base import Keeping, Options
from footplate.engines.claude.conversation import ClaudeConversation
from footplate.engines.claude.engine import ClaudeEngine
from footplate.engines.claude.grants import Grants
from footplate.errors import InvalidValue
from footplate.events.commands import RevokeRule, SendPrompt
from footplate.events.content import TextBlock
from footplate.events.ids import PromptId, RuleId
from footplate.events.requests import Destination
from footplate.host.lines import Block


def _rule(content: str, **fields: object) -> msgspec.Raw:
    rule = {"toolName": "Bash", "ruleContent": content}
    return msgspec.Raw(
        msgspec.json.encode(
            {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session", **fields}
        )
    )


FOLDER = msgspec.Raw(b'{"type":"addDirectories","directories":["/data"],"destination":"session"}')


def test_rules_and_folders_become_settings_each_once() -> None:
    grants = Grants((_rule("ls *"), FOLDER, _rule("ls *", destination="localSettings")))
    assert grants.settings() == {"permissions": {"allow": ["Bash(ls *)"], "additionalDirectories": ["/data"]}}


def test_what_is_taken_back_is_not_there_any_more() -> None:
    grants = Grants((_rule("ls *"), FOLDER))
    grants.remove(_rule("ls *"))
    grants.remove(_rule("never there"))
    assert grants.settings() == {"permissions": {"allow": [], "additionalDirectories": ["/data"]}}


@pytest.mark.parametrize(
    "raw",
    [
        b'{"type":"setMode","mode":"acceptEdits"}',
        b'{"type":"addRules","rules":[{"toolName":"Bash"}],"behavior":"deny"}',
        b'{"type":"removeRules","rules":[{"toolName":"Bash"}],"behavior":"allow"}',
        b"[]",
    ],
)
def test_what_allows_nothing_is_not_held(raw: bytes) -> None:
    assert not Grants((msgspec.Raw(raw),))


def test_a_new_process_is_given_them_before_its_first_prompt() -> None:
    conversation = ClaudeConversation(Options(cwd="/work", grants=(_rule("ls *"),)), version="2.1.325")
    early = conversation.command(SendPrompt(key="k", prompt=PromptId("p"), content=(TextBlock(text="hi"),)))
    assert early.frames == ()
    first, second = (json.loads(frame) for frame in conversation.begin().frames)
    assert first["request"]["subtype"] == "initialize"
    assert second["request"] == {
        "subtype": "apply_flag_settings",
        "settings": {"permissions": {"allow": ["Bash(ls *)"], "additionalDirectories": []}},
    }
    ready = {"type": "control_response", "response": {"subtype": "success", "request_id": first["request_id"]}}
    (prompt,) = conversation.feed(Block(json.dumps(ready).encode() + b"\n")).frames
    assert json.loads(prompt)["type"] == "user"


def test_a_rule_is_revoked_in_the_words_in_which_the_cli_holds_it() -> None:
    conversation = ClaudeConversation(Options(cwd="/work", grants=(_rule("ls *"),)), version="2.1.325")
    (frame,) = conversation.command(RevokeRule(key="k", rule=RuleId("r"), engine_rule=_rule("ls *"))).frames
    assert json.loads(frame)["request"]["settings"]["permissions"]["allow"] == []
    with pytest.raises(InvalidValue, match="a rule that the engine holds"):
        conversation.command(RevokeRule(key="k", rule=RuleId("r")))


# -------------------------------------------------------------------------------------------------- trust


@pytest.mark.parametrize(
    ("destination", "version", "inside_repository", "trusted", "read"),
    [
        ("project", "2.1.325", False, False, False),
        ("project", "2.1.325", True, False, False),
        ("project", "2.1.197", False, True, True),
        ("project", "2.1.325", True, True, True),
        ("local", "2.1.325", False, False, True),
        ("local", "2.1.197", False, False, False),
        ("local", "2.1.197", False, True, True),
        ("local", "2.1.197", True, False, True),
        ("user", "2.1.197", False, False, True),
        ("session", "2.1.197", False, False, True),
    ],
)
def test_whether_a_rule_of_the_folder_will_be_read(
    tmp_path: Path, destination: Destination, version: str, inside_repository: bool, trusted: bool, read: bool
) -> None:
    folder = tmp_path / "repository" / "part"
    folder.mkdir(parents=True)
    place = folder
    if inside_repository:
        place = folder.parent
        (place / ".git").mkdir()
    projects = {str(place): {"hasTrustDialogAccepted": trusted, "allowedTools": []}}
    (tmp_path / ".claude.json").write_text(json.dumps({"projects": projects, "numStartups": 3}))
    engine = ClaudeEngine()
    assert isinstance(engine, Keeping)
    words = engine.find_distrust(destination, Options(cwd=str(folder)), version, {"HOME": str(tmp_path)})
    assert (words == "") is read
    assert words == "" or f"run `claude` in {place}" in words


def test_without_a_config_file_nothing_is_trusted(tmp_path: Path) -> None:
    options = Options(cwd=str(tmp_path), profile="~/other")
    assert ClaudeEngine().find_distrust("project", options, "2.1.325", {"HOME": str(tmp_path)})
    (tmp_path / "other").mkdir()
    known = {"projects": {str(tmp_path): {"hasTrustDialogAccepted": True}}}
    (tmp_path / "other" / ".claude.json").write_text(json.dumps(known))
    assert not ClaudeEngine().find_distrust("project", options, "2.1.325", {"HOME": str(tmp_path)})
