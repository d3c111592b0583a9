"""Markdown of an agent as text with entities. Pure; what has no form there is shown as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from footplate.chat.drawing.rich import Rich, plain, units
from footplate.chat.model import Entity

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LINKS: Final = ("http://", "https://", "tg://")
SPANS: Final = {"strong": "bold", "em": "italic", "s": "strikethrough"}
BREAK: Final = "\n"
PARAGRAPH: Final = "\n\n"


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415  - dear to import, and only who draws needs it

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def render_markdown(text: str) -> Rich:
    """The text with its formatting."""
    if not any(mark in text for mark in "*_`#[]>|-+~\\&!<=") and not text[:1].isdigit() and PARAGRAPH not in text:
        return plain(text.strip())
    return _Drawer().draw(_parser().parse(text))


class _Drawer:
    """Tokens in, text and spans out."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._entities: list[Entity] = []
        self._open: list[tuple[str, int, str]] = []
        self._lists: list[int | None] = []
        self._gap = ""
        self._fresh = False
        self._cells: list[list[str]] | None = None

    def draw(self, tokens: Sequence[Token]) -> Rich:
        for token in tokens:
            handler = _TABLE.get(token.type)
            if handler is not None:
                handler(self, token)
            elif token.content:
                self._write(token.content)
        return Rich("".join(self._pieces), tuple(sorted(self._entities, key=lambda each: (each.offset, -each.length))))

    # ------------------------------------------------------------------------------------------- writing

    def _write(self, text: str) -> None:
        if not text:
            return
        gap = self._gap if self._pieces else ""
        self._gap, self._fresh = "", False
        for piece in (gap, text):
            if piece:
                self._pieces.append(piece)
                self._length += units(piece)

    def _part(self, gap: str) -> None:
        """Let the next text stand apart, unless it is the first behind the mark of a list."""
        if not self._fresh:
            self._gap = max(self._gap, gap, key=len)

    def _begin(self, kind: str, url: str = "") -> None:
        self._open.append((kind, self._length + (units(self._gap) if self._pieces else 0), url))

    def _end(self, kind: str) -> None:
        for index in range(len(self._open) - 1, -1, -1):
            if self._open[index][0] == kind:
                _, offset, url = self._open.pop(index)
                self._mark(kind, offset, url=url)
                return

    def _mark(self, kind: str, offset: int, *, url: str = "", language: str = "") -> None:
        if self._length > offset:
            length = self._length - offset
            self._entities.append(Entity(type=kind, offset=offset, length=length, url=url, language=language))

    def _verbatim(self, kind: str, text: str, language: str = "") -> None:
        """Code: it may not lie within other spans, so those are closed before it and go on behind it."""
        around = list(self._open)
        for name, offset, url in around:
            if name != "blockquote":
                self._mark(name, offset, url=url)
        offset = self._length + (units(self._gap) if self._pieces else 0)
        self._write(text)
        self._mark(kind, offset, language=language)
        self._open = [(name, at if name == "blockquote" else self._length, url) for name, at, url in around]

    # -------------------------------------------------------------------------------------------- blocks

    def inline(self, token: Token) -> None:
        if self._cells is not None:
            self._cells[-1].append(token.content)
            return
        for child in token.children or ():
            handler = _TABLE.get(child.type)
            if handler is not None:
                handler(self, child)
            else:
                self._write(child.content)

    def paragraph(self, token: Token) -> None:
        self._part(BREAK if token.hidden or self._lists else PARAGRAPH)

    def heading(self, token: Token) -> None:
        if token.nesting > 0:
            self._part(PARAGRAPH)
            self._begin("bold")
        else:
            self._end("bold")
            self._part(PARAGRAPH)

    def list(self, token: Token) -> None:
        if token.nesting > 0:
            start = token.attrGet("start")
            first = int(start) if start is not None else 1
            self._lists.append(first if token.type.startswith("ordered") else None)
        else:
            self._lists.pop()
        self._part(BREAK if self._lists[: -1 if token.nesting > 0 else None] else PARAGRAPH)

    def item(self, token: Token) -> None:
        self._part(BREAK)
        if token.nesting < 0:
            return
        number = self._lists[-1]
        mark = "- " if number is None else f"{number}. "
        if number is not None:
            self._lists[-1] = number + 1
        self._write("  " * (len(self._lists) - 1) + mark)
        self._fresh = True

    def quote(self, token: Token) -> None:
        self._part(PARAGRAPH)
        if token.nesting > 0:
            self._begin("blockquote")
        else:
            self._end("blockquote")
            self._part(PARAGRAPH)

    def fence(self, token: Token) -> None:
        self._part(BREAK if self._lists else PARAGRAPH)
        self._verbatim("pre", token.content.rstrip("\n") or " ", token.info.split(" ")[0][:32])
        self._part(BREAK if self._lists else PARAGRAPH)

    def rule(self, _token: Token) -> None:
        self._part(PARAGRAPH)
        self._write("———")
        self._part(PARAGRAPH)

    # --------------------------------------------------------------------------------------------- table

    def table(self, token: Token) -> None:
        if token.nesting > 0:
            self._cells = []
            return
        rows, self._cells = self._cells or [], None
        widths = [max(len(row[column]) for row in rows if column < len(row)) for column in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)) for row in rows]
        lines.insert(1, "  ".join("-" * width for width in widths))
        self._part(PARAGRAPH)
        self._verbatim("pre", "\n".join(line.rstrip() for line in lines))
        self._part(PARAGRAPH)

    def row(self, token: Token) -> None:
        if token.nesting > 0 and self._cells is not None:
            self._cells.append([])

    # -------------------------------------------------------------------------------------------- inline

    def text(self, token: Token) -> None:
        self._write(token.content)

    def new_line(self, _token: Token) -> None:
        self._write(BREAK + "  " * len(self._lists))

    def code(self, token: Token) -> None:
        self._verbatim("code", token.content)

    def span(self, token: Token) -> None:
        kind = SPANS[token.tag]
        self._begin(kind) if token.nesting > 0 else self._end(kind)

    def link(self, token: Token) -> None:
        if token.nesting < 0:
            self._end("text_link")
            return
        url = str(token.attrGet("href") or "")
        if url.startswith(LINKS):
            self._begin("text_link", url)

    def image(self, token: Token) -> None:
        url = str(token.attrGet("src") or "")
        label = token.content or "image"
        if url.startswith(LINKS):
            self._begin("text_link", url)
            self._write(label)
            self._end("text_link")
        else:
            self._write(label)

    def nothing(self, _token: Token) -> None:
        """Nothing to see."""


