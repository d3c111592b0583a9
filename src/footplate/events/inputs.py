"""What a permission is about, in parts that a surface can draw: the command, the changes of files, all other fields.

What else the agent shows of a call (links, pictures, files, unknown blocks) follows the fields of the input, in words.
Nothing of the input is left out. A field is missing from `fields` only where another part shows the same text in the
same role: the command, the description that every surface prints, or the path, the kind or a text of a change. The twin
of the page is `web/src/ui/requests/input_parts.ts`; `tests/fixtures/events/inputs.json` holds the cases for both.
"""

from __future__ import annotations

from typing import Final, assert_never

import msgspec

from footplate.events.content import (
    ContentBlock,
    DiffBlock,
    ImageBlock,
    OtherBlock,
    ResourceBlock,
    TerminalBlock,
    TextBlock,
)
from footplate.events.requests import Allow, Answer, Request, RequestState
from footplate.events.tools import CommandDetail, FileChange, FileChangeDetail, Hunk
from footplate.events.wording import format_size

Json = None | bool | int | msgspec.Raw | str | list["Json"] | dict[str, "Json"]
READ: Final = msgspec.json.Decoder(float_hook=lambda text: msgspec.Raw(text.encode()))
"""A number with a fraction or an exponent stays as it is written: a float cannot hold every one, such as 1e400."""

WHOLE: Final = "input"
"""The name of the one field of an input that is no object."""


ROLES: Final = frozenset(
    (
        *("path", "file_path", "filePath", "notebook_path", "move_path"),
        *("content", "file_text", "new_source", "diff"),
        *("old_string", "oldString", "old_str", "new_string", "newString", "new_str"),
    )
)
"""What tools call the path and the texts of a change."""


class InputField(msgspec.Struct, frozen=True, gc=False):
    """One field of the input; a value that is no text is written as JSON."""

    name: str
    text: str


class InputParts(msgspec.Struct, frozen=True, kw_only=True):
    """What a request shows. `command` and `changes` come from the engine's detail, `fields` from input and content."""

    command: str = ""
    changes: tuple[FileChange, ...] = ()
    fields: tuple[InputField, ...] = ()

    @property
    def text(self) -> str:
        """All texts of the input, for its size."""
        changed = (text for change in self.changes for text in _texts(change))
        parts = (self.command, *changed, *(field.text for field in self.fields))
        return "\n".join(text.removesuffix("\n") for text in parts if text)


def split_input(request: Request) -> InputParts:
    """The parts of what a request asks to allow."""
    given = _read(request)
    command = _command(request, given)
    changes = request.detail.changes if isinstance(request.detail, FileChangeDetail) else ()
    try:
        fields = _fields(given, _Shown(command, request.description, changes))
    except RecursionError:
        fields = (InputField(WHOLE, _text(request)),)
    shown = tuple(describe_block(block) for block in request.content)
    return InputParts(command=command, changes=changes, fields=fields + shown)


def change_request(request: Request, answer: Answer | None, state: RequestState) -> Request | None:
    """What runs in place of the request: the input that the answer gave.

    None where the answer changed nothing, and where nothing is known to run: a request can end with an answer that the
    agent refused or never used.
    The detail of a change of files is that of the input that was asked for, so the new input shows each of its fields.
    """
    runs = state in ("answered", "applied")
    if not runs or not isinstance(answer, Allow) or answer.updated_input is None:
        return None
    detail = None if isinstance(request.detail, FileChangeDetail) else request.detail
    return msgspec.structs.replace(request, title="", input=answer.updated_input, detail=detail, content=())


def describe_block(block: ContentBlock) -> InputField:
    """A block of content in words: what it is, where it points to, the text in it; an unknown one as JSON."""
    match block:
        case ImageBlock():
            return InputField("picture", _lines(block.media_type, _size(block.data), block.uri))
        case ResourceBlock():
            name = block.name if block.name != block.uri else ""
            kind = "file" if block.text or block.data else "link"
            return InputField(kind, _lines(name, block.uri, block.media_type, _size(block.data), block.text))
        case OtherBlock():
            return InputField(block.kind or "content", _pretty(block.raw))
        case TextBlock() | DiffBlock() | TerminalBlock():
            return InputField("content", _pretty(msgspec.json.encode(block)))
        case _:
            assert_never(block)


