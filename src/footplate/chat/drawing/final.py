"""The final message: header, answer, footer; in one part, trimmed, or in several. Pure."""

from __future__ import annotations

from typing import Final, Literal

from footplate.chat.drawing.markdown import render_markdown
from footplate.chat.drawing.progress import Progress, draw_header
from footplate.chat.drawing.rich import TEXT_LIMIT, Rich, join, split, trim, units
from footplate.chat.model import Content, Keyboard

Overflow = Literal["split", "trim"]
TRIMMED: Final = 3500
SPARE: Final = 40
"""What `continued (i/n)` may take."""


def draw_final(
    progress: Progress, answer: str, *, overflow: Overflow, keyboard: Keyboard = (), limit: int = TEXT_LIMIT
) -> tuple[Content, ...]:
    """The answer as messages, each within the limit of the service; every part has header and footer."""
    header, footer = draw_header(progress), progress.footer.draw()
    body = render_markdown(answer)
    room = limit - units(header.text) - units(footer.text) - SPARE
    if overflow == "trim":
        return (_content(join("\n\n", (header, trim(body, min(TRIMMED, room)), footer)), keyboard),)
    parts = split(body, room)
    if len(parts) == 1:
        return (_content(join("\n\n", (header, parts[0], footer)), keyboard),)
    return tuple(
        _content(
            join("\n\n", (header if number == 1 else _continued(progress, number, len(parts)), part, footer)),
            keyboard if number == len(parts) else (),
        )
        for number, part in enumerate(parts, 1)
    )


def _continued(progress: Progress, number: int, count: int) -> Rich:
    return draw_header(progress, addition=f"continued ({number}/{count})")


def _content(rich: Rich, keyboard: Keyboard) -> Content:
    return Content(text=rich.text, entities=rich.entities, keyboard=keyboard)
