"""Reading what may not fit: a value or None, and a struct with whatever of its fields can be read."""

from __future__ import annotations

from types import UnionType
from typing import TypeVar, Union, get_args, get_origin

import msgspec

from footplate.engines.claude.wire import FIELDS, TEXT, UNREADABLE, Line

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)

NULL = b"null"


def read(decoder: msgspec.json.Decoder[T], raw: msgspec.Raw | bytes | None) -> T | None:
    """The value, or None when there is none or it does not fit."""
    if raw is None:
        return None
    try:
        return decoder.decode(raw)
    except UNREADABLE:
        return None


def read_struct(decoder: msgspec.json.Decoder[S], raw: msgspec.Raw | bytes | None) -> S | None:
    """The struct; when a field does not fit, the struct without that field; None when it is no object at all."""
    value = read(decoder, raw)
    return value if value is not None or raw is None else rescue(decoder, raw)


def read_whole(decoder: msgspec.json.Decoder[S], raw: msgspec.Raw | bytes | None) -> tuple[S | None, bool]:
    """The struct as far as it can be read, and whether that is the whole of it: what is not must be kept as it came."""
    value = read(decoder, raw)
    return (value, True) if value is not None or raw is None else (rescue(decoder, raw), False)


def rescue(decoder: msgspec.json.Decoder[S], raw: msgspec.Raw | bytes) -> S | None:
    """Build a struct field by field, leaving out what does not fit."""
    fields = read(FIELDS, raw)
    return None if fields is None else _build(decoder.type, fields)


def read_leniently(raw: bytes) -> Line | None:
    """A line that did not fit its struct, as far as it can be read; None when it is none of ours."""
    fields = read(FIELDS, raw)
    kind = None if fields is None else read(TEXT, fields.get("type"))
    cls = None if kind is None else _CLASSES.get(kind)
    return None if cls is None or fields is None else _build(cls, fields)


def present(raw: msgspec.Raw | None) -> msgspec.Raw | None:
    """The JSON, or None when it is absent or null."""
    return None if raw is None or (size_of(raw) == len(NULL) and bytes(raw) == NULL) else raw


def size_of(raw: msgspec.Raw) -> int:
    """How many bytes of JSON this is."""
    return memoryview(raw).nbytes


def _build(cls: type[S], fields: dict[str, msgspec.Raw]) -> S:
    known: dict[str, object] = {}
    for field in msgspec.structs.fields(cls):
        raw = fields.get(field.encode_name)
        if raw is not None:
            _take(known, field, raw)
    return cls(**known)


def _take(known: dict[str, object], field: msgspec.structs.FieldInfo, raw: msgspec.Raw) -> None:
    if field.type is msgspec.Raw:
        known[field.name] = raw
        return
    try:
        known[field.name] = msgspec.json.decode(raw, type=field.type)
    except UNREADABLE:
        nested = _struct_in(field.type)
        inner = None if nested is None else read(FIELDS, raw)
        if nested is not None and inner is not None:
            known[field.name] = _build(nested, inner)


def _struct_in(annotation: object) -> type[msgspec.Struct] | None:
    """The struct class in an annotation such as `Delta` or `Delta | None`."""
    choices = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    for candidate in choices:
        if isinstance(candidate, type) and issubclass(candidate, msgspec.Struct):
            return candidate
    return None


_CLASSES: dict[str, type[Line]] = {str(cls.__struct_config__.tag): cls for cls in get_args(Line)}
