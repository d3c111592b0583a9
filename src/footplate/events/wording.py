"""The words for facts that every surface shows: answers, money, durations, tokens, sizes, changed lines.

Terminal, chat and page use one form for each fact:

| fact | form |
|---|---|
| answer | `allowed once`, `allowed for this session`, `allowed for this session, exactly this`, `always allowed`, \
`allowed with edits`, `denied`, `denied and stopped`, `plan approved`, `plan sent back`, `answered: ...`, \
`declined to answer`, `chose: ...` |
| who answered | `denied by ada from web: use staging` |
| end without one | `withdrawn: the turn was interrupted`, `unanswered: nobody answered in time`, \
`the agent refused the answer: ...` |
| money | `$12.30`, `$0.22`; below ten cents four decimals unless two say it all: `$0.0014`, `$0.05`; \
`-$0.50` |
| duration | `0.4s`, `12s`, `1m 05s`, `1h 02m`, `1d 02h`; a clock that ticks counts whole seconds |
| age | `now` below a minute, `5m`, `3h`, `2d` |
| share | `40%`, at most `100%` |
| tokens | `950`, `1.2k`, `12k`, `1.5M` |
| size | `512 B`, `5.8 KB`, `58 KB`, `1.2 MB`, in thousands |
| text | `1,321 lines, 58 KB` |
| changed lines | `+12 −3` |

The page's twins are `web/src/ui/format.ts` and `web/src/ui/requests/answer_words.ts`;
`tests/fixtures/events/wording.json` holds the cases for both. Figures are rounded half up by whole-number arithmetic:
`format` of Python and `toFixed` of JavaScript round differently.
"""

from __future__ import annotations

import math
from typing import Final

from footplate.events.requests import (
    Allow,
    Answer,
    Choose,
    Decline,
    Deny,
    OptionKind,
    Reply,
    Request,
    RequestKind,
    RequestState,
    Scope,
)
from footplate.events.rules import meaning
from footplate.events.visible import show_line

ALLOWED: Final[dict[Scope, str]] = {
    "once": "allowed once",
    "exact": "allowed for this session, exactly this",
    "session": "allowed for this session",
    "always": "always allowed",
}
DENIED: Final[dict[RequestKind, str]] = {
    "permission": "denied",
    "question": "declined to answer",
    "plan": "plan sent back",
}
CHOSEN: Final[dict[OptionKind, str]] = {
    "allow_once": ALLOWED["once"],
    "allow_session": ALLOWED["session"],
    "allow_always": ALLOWED["always"],
    "deny": "denied",
    "deny_and_stop": "denied and stopped",
}
ENDED: Final[dict[RequestState, str]] = {
    "withdrawn": "withdrawn",
    "unanswered": "unanswered",
    "rejected": "the agent refused the answer",
}
MINUS: Final = "\N{MINUS SIGN}"
UNITS: Final = ("KB", "MB", "GB", "TB")


def describe_answer(answer: Answer, request: Request | None = None, *, by: str = "", surface: str = "") -> str:
    """Say what was answered, by whom and from where as far as given: `denied by ada from web: use staging`.

    With the request, an option is described by its meaning and a plan by its outcome.
    """
    verdict, words = _judge(meaning(request, answer) if request is not None else answer, request)
    who = f"{verdict} {describe_answerer(by, surface)}".rstrip()
    line = show_line(words)
    return f"{who}: {line}" if line else who


def describe_answerer(by: str, surface: str) -> str:
    """Say who answered and from where, as far as it is known: `by ada from web`."""
    parts = (f"by {show_line(by)}" if by else "", f"from {show_line(surface)}" if surface else "")
    return " ".join(part for part in parts if part)


def describe_ending(state: RequestState, reason: str = "") -> str:
    """Say how a request ended without an answer that was used, and why; empty for any other state."""
    words, line = ENDED.get(state, ""), show_line(reason)
    return f"{words}: {line}" if words and line else words


