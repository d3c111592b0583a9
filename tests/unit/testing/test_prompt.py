from __future__ import annotations

from footplate.testing.messages import ErrorReply, Step, api_error, say, script, tool, tools


def test_a_prompt_is_the_words_and_then_the_script() -> None:
    assert script("a", say("b", chunk=1), say="Please.") == 'Please.\nSCRIPT:["a",{"text":"b","chunk":1}]'
    assert script("a") == 'SCRIPT:["a"]'


def test_an_at_sign_is_escaped_because_agents_take_it_for_a_file() -> None:
    assert script("me@home") == 'SCRIPT:["me\\u0040home"]'


def test_falling_silent_after_no_event_is_not_the_same_as_not_falling_silent() -> None:
    assert script(say("a", hang=0)) == 'SCRIPT:[{"text":"a","hang":0}]'
    assert script(say("a", hang=True)) == 'SCRIPT:[{"text":"a","hang":true}]'


def test_builders_make_steps() -> None:
    assert say("a", thinking="b", stop="max_tokens") == Step(text="a", thinking="b", stop="max_tokens")
    assert tool("Bash", {"command": "ls"}, text="look") == Step(text="look", tools=[("Bash", {"command": "ls"})])
    assert tools(("A", {}), ("B", {"x": 1})) == Step(tools=[("A", {}), ("B", {"x": 1})])


def test_an_error_may_give_way_to_an_answer() -> None:
    step = api_error(429, message="slow", headers={"retry-after": "1"}, times=2, then="at last")
    error = ErrorReply(status=429, message="slow", headers={"retry-after": "1"}, times=2)
    assert step == Step(error=error, text="at last")
