"""What to write instead: the nearest known name to one that nobody knows, wherever in the settings it stands. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Final, get_args, get_type_hints

import msgspec

UNKNOWN: Final = re.compile(r"unknown field `([^`]+)`(?: - at `\$([^`]*)`)?")
STEP: Final = re.compile(r"\.([a-z0-9_]+)|\[[^\]]*\]")


class BadSetting(ValueError):
    """A value that a section refuses in its `__post_init__`, with the advice that is shown after the problem."""

    def __init__(self, problem: str, advice: str) -> None:
        self.advice = advice
        super().__init__(problem)


def advise(shape: type, problem: msgspec.ValidationError) -> str:
    """Advice for a problem that msgspec found in a value of that shape."""
    if isinstance(problem.__cause__, BadSetting):
        return problem.__cause__.advice
    match = UNKNOWN.search(str(problem))
    if match is None:
        return "mend the value"
    known = [field.encode_name for field in msgspec.structs.fields(shape_at(shape, match[2] or ""))]
    return nearest(match[1], known) or f"known settings here: {', '.join(known)}"


def nearest(name: str, known: list[str]) -> str:
    """The nearest name as a question; empty when none is near."""
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else ""


def shape_at(shape: type, path: str) -> type[msgspec.Struct]:
    """The struct at a path such as `.http` or `.notify[0]`; the outermost one where it cannot be followed."""
    place: object = shape
    for step in STEP.finditer(path):
        structs = list(_structs(place))
        if step[1] and structs:
            hints = get_type_hints(structs[0], include_extras=False)
            place = hints.get(step[1], structs[0])
    return next(_structs(place), shape)


def _structs(annotation: object) -> Iterator[type[msgspec.Struct]]:
    """The structs that an annotation speaks of, also inside of lists, tables and choices."""
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        yield annotation
    for inner in get_args(annotation):
        yield from _structs(inner)
