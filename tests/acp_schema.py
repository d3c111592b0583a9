"""The published schema of ACP as a judge: every message that we send must be one that it allows."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

SCHEMA = json.loads(
    (Path(__file__).resolve().parent.parent / "scripts" / "acp_schema" / "v1.unstable.json").read_text()
)
DEFS: dict[str, Any] = SCHEMA["$defs"]
SENT = {
    (definition["x-side"], definition["x-method"]): name
    for name, definition in DEFS.items()
    if "x-method" in definition and name.endswith(("Request", "Notification"))
}
ANSWERED = {
    definition["x-method"]: name
    for name, definition in DEFS.items()
    if "x-method" in definition and name.endswith("Response")
}


@cache
def _validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": DEFS})


def check(name: str, value: object) -> None:
    """Fail unless the value is what the schema calls by that name."""
    _validator(name).validate(value)


def check_sent(method: str, params: object) -> None:
    """Fail unless an agent may send this to a client; methods of our own are not judged."""
    if not method.startswith("_"):
        side = "protocol" if method.startswith("$/") else "client"
        check(SENT[side, method], params)


def check_answer(method: str, result: object) -> None:
    """Fail unless this is an answer to the method."""
    if method in ANSWERED:
        check(ANSWERED[method], result)
