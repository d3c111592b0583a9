"""The published schema of ACP as a judge: every message that we send must be one that it allows."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any

import jsonschema

ROOT = Path(__file__).resolve().parent.parent


class Judge:
    """One version of the protocol, read when it is needed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._validators: dict[str, jsonschema.Draft202012Validator] = {}

    @cached_property
    def _defs(self) -> dict[str, Any]:
        return json.loads(self._path.read_text())["$defs"]  # type: ignore[no-any-return]

    def _named(self, *ends: str) -> dict[tuple[str, str], str]:
        return {
            (definition["x-side"], definition["x-method"]): name
            for name, definition in self._defs.items()
            if "x-method" in definition and name.endswith(ends)
        }

    @cached_property
    def _sent(self) -> dict[tuple[str, str], str]:
        return self._named("Request", "Notification")

    @cached_property
    def _answered(self) -> dict[str, str]:
        return {method: name for (_, method), name in self._named("Response").items()}

    def check(self, name: str, value: object) -> None:
        """Fail unless the value is what the schema calls by that name."""
        if name not in self._validators:
            schema = {"$ref": f"#/$defs/{name}", "$defs": self._defs}
            self._validators[name] = jsonschema.Draft202012Validator(schema)
        self._validators[name].validate(value)

    def check_sent(self, method: str, params: object) -> None:
        """Fail unless an agent may send this to a client; methods of our own are not judged."""
        if not method.startswith("_"):
            side = "protocol" if method.startswith("$/") else "client"
            self.check(self._sent[side, method], params)

    def check_answer(self, method: str, result: object) -> None:
        """Fail unless this is an answer to the method."""
        if method in self._answered:
            self.check(self._answered[method], result)


V1 = Judge(ROOT / "scripts" / "acp_schema" / "v1.unstable.json")
DRAFT = Judge(ROOT / "tests/agents/node_modules/@agentclientprotocol/sdk/schema/v2/schema.json")
"""The draft of version 2, as the SDK brings it."""

check, check_sent, check_answer = V1.check, V1.check_sent, V1.check_answer
