"""Make hidden and text-reordering characters visible.

A person approves what they see. A bidirectional control can draw `rm -rf /` in another order, a zero-width or tag
character can carry words that no screen shows, and an escape character can move the cursor of a terminal. Every surface
passes the texts of a request through `show_hidden` before it draws them; JSON outputs keep the exact text.

The table lists code points itself because Python, Node and browsers each ship another version of Unicode. The page has
a generated copy of it (`web/src/api/hidden.ts`); `tests/fixtures/events/visible.json` holds the cases for both.
"""

from __future__ import annotations

import re
from typing import Final

HIDDEN: Final[tuple[tuple[int, int], ...]] = (
    (0x0000, 0x0008),  # C0 controls, without tab and line feed; the carriage return is matched separately
    (0x000B, 0x000C),
    (0x000E, 0x001F),
    (0x007F, 0x00A0),  # delete, C1 controls, no-break space
    (0x00AD, 0x00AD),  # soft hyphen
    (0x034F, 0x034F),  # combining grapheme joiner
    (0x0600, 0x0605),  # Arabic number signs
    (0x061C, 0x061C),  # Arabic letter mark
    (0x06DD, 0x06DD),
    (0x070F, 0x070F),
    (0x0890, 0x0891),
    (0x08E2, 0x08E2),
    (0x115F, 0x1160),  # Hangul fillers
    (0x1680, 0x1680),  # Ogham space
    (0x17B4, 0x17B5),  # Khmer vowels without a glyph
    (0x180B, 0x180F),  # Mongolian variation selectors and vowel separator
    (0x2000, 0x200F),  # spaces, zero-width characters, left-to-right and right-to-left marks
    (0x2028, 0x202F),  # line and paragraph separators, bidi embeddings and overrides, narrow no-break space
    (0x205F, 0x206F),  # mathematical space, word joiner, invisible operators, bidi isolates
    (0x2800, 0x2800),  # braille blank
    (0x2D7F, 0x2D7F),  # Tifinagh joiner, drawn as nothing
    (0x3000, 0x3000),  # ideographic space
    (0x3164, 0x3164),  # Hangul filler
    (0xD800, 0xDFFF),  # lone surrogates
    (0xFE00, 0xFE0F),  # variation selectors
    (0xFEFF, 0xFEFF),  # byte order mark
    (0xFFA0, 0xFFA0),  # halfwidth Hangul filler
    (0xFFF0, 0xFFFC),  # unassigned and ignorable, interlinear marks, the place of an object that is not there
    (0x1107F, 0x1107F),  # Brahmi number joiner
    (0x110BD, 0x110BD),  # Kaithi number signs
    (0x110CD, 0x110CD),
    (0x13430, 0x13442),  # Egyptian hieroglyph format controls, mirror mark and blanks
    (0x16FE4, 0x16FE4),  # Khitan filler
    (0x1BC9D, 0x1BC9D),  # Duployan selector
    (0x1BCA0, 0x1BCA3),  # shorthand format controls
    (0x1D159, 0x1D159),  # musical null note head
    (0x1D173, 0x1D17A),  # musical format controls
    (0xE0000, 0xE0FFF),  # tags and further variation selectors
)
"""Ranges of code points that are drawn as nothing, as a blank, or that change how their neighbours are drawn."""

PLAIN_ASCII: Final = b"\t\n" + bytes(range(0x20, 0x7F))
_HIDDEN: Final = re.compile(
    "\r(?!\n)|[" + "".join(f"{re.escape(chr(first))}-{re.escape(chr(last))}" for first, last in HIDDEN) + "]"
)
_BLANKS: Final = re.compile(r"[\t\r\n]|\A +| +\Z| {2,}")


def show_hidden(text: str) -> str:
    """Return the text with each hidden character written as its code point, such as `⟨U+202E⟩`.

    Line feeds, tabs and a carriage return directly before a line feed stay as they are.
    """
    if text.isascii() and not text.encode("ascii").translate(None, PLAIN_ASCII):
        return text
    return _HIDDEN.sub(lambda match: name_code_point(match[0]), text)


def show_exact(text: str) -> str:
    """Return a path, a name or a label on one line so that no two of them look the same.

    Beside hidden characters, tabs, line breaks and blanks that are leading, trailing or side by side are code points.
    """
    return _BLANKS.sub(lambda match: "".join(map(name_code_point, match[0])), show_hidden(text))


def name_code_point(char: str) -> str:
    """Return the character's code point in the form that `show_hidden` writes."""
    return f"⟨U+{ord(char):04X}⟩"


def show_line(text: str) -> str:
    """Return the text on one line, with hidden characters visible: for titles and other short facts."""
    return " ".join(show_hidden(text).split())