_Handler = Callable[[_Drawer, "Token"], None]


def _both(name: str, handler: _Handler) -> dict[str, _Handler]:
    return {f"{name}_open": handler, f"{name}_close": handler}


_TABLE: Final[dict[str, _Handler]] = {
    "inline": _Drawer.inline,
    "text": _Drawer.text,
    "softbreak": _Drawer.new_line,
    "hardbreak": _Drawer.new_line,
    "code_inline": _Drawer.code,
    "image": _Drawer.image,
    "fence": _Drawer.fence,
    "code_block": _Drawer.fence,
    "hr": _Drawer.rule,
    **_both("paragraph", _Drawer.paragraph),
    **_both("heading", _Drawer.heading),
    **_both("bullet_list", _Drawer.list),
    **_both("ordered_list", _Drawer.list),
    **_both("list_item", _Drawer.item),
    **_both("blockquote", _Drawer.quote),
    **_both("table", _Drawer.table),
    **_both("tr", _Drawer.row),
    **_both("thead", _Drawer.nothing),
    **_both("tbody", _Drawer.nothing),
    **_both("th", _Drawer.nothing),
    **_both("td", _Drawer.nothing),
    **_both("strong", _Drawer.span),
    **_both("em", _Drawer.span),
    **_both("s", _Drawer.span),
    **_both("link", _Drawer.link),
}
