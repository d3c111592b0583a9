"""What is said to an agent in a drill, so that it does what the drill wants: a script for the model behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from footplate.testing.messages import say, script, tool

NO_QUESTIONS: Final = "it asks no questions over its protocol"
NO_MODEL: Final = "it did not ask the scripted model, and nothing is known of how to lead it there"
COLOUR: Final = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
}
COMMAND: Final = "touch made; echo ran"
SHELLS: Final = "bash|Bash|shell|run_shell_command|exec_command|execute_command|run_command|terminal|execute"
"""What agents call the tool that runs a command."""


class Exercise(msgspec.Struct, frozen=True, kw_only=True):
    """The prompts of a drill. An empty question: the agent has none. A mode that is named is set before the prompt."""

    permission: str
    long: str = script(say("some text that never ends", chunk=5, hang=-3))
    word: str = script("Still here.")
    question: str = ""
    permission_mode: str = ""
    question_mode: str = ""


def _shell(name: str, **given: str) -> str:
    """A prompt that makes the agent run a command."""
    return script(tool(name, given or {"command": COMMAND, "description": "a command"}), "It said: $LAST")


KNOWN: Final[Mapping[str, Exercise]] = {
    "claude": Exercise(
        permission=_shell("Bash"),
        question=script(tool("AskUserQuestion", {"questions": [{**COLOUR, "multiSelect": False}]}), "So be it."),
    ),
    "codex": Exercise(
        permission=_shell("exec_command", cmd=COMMAND),
        question=script(tool("request_user_input", {"questions": [{"id": "colour", **COLOUR}]}), "So be it."),
        permission_mode="ask",
        question_mode="plan",
    ),
    "opencode": Exercise(permission=_shell("bash")),
    "gemini": Exercise(permission=_shell("run_shell_command")),
    "qwen": Exercise(permission=_shell("run_shell_command")),
    "copilot": Exercise(permission=_shell("bash")),
    "mock": Exercise(permission="permission", question="question", long="hang", word="still here"),
}
"""The agents of which we know how to lead them to the scripted model; the mock needs none."""

ANY: Final = Exercise(permission=_shell(SHELLS))
"""For an agent of which nothing is known: it may find the model by a variable, and have a tool of a common name."""