def _lines(*texts: str) -> str:
    return "\n".join(text for text in texts if text)


def _size(data: str) -> str:
    """The size of what is in base64."""
    return format_size(len(data.rstrip("=")) * 3 // 4) if data else ""


def _pretty(raw: bytes | msgspec.Raw) -> str:
    try:
        return msgspec.json.format(bytes(raw), indent=2).decode("utf-8", "replace")
    except RecursionError:
        return bytes(raw).decode("utf-8", "replace")


class _Shown:
    """The texts that a surface draws outside of `fields`, by the role that a field must have to be the same."""

    def __init__(self, command: str, description: str, changes: tuple[FileChange, ...]) -> None:
        drawn = (text for change in changes for text in _shown(change))
        none: tuple[None, ...] = (None,) if changes else ()  # a change may have no path and no text of that name
        texts = frozenset[str | None]((*none, *filter(None, drawn)))
        kinds = frozenset[str | None](change.kind for change in changes)
        self._named: dict[str, frozenset[str | None]] = {
            "command": frozenset(filter(None, (command,))),
            "description": frozenset(filter(None, (description,))),
            **dict.fromkeys(ROLES, texts),
            **dict.fromkeys(("type", "kind"), kinds),
        }

    def has(self, name: str, value: str | None) -> bool:
        """Whether a field of that name with that value is shown already."""
        return value in self._named.get(name, ())


def _read(request: Request) -> Json:
    try:
        value: Json = READ.decode(request.input) if request.input is not None else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = _text(request)
    return value


def _text(request: Request) -> str:
    return bytes(request.input or b"").decode("utf-8", "replace")


def _command(request: Request, given: Json) -> str:
    """The command that runs. A title is none: an agent may write there what it pleases."""
    if not isinstance(request.detail, CommandDetail | None):
        return ""
    own = given.get("command") if isinstance(given, dict) else None
    if isinstance(own, str):
        return own
    return request.detail.command if given is None and request.detail is not None else ""


def _texts(change: FileChange) -> list[str]:
    if change.hunks:
        return [_patch(change)]
    return [text for text in (change.old_text, change.new_text) if text]


def _patch(change: FileChange, *, short: bool = False) -> str:
    """The hunks as the text that they were read from; `short` leaves out a length of one line, as some tools do."""
    return "".join(_head(hunk, short=short) + "".join(f"{line}\n" for line in hunk.lines) for hunk in change.hunks)


def _head(hunk: Hunk, *, short: bool) -> str:
    before = _span(hunk.old_start, hunk.old_lines, short=short)
    return f"@@ -{before} +{_span(hunk.new_start, hunk.new_lines, short=short)} @@\n"


def _span(start: int, lines: int, *, short: bool) -> str:
    return f"{start}" if short and lines == 1 else f"{start},{lines}"


def _shown(change: FileChange) -> list[str]:
    """Every text that a drawn change contains."""
    patches = [_patch(change), _patch(change, short=True)] if change.hunks else []
    patches += [patch.removesuffix("\n") for patch in patches]
    return [change.path, change.moved_to, *(patches or _texts(change))]


def _fields(given: Json, shown: _Shown) -> tuple[InputField, ...]:
    if given is None:
        return ()
    if not isinstance(given, dict):
        return (InputField(WHOLE, _write(given)),)
    left = ((name, _without(name, value, shown)) for name, value in given.items())
    return tuple(InputField(name, _write(value)) for name, value in left if not isinstance(value, msgspec.UnsetType))


def _without(name: str, value: Json, shown: _Shown) -> Json | msgspec.UnsetType:
    """The value of a field without what is shown elsewhere; `UNSET` when nothing remains."""
    if isinstance(value, str | None):
        return msgspec.UNSET if shown.has(name, value) else value
    if isinstance(value, list):
        kept = [_without(name, member, shown) for member in value]
        if value and all(member is msgspec.UNSET for member in kept):
            return msgspec.UNSET
        return [None if isinstance(member, msgspec.UnsetType) else member for member in kept]
    if isinstance(value, dict):
        members = ((inner, _without(inner, member, shown)) for inner, member in value.items())
        left = {inner: member for inner, member in members if not isinstance(member, msgspec.UnsetType)}
        return left if left or not value else msgspec.UNSET
    return value


def _write(value: Json) -> str:
    return value if isinstance(value, str) else msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
