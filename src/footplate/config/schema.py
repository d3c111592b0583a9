"""The JSON Schema of the settings file, for editors. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from footplate.config.settings import CommonSettings, Settings

Json = dict[str, object]
SCHEMA: Final = "https://json-schema.org/draft/2020-12/schema"
SECRET: Final = "FromElsewhere"


def settings_schema(sections: Mapping[str, type[msgspec.Struct]]) -> Json:
    """The whole file: our own sections, and those of the engines whose shapes are given; of others anything."""
    kinds = [Settings, CommonSettings, *sections.values()]
    found, components = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}", schema_hook=_anything)
    names = [str(each["$ref"]).rpartition("/")[2] for each in found]
    shapes = {name: _loosened(shape) for name, shape in components.items()}
    common = shapes.pop(names[1])
    for name in names[2:]:
        shapes[name] = {**shapes[name], "properties": {**_fields(common), **_fields(shapes[name])}}
    root = shapes.pop(names[0])
    engines = dict(zip(sections, names[2:], strict=True))
    root_fields = _fields(root)
    root_fields["engines"] = {
        "type": "object",
        "properties": {engine: {"$ref": f"#/$defs/{name}"} for engine, name in engines.items()},
        "additionalProperties": {"type": "object"},
    }
    shapes[SECRET] = {
        "description": "a value that stands in a variable, or in a file",
        "oneOf": [_one_of("env", "the name of the variable"), _one_of("file", "its path; `~/` is the home")],
    }
    return {"$schema": SCHEMA, "title": "Footplate settings", **root, "properties": root_fields, "$defs": shapes}


def _one_of(name: str, meaning: str) -> Json:
    field = {"type": "string", "description": meaning}
    return {"type": "object", "properties": {name: field}, "required": [name], "additionalProperties": False}


def _fields(shape: Json) -> Json:
    fields = shape.get("properties", {})
    if not isinstance(fields, dict):
        raise TypeError("a section is an object")
    return dict(fields)


def _loosened(shape: Json) -> Json:
    """A text may also be a reference to where it stands."""
    fields = _fields(shape)
    for name, field in fields.items():
        if isinstance(field, dict) and field.get("type") == "string" and "enum" not in field:
            kept = {key: field[key] for key in ("description", "default", "title") if key in field}
            text = {key: value for key, value in field.items() if key not in kept}
            fields[name] = {**kept, "anyOf": [text, {"$ref": f"#/$defs/{SECRET}"}]}
    return {**shape, "properties": fields}


def _anything(kind: type) -> Json:
    if kind is object:
        return {"description": "any value"}
    raise NotImplementedError(f"no schema for {kind}")
