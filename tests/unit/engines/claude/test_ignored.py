"""The table of ignored kinds is short, has a reason for each entry, and no entry that cannot happen."""

from __future__ import annotations

from footplate.engines.claude.ignored import IGNORED
from footplate.engines.claude.system_lines import SILENT
from footplate.engines.claude.translate import CONTROL, Translator
from footplate.events.ids import EngineSessionId
from tests.unit.engines.claude.playing import VERSIONS, feed, play, recording, scenarios

BY_HAND: tuple[object, ...] = (
    {"type": "keep_alive"},
    {"type": "prompt_suggestion"},
    {"type": "active_goal"},
    {"type": "conversation_reset"},
    {"type": "control_cancel_request", "request_id": "gone"},
    {"type": "tool_progress", "parent_tool_use_id": "gone"},
    {"type": "assistant", "message": {"content": []}},
    {"type": "user", "message": {"content": []}},
    {"type": "system", "subtype": "task_started"},
    {"type": "system", "subtype": "task_progress", "task_id": "gone"},
    {"type": "system", "subtype": "task_updated", "task_id": "gone"},
    {"type": "system", "subtype": "task_notification"},
    {"type": "stream_event", "event": {"type": "ping"}},
    {"type": "stream_event", "event": {"type": "content_block_delta", "delta": {"type": "text_delta"}}},
    {"type": "stream_event", "event": {"type": "message_start", "message": {"id": "m"}}},
    {"type": "stream_event", "event": {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "a"}}},
    {"type": "stream_event", "event": {"type": "content_block_delta", "delta": {"type": "signature_delta"}}},
    {"type": "stream_event", "event": {"type": "content_block_delta", "delta": {"type": "citations_delta"}}},
    {"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": "a"}]}},
    {"type": "stream_event", "event": {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "b"}}},
    {"type": "control_request", "request_id": "r", "request": {"subtype": "can_use_tool"}},
    {"type": "control_request", "request_id": "r", "request": {"subtype": "can_use_tool"}},
)


def test_every_kind_in_the_table_can_happen_and_has_a_reason() -> None:
    seen: set[str] = set()
    translator = Translator()
    feed(translator, *BY_HAND)
    seen |= set(translator.ignored)
    stranger = Translator(resume=EngineSessionId("wanted"))
    feed(stranger, {"type": "system", "subtype": "init", "session_id": "other"}, {"type": "keep_alive"})
    seen |= set(stranger.ignored)
    for version in VERSIONS:
        for scenario in scenarios(version):
            translator = Translator()
            play(translator, recording(version, scenario))
            seen |= set(translator.ignored)
    assert seen == set(IGNORED)
    assert all(IGNORED.values())


def test_what_is_ignored_without_a_second_look_stands_in_the_table() -> None:
    assert {f"system/{subtype}" for subtype in SILENT} | {f"control_request/{kind}" for kind in CONTROL} <= set(IGNORED)
