"""Writes src/footplate/acp/schema/ from the published schema of ACP v1; `--check` only says what is stale.

The schema with the unstable parts is the source; what the stable one lacks is marked. The rules:

- an object is a struct; an enumeration is a plain string, for agents are ahead of every list;
- `_meta`, and what the schema says nothing about, stays raw JSON;
- a union whose variants all carry a tag (`TAGGED`) is a union of tagged structs, and a list of them is a list of raw
  JSON: one of an unknown kind must not spoil the others;
- any other union is one struct with the fields of all its variants: msgspec cannot tell them apart, readers can;
- null and absent are told apart only where the protocol does (`PATCHES`).

Left out are the envelopes (`acp/jsonrpc.py` has them) and the methods between proxies, which we are not.
"""

from __future__ import annotations

import json
import keyword
import re
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
SOURCES: Final = Path(__file__).resolve().parent / "acp_schema"
TARGET: Final = ROOT / "src" / "footplate" / "acp" / "schema"

Schema = dict[str, Any]

TAGGED: Final = {"SessionUpdate": "sessionUpdate", "ContentBlock": "type", "ToolCallContent": "type"}
"""Unions of tagged structs, and the field that holds the tag."""

VARIANTS: Final = {"tool_call_update": "ToolCallChange"}
"""Names of variants whose tag is the name of something else."""

ITEMS: Final = {"SessionConfigSelectOptions": "SessionConfigSelectChoice"}
"""Unions of lists become lists of one struct, which gets this name."""

PATCHES: Final = {"SessionInfoUpdate"}
"""Where null takes a value away and absence leaves it."""

SPOKEN: Final = {"ElicitationSchema.type", "InitializeResponse.authMethods"}
"""Fields that are written even when they hold what their absence would mean."""

RAW: Final = {"PromptResponse.usage"}
"""Fields that agents fill in their own way, and that must not spoil the rest."""

MODULES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "content": ("Content of messages and tool calls", ("ContentBlock", "ToolCallContent")),
    "tools": ("Tool calls", ("ToolCall", "ToolCallUpdate")),
    "choices": ("Modes and options of a session", ("SessionModeState", "SessionConfigOption")),
    "updates": ("What an agent tells of a session", ("SessionNotification",)),
    "asking": (
        "What an agent asks of a person",
        ("RequestPermissionRequest", "RequestPermissionResponse", "CreateElicitationRequest"),
    ),
    "start": ("The beginning of a connection", ("InitializeRequest", "InitializeResponse")),
    "sessions": ("Sessions and prompts", ("PromptRequest", "PromptResponse")),
    "machine": ("Files and terminals of the client", ()),
    "beside": ("Logins, providers and MCP over ACP", ()),
}
"""The modules in order of imports: each definition goes to the first one whose roots need it."""

BY_METHOD: Final = (
    (r"session/(update)", "updates"),
    (r"session/request_permission|elicitation/", "asking"),
    (r"initialize|authenticate|logout", "start"),
    (r"session/", "sessions"),
    (r"fs/|terminal/", "machine"),
    (r"auth/|providers/|mcp/|\$/", "beside"),
)
"""Which module the parameters and results of a method are roots of."""

HEADER: Final = '''"""{title}. Written by `scripts/acp_types.py` from the published schema."""

from __future__ import annotations
'''


def snake(name: str) -> str:
    """`mimeType` as `mime_type`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().lstrip("_")


def camel(name: str) -> str:
    """How msgspec's `rename="camel"` writes a field."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def pascal(tag: str) -> str:
    """`user_message_chunk` as `UserMessageChunk`."""
    return "".join(word.capitalize() for word in tag.split("_"))


class Field:
    """One field of a struct: its type as Python writes it, its default, the structs it needs."""

    def __init__(self, wire: str, kind: str, default: str | None, needs: set[str]) -> None:
        self.wire = wire
        self.kind = kind
        self.default = default
        self.needs = needs

    def line(self) -> str:
        """The field as a line of a class."""
        name = snake(self.wire)
        if keyword.iskeyword(name):
            name += "_"
        if camel(name) == self.wire:
            value = f" = {self.default}" if self.default is not None else ""
        else:
            default = f", default={self.default}" if self.default is not None else ""
            value = f' = msgspec.field(name="{self.wire}"{default})'
        return f"    {name}: {self.kind}{value}"


