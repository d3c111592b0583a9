"""Fast mode, ultracode and the agent that speaks: offered where they can work, set as settings of the process."""

from __future__ import annotations

import pytest

from footplate.engines.base import Options, Reaction, Reply
from footplate.errors import InvalidValue
from footplate.events import commands as c
from footplate.events.model import ConfigChanged, ConfigOption
from tests.unit.engines.claude.dialogue import Dialogue

BIG = {"value": "default", "supportsFastMode": True, "supportedEffortLevels": ["low", "xhigh"]}
SMALL = {"value": "small", "supportedEffortLevels": ["low"]}
AGENTS = [{"name": "Explore"}, {"name": "pirate", "description": "talks like one"}]
HELLO: dict[str, object] = {"models": [BIG, SMALL], "fast_mode_state": "off"}


def started(hello: dict[str, object] = HELLO, **choices: str) -> Dialogue:
    dialogue = Dialogue(options=Options(cwd="/", asks=True, choices=choices))
    dialogue.begin()
    dialogue.answers(hello, at=0)
    return dialogue


def options(reaction: Reaction) -> dict[str, ConfigOption]:
    [event] = [event for event in reaction.events if isinstance(event, ConfigChanged)]
    return {option.id: option for option in event.options}


def test_switches_are_offered_where_the_model_and_the_account_have_them() -> None:
    dialogue = started()
    assert dialogue.request() == {"subtype": "get_settings"}
    told = options(dialogue.answers({"applied": {"ultracode": True, "ultracodeAvailable": True}}))
    assert [told[name].value for name in ("fast", "ultracode")] == ["off", "on"]
    assert told["fast"].category == told["ultracode"].category == "model_config"
    assert "agent" not in told
    told = options(started().answers({"applied": {"ultracode": False, "ultracodeAvailable": False}}))
    assert "ultracode" not in told
    dialogue.command(c.SetModel(key="k", model="small"))
    assert not {"fast", "ultracode"} & options(dialogue.answers()).keys()
    assert started().answers({"applied": {}}).events == [], "2.1.197 does not say"


def test_a_switch_is_a_setting_of_the_process_and_told_once_it_was_taken() -> None:
    dialogue = started({**HELLO, "agents": AGENTS})
    for option, value, settings in (
        ("fast", "on", {"fastMode": True}),
        ("ultracode", "on", {"ultracode": True}),
        ("agent", "pirate", {"agent": "pirate"}),
        ("agent", "default", {"agent": None}),
    ):
        assert dialogue.command(c.SetOption(key="k", option=option, value=value)).replies == ()
        assert dialogue.request() == {"subtype": "apply_flag_settings", "settings": settings}
        reaction = dialogue.answers()
        assert options(reaction)[option].value == value
        assert reaction.replies == (Reply(key="k"),)
    dialogue.command(c.SetEffort(key="k", effort="low"))
    assert dialogue.request() == {
        "subtype": "apply_flag_settings",
        "settings": {"effortLevel": "low", "ultracode": True},
    }, "an effort alone would end ultracode"


@pytest.mark.parametrize(("option", "value"), [("slow", "on"), ("fast", "true"), ("agent", "pirate")])
def test_what_is_not_offered_is_refused_by_name(option: str, value: str) -> None:
    with pytest.raises(InvalidValue):
        started().command(c.SetOption(key="k", option=option, value=value))


def test_the_next_process_is_given_what_was_chosen_before_its_first_prompt() -> None:
    dialogue = Dialogue(options=Options(cwd="/", choices={"fast": "on", "agent": "pirate", "other": "x"}))
    dialogue.begin()
    assert [dialogue.request(at) for at in (-2, -1)] == [
        {"subtype": "apply_flag_settings", "settings": {"fastMode": True}},
        {"subtype": "apply_flag_settings", "settings": {"agent": "pirate"}},
    ]


def test_the_cli_says_how_fast_mode_really_stands() -> None:
    dialogue = Dialogue(options=Options(cwd="/", asks=True, choices={"fast": "on"}))
    dialogue.begin()
    assert options(dialogue.answers(HELLO, at=0))["fast"].value == "on", "it is given that after its first words"
    refused = {"fast_mode_state": "off", "fast_mode_disabled_reason": "free"}
    told = options(dialogue.says({"type": "system", "subtype": "init", "session_id": "s", **refused}))
    assert (told["fast"].value, "the free plan" in told["fast"].description) == ("off", True)
    again = dialogue.says({"type": "result", "is_error": False, "session_id": "s", **refused})
    assert not [event for event in again.events if isinstance(event, ConfigChanged)], "no news"
    paused = {"type": "result", "is_error": False, "session_id": "s", "fast_mode_state": "cooldown"}
    assert options(dialogue.says(paused))["fast"].value == "on"
