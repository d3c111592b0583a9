from __future__ import annotations

import json

import msgspec
import pytest

from footplate.testing.messages.asked import Asked
from footplate.testing.messages.chore import SUMMARY, TITLE
from footplate.testing.messages.prompt import script, tool
from footplate.testing.messages.script import ScriptError, due_step, find_script, scripts_in
from footplate.testing.messages.step import ErrorReply, Step

COMPACT = "CRITICAL: TEXT ONLY.\n\nYour task is to create a detailed summary of the conversation so far."


def user(*content: object) -> dict[str, object]:
    blocks = [{"type": "text", "text": each} if isinstance(each, str) else each for each in content]
    return {"role": "user", "content": blocks}


def assistant(text: str = "x") -> dict[str, object]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def result(content: object) -> dict[str, object]:
    return {"type": "tool_result", "tool_use_id": "t", "content": content}


def asked(*messages: object, **fields: object) -> Asked:
    return msgspec.convert({"model": "m-1", "messages": list(messages)} | fields, Asked)


def said(*messages: object, **fields: object) -> str | None:
    return due_step(asked(*messages, **fields)).step.text


def test_without_a_script_the_model_says_ok() -> None:
    due = due_step(asked(user("hello")))
    assert (due.step, due.index) == (Step(text="ok"), None)


def test_the_step_is_the_number_of_assistant_messages_since_the_script() -> None:
    first = user('go SCRIPT:["one","two","three"]')
    assert said(first) == "one"
    assert said(first, assistant(), user("more")) == "two"
    assert said(first, assistant(), user("more"), assistant(), user("more")) == "three"


def test_a_script_that_has_run_out_says_done() -> None:
    assert said(user('SCRIPT:["one"]'), assistant(), user("more")) == "done."


def test_a_string_message_can_hold_a_script() -> None:
    assert said({"role": "user", "content": 'SCRIPT:["plain"]'}) == "plain"


def test_the_last_script_wins_and_counts_from_itself() -> None:
    history = (user('SCRIPT:["a","b"]'), assistant(), user('SCRIPT:["c","d"]'))
    assert said(*history) == "c"
    assert said(*history, assistant(), user("and?")) == "d"


def test_the_last_of_two_scripts_in_one_text_wins() -> None:
    assert said(user('SCRIPT:["a"] or rather SCRIPT:["b"] please')) == "b"


def test_a_script_inside_a_string_of_a_script_is_no_script_of_this_conversation() -> None:
    inner = script("inner", say="sub-agent:")
    outer = script(tool("Agent", {"prompt": inner}), "outer")
    due = due_step(asked(user(outer)))
    assert due.step == Step(tools=[("Agent", {"prompt": inner})])
    assert said(user(inner)) == "inner"


def test_scripts_of_the_assistant_and_of_tool_results_are_not_followed() -> None:
    history = (user('SCRIPT:["a","b"]'), assistant('SCRIPT:["no"]'), user(result('SCRIPT:["neither"]')))
    assert said(*history) == "b"


def test_a_message_sent_while_a_turn_runs_brings_its_script_as_a_system_message() -> None:
    queued = {"role": "system", "content": 'The user sent a new message:\nSCRIPT:["queued"]'}
    assert said(user('SCRIPT:["a","b"]'), assistant(), user(result("x")), queued) == "queued"


def test_the_word_without_a_list_is_no_script() -> None:
    assert find_script(asked(user("SCRIPT: is what I call it")).messages) is None


def test_a_malformed_script_tells_where() -> None:
    with pytest.raises(ScriptError) as caught:
        due_step(asked(user("hi"), assistant(), user('please SCRIPT:["a",]')))
    assert str(caught.value) == (
        "malformed SCRIPT in message 2: Expecting value at character 5 of the script, near 'please SCRIPT:[\"a\",]'"
    )


@pytest.mark.parametrize(
    ("step", "complaint"),
    [
        ('{"txt":"a"}', "Object contains unknown field `txt`"),
        ("7", "Expected `object`, got `int`"),
        ('{"tools":[["Bash"]]}', "Expected `array` of length 2, got 1 - at `$.tools[0]`"),
        ('{"error":{}}', "Object missing required field `status` - at `$.error`"),
        ('{"chunk":0}', "`chunk` must be 1 or more"),
        ('{"delay":-1}', "`delay` and `chunk_delay` must not be negative"),
    ],
)
def test_a_wrong_step_tells_which_and_why(step: str, complaint: str) -> None:
    with pytest.raises(ScriptError) as caught:
        due_step(asked(user(f'SCRIPT:["a",{step}]'), assistant(), user("b")))
    assert str(caught.value) == f"SCRIPT in message 0, step 1: {complaint}"


def test_a_wrong_step_does_not_matter_before_its_time() -> None:
    assert said(user('SCRIPT:["fine",{"txt":1}]')) == "fine"


def test_last_is_the_text_of_the_last_tool_result() -> None:
    first = user('SCRIPT:["a","got $LAST"]')
    assert said(first, assistant(), user(result("one"), result("two"))) == "got two"
    parts = [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]
    assert said(first, assistant(), user(result(parts))) == "got x\ny"


