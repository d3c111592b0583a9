from __future__ import annotations

import msgspec
import pytest

from footplate.acp.meta import FootplateMeta, Meta, read_meta
from footplate.acp.reading import UnknownContent, UnknownUpdate, read_content, read_tool_content, read_update
from footplate.acp.schema.content import Content, Diff, ImageContent, TextContent
from footplate.acp.schema.start import InitializeResponse
from footplate.acp.schema.updates import AgentMessageChunk, SessionInfoUpdate, SessionNotification, ToolCallChange


def update(body: bytes) -> SessionNotification | UnknownUpdate:
    return read_update(b'{"sessionId":"s","update":' + body + b"}")


def test_an_update_is_told_by_its_tag() -> None:
    body = b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"},"messageId":"m","new":1}'
    assert update(body) == SessionNotification(
        session_id="s", update=AgentMessageChunk(content=TextContent(text="hi"), message_id="m")
    )


def test_our_own_part_of_meta_is_read_and_the_rest_let_pass() -> None:
    body = (
        b'{"sessionUpdate":"tool_call_update","toolCallId":"c",'
        b'"_meta":{"footplate":{"parentToolCallId":"p"},"other":[1]}}'
    )
    told = update(body)
    assert isinstance(told, SessionNotification)
    assert isinstance(told.update, ToolCallChange)
    assert told.update.meta is not None
    assert b'"other":[1]' in bytes(told.update.meta)
    assert read_meta(told.update.meta) == Meta(footplate=FootplateMeta(parent_tool_call_id="p"))


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"sessionUpdate":"telepathy","x":1}', "telepathy"),
        (b'{"sessionUpdate":"plan"}', "plan"),
        (b'{"sessionUpdate":"agent_message_chunk","content":{"type":"smell"}}', "agent_message_chunk"),
        (b"{}", ""),
    ],
)
def test_an_unknown_update_is_kept_raw(body: bytes, kind: str) -> None:
    assert update(body) == UnknownUpdate(session_id="s", kind=kind, raw=msgspec.Raw(body))


def test_a_notification_without_a_session_is_an_error() -> None:
    with pytest.raises(msgspec.ValidationError):
        read_update(b'{"update":{}}')


def test_a_title_of_null_is_not_an_absent_title() -> None:
    absent, null = (
        update(b'{"sessionUpdate":"session_info_update"}'),
        update(b'{"sessionUpdate":"session_info_update","title":null}'),
    )
    assert absent == SessionNotification(session_id="s", update=SessionInfoUpdate())
    assert null == SessionNotification(session_id="s", update=SessionInfoUpdate(title=None))
    assert absent != null


def test_content_is_told_by_its_type_and_kept_raw_when_unknown() -> None:
    assert read_content(msgspec.Raw(b'{"type":"image","data":"AA==","mimeType":"image/png"}')) == ImageContent(
        data="AA==", mime_type="image/png"
    )
    for raw, kind in ((b'{"type":"smell"}', "smell"), (b'{"type":"text"}', "text"), (b"7", "")):
        assert read_content(msgspec.Raw(raw)) == UnknownContent(kind=kind, raw=msgspec.Raw(raw))


def test_content_of_a_tool_is_told_by_its_type_and_kept_raw_when_unknown() -> None:
    assert read_tool_content(msgspec.Raw(b'{"type":"diff","path":"/a","newText":"n"}')) == Diff(path="/a", new_text="n")
    assert read_tool_content(msgspec.Raw(b'{"type":"content","content":{"type":"text","text":"t"}}')) == Content(
        content=TextContent(text="t")
    )
    odd = msgspec.Raw(b'{"type":"content","content":{"type":"smell"}}')
    assert read_tool_content(odd) == UnknownContent(kind="content", raw=odd)


def test_an_empty_list_is_written_where_absent_means_something_else() -> None:
    assert msgspec.json.encode(InitializeResponse(protocol_version=1, auth_methods=())) == (
        b'{"protocolVersion":1,"authMethods":[]}'
    )
    assert msgspec.json.encode(InitializeResponse(protocol_version=1)) == b'{"protocolVersion":1}'