def _judge(answer: Answer, request: Request | None) -> tuple[str, str]:
    """The verdict, and the words that came with it."""
    kind = request.kind if request is not None else "permission"
    match answer:
        case Allow():
            return _describe_allow(answer, kind), ""
        case Deny():
            return "denied and stopped" if answer.interrupt else DENIED[kind], answer.message
        case Reply():
            replies = (value if isinstance(value, str) else ", ".join(value) for value in answer.answers.values())
            return "answered", "; ".join(replies)
        case Decline():
            return DENIED["question"], answer.message
        case Choose():
            return _describe_choice(answer, request)


def _describe_allow(answer: Allow, kind: RequestKind) -> str:
    edited = answer.updated_input is not None
    if kind == "plan":
        verdict = "plan approved"
    elif edited and answer.scope == "once":
        verdict, edited = "allowed with edits", False
    else:
        verdict = ALLOWED[answer.scope]
    more = (
        "with edits" if edited else "",
        f"mode {show_line(answer.mode)}" if answer.mode else "",
        "with what the plan asks for" if answer.prompts else "",
    )
    return ", ".join(part for part in (verdict, *more) if part)


def _describe_choice(answer: Choose, request: Request | None) -> tuple[str, str]:
    option = next((each for each in request.options if each.id == answer.option), None) if request else None
    if option is not None and option.kind in CHOSEN:
        return CHOSEN[option.kind], ""
    return "chose", option.label if option is not None else answer.option


def format_money(usd: float | None) -> str:
    """Format an amount; empty when it is not known, or not a number."""
    if usd is None or not math.isfinite(usd):
        return ""
    if usd <= -0.00005:
        return f"-{format_money(-usd)}"
    if 0 < usd < 0.00005:
        return "<$0.0001"
    parts = math.floor(usd * 10_000 + 0.5)
    if parts < 1000 and parts % 100:
        return f"$0.{parts:04}"
    cents = math.floor(usd * 100 + 0.5)
    return f"${cents // 100:,}.{cents % 100:02}"


def format_duration(seconds: float) -> str:
    """Format how long something took; a clock that ticks passes whole seconds."""
    tenths = math.floor(max(seconds, 0.0) * 10 + 0.5)
    if tenths < 100:
        return f"{tenths // 10}.{tenths % 10}s" if tenths % 10 else f"{tenths // 10}s"
    whole = math.floor(seconds + 0.5)
    for size, first, part, second in ((86_400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s")):
        if whole >= size:
            return f"{whole // size}{first} {whole % size // part:02}{second}"
    return f"{whole}s"


def format_age(seconds: float) -> str:
    """Format how long ago something was; a list that is not drawn again each second has no use for seconds."""
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{math.floor(seconds) // size}{unit}"
    return "now"


def format_share(used: int, size: int) -> str:
    """Format how much of something is used up."""
    return f"{min(100, (200 * used + size) // (2 * size))}%"


def format_tokens(count: int) -> str:
    """Format a number of tokens."""
    return str(count) if count < 1000 else _scaled(count, ("k", "M", "G"))


def format_size(size: int) -> str:
    """Format a number of bytes."""
    return f"{size} B" if size < 1000 else _scaled(size, tuple(f" {unit}" for unit in UNITS))


def _scaled(count: int, units: tuple[str, ...]) -> str:
    """A number of at least 1000 in the unit that leaves up to three digits, with a decimal below ten."""
    for power, unit in enumerate(units, 1):
        one = 1000**power
        tenths = (count * 10 + one // 2) // one
        if tenths < 100:
            return f"{tenths // 10}.{tenths % 10}{unit}"
        whole = (count + one // 2) // one
        if whole < 1000 or power == len(units):
            return f"{whole}{unit}"
    raise AssertionError("the last unit takes any number")


def format_count(count: int, one: str, many: str = "") -> str:
    """Format a number with its noun: `1 line`, `1,321 lines`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def describe_text_size(text: str) -> str:
    """Say how large a text is: `1,321 lines, 58 KB`. A line break at its end begins no line."""
    lines = text.count("\n") + (not text.endswith("\n") and text != "")
    size = len(text.encode("utf-8", "surrogatepass"))
    return f"{format_count(lines, 'line')}, {format_size(size)}"


def format_changes(added: int, removed: int) -> str:
    """Format how many lines a change adds and removes."""
    return f"+{added:,} {MINUS}{removed:,}"