class Struct:
    """One class to be written."""

    def __init__(self, name: str, doc: str, fields: list[Field], *, base: str = "Wire", tag: str = "") -> None:
        self.name = name
        self.doc = doc
        self.fields = fields
        self.base = base
        self.tag = tag

    @property
    def needs(self) -> set[str]:
        """The other classes that must be there."""
        found = {self.base} - {"Wire"}
        for field in self.fields:
            found |= field.needs
        return found - {self.name}

    def text(self) -> str:
        """The class as source."""
        head = f"class {self.name}({self.base}, frozen=True, kw_only=True{self.tag}):"
        body = "\n".join(field.line() for field in self.fields)
        return f"{head}\n{docstring(self.doc)}\n" + (f"\n{body}\n" if body else "")


class Alias:
    """A union of tagged structs under a name."""

    def __init__(self, name: str, members: list[str]) -> None:
        self.name = name
        self.members = members

    @property
    def needs(self) -> set[str]:
        """The classes it unites."""
        return set(self.members)

    def text(self) -> str:
        """The union as source."""
        return f"{self.name} = {' | '.join(self.members)}\n"


class Generator:
    """Turns definitions into classes."""

    def __init__(self, defs: dict[str, Schema], stable: set[str]) -> None:
        self.defs = defs
        self.stable = stable
        self.made: dict[str, Struct | Alias] = {}
        self.uses = Counter(re.findall(r'"#/\$defs/(\w+)"', json.dumps(defs)))

    # ------------------------------------------------------------------------------------------- types

    def type_of(self, schema: Schema) -> tuple[str, set[str]]:
        """The Python type of a schema, without its null, and the structs it needs."""
        if "$ref" in schema:
            return self.named(schema["$ref"].rpartition("/")[2])
        alternatives = [each for each in schema.get("anyOf") or schema.get("oneOf") or () if each.get("type") != "null"]
        if "allOf" in schema and "properties" not in schema:
            return self.type_of(schema["allOf"][0])
        if alternatives and "properties" not in schema:
            return self.united([self.type_of(each) for each in alternatives])
        kinds = schema.get("type")
        kind = next((each for each in kinds if each != "null"), None) if isinstance(kinds, list) else kinds
        if kind == "array":
            return self.list_of(schema.get("items", {}))
        if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
            value, needs = self.type_of(schema["additionalProperties"])
            return f"dict[str, {value}]", needs
        plain = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
        return plain.get(kind or "", "msgspec.Raw"), set()

    def list_of(self, items: Schema) -> tuple[str, set[str]]:
        """A list; of tagged variants it is a list of raw JSON."""
        if items.get("$ref", "").rpartition("/")[2] in TAGGED:
            return "tuple[msgspec.Raw, ...]", set()
        kind, needs = self.type_of(items)
        return f"tuple[{kind}, ...]", needs

    @staticmethod
    def united(types: list[tuple[str, set[str]]]) -> tuple[str, set[str]]:
        """Several types as one."""
        kinds = list(dict.fromkeys(kind for kind, _ in types))
        return " | ".join(kinds), set().union(*(needs for _, needs in types))

    def named(self, name: str) -> tuple[str, set[str]]:
        """The type behind a name: a struct of its own, or what the name stands for."""
        schema = self.defs[name]
        if name in TAGGED:
            self.make_union(name)
            return name, {name}
        if name in ITEMS:
            self.make_items(name)
            return f"tuple[{ITEMS[name]}, ...]", {ITEMS[name]}
        if self.is_object(schema):
            self.make(name)
            return name, {name}
        return self.type_of(schema)

    def is_object(self, schema: Schema) -> bool:
        """Whether it is a struct rather than a value."""
        if "properties" in schema or schema.get("type") == "object":
            return True
        if "$ref" in schema:
            return self.is_object(self.defs[schema["$ref"].rpartition("/")[2]])
        parts = [*schema.get("allOf", ()), *schema.get("anyOf", ()), *schema.get("oneOf", ())]
        return bool(parts) and all(self.is_object(each) for each in parts)

    # ----------------------------------------------------------------------------------------- structs

    def flatten(self, schema: Schema) -> tuple[dict[str, list[Schema]], set[str]]:
        """All fields of an object with what each variant says of them, and those that must be there."""
        if "$ref" in schema:
            return self.flatten(self.defs[schema["$ref"].rpartition("/")[2]])
        fields: dict[str, list[Schema]] = {name: [each] for name, each in schema.get("properties", {}).items()}
        required = set(schema.get("required", ()))
        for part in schema.get("allOf", ()):
            more, needed = self.flatten(part)
            for name, each in more.items():
                fields.setdefault(name, []).extend(each)
            required |= needed
        variants = [self.flatten(each) for each in schema.get("anyOf") or schema.get("oneOf") or ()]
        for more, _ in variants:
            for name, each in more.items():
                fields.setdefault(name, []).extend(each)
        if variants:
            required |= set.intersection(*(needed for _, needed in variants))
        return fields, required

    def make(self, name: str, *, leave: str = "", tag: str = "") -> None:
        """The struct of a definition."""
        if name in self.made:
            return
        schema = self.defs[name]
        self.made[name] = Struct(name, "", [])  # a struct may hold itself
        fields, required = self.flatten(schema)
        made = [
            self.special(f"{name}.{each}", variants)
            or self.field(each, variants, needed=each in required, patch=name in PATCHES)
            for each, variants in fields.items()
            if each != leave
        ]
        self.made[name] = Struct(name, self.describe(name, schema), made, tag=tag)

    def make_items(self, name: str) -> None:
        """The one struct for the items of a union of lists."""
        merged: Schema = {"anyOf": [each["items"] for each in self.defs[name]["anyOf"]]}
        item = ITEMS[name]
        if item not in self.made:
            fields, required = self.flatten(merged)
            made = [self.field(each, found, needed=each in required, patch=False) for each, found in fields.items()]
            self.made[item] = Struct(item, self.describe(name, self.defs[name]), made)

    def make_union(self, name: str) -> None:
        """The tagged structs of a union."""
        if name in self.made:
            return
        tag_field = TAGGED[name]
        alias = self.made[name] = Alias(name, [])
        for variant in self.defs[name]["oneOf"]:
            tag = variant["properties"][tag_field]["const"]
            holder = variant["allOf"][0]["$ref"].rpartition("/")[2]
            marked = f', tag_field="{tag_field}", tag="{tag}"'
            if self.uses[holder] == 1:
                self.make(holder, leave=tag_field, tag=marked)
                alias.members.append(holder)
            else:
                self.make(holder, leave=tag_field)
                own = VARIANTS.get(tag, pascal(tag))
                self.made[own] = Struct(own, self.describe(holder, variant), [], base=holder, tag=marked)
                alias.members.append(own)

    def special(self, name: str, variants: list[Schema]) -> Field | None:
        """The field, when the tables above have a word on it."""
        wire = name.partition(".")[2]
        if name in RAW:
            return Field(wire, "OptionalRaw", "None", set())
        if name in SPOKEN:
            kind, needs = self.type_of(variants[0])
            return Field(wire, f"{kind} | UnsetType", "UNSET", needs)
        return None

    def field(self, wire: str, variants: list[Schema], *, needed: bool, patch: bool) -> Field:
        """One field, of the types that its variants have."""
        schema = variants[0]
        kind, needs = self.united([self.type_of(each) for each in variants])
        if wire == "_meta" or kind == "msgspec.Raw":
            return Field(wire, "msgspec.Raw" if needed else "OptionalRaw", None if needed else "None", needs)
        nullable = any(_nullable(each) for each in variants)
        if patch and nullable:
            return Field(wire, f"{kind} | UnsetType | None", "UNSET", needs)
        if needed:
            return Field(wire, f"{kind} | None" if nullable else kind, None, needs)
        default = _default(schema, kind)
        return Field(wire, kind if default != "None" else f"{kind} | None", default, needs)

    def describe(self, name: str, schema: Schema) -> str:
        """The first sentence that the schema says of it."""
        text = schema.get("description") or self.defs[name].get("description", "")
        told = [
            each
            for each in text.split("\n\n")
            if not each.startswith(("**UNSTABLE**", "This capability is not part of the spec"))
        ]
        words = " ".join((told[0] if told else pascal(name)).split())
        sentence = re.split(r"(?<=[a-z)`])\. ", words)[0].rstrip(".:")
        return f"{sentence}." + ("" if name in self.stable else " Unstable.")


