"""Recorded streams of the CLI, and ways to play them to a translator."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import msgspec

from footplate.engines.base import Exit
from footplate.engines.claude.translate import Translator
from footplate.events.codec import decode_event, encode
from footplate.events.ids import PromptId, RequestId
from footplate.events.model import (
    EngineAttached,
    Event,
    PromptQueued,
    RequestAnswered,
    RequestOpened,
    TurnEnded,
    Unknown,
    UsageReported,
)
from footplate.events.requests import Allow, Deny
from footplate.host.lines import Block

FIXTURES = Path(__file__).parents[3] / "fixtures" / "claude"
VERSIONS = ("2.1.325", "2.1.197")
LONG, SHOWN = 60, 36
IDS = re.compile(
    r"msg_\w+|toolu_\w+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\bb[0-9a-z]{8}\b|\ba[0-9a-f]{16}\b"
)


class Recording(msgspec.Struct, frozen=True):
    """What one process wrote, which of its requests were answered how, and which prompts it was given."""

    name: str
    lines: tuple[bytes, ...]
    answers: dict[str, str]
    prompts: tuple[PromptId, ...]


@cache
def recording(version: str, scenario: str) -> Recording:
    """One recorded scenario."""
    path = FIXTURES / version / f"{scenario}.jsonl"
    answers: dict[str, str] = {}
    prompts: list[PromptId] = []
    for frame in _stdin(path.with_suffix("").with_suffix(".stdin.jsonl")):
        if frame.get("type") == "control_response":
            response = frame["response"]
            assert isinstance(response, dict)
            inner = response.get("response")
            answers[str(response["request_id"])] = str(inner.get("behavior")) if isinstance(inner, dict) else ""
        elif frame.get("type") == "user" and "uuid" in frame:
            prompts.append(PromptId(str(frame["uuid"])))
    lines = tuple(line.rstrip(b"\n") + b"\n" for line in path.read_bytes().splitlines(keepends=True))
    return Recording(f"{version}/{scenario}", lines, answers, tuple(dict.fromkeys(prompts)))


def scenarios(version: str) -> list[str]:
    """The names of everything recorded of a version."""
    return sorted(path.stem for path in (FIXTURES / version).glob("*.jsonl") if ".stdin" not in path.name)


def play(translator: Translator, recorded: Recording, lines: Iterable[bytes] | None = None) -> list[Event]:
    """The events of the recording, with what the session itself adds: queued prompts and given answers."""
    events: list[Event] = [PromptQueued(prompt=prompt, content=()) for prompt in recorded.prompts]
    for line in recorded.lines if lines is None else lines:
        for event in translator.feed(Block(line)):
            events.append(event)
            if isinstance(event, RequestOpened) and event.request.id in recorded.answers:
                events.append(answer(translator, event.request.id, recorded.answers[event.request.id]))
    return events


def answer(translator: Translator, request: RequestId, behavior: str) -> RequestAnswered:
    """A person answers, as recorded."""
    translator.answered(request, denied=behavior == "deny")
    given = Deny() if behavior == "deny" else Allow()
    return RequestAnswered(request=request, answer=given, by="tester")


def story(version: str, scenario: str, *, ending: Exit | None = None) -> list[Event]:
    """The events of a recording, shortened; without figures, lists of tools and ways to answer, which have tests."""
    translator = Translator(cwd="/workspace")
    recorded = recording(version, scenario)
    events = play(translator, recorded)[len(recorded.prompts) :]
    if ending is not None:
        events += translator.finish(ending)
    return shorten(map(_plain, (event for event in events if not isinstance(event, UsageReported))))


def shorten(events: Iterable[Event]) -> list[Event]:
    """Long ids as `message-1`, `call-1`, `id-1`, `task-1`; long texts by their beginning."""
    names: dict[str, str] = {}
    return [
        _decode(IDS.sub(lambda match: _name(names, match[0]), msgspec.json.encode(_clip(_load(event))).decode()))
        for event in events
    ]


def raw(value: object) -> msgspec.Raw:
    """JSON as it stands in an event."""
    return msgspec.Raw(msgspec.json.encode(value))


def feed(translator: Translator, *frames: object) -> list[Event]:
    """The events of frames written by hand."""
    return translator.feed(Block(b"".join(msgspec.json.encode(frame) + b"\n" for frame in frames)))


def _plain(event: Event) -> Event:
    if isinstance(event, EngineAttached):
        return EngineAttached(
            engine=event.engine, engine_session_id=event.engine_session_id, reason=event.reason, mode=event.mode
        )
    if isinstance(event, RequestOpened):
        return msgspec.structs.replace(
            event, request=msgspec.structs.replace(event.request, options=(), suggestions=(), mode="")
        )
    return msgspec.structs.replace(event, usage=None) if isinstance(event, TurnEnded) else event


def _load(event: Event) -> object:
    loaded: object = msgspec.json.decode(encode(event))
    return loaded


def _clip(value: object) -> object:
    if isinstance(value, str):
        return value if len(value) <= LONG else value[:SHOWN] + "…"
    if isinstance(value, dict):
        return {key: _clip(inner) for key, inner in value.items()}
    return [_clip(inner) for inner in value] if isinstance(value, list) else value


def _decode(text: str) -> Event:
    event = decode_event(text.encode())
    assert not isinstance(event, Unknown), text
    return event


def _name(names: dict[str, str], found: str) -> str:
    kind = {"msg": "message", "too": "call"}.get(found[:3], "id" if "-" in found else "task")
    if found not in names:
        names[found] = f"{kind}-{1 + sum(name.startswith(kind) for name in names.values())}"
    return names[found]


def _stdin(path: Path) -> Iterator[dict[str, object]]:
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            frame = json.loads(line)
        except ValueError:
            continue
        if isinstance(frame, dict):
            yield frame
