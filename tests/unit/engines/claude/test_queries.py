"""Questions about the CLI: recorded answers of both versions as facts."""

from __future__ import annotations

import msgspec
import pytest

from footplate.engines.base import Options, Query, Reply
from footplate.engines.claude.conversation import ClaudeConversation
from footplate.engines.claude.queries import QUESTIONS
from footplate.errors import InvalidValue, UnsupportedOption
from footplate.events import facts as f
from footplate.events.facts import QueryName
from tests.unit.engines.claude.dialogue import LIVE, Dialogue, recorded_answer
from tests.unit.engines.claude.playing import VERSIONS


def ask(version: str, name: QueryName, response: object, **arguments: str) -> f.Fact:
    dialogue = Dialogue(version)
    assert dialogue.query(name, **arguments).replies == ()
    [reply] = dialogue.answers(response).replies
    assert (reply.key, reply.error) == ("q", "")
    assert reply.result is not None
    return msgspec.json.decode(reply.result, type=f.RESULTS[name])


@pytest.mark.parametrize("version", VERSIONS)
def test_how_full_the_context_is(version: str) -> None:
    usage = ask(version, "context", recorded_answer(version, "controls", "get_context_usage"))
    assert isinstance(usage, f.ContextUsage)
    assert (usage.size, usage.used > 10_000) == (1_000_000, True)
    assert usage.categories[-1].name == "Free space"
    assert usage.categories[-1].kind == ("free" if version == "2.1.325" else "")


@pytest.mark.parametrize("version", VERSIONS)
def test_what_it_cost_in_words_and_in_figures(version: str) -> None:
    cost = ask(version, "cost", recorded_answer(version, "controls", "get_session_cost"))
    assert isinstance(cost, f.Cost)
    assert cost.text.startswith("Total cost:")
    usage = ask(version, "usage", recorded_answer(version, "controls", "get_usage"))
    assert isinstance(usage, f.SessionUsage)
    [model] = usage.models
    assert usage.cost_usd == model.cost_usd > 0
    assert (model.output_tokens, model.context_size) == (5, 1_000_000)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_rewind_would_change(version: str) -> None:
    found = ask(version, "rewind", recorded_answer(version, "rewind", "rewind_files"), message="a-message")
    assert found == f.RewindResult(possible=True, files=("/workspace/a.txt",), deletions=1)


@pytest.mark.parametrize(
    ("name", "response", "fact"),
    [
        ("files", {"suggestions": [{"path": "a.txt"}]}, f.FileSuggestions(files=(f.FileSuggestion(path="a.txt"),))),
        (
            "servers",
            {"mcpServers": [{"name": "lab", "status": "connected", "scope": "dynamic", "tools": [{"name": "echo"}]}]},
            f.Servers(servers=(f.ServerStatus(name="lab", status="connected", scope="dynamic", tools=("echo",)),)),
        ),
        ("plan", {"exists": True, "content": "1.", "path": "/p"}, f.PlanText(exists=True, text="1.", path="/p")),
        ("cost", None, f.Cost(text="")),
    ],
)
def test_other_facts(name: QueryName, response: object, fact: f.Fact) -> None:
    assert ask("2.1.325", name, response) == fact


def test_what_a_task_has_written() -> None:
    output = ask("2.1.325", "task_output", {"output": "one\n", "total_bytes": 4}, task="b1")
    assert output == f.TaskOutput(text="one\n", size=4)


def test_models_and_commands_need_no_asking() -> None:
    dialogue = Dialogue()
    dialogue.begin()
    dialogue.answers({"models": [{"value": "default"}], "commands": [{"name": "compact"}]})
    for name, kind in (("models", f.Models), ("commands", f.Commands), ("about", f.About)):
        reaction = dialogue.query(name)  # type: ignore[arg-type]
        assert reaction.frames == ()
        assert reaction.replies[0].result is not None
        assert isinstance(msgspec.json.decode(reaction.replies[0].result, type=kind), kind)


def test_an_answer_that_cannot_be_read_and_one_of_refusal_are_told_apart_from_facts() -> None:
    dialogue = Dialogue()
    dialogue.query("cost")
    assert dialogue.answers([1, 2]).replies == (
        Reply(key="q", error="get_session_cost: an answer that cannot be read"),
    )
    dialogue.query("cost")
    assert dialogue.answers(error="no").replies == (Reply(key="q", error="get_session_cost: no"),)


@pytest.mark.parametrize("name", ["plan", "task_output"])
def test_what_an_older_cli_cannot_tell_is_refused_with_its_version_and_the_cure(name: QueryName) -> None:
    query = Query(key="q", name=name, arguments={"task": "b1"})
    with pytest.raises(UnsupportedOption, match=r"2\.1\.197.*update the CLI to 2\.1\.325 or later"):
        ClaudeConversation(LIVE, version="2.1.197").query(query)


def test_a_question_without_its_argument_or_in_the_one_shot_form_is_refused() -> None:
    with pytest.raises(InvalidValue, match="message"):
        Dialogue().query("rewind")
    with pytest.raises(UnsupportedOption, match="one-shot"):
        Dialogue(options=Options(cwd="/", one_shot=True, prompt="hi")).query("cost")


def test_every_question_is_in_the_table_or_known_to_us() -> None:
    assert set(f.RESULTS) == {*QUESTIONS, "about", "models", "commands", "tasks"}
