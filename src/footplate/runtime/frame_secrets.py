"""Secrets in raw lines: values that the session's log does not have are replaced before a line is stored. Pure.

What an agent says, and what tools are called with, is in the log anyway and stays as it is. Secrets travel on the
control side of the wire: what we send (MCP servers with their headers and environment, settings, logins) and what the
agent answers to our questions (its settings, the state of its servers) or asks of us (a terminal with an environment).
Of these lines the values of `env` and headers, of keys that are named like secrets, and what looks like a secret in
`args` are replaced. In lines of stderr everything that looks like one is.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from footplate.runtime.log_lines import redact
from footplate.store.chain import UNREADABLE
from footplate.store.values import RawLines

HIDDEN: Final = "***"
CONTROL: Final = b'"control_response"'
RESULT: Final = b'"result"'
TERMINAL: Final = b'"terminal/create"'
"""A line of the agent that has none of these is not looked at further."""

KEYS: Final = re.compile(
    rb'(?i)"(?:env|args|[\w-]{0,64}(?:header|token|secret|password|key|authorization|cookie|credential)s?)"'
)
"""Keys that may have secrets for values. A line that has none of them, and no address, is not decoded."""

SCHEME: Final = b"://"

MARKS: Final = (
    *(b"token", b"secret", b"passw", b"passphrase", b"authorization", b"cookie", b"key", b"_pat", b"-pat", b"bearer"),
    *(b"sk-", b"fp_", b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"akia", b"asia", SCHEME),
)
BOT: Final = re.compile(rb"\d{3}:[\w-]{15}")
"""Text without any of these has nothing that `redact_text` would replace. To look for them costs a twentieth of it."""

ENDINGS: Final = ("token", "secret", "password", "apikey", "accesskey", "privatekey", "authorization", "cookie")
PLURALS: Final = tuple(f"{ending}s" for ending in ENDINGS)
PAIRED: Final = ("-e", "--env", "-H", "--header")
"""Options of commands whose value is a name and a secret: `-e NAME=value`, `--header 'Name: value'`."""
PAIR: Final = re.compile(r"(?s)\A((?:--(?:env|header)=)?(?!-)[\w.-]+\s*[:=]\s*).+")

# Each of these expressions looks at a character a few times at most, however long the line is, and none of them goes
# beyond the end of a line: many lines are redacted at once, and no secret begins in one and ends in another.
QUOTED: Final = r"""
    [bru]{0,2} (?: (?P<quote>["']) (?: \\[^\r\n] | (?!(?P=quote)) [^\r\n\\] )+
    | (?P<escaped>\\{1,8}["']) (?: (?! (?<!\\) (?P=escaped) ) [^\r\n] )+ )"""
"""A text from its first quote to its last one, also in JSON within JSON, or to the end of the line."""
WHOLE: Final = r"authorization | cookie2?"
"""Names whose value is all that follows: `a=1; sid=2`, or a scheme with parameters."""
WORDS: Final = r"""(?: api | access | private )[-_]?keys? | secret | token | password | passwd | passphrase | [-_]pat"""
VALUES: Final = re.compile(
    rf"""(?ix) ( (?=[acpst_-]) (?: (?P<whole>{WHOLE}) | {WORDS} ) (?:\\{{0,8}}["'])?
    [^\S\r\n]* (?: => | [:=] ) [^\S\r\n]* )
    (?: {QUOTED} | [\[{{] [^\]}}\r\n]+
    | (?(whole) [^\s"'] [^\r\n]*
    | (?: (?:bearer|basic|token) [^\S\r\n]+ )? (?: (?<==)[^\s"'&]+ | (?<!=)[^\s"',;]+ ) ) )""",
)
FLAGS: Final = re.compile(
    rf"""(?ix) ( (?<![\w-]) --?[\w-]*? (?:{WHOLE} | {WORDS}) [^\S\r\n]+ ) (?!-) (?: {QUOTED} | [^\s"']+ )"""
)
BEARER: Final = re.compile(r"(?i)\b(bearer[^\S\r\n]+)(?=[\w.~+/-]*\d|[\w.~+/-]{20})[\w.~+/-]{8,}")
ADDRESS: Final = re.compile(r"[a-z]+://\S+")
USER_INFO: Final = re.compile(r"(://)[^/\s@:]*:[^/\s@]+@")


def hide_secrets(chunk: RawLines) -> RawLines:
    """The lines as they may be stored."""
    if chunk.direction == "gap" or (chunk.direction == "in" and not _answers(chunk.lines)):
        return chunk
    if chunk.direction == "err":
        lines = _redact_lines(chunk.lines)
    else:
        lines = b"".join(_hide_in_line(chunk.direction, line) for line in chunk.lines.splitlines(keepends=True))
    return chunk if lines == chunk.lines else msgspec.structs.replace(chunk, lines=lines)


def _answers(lines: bytes) -> bool:
    """Whether an answer of the agent may be among the lines. Of most lines this is all that is looked at."""
    return CONTROL in lines or RESULT in lines or TERMINAL in lines


def _redact_lines(lines: bytes) -> bytes:
    """Lines of stderr without what looks like a secret; all at once, so that a flood of short ones is not slower."""
    lower = lines.lower()
    if not any(mark in lower for mark in MARKS) and BOT.search(lines) is None:
        return lines
    return _redact_bytes(lines)


def _redact_bytes(lines: bytes) -> bytes:
    return redact_text(lines.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def redact_text(text: str) -> str:
    """The text without what looks like a secret, headers and addresses with a password included."""
    text = FLAGS.sub(_keep_quotes, VALUES.sub(_keep_quotes, text))
    return redact(USER_INFO.sub(rf"\1{HIDDEN}@", BEARER.sub(rf"\1{HIDDEN}", text)))


def _keep_quotes(found: re.Match[str]) -> str:
    return f"{found[1]}{found['quote'] or found['escaped'] or ''}{HIDDEN}"


def _hide_in_line(direction: str, line: bytes) -> bytes:
    if direction == "in" and not _answers(line):
        return line
    key = KEYS.search(line)
    if key is None and SCHEME not in line:
        return line
    try:
        value = msgspec.json.decode(line)
        hidden = _hide(value)
        return line if hidden == value else msgspec.json.encode(hidden) + b"\n"
    except UNREADABLE:
        # Cut, nested too deeply, not UTF-8, or not JSON at all: the value of the key may be anything that follows.
        head = line if key is None else line[: key.start()] + HIDDEN.encode() + b"\n"
        return _redact_bytes(head)


def _hide(value: object) -> object:
    match value:
        case dict():
            return {key: _hide_member(str(key), member) for key, member in value.items()}
        case list():
            return [_hide(item) for item in value]
        case str():
            return redact_text(value) if ADDRESS.fullmatch(value) else value
        case _:
            return value


def _hide_member(key: str, value: object) -> object:
    name = key.lower().replace("-", "").replace("_", "")
    if name in ("env", "credentials") or name.endswith("headers"):
        return _hide_all(value)
    if name == "args" and isinstance(value, list):
        return _hide_arguments(value)
    if name.endswith(ENDINGS) and isinstance(value, str | list | dict):
        return _hide_all(value)
    if name.endswith(PLURALS) and isinstance(value, str | list | dict):
        return _hide_all(value, numbers=False)
    return _hide(value)


def _hide_arguments(arguments: list[object]) -> list[object]:
    """The arguments of a command: `--api-key VALUE`, `--token=VALUE`, and values that look like a key."""
    hidden: list[object] = []
    secret = pair = False
    for argument in arguments:
        text = argument if isinstance(argument, str) else ""
        flag = text.lower().replace("-", "").replace("_", "")
        if pair or text.startswith(("--env=", "--header=")):
            text = PAIR.sub(rf"\1{HIDDEN}", text)
        hidden.append(HIDDEN if secret and text else redact_text(text) if text else _hide(argument))
        secret = text.startswith("-") and flag.endswith(ENDINGS)
        pair = text in PAIRED
    return hidden


def _hide_all(value: object, *, numbers: bool = True) -> object:
    """Hide every value, and keep the names: `{"NAME": "value"}`, or `[{"name": "NAME", "value": "value"}]`.

    Without `numbers` those stay: `tokens` are secrets in one place, and counted in another.
    """
    match value:
        case dict():
            kept = "name" if "name" in value and "value" in value else None
            members = value.items()
            return {key: each if key == kept else _hide_all(each, numbers=numbers) for key, each in members}
        case list():
            return [_hide_all(item, numbers=numbers) for item in value]
        case None | bool() | "":
            return value
        case int() | float() if not numbers:
            return value
        case _:
            return HIDDEN
