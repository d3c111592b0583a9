"""A request that outlives its process: what to do with it once the CLI is gone, as a table. Pure.

An unanswered call has never run; once "allow" was written, only a result proves anything. So two things decide: how far
we had come with the request (`Journal.state`, written before each step), and what the CLI's file says of the call
(`Found`). `TABLE` has a row for every pair, `settle` picks it. At most one run always; where nothing can be known the
person and the agent are told so, and nothing is run again.

    found \\ state    open, decided           sending                                done
    ------------     ----------------------  -------------------------------------  ----------------------------
    result           settled                 settled                                settled
    refused          say it again            say it again                           settled
    interrupted      say it again            harmless: say it again, else unknown   say the result
    waiting          park                    harmless: park, else append unknown    append the result
    passed           say it again            harmless: say it again, else unknown   say the result
    missing          say it was cut off      harmless: cut off, else unknown        say the result
    no session       start anew              harmless: start anew, else unknown     start anew, the result is lost

`found`: `refused` is the CLI's own word that nobody answered (its input closed) or that our stop cancelled the call, or
ours that a parked call was taken back;
`interrupted` the CLI's own guess on a resume without parking (2.1.325); `passed` a call that the conversation went on
without (2.1.197 drops it); `missing` a session without the call: killed before it was written; `no session`: no file,
or one in which nothing was said yet, which `--resume` refuses.
`sending` is harmless when the answer was a no, when the tool has no effect outside (reads, questions, plans), or when
the file that it writes shows that it was not written.

A sub-agent's call is not in the session's file, only the call that started the sub-agent. Parking that one starts the
sub-agent again from its first step, with new ids: only where none of its steps had an effect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

import msgspec

from footplate.engines.claude.outcomes import NOBODY_ANSWERED
from footplate.engines.claude.transcript import Transcript, same_json
from footplate.events.base import OptionalRaw

State = Literal["open", "decided", "sending", "done"]
Found = Literal["result", "refused", "interrupted", "waiting", "passed", "missing", "no session"]
Effect = Literal["none", "applied", "unknown"]

HARMLESS: Final = frozenset(
    {"read", "glob", "grep", "ls", "notebookread", "websearch", "taskget", "tasklist", "todoread"}
    | {"askuserquestion", "exitplanmode", "enterplanmode", "toolsearch"}
)
"""Tools without an effect outside: to run one again is to run it once."""

FILE_TOOLS: Final = frozenset({"write", "edit"})
"""Tools whose effect can be seen in the file that they name."""

REJECTED: Final = ("The user doesn't want to proceed with this tool use",)
CUT: Final = ("[Tool call interrupted: the session ended before",)


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """What we know of a request: the call as it was asked, the mode then, how far we came, the answer, the result.

    `agent` is the sub-agent that asked and `parent` the call that started it.
    """

    call: str
    tool: str
    input: OptionalRaw = None
    mode: str = ""
    state: State = "open"
    allow: bool = False
    message: str = ""
    result: str = ""
    result_is_error: bool = False
    agent: str = ""
    parent: str = ""

    @property
    def harmless(self) -> bool:
        """Whether to bring it about again can do no harm."""
        return not self.allow or self.tool.lower() in HARMLESS


# ----------------------------------------------------------------------------------------------- actions


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """The file has the result: resume when there is something to say, nothing else to do. `text` is its beginning."""

    text: str = ""
    is_error: bool = False


class Park(msgspec.Struct, frozen=True, kw_only=True):
    """Park `call`, resume in `mode` without a message, answer when it asks for the call again.

    `dropped` are calls of the same message that the resumed agent will not make. `restarts`: the call is a sub-agent
    that begins anew, so it is its first call with the same tool and input, under another id, that gets the answer.
    """

    call: str
    mode: str = ""
    dropped: tuple[str, ...] = ()
    restarts: bool = False


class Append(msgspec.Struct, frozen=True, kw_only=True):
    """Write `text` into the file as the result of `call`, resume, send `message`. `unknown`: tell the person too."""

    call: str
    text: str
    message: str
    is_error: bool = False
    unknown: bool = False
    mode: str = ""


class Say(msgspec.Struct, frozen=True, kw_only=True):
    """Resume and send `message`. `again`: one call with the same tool and input gets the stored answer, once."""

    message: str
    again: bool = False
    unknown: bool = False
    mode: str = ""


class StartAnew(msgspec.Struct, frozen=True, kw_only=True):
    """There is no session to resume. The prompt can be sent again in a new one, by a person if it is `unknown`."""

    unknown: bool = False


Action = Settled | Park | Append | Say | StartAnew

# ------------------------------------------------------------------------------------------------- words

WAITING: Final = "Still waiting for your answer (the service restarted)."
UNKNOWN: Final = (
    "Approved, but the service stopped before the result was recorded. It may or may not have run. "
    "Check, then choose: run again / go on."
)
DROPPED: Final = "{count} further calls were cancelled by the restart; the agent may ask again."
REFUSAL: Final = "This call was refused. It has not run."
TAKEN_BACK: Final = "This call has not run: the host was restarted while it waited for approval."
GO_ON: Final = "Go on from where you were stopped."
UNKNOWN_RESULT: Final = (
    "This call was approved, and the host stopped while it may have been running. Whether it took effect is unknown. "
    "Check before you repeat it."
)
WRITTEN: Final = "The file has been written: it was found with the new content after the host had stopped."


def tell_allowed(journal: Journal) -> str:
    """Ask the agent for a call that was approved and could not be brought back in another way."""
    return (
        f"The call of {journal.tool} that waited for approval was approved, and it has not run: the host was "
        f"restarted. Make it again now, exactly once, with exactly this input:\n{_json(journal.input)}"
    )


def tell_denied(journal: Journal) -> str:
    """Tell the agent of a no that it could not be told in another way."""
    why = f": {journal.message}" if journal.message else "."
    return (
        f"The call of {journal.tool} that waited for approval was refused, and it has not run. Do not make it "
        f"again{why}\nIts input was:\n{_json(journal.input)}"
    )


def tell_waiting(journal: Journal) -> str:
    """The message that brings the answer to an agent that no longer waits for it."""
    return tell_allowed(journal) if journal.allow else tell_denied(journal)


def tell_cut(journal: Journal) -> str:
    """Tell the agent that its turn was cut off before a call."""
    if journal.state == "open":
        return f"The host stopped in the middle of your turn. Your last call, of {journal.tool}, did not run. {GO_ON}"
    return f"The host stopped in the middle of your turn.\n{tell_waiting(journal)}"


def tell_unknown(journal: Journal) -> str:
    """Tell the agent that nobody knows what became of a call."""
    return f"Of your call of {journal.tool} with this input:\n{_json(journal.input)}\n{UNKNOWN_RESULT}"


def tell_result(journal: Journal) -> str:
    """Tell the agent a result that its own file has lost."""
    return (
        f"Your call of {journal.tool} with this input has run; do not repeat it:\n{_json(journal.input)}\n"
        f"Its result was:\n{journal.result}"
    )


def _json(raw: msgspec.Raw | None) -> str:
    return "{}" if raw is None else bytes(raw).decode("utf-8", "replace")


# ------------------------------------------------------------------------------------------------- table


class Case(msgspec.Struct, frozen=True):
    """What an action is made of."""

    journal: Journal
    transcript: Transcript

    @property
    def call(self) -> str:
        """The call in the session's file: the one that asks, or the one that started the sub-agent that asks."""
        return self.journal.parent or self.journal.call


