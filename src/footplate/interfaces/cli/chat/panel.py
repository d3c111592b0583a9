"""The rows below the text: what is being written, what is asked, the status, the line being typed. Pure."""

from __future__ import annotations

from footplate.interfaces.cli.chat.asking import Dialogue
from footplate.interfaces.cli.chat.editor import LineEditor
from footplate.interfaces.cli.chat.room import Room
from footplate.interfaces.cli.chat.status import status_line
from footplate.interfaces.cli.chat.text import Line, rows_of
from footplate.interfaces.cli.lines import paint

NOT_YET = "something is asked of you"


def draw_panel(
    room: Room, editor: LineEditor, columns: int, *, armed: bool, color: bool, now: float
) -> tuple[tuple[str, ...], int]:
    """The rows, and the column of the cursor in the last of them."""
    rows: list[str] = []
    partial = room.transcript.partial
    if partial is not None:
        rows += rows_of(partial, columns, color=color)
    dialogue = room.dialogue
    if dialogue is not None:
        rows += rows_of(Line(_hint(room, dialogue, editor, armed=armed), "warning"), columns, color=color)
    rows.append(paint(status_line(room.view, columns, now), "dim", color=color))
    mark = "? " if dialogue is not None and dialogue.wants_text else "> "
    text, column = editor.window(columns - len(mark))
    return (*rows, mark + text), column + len(mark)


def _hint(room: Room, dialogue: Dialogue, editor: LineEditor, *, armed: bool) -> str:
    several = f" (1 of {room.open_requests})" if room.open_requests > 1 else ""
    several += " - its process is gone, the answer starts another" if room.asked_detached else ""
    if dialogue.sent or dialogue.wants_text:
        return dialogue.hint() + several
    if editor.text:
        return f"{NOT_YET}{several}: empty the line (Ctrl-U) to answer by key"
    return (dialogue.hint() if armed else NOT_YET) + several