def test_last_shows_a_picture_by_its_kind() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
    assert said(user('SCRIPT:["a","$LAST"]'), assistant(), user(result([picture]))) == "[image image/png]"


def test_last_is_empty_before_any_tool() -> None:
    assert said(user('SCRIPT:["<$LAST>"]')) == "<>"


def test_cwd_is_found_in_the_system_prompt_or_in_a_later_message() -> None:
    environment = "# Env\n - Primary working directory: /project/my dir\n - Platform: linux"
    assert said(user('SCRIPT:["$CWD/x"]'), system=[{"type": "text", "text": environment}]) == "/project/my dir/x"
    told = {"role": "system", "content": [{"type": "text", "text": environment}]}
    assert said(user('SCRIPT:["$CWD"]'), told, system="You are") == "/project/my dir"


def test_planfile_is_the_last_plan_named_in_the_request() -> None:
    told = {"role": "system", "content": "Write to /h/.claude/plans/old.md, no: /h/.claude/plans/new-one.md."}
    assert said(user('SCRIPT:["$PLANFILE"]'), told) == "/h/.claude/plans/new-one.md"


def test_model_and_number_of_tools_come_from_the_request() -> None:
    tools = [{"name": "Bash"}, {"name": "Read"}]
    assert said(user('SCRIPT:["$MODEL has $NTOOLS"]'), tools=tools) == "m-1 has 2"


def test_a_placeholder_that_the_request_does_not_tell_is_an_error() -> None:
    with pytest.raises(ScriptError, match=r"\$CWD in the SCRIPT has no value"):
        due_step(asked(user('SCRIPT:["$CWD"]')))


def test_placeholders_are_filled_everywhere_but_in_scripts_for_others_and_longer_words() -> None:
    inner = script("$LAST in $MODEL", say="ask $MODEL")
    step = Step(
        thinking="$MODEL",
        text="$MODELS $UNKNOWN $MODEL",
        tools=[("Agent", {"prompt": inner, "list": ["$MODEL", {"deep": "$MODEL"}, 3]})],
        blocks=[{"type": "text", "text": "$MODEL"}],
    )
    due = due_step(asked(user(script(step))))
    assert due.step == Step(
        thinking="m-1",
        text="$MODELS $UNKNOWN m-1",
        tools=[
            (
                "Agent",
                {"prompt": inner.replace("ask $MODEL", "ask m-1"), "list": ["m-1", {"deep": "m-1"}, 3]},
            )
        ],
        blocks=[{"type": "text", "text": "m-1"}],
    )


def test_a_tool_result_that_looks_like_a_placeholder_stays_as_it_is() -> None:
    assert said(user('SCRIPT:["a","$LAST"]'), assistant(), user(result("$MODEL"))) == "$MODEL"


def test_every_step_of_every_session_and_sub_agent_has_its_own_name() -> None:
    first = user('SCRIPT:["a","b"]')
    one, two = {"metadata": {"user_id": "s1"}}, {"metadata": {"user_id": "s2"}}
    names = [
        due_step(asked(first, **one)).name,
        due_step(asked(first, **two)).name,
        due_step(asked(first, assistant(), user("x"), **one)).name,
        due_step(asked(first, assistant(), first, **one)).name,
        due_step(asked(first, **one), agent="sub-1").name,
        due_step(asked(first, **one, tools=[{"name": "Bash"}])).name,
        due_step(asked(user("hi"), **one)).name,
    ]
    assert len(set(names)) == len(names)
    assert due_step(asked(first, **one)).name == names[0]


def test_compaction_gets_a_summary_and_no_step_of_the_script() -> None:
    due = due_step(asked(user('SCRIPT:[{"tools":[["Bash",{}]]}]', COMPACT)))
    assert (due.step, due.index, due.chore) == (Step(text=SUMMARY), None, "summary")


def test_compaction_with_a_script_of_its_own_follows_it() -> None:
    due = due_step(asked(user('SCRIPT:["a"]', COMPACT + '\nkeep SCRIPT:["<summary>b</summary>"]')))
    assert (due.step, due.index, due.chore) == (Step(text="<summary>b</summary>"), 0, "")


def test_the_title_of_a_session_is_no_step_of_its_script() -> None:
    due = due_step(asked(user('<session>\nSCRIPT:["a"]\n</session>\n\nWrite the title.')))
    assert (due.step, due.index, due.chore) == (Step(text=TITLE), None, "title")
    assert set(json.loads(TITLE)) == {"title"}


def test_scripts_in_gives_spans_of_the_text() -> None:
    text = 'a SCRIPT:["x"] b SCRIPT: [ "y" ]'
    assert [text[each.start : each.end] for each in scripts_in(text)] == ['SCRIPT:["x"]', 'SCRIPT: [ "y" ]']


def test_what_the_builders_write_is_what_the_step_says() -> None:
    error = ErrorReply(status=529, times=2, headers={"retry-after": "0"})
    step = Step(text='quotes " and \n @file $NO', usage={"input_tokens": 5}, hang=-3, cut=0, error=error)
    assert due_step(asked(user(script(step, say="do")))).step == step