def _nullable(schema: Schema) -> bool:
    kinds = schema.get("type")
    return (isinstance(kinds, list) and "null" in kinds) or any(
        each.get("type") == "null" for each in (*schema.get("anyOf", ()), *schema.get("oneOf", ()))
    )


def _default(schema: Schema, kind: str) -> str:
    given = schema.get("default")
    if isinstance(given, bool | int | float | str):
        return repr(given) if not isinstance(given, str) else json.dumps(given)
    if isinstance(given, list):
        return "()"
    if isinstance(given, dict) and kind.isidentifier():
        return f"{kind}()"
    return "None"


def docstring(text: str) -> str:
    """A docstring that fits."""
    escaped = text.replace("\\", "\\\\").replace('"', "'")
    lines = textwrap.wrap(f'"""{escaped}', 112, break_on_hyphens=False)
    if len(lines) > 1:
        lines.append("")
    return textwrap.indent("\n".join([*lines[:-1], lines[-1] + '"""']), "    ")


# -------------------------------------------------------------------------------------------------- modules


def roots(defs: dict[str, Schema]) -> dict[str, list[str]]:
    """Which definitions each module begins from."""
    found = {module: list(names) for module, (_, names) in MODULES.items()}
    for name, schema in defs.items():
        method = schema.get("x-method")
        if method is None or schema.get("x-side") == "proxy":
            continue
        module = next(module for pattern, module in BY_METHOD if re.match(pattern, method))
        if name not in found[module]:
            found[module].append(name)
    return found


