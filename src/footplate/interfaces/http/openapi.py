"""Our API as OpenAPI 3.1: made from the routes and the structs they take and answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from footplate.interfaces.http.problem import MEDIA, Problem
from footplate.interfaces.http.routing import JSON, SOCKET, Route
from footplate.interfaces.http.sse import MEDIA as STREAM
from footplate.version import __version__

Json = dict[str, object]
REF: Final = "#/components/schemas/{name}"
WORDS: Final = {
    200: "Done",
    201: "Made",
    202: "Accepted",
    204: "Done, nothing to tell",
    400: "A value that cannot be used",
    401: "No token, or not a known one",
    403: "The token, the page or the name may not",
    404: "No such thing",
    409: "Not as things stand",
    410: "Gone",
    413: "Too large",
    415: "Another content type is wanted",
    422: "Another shape is wanted",
    500: "Something broke",
    502: "The agent is gone, or broke",
    503: "Not now, or not here",
    504: "The agent does not answer",
}


def build_openapi(routes: Sequence[Route]) -> Json:
    """The whole document."""
    shown = [route for route in routes if route.listed and route.method != SOCKET]
    kinds: list[object] = [Problem]
    for route in shown:
        kinds += [kind for kind in (route.query, route.body, route.answer) if kind is not None]
    schemas, components = msgspec.json.schema_components(kinds, ref_template=REF, schema_hook=_anything)
    found = dict(zip(map(id, kinds), schemas, strict=True))
    paths: dict[str, Json] = {}
    for route in shown:
        path = re.sub(r"\.\.\.}", "}", route.path)
        paths.setdefault(path, {})[route.method.lower()] = _operation(route, found, components)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Footplate",
            "version": __version__,
            "description": "Run coding agents and drive them from anywhere.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"token": []}],
        "tags": [{"name": tag} for tag in dict.fromkeys(route.tag for route in shown)],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": dict(sorted(components.items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _anything(kind: type) -> Json:
    """The schema of a value whose shape is not ours."""
    if kind is object:
        return {"description": "any JSON"}
    raise NotImplementedError(f"no schema for {kind}")


def render_openapi(routes: Sequence[Route]) -> bytes:
    """The document as pretty JSON."""
    return msgspec.json.format(msgspec.json.encode(build_openapi(routes)), indent=2) + b"\n"


def _operation(route: Route, schemas: dict[int, Json], components: dict[str, Json]) -> Json:
    operation: Json = {
        "operationId": f"{route.method.lower()}_{re.sub(r'[^a-z0-9]+', '_', route.path.lower()).strip('_')}",
        "summary": route.summary,
        "tags": [route.tag],
        "responses": {str(status): answer for status, answer in sorted(_responses(route, schemas).items())},
    }
    if route.scope is None:
        operation["security"] = []
    else:
        operation["x-scope"] = route.scope
    parameters = [*_path_parameters(route), *_query_parameters(route, schemas, components)]
    if route.media == STREAM:
        number: Json = {"type": "string", "pattern": r"^[0-9]{1,18}(\.[0-9]{1,18})?$"}
        parameters.append({"name": "Last-Event-ID", "in": "header", "required": False, "schema": number})
    if parameters:
        operation["parameters"] = parameters
    if route.body is not None:
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": schemas[id(route.body)]}}}
    elif route.raw_body:
        operation["requestBody"] = {"required": True, "content": {route.takes: {}}}
    return operation


def _responses(route: Route, schemas: dict[int, Json]) -> dict[int, Json]:
    done: Json = {"description": WORDS.get(route.status, "Done")}
    if route.status >= 400:
        done["content"] = {MEDIA: {"schema": schemas[id(Problem)]}}
    elif route.answer is not None:
        done["content"] = {JSON: {"schema": schemas[id(route.answer)]}}
    elif route.media != JSON or route.status == 200:
        done["content"] = {route.media: {}} | ({JSON: {}} if route.media == STREAM else {})
    found: dict[int, Json] = {route.status: done}
    found |= {status: {"description": WORDS.get(status, "Done")} for status in route.also}
    problem = {MEDIA: {"schema": schemas[id(Problem)]}}
    for status in _refusals(route):
        found.setdefault(status, {"description": WORDS.get(status, "Refused"), "content": problem})
    return found


def _refusals(route: Route) -> tuple[int, ...]:
    always = (400, 403) if route.scope is None else (400, 401, 403)
    with_body = (413, 415, 422) if route.body is not None else (413,) if route.raw_body else ()
    return (*always, *with_body, *route.problems)


def _path_parameters(route: Route) -> list[Json]:
    names = re.findall(r"{([a-z_]+)(?:\.\.\.)?}", route.path)
    return [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]


def _query_parameters(route: Route, schemas: dict[int, Json], components: dict[str, Json]) -> list[Json]:
    if route.query is None:
        return []
    name = str(schemas[id(route.query)]["$ref"]).rpartition("/")[2]
    shape = components[name]
    properties = shape.get("properties", {})
    required = shape.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list):
        raise TypeError(f"the schema of {name} is no object")
    return [
        {"name": each, "in": "query", "required": each in required, "schema": _without_null(schema)}
        for each, schema in properties.items()
    ]


def _without_null(schema: Json) -> Json:
    """A query has no null: a parameter that may be absent is absent."""
    choices = schema.get("anyOf")
    if not isinstance(choices, list):
        return {key: value for key, value in schema.items() if key != "default" or value is not None}
    rest = [choice for choice in choices if choice != {"type": "null"}]
    return rest[0] if len(rest) == 1 else {"anyOf": rest}
