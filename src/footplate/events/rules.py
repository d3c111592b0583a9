"""What was allowed for a session: rules that we answer by, and rules that the engine holds for us."""

from __future__ import annotations

import msgspec

from footplate.events.base import OptionalRaw
from footplate.events.ids import RequestId, RuleId
from footplate.events.requests import Allow, Answer, Choose, Deny, Destination, Request, RequestOption, Suggestion

KEPT_BY_FOLDER: tuple[Destination, ...] = ("local", "project")
"""Places whose rules an engine may not read in a folder that nobody has trusted: they are taken for the session too."""

EXACTLY = "exactly this call"
"""What a session allows where the engine proposes no rule and has no option for it."""


class SessionRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One thing that is allowed until the session ends or somebody takes it back.

    `engine_rule` is held by the engine itself, in its own words: each of its processes is given it. Without one we
    answer by it: a call of `tool` that is exactly the one that was allowed (`call_sha256`; `subject` is what it is
    about, to be read), or that is, letter for letter, what the `prompt` of an approved plan says. A rule without a hash
    is of an older version and allows a call that has this `subject` or `input` and nothing else. `kept` names the
    engine's settings in which the same rule stands, too.
    """

    id: RuleId
    label: str
    tool: str = ""
    subject: str = ""
    input: OptionalRaw = None
    call_sha256: str = ""
    prompt: str = ""
    engine_rule: OptionalRaw = None
    kept: Destination = ""
    request: RequestId | None = None


def meaning(request: Request, answer: Answer) -> Answer:
    """The answer in full, where choosing an option says no more than its id."""
    if isinstance(answer, Choose):
        option = next((each for each in request.options if each.id == answer.option), None)
        return option.means if option is not None and option.means is not None else answer
    return answer


def takes_changed_input(request: Request) -> bool:
    """Whether the agent runs an input that the answer changes.

    One whose options only have ids takes no more than an id: ACP and Codex have no way to say another input.
    """
    fixed = request.options and all(option.means is None for option in request.options)
    return request.input is not None and not fixed


def taken_suggestion(request: Request, answer: Allow | Deny) -> Suggestion | None:
    """The suggestion that an answer takes; the first one when it names none."""
    if not isinstance(answer, Allow) or answer.scope not in ("session", "always"):
        return None
    number = answer.suggestion or 0
    return request.suggestions[number] if 0 <= number < len(request.suggestions) else None


def lasting_option(request: Request) -> RequestOption | None:
    """The engine's own option that an "always" chooses; None where the engine suggests rules instead."""
    if request.kind != "permission" or request.suggestions:
        return None
    return next((option for option in request.options if option.kind == "allow_always"), None)


def session_meaning(request: Request) -> str:
    """What "allow for this session" allows beyond the one call; empty where the agent has no option to allow it.

    The page's twin is in `web/src/ui/requests/answer_words.ts`; `tests/fixtures/events/lasting.json` has the cases.
    """
    if request.kind != "permission":
        return ""
    if request.suggestions:
        return request.suggestions[0].allows or request.suggestions[0].label
    session = next((option for option in request.options if option.kind == "allow_session"), None)
    if session is not None:
        return session.label
    once = not request.options or any(option.kind == "allow_once" for option in request.options)
    return EXACTLY if once else ""


def held_for_session(request: Request, answer: Answer) -> Suggestion | None:
    """The rule that an answer has the engine hold for the session, also one that it keeps in the folder's settings."""
    answer = meaning(request, answer)
    taken = taken_suggestion(request, answer) if isinstance(answer, Allow | Deny) else None
    if taken is None or not taken.allows or not isinstance(answer, Allow):
        return None
    return taken if answer.scope == "session" or taken.destination in KEPT_BY_FOLDER else None