def ordered(generator: Generator, names: list[str], taken: set[str]) -> list[str]:
    """The names with all that they need, each behind what it needs, without those that are taken."""
    order: list[str] = []

    def visit(name: str) -> None:
        if name in taken:
            return
        taken.add(name)
        for need in sorted(generator.made[name].needs):
            visit(need)
        order.append(name)

    for name in names:
        visit(name)
    return order


def render() -> dict[str, str]:
    """Every module as source, by its name."""
    defs: dict[str, Schema] = json.loads((SOURCES / "v1.unstable.json").read_text())["$defs"]
    stable: dict[str, Schema] = json.loads((SOURCES / "v1.json").read_text())["$defs"]
    generator = Generator(defs, set(stable))
    begins = roots(defs)
    for names in (list(TAGGED), *begins.values()):
        for name in names:
            generator.named(name)
    places: dict[str, str] = {}
    taken: set[str] = set()
    modules: dict[str, str] = {}
    for module, (title, _) in MODULES.items():
        order = ordered(generator, begins[module], taken)
        places |= dict.fromkeys(order, module)
        modules[module] = _module(title, [generator.made[name] for name in order], places, module)
    modules["__init__"] = (
        '"""The messages of ACP v1 as structs, one module per matter. Written by `scripts/acp_types.py`."""\n'
    )
    return {module: formatted(text) for module, text in modules.items()}


def _module(title: str, made: list[Struct | Alias], places: dict[str, str], here: str) -> str:
    body = "\n\n".join(each.text() for each in made)
    needs = set().union(*(each.needs for each in made)) if made else set()
    imports = ["import msgspec"] if "msgspec." in body else []
    if "UNSET" in body:
        imports.append("from msgspec import UNSET, UnsetType")
    local = []
    for module in sorted(MODULES):
        names = sorted(name for name in needs if places[name] == module and module != here)
        if names:
            local.append(f"from footplate.acp.schema.{module} import {', '.join(names)}")
    if "(Wire," in body:
        local.append("from footplate.acp.wire import Wire")
    if "OptionalRaw" in body:
        local.append("from footplate.events.base import OptionalRaw")
    return "\n".join([HEADER.format(title=title), *imports, "", *local, "", "", body])


def formatted(text: str) -> str:
    """The source as ruff writes it."""
    command = [sys.executable, "-m", "ruff", "format", "--config", str(ROOT / "pyproject.toml"), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def main() -> int:
    """Write the modules, or say which are stale."""
    check = "--check" in sys.argv[1:]
    stale = []
    modules = render()
    for module, text in modules.items():
        path = TARGET / f"{module}.py"
        if not path.exists() or path.read_text() != text:
            stale.append(path.name)
            if not check:
                path.write_text(text)
    stale += [path.name for path in TARGET.glob("*.py") if path.stem not in modules]
    if check and stale:
        print(f"stale: {', '.join(stale)}; run scripts/acp_types.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
