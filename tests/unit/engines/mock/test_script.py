"""Scripts as plain generators: what they do with the replies they get."""

from __future__ import annotations

from footplate.engines.mock.steps import DONE, Ask, Pause, Permit, Prompt, Reply, Say, Script, Step
from footplate.engines.mock.triggers import NUMERIC, TRIGGERS, choose_script

CANCELLED = Reply("cancelled")


def play(script: Script, replies: dict[type, Reply]) -> tuple[list[Step], str]:
    """All steps of a script that gets these replies by the kind of step, and its stop reason."""
    steps: list[Step] = []
    try:
        step = next(script)
        while True:
            steps.append(step)
            step = script.send(replies.get(type(step), DONE))
    except StopIteration as end:
        return steps, str(end.value)


def test_every_word_of_the_table_has_a_script_that_ends_when_it_is_cancelled() -> None:
    for word in TRIGGERS:
        steps, stop = play(choose_script(Prompt(text=word)), {Pause: CANCELLED, Permit: CANCELLED, Ask: CANCELLED})
        assert steps
        waits = any(isinstance(step, Pause | Permit | Ask) for step in steps)
        assert (word, stop) == (word, "cancelled" if waits else "end_turn")


def test_words_that_want_numbers_have_defaults() -> None:
    for word in NUMERIC:
        assert Say(f"mock: {word}") not in play(choose_script(Prompt(text=word)), {})[0]


def test_the_pace_is_that_of_the_prompt() -> None:
    steps, _ = play(choose_script(Prompt(text="plan", pace_ms=70)), {})
    assert [step.ms for step in steps if isinstance(step, Pause)] == [70, 70, 70, 70]


def test_the_tour_goes_on_when_a_question_is_declined() -> None:
    replies: dict[type, Reply] = {Permit: Reply("chosen", "reject"), Ask: Reply("declined")}
    steps, stop = play(choose_script(Prompt(text="demo")), replies)
    assert Say("You chose `reject`.\n") in steps
    assert Say("You would rather not say. That is an answer, too.\n") in steps
    assert stop == "end_turn"