def _settled(case: Case) -> Action:
    result = case.transcript.tool_result_of(case.call)
    return Settled() if result is None else Settled(text=result.text, is_error=result.is_error)


def _park(case: Case) -> Action:
    dropped = tuple(sibling.id for sibling in case.transcript.siblings_of(case.call))
    return Park(call=case.call, mode=case.journal.mode, dropped=dropped, restarts=bool(case.journal.parent))


def _again(case: Case) -> Action:
    return Say(message=tell_waiting(case.journal), again=case.journal.allow, mode=case.journal.mode)


def _cut(case: Case) -> Action:
    again = case.journal.allow and case.journal.state != "open"
    return Say(message=tell_cut(case.journal), again=again, mode=case.journal.mode)


def _say_unknown(case: Case) -> Action:
    return Say(message=tell_unknown(case.journal), unknown=True, mode=case.journal.mode)


def _append_unknown(case: Case) -> Action:
    return Append(
        call=case.call, text=UNKNOWN_RESULT, is_error=True, message=GO_ON, unknown=True, mode=case.journal.mode
    )


def _append_result(case: Case) -> Action:
    journal = case.journal
    return Append(
        call=case.call, text=journal.result, is_error=journal.result_is_error, message=GO_ON, mode=journal.mode
    )


def _say_result(case: Case) -> Action:
    return Say(message=tell_result(case.journal), mode=case.journal.mode)


