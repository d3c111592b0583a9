"""Examples of any struct, made from its own definition: one with the required fields, and ones that fill everything."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import cast

import msgspec
from hypothesis import strategies as st
from msgspec import inspect

RAWS = (msgspec.Raw(b'{"a":1}'), msgspec.Raw(b'[1,"two",null]'), msgspec.Raw(b'"text"'))
NAMES = ("", "a", "b")
"""Few names, so that events drawn at random speak of one another."""


@cache
def struct_info(kind: type) -> inspect.StructType:
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    return info


@cache
def minimal(kind: type) -> object:
    """The struct with its required fields only."""
    fields = {field.name: _full(field.type, field.name) for field in struct_info(kind).fields if field.required}
    return kind(**fields)


@cache
def full(kind: type) -> object:
    """The struct with every field set to something that is not its default."""
    return kind(**{field.name: _full(field.type, field.name) for field in struct_info(kind).fields})


def examples(kind: type) -> Iterator[object]:
    """Minimal, full, and one per member of each union that a field may hold."""
    yield minimal(kind)
    yield full(kind)
    for field in struct_info(kind).fields:
        for member in _members(field.type):
            value = full(member.cls)
            many = isinstance(field.type, inspect.VarTupleType)
            yield msgspec.structs.replace(
                cast("msgspec.Struct", full(kind)), **{field.name: (value,) if many else value}
            )


def _members(kind: inspect.Type) -> Iterator[inspect.StructType]:
    if isinstance(kind, inspect.VarTupleType):
        kind = kind.item_type
    if isinstance(kind, inspect.UnionType):
        yield from (member for member in kind.types if isinstance(member, inspect.StructType))


def _full(kind: inspect.Type, name: str) -> object:
    match kind:
        case inspect.RawType():
            return RAWS[0]
        case inspect.StrType():
            return f"some {name}"
        case inspect.BoolType():
            return True
        case inspect.IntType():
            return 3
        case inspect.FloatType():
            return 2.5
        case inspect.LiteralType(values=values):
            return max(values, key=str)
        case inspect.StructType(cls=cls):
            return full(cls)
        case inspect.VarTupleType(item_type=member):
            return (_full(member, name),)
        case inspect.ListType(item_type=member):
            return [_full(member, name)]
        case inspect.DictType(key_type=key, value_type=value):
            return {_full(key, name): _full(value, name)}
        case inspect.UnionType(types=members):
            return _full(next(member for member in members if not isinstance(member, inspect.NoneType)), name)
    raise TypeError(f"no example of {kind!r}")


def values(kind: inspect.Type) -> st.SearchStrategy[object]:
    """Any value of the type, from few names and small numbers."""
    match kind:
        case inspect.RawType():
            return st.sampled_from(RAWS)
        case inspect.StrType():
            return st.sampled_from(NAMES)
        case inspect.BoolType():
            return st.booleans()
        case inspect.IntType():
            return st.integers(min_value=0, max_value=2)
        case inspect.FloatType():
            return st.sampled_from((0.1, 0.25, 7.0))
        case inspect.NoneType():
            return st.none()
        case inspect.LiteralType(values=words):
            return st.sampled_from(words)
        case inspect.StructType(cls=cls):
            return structs(cls)
        case inspect.VarTupleType(item_type=member):
            return st.lists(values(member), max_size=2).map(tuple)
        case inspect.ListType(item_type=member):
            return st.lists(values(member), max_size=2)
        case inspect.DictType(key_type=key, value_type=value):
            return st.dictionaries(values(key), values(value), max_size=2)
        case inspect.UnionType(types=members):
            return st.one_of([values(member) for member in members])
    raise TypeError(f"no values of {kind!r}")


@cache
def structs(kind: type) -> st.SearchStrategy[object]:
    """Any struct of the kind; a field that has a default often keeps it."""
    fields = {field.name: _field(field) for field in struct_info(kind).fields}
    return st.builds(kind, **fields)


def _field(field: inspect.Field) -> st.SearchStrategy[object]:
    if field.required:
        return values(field.type)
    default = field.default_factory() if field.default is msgspec.NODEFAULT else field.default
    return st.one_of(st.just(default), values(field.type))
