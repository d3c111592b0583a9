"""What a person typed, as an action: a prompt, a command of ours, a command of the shell. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

import msgspec

HELP: Final = """\
/mode X        change the permission mode      /model X     change the model
/effort X      how hard the model thinks       /title T     name the session
/queue         what waits                      /cancel [N]  take back the Nth (the last) that waits
/steer TEXT    into the running turn           /interrupt   stop the turn (Ctrl-C)
/continue      start prompts that were paused  /requests    what is asked of you
/rules         what is allowed for the session /revoke N    take back the Nth of them
/sessions      the sessions in the store       /fork        go on in a copy of this session
/usage         tokens, money, context          /help        this list
/quit          leave (Ctrl-D)
!COMMAND       run it in the session's folder and show it to the agent
Any other /command goes to the agent; //mode and the like too. Alt-Enter is a new line.
Tab completes a /command, and a file behind an @.
An open request is answered by key on an empty line."""


class Say(msgspec.Struct, frozen=True):
    """A prompt: behind what runs, or into it."""

    text: str
    when: Literal["queue", "steer"] = "queue"


class Shell(msgspec.Struct, frozen=True):
    """A command of the person's own."""

    command: str


class Change(msgspec.Struct, frozen=True):
    """A setting of the session."""

    what: Literal["mode", "model", "effort", "title"]
    value: str


class CancelPrompt(msgspec.Struct, frozen=True):
    """Take back a prompt that waits: the numbered one, or the last."""

    number: int | None = None


class Revoke(msgspec.Struct, frozen=True):
    """Take back what was allowed for the session: the numbered rule."""

    number: int


class Show(msgspec.Struct, frozen=True):
    """Tell something that is known."""

    what: Literal["help", "queue", "requests", "rules", "usage", "sessions"]


class Do(msgspec.Struct, frozen=True):
    """Something without a word beside it."""

    what: Literal["interrupt", "continue", "fork", "quit"]


class Mistake(msgspec.Struct, frozen=True):
    """It cannot be meant; the text says what can."""

    text: str


class Nothing(msgspec.Struct, frozen=True):
    """An empty line."""


Action = Say | Shell | Change | CancelPrompt | Revoke | Show | Do | Mistake | Nothing


def parse_line(line: str) -> Action:
    """The action that a typed line means."""
    text = line.strip()
    if not text:
        return Nothing()
    if text.startswith("!"):
        command = text[1:].strip()
        return Shell(command) if command else Mistake("write a command behind the !")
    if text.startswith("//"):
        return Say(text[1:])
    if text.startswith("/"):
        name, _, rest = text[1:].partition(" ")
        reader = COMMANDS.get(name)
        if reader is not None:
            return reader(name, rest.strip())
    return Say(line.strip("\n"))


def waits_for_idle(action: Action) -> bool:
    """Whether a script's line waits until the turn is over; what is about the running turn does not."""
    return not (
        isinstance(action, CancelPrompt | Show)
        or (isinstance(action, Do) and action.what == "interrupt")
        or (isinstance(action, Say) and action.when == "steer")
    )


def _change(name: str, rest: str) -> Action:
    if not rest:
        return Mistake(f"write a value: /{name} X")
    return Change(name, rest)  # type: ignore[arg-type]


def _show(name: str, rest: str) -> Action:
    return Mistake(f"/{name} takes nothing behind it") if rest else Show(name)  # type: ignore[arg-type]


def _do(name: str, rest: str) -> Action:
    if rest:
        return Mistake(f"/{name} takes nothing behind it")
    return Do("quit" if name == "exit" else name)  # type: ignore[arg-type]


def _cancel(name: str, rest: str) -> Action:
    if not rest:
        return CancelPrompt()
    if rest.isdecimal() and int(rest) > 0:
        return CancelPrompt(int(rest))
    return Mistake(f"write the number of a prompt in /queue: /{name} 1")


def _revoke(name: str, rest: str) -> Action:
    if rest.isdecimal() and int(rest) > 0:
        return Revoke(int(rest))
    return Mistake(f"write the number of a rule in /rules: /{name} 1")


def _steer(name: str, rest: str) -> Action:
    return Say(rest, "steer") if rest else Mistake(f"write what to say: /{name} TEXT")


COMMANDS: Final[dict[str, Callable[[str, str], Action]]] = {
    **dict.fromkeys(("mode", "model", "effort", "title"), _change),
    **dict.fromkeys(("help", "queue", "requests", "rules", "usage", "sessions"), _show),
    **dict.fromkeys(("interrupt", "continue", "fork", "quit", "exit"), _do),
    "cancel": _cancel,
    "revoke": _revoke,
    "steer": _steer,
}