def _anew(_case: Case) -> Action:
    return StartAnew()


def _anew_unknown(_case: Case) -> Action:
    return StartAnew(unknown=True)


Step = Callable[[Case], Action]
Column = Literal["not sent", "sent, harmless", "sent", "done"]

TABLE: Final[dict[Found, dict[Column, Step]]] = {
    "result": {"not sent": _settled, "sent, harmless": _settled, "sent": _settled, "done": _settled},
    "refused": {"not sent": _again, "sent, harmless": _again, "sent": _again, "done": _settled},
    "interrupted": {"not sent": _again, "sent, harmless": _again, "sent": _say_unknown, "done": _say_result},
    "waiting": {"not sent": _park, "sent, harmless": _park, "sent": _append_unknown, "done": _append_result},
    "passed": {"not sent": _again, "sent, harmless": _again, "sent": _say_unknown, "done": _say_result},
    "missing": {"not sent": _cut, "sent, harmless": _cut, "sent": _say_unknown, "done": _say_result},
    "no session": {"not sent": _anew, "sent, harmless": _anew, "sent": _anew_unknown, "done": _anew_unknown},
}


def settle(
    journal: Journal,
    transcript: Transcript | None,
    *,
    effect: Effect = "unknown",
    agent: Transcript | None = None,
    loosened: bool = False,
) -> Action:
    """What to do with a request whose process is gone. `transcript` is None when the CLI has no file of the session.

    A file without any entry of a conversation (the queue is written first) is no session to the CLI either.
    `effect` is what `effect_on_file` saw, for a tool that writes a file; `agent` the file of the sub-agent that asked.
    `loosened`: the permission rules changed since it was asked. A parked call might run unasked then, so a no is
    written down as the call's result instead.
    """
    if transcript is None or not transcript.nodes:
        return TABLE["no session"][column_of(journal, effect)](Case(journal, Transcript()))
    case = Case(journal, transcript)
    found = look_up(case)
    if journal.state == "sending" and journal.allow and effect == "applied" and found == "waiting":
        return Append(call=case.call, text=WRITTEN, message=GO_ON, mode=journal.mode)
    if loosened and found == "waiting" and journal.state in ("decided", "sending") and not journal.allow:
        return Append(call=case.call, text=journal.message or REFUSAL, is_error=True, message=GO_ON, mode=journal.mode)
    if journal.agent and found == "waiting" and had_effect(agent):
        return _append_unknown(case)
    return TABLE[found][column_of(journal, effect)](case)


def column_of(journal: Journal, effect: Effect) -> Column:
    """How far we came, and whether it can be brought about again."""
    if journal.state == "done":
        return "done"
    if journal.state in ("open", "decided"):
        return "not sent"
    return "sent, harmless" if journal.harmless or effect == "none" else "sent"


def look_up(case: Case) -> Found:
    """What the session's file says of the call."""
    result = case.transcript.tool_result_of(case.call)
    if result is not None:
        if result.is_error and (NOBODY_ANSWERED.search(result.text) or result.text == TAKEN_BACK):
            return "refused"
        if result.is_error and result.text.startswith(REJECTED) and case.journal.state in ("open", "decided"):
            return "refused"
        return "interrupted" if result.is_error and result.text.startswith(CUT) else "result"
    if any(call.id == case.call for call in case.transcript.open_calls()):
        return "waiting"
    return "passed" if case.call in case.transcript.calls else "missing"


def had_effect(agent: Transcript | None) -> bool:
    """Whether a step of a sub-agent that ran to its end had an effect outside, as far as its file tells."""
    if agent is None:
        return True
    return any(
        call.name.lower() not in HARMLESS for call in agent.calls.values() if agent.tool_result_of(call.id) is not None
    )


def is_same_call(journal: Journal, tool: str, given: msgspec.Raw | None) -> bool:
    """Whether a request asks for the very call that was answered: same tool, same input."""
    return tool == journal.tool and same_json(given, journal.input)
