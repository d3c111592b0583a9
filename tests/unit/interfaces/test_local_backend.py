"""What every `ChatBackend` promises, on all: the hub of this process, the link to another one's, a server at a URL."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from footplate.config.settings import Settings
from footplate.errors import (
    AlreadyAnswered,
    FootplateError,
    LinkLost,
    LockHeld,
    ProtocolError,
    RequestError,
    UnknownEngine,
    UnknownSession,
)
from footplate.events import commands as c
from footplate.events import model as m
from footplate.events.codec import decode_envelope
from footplate.events.content import TextBlock
from footplate.events.ids import PromptId, RequestId, SessionId
from footplate.events.model import Event
from footplate.events.reduce import SessionReducer
from footplate.events.requests import Allow, Deny
from footplate.interfaces.cli.chat.remote import RemoteBackend
from footplate.interfaces.http.api import open_api
from footplate.interfaces.http.app import build_app
from footplate.interfaces.http.guard import Doors
from footplate.interfaces.http.serving import bind, listen
from footplate.runtime import link_wire as w
from footplate.runtime.access import Access
from footplate.runtime.audit import account_name
from footplate.runtime.backend import ChatBackend, HubBackend
from footplate.runtime.link import link_server
from footplate.runtime.link_client import LinkBackend
from footplate.runtime.private_socket import connect
from footplate.runtime.service import Service, open_service
from footplate.runtime.spec import SessionSpec


@asynccontextmanager
async def _service(folder: Path) -> AsyncIterator[Service]:
    environ = {
        "HOME": str(folder),
        "PATH": "/usr/bin:/bin",
        "FOOTPLATE_DATA_DIR": str(folder / "data"),
        "FOOTPLATE_MOCK_PACE_MS": "0",
    }
    async with open_service(environ, Settings()) as service:
        yield service


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    """The service of this process."""
    async with _service(tmp_path) as opened:
        yield opened


@pytest.fixture
def hub(service: Service) -> HubBackend:
    """Its sessions."""
    return HubBackend(service.hub, Settings())


@asynccontextmanager
async def _remote(service: Service) -> AsyncIterator[RemoteBackend]:
    access = await Access.load(service.services.store, chosen="the-token")
    async with (
        open_api(service, access) as api,
        listen(build_app(api, Doors()), api, bind("127.0.0.1", 0)) as listening,
        RemoteBackend.open(listening.url, "the-token") as backend,
    ):
        yield backend


@pytest.fixture
async def path(tmp_path: Path, hub: HubBackend) -> AsyncIterator[Path]:
    """A socket on which they are served; its path is too long for the kernel."""
    folder = tmp_path / ("a" * 60) / ("b" * 60)
    folder.mkdir(parents=True)
    async with link_server(hub, folder / "chat.sock"):
        yield folder / "chat.sock"


@pytest.fixture(params=["hub", "link", "remote"])
async def backend(
    request: pytest.FixtureRequest, service: Service, hub: HubBackend, path: Path
) -> AsyncIterator[ChatBackend]:
    """Any of them."""
    if request.param == "hub":
        yield hub
        return
    async with _remote(service) if request.param == "remote" else LinkBackend.open(path) as joined:
        yield joined


async def _create(backend: ChatBackend, tmp_path: Path) -> SessionId:
    return await backend.create(SessionSpec(engine="mock", cwd=str(tmp_path)))


async def _say(backend: ChatBackend, session: SessionId, text: str) -> PromptId:
    prompt = PromptId(f"prompt {text}")
    await backend.do(session, c.SendPrompt(key="k", prompt=prompt, content=(TextBlock(text=text),)))
    return prompt


async def _until(backend: ChatBackend, session: SessionId, kind: type[Event], *, after: int = 0) -> list[Event]:
    attachment = await backend.attach(session, after)
    seen: list[Event] = []
    try:
        async with asyncio.timeout(20):
            async for body in attachment.bodies:
                event = decode_envelope(body).event
                seen.append(event)  # type: ignore[arg-type]
                if isinstance(event, kind):
                    return seen
    finally:
        await attachment.close()
    raise AssertionError(f"it ended without {kind}: {seen}")


async def _asked(backend: ChatBackend, session: SessionId) -> RequestId:
    event = (await _until(backend, session, m.RequestOpened))[-1]
    assert isinstance(event, m.RequestOpened)
    return event.request.id


def _answer(request: RequestId, by: str) -> c.AnswerRequest:
    return c.AnswerRequest(key=by, by=by, surface=f"chat of {by}", request=request, answer=Allow())


async def test_a_session_is_made_listed_and_read_from_any_cursor(backend: ChatBackend, tmp_path: Path) -> None:
    session = await _create(backend, tmp_path)
    await _say(backend, session, "hello")
    events = await _until(backend, session, m.TurnEnded)
    assert isinstance(events[0], m.SessionOpened)
    assert [row.session for row in await backend.sessions()] == [session]
    attachment = await backend.attach(session)
    assert attachment.standing.modes == ("default", "plan", "bypassPermissions")
    assert attachment.standing.last_seq >= 3
    await attachment.close()
    later = await _until(backend, session, m.TurnEnded, after=3)
    assert not any(isinstance(event, m.SessionOpened) for event in later)


async def test_a_late_reader_sees_the_text_that_is_being_written(backend: ChatBackend, tmp_path: Path) -> None:
    session = await _create(backend, tmp_path)
    await _say(backend, session, "hang")
    await _until(backend, session, m.MessageDelta)
    told = (await _until(backend, session, m.MessageDelta))[-1]
    assert isinstance(told, m.MessageDelta)
    assert (told.text, told.reset) == ("hang begin", True)
    await backend.do(session, c.Interrupt(key="i"))
    ended = (await _until(backend, session, m.TurnEnded))[-1]
    assert isinstance(ended, m.TurnEnded)
    assert ended.stop_reason == "interrupted"


async def test_the_first_answer_wins_and_the_second_is_told_who_was_first(
    backend: ChatBackend, hub: HubBackend, tmp_path: Path
) -> None:
    session = await _create(backend, tmp_path)
    await _say(backend, session, "permission")
    request = await _asked(backend, session)
    outcomes = await asyncio.gather(
        backend.do(session, _answer(request, "ada")),
        hub.do(session, _answer(request, "bob")),
        return_exceptions=True,
    )
    (refused,) = [each for each in outcomes if each is not None]
    assert isinstance(refused, AlreadyAnswered)
    first = "ada" if outcomes[0] is None else "bob"
    signed = "operator" if first == "ada" and isinstance(backend, RemoteBackend) else account_name()
    assert (refused.by, refused.surface) == (signed, f"chat of {first}")
    assert f"by {signed} from chat of {first}" in str(refused)
    events = await _until(hub, session, m.TurnEnded)
    assert len([event for event in events if isinstance(event, m.RequestAnswered)]) == 1


async def test_every_command_reaches_the_session(backend: ChatBackend, tmp_path: Path) -> None:
    session = await _create(backend, tmp_path)
    await _say(backend, session, "hang")
    await _until(backend, session, m.MessageDelta)
    waiting = await _say(backend, session, "later")
    await backend.do(session, c.WithdrawPrompt(key="w", prompt=waiting))
    await backend.do(session, c.Interrupt(key="i"))
    await _until(backend, session, m.TurnEnded)
    await backend.do(session, c.SetMode(key="m", mode="plan"))
    await backend.do(session, c.SetModel(key="o", model="mock-fast"))
    await backend.do(session, c.SetEffort(key="e", effort="high"))
    await backend.do(session, c.Rename(key="t", title="named"))
    await backend.do(session, c.RunCommand(key="c", command="echo hi"))
    attachment = await backend.attach(session)
    reducer = SessionReducer()
    async for body in attachment.bodies:
        reducer.apply(decode_envelope(body))
        if reducer.last_seq >= attachment.standing.last_seq:
            break
    await attachment.close()
    view = reducer.view()
    assert (view.mode, view.model, view.effort) == ("plan", "mock-fast", "high")
    assert (view.title, view.queue) == ("named", ())
    assert any(item.__struct_config__.tag == "command" for item in view.items)


async def test_a_session_is_found_by_the_engines_id_and_forked(backend: ChatBackend, tmp_path: Path) -> None:
    session = await _create(backend, tmp_path)
    await _say(backend, session, "hello")
    await _until(backend, session, m.TurnEnded)
    (row,) = await backend.sessions()
    assert row.engine_session_id is not None
    assert await backend.find(row.engine_session_id) == session
    assert await backend.find("nothing") is None
    fork = await backend.fork(session)
    assert fork != session


async def test_what_cannot_be_is_refused_by_the_same_error(backend: ChatBackend, tmp_path: Path) -> None:
    with pytest.raises(UnknownSession, match="no session 'nope'"):
        await backend.attach(SessionId("nope"))
    with pytest.raises(UnknownSession):
        await backend.do(SessionId("nope"), c.Interrupt(key="i"))
    with pytest.raises(UnknownEngine, match="known engines"):
        await backend.create(SessionSpec(engine="nobody", cwd=str(tmp_path)))
    with pytest.raises(RequestError, match="one of default, plan"):
        await backend.create(SessionSpec(engine="mock", cwd=str(tmp_path), mode="wild"))
    session = await _create(backend, tmp_path)
    answer = c.AnswerRequest(key="a", request=RequestId("r"), answer=Deny())
    with pytest.raises(FootplateError, match="no request 'r'"):
        await backend.do(session, answer)


# ------------------------------------------------------------------------------------------------- the link


async def test_the_socket_is_the_owners_alone_and_goes_with_the_server(hub: HubBackend, tmp_path: Path) -> None:
    path = tmp_path / "chat.sock"
    path.write_text("left by a process that was killed")
    async with link_server(hub, path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_ISSOCK(path.stat().st_mode)
    assert not path.exists()


async def test_another_person_is_not_let_in(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.raises(LinkLost, match="the other Footplate, which owns the sessions, is gone"):
        async with LinkBackend.open(path):
            pass


async def test_nobody_listening_is_told(tmp_path: Path) -> None:
    with pytest.raises(LinkLost, match="No such file"):
        async with LinkBackend.open(tmp_path / "chat.sock"):
            pass


async def test_a_reader_is_told_when_the_owner_leaves(hub: HubBackend, tmp_path: Path) -> None:
    session = await _create(hub, tmp_path)
    server = link_server(hub, tmp_path / "chat.sock")
    await server.start()
    async with LinkBackend.open(tmp_path / "chat.sock") as link:
        attachment = await link.attach(session)
        await anext(attachment.bodies)
        await server.close()
        with pytest.raises(LinkLost, match=rf"pid {os.getpid()}\), which owns the sessions, is gone"):
            async for _ in attachment.bodies:
                pass
        with pytest.raises(LinkLost):
            await link.sessions()


async def _exchange(path: Path, *lines: bytes) -> list[w.Answer]:
    reader, writer = await connect(path)
    writer.write(b"".join(lines))
    writer.write_eof()
    answers = [w.answer_decoder.decode(line) for line in (await reader.read()).splitlines()]
    writer.close()
    return answers


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"nonsense\n", "not a request"),
        (w.line(w.ListSessions(id=1)), "say hello first"),
        (w.line(w.Hello(id=1, version=99)), "version 99"),
        (b'{"op":"do","id":1,"session":"s","command":{"type":"Unheard"}}\n', "not a request"),
    ],
)
async def test_a_visitor_that_breaks_the_rules_is_told_and_let_go(path: Path, line: bytes, told: str) -> None:
    (answer,) = await _exchange(path, line)
    assert isinstance(answer, w.Failed)
    assert told in answer.error.message


def test_an_error_travels_with_its_fields() -> None:
    problem = AlreadyAnswered("r", state="answered", by="ada", surface="chat", at=1.5, who="by ada from chat")
    restored = w.restore_error(msgspec.json.decode(msgspec.json.encode(w.describe_error(problem)), type=w.ErrorWire))
    assert type(restored) is AlreadyAnswered
    assert str(restored) == str(problem)
    assert vars(restored) == vars(problem)
    unknown = w.ErrorWire(name="OfLater", code="lock_held", message="words")
    assert isinstance(w.restore_error(unknown), LockHeld)
    assert isinstance(w.restore_error(w.describe_error(ProtocolError("peer", "bad"))), ProtocolError)


async def test_one_process_owns_a_data_folder(hub: HubBackend, tmp_path: Path) -> None:
    with pytest.raises(LockHeld, match=f"pid {os.getpid()}"):
        async with _service(tmp_path):
            pass
