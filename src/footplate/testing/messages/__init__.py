"""A Messages API whose answers stand in the prompts: real agents run against it, no model is needed.

    with ScriptedMessages.start() as api:
        prompt = script(tool("Bash", {"command": "echo hi"}), "The command said: $LAST")
        run_agent(prompt, base_url=api.url_for("this test"))
        assert [request.step for request in api.log("this test")] == [0, 1]

The script stands in the prompt, and the number of answers since then is the step, so the server keeps no
state: any number of sessions, sub-agents with scripts of their own, resumed and forked sessions share it.
"""

from footplate.testing.messages.catalog import Model
from footplate.testing.messages.client import ScriptedMessages
from footplate.testing.messages.journal import LoggedRequest
from footplate.testing.messages.prompt import api_error, say, script, tool, tools
from footplate.testing.messages.step import ErrorReply, Step, StreamError

__all__ = [
    "ErrorReply",
    "LoggedRequest",
    "Model",
    "ScriptedMessages",
    "Step",
    "StreamError",
    "api_error",
    "say",
    "script",
    "tool",
    "tools",
]
