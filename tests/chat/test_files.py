"""Files in and out, albums, pictures, voice, forwards."""

from __future__ import annotations

import asyncio
import io
import zipfile
from collections.abc import AsyncIterator

import pytest

from footplate.config.chat import TransferSettings, VoiceSettings
from footplate.testing.messages.wire import HttpAnswer, read_request
from tests.chat.bench import Bench, answered


async def send(bench: Bench, name: str, body: bytes, caption: str = "", **raw: object) -> None:
    """Send a document with words under it."""
    bench.bots.files[name] = body
    document = {"file_id": name, "file_name": name, "file_size": len(body)}
    await bench.me.send(document=document, **({"caption": caption} if caption else {}), **raw)


async def test_a_file_with_a_text_is_kept_and_told_to_the_agent(bench: Bench) -> None:
    async with bench.bridge():
        await send(bench, "notes.txt", b"42", "look at this")
        answer = await answered(bench, "mock: look at this")
        assert "[uploaded file: incoming/notes.txt]" in answer.text
        assert (bench.work / "incoming" / "notes.txt").read_bytes() == b"42"


async def test_a_file_without_a_text_is_kept_and_confirmed(bench: Bench) -> None:
    async with bench.bridge():
        await send(bench, "a.txt", b"1")
        await bench.bots.until(lambda: bench.me.sees("saved incoming/a.txt"))
        await send(bench, "a.txt", b"2")
        await bench.bots.until(lambda: bench.me.sees("saved incoming/a-1.txt"))
        assert (bench.work / "incoming" / "a.txt").read_bytes() == b"1"


async def test_put_writes_where_it_is_told_and_not_over_a_file_unless_forced(bench: Bench) -> None:
    (bench.work / "there.txt").write_text("old")
    async with bench.bridge():
        await send(bench, "x.txt", b"new", "/file put there.txt")
        await bench.bots.until(lambda: bench.me.sees("--force"))
        assert (bench.work / "there.txt").read_text() == "old"
        await send(bench, "x.txt", b"new", "/file put --force there.txt")
        await bench.bots.until(lambda: bench.me.sees("saved there.txt (3 B)"))
        assert (bench.work / "there.txt").read_text() == "new"


@pytest.mark.parametrize("path", ["../out.txt", "/etc/x", ".env", "sub/.env", ".git/config", "link/x.txt"])
async def test_put_never_leaves_the_folder_and_keeps_off_what_is_denied(bench: Bench, path: str) -> None:
    outside = bench.folder / "outside"
    outside.mkdir()
    (bench.work / "link").symlink_to(outside)
    async with bench.bridge():
        await send(bench, "x.txt", b"new", f"/file put {path}")
        await bench.bots.until(lambda: bench.me.sees("✗"))
        assert not list(outside.iterdir())
        assert not (bench.folder / "out.txt").exists()


async def test_a_file_that_is_too_large_is_refused(bench: Bench) -> None:
    async with bench.bridge(files=TransferSettings(max_in_bytes=3)):
        await send(bench, "big.bin", b"12345")
        await bench.bots.until(lambda: bench.me.sees("at most 3 B"))


async def test_get_sends_a_file_and_a_folder_as_an_archive(bench: Bench) -> None:
    (bench.work / "a.txt").write_text("hello")
    (bench.work / "sub" / "deep").mkdir(parents=True)
    (bench.work / "sub" / "b.txt").write_text("b")
    (bench.work / "sub" / ".env").write_text("secret")
    (bench.work / "sub" / "deep" / "c.txt").write_text("c")
    async with bench.bridge():
        await bench.me.write("/file get a.txt")
        await bench.bots.until(lambda: any(b.document == "a.txt" for b in bench.me.answers))
        assert bench.me.find("a.txt").body == b"hello"
        await bench.me.write("/file get sub")
        await bench.bots.until(lambda: any(b.document == "sub.zip" for b in bench.me.answers))
        sent = next(b for b in bench.me.answers if b.document == "sub.zip")
        assert sorted(zipfile.ZipFile(io.BytesIO(sent.body)).namelist()) == ["b.txt", "deep/c.txt"]
        await bench.me.write("/file get ../home")
        await bench.bots.until(lambda: bench.me.sees("inside of the project"))


async def test_an_album_is_one_prompt_with_all_its_files(bench: Bench) -> None:
    async with bench.bridge(media_group_debounce_s=0.1):
        for number in range(3):
            caption = "what are these?" if number == 0 else ""
            await send(bench, f"{number}.txt", b"x", caption, media_group_id="album")
        answer = await answered(bench, "mock: what are these?")
        assert "[uploaded files]\n\n- incoming/0.txt\n- incoming/1.txt\n- incoming/2.txt" in answer.text
        assert len(bench.me.answers) == 1


async def test_a_photo_goes_to_the_agent_as_a_picture(bench: Bench) -> None:
    bench.bots.files |= {"small": b"s", "large": b"\xff\xd8large"}
    sizes = [
        {"file_id": "small", "width": 10, "height": 10, "file_size": 1},
        {"file_id": "large", "width": 100, "height": 100, "file_size": 7},
    ]
    async with bench.bridge():
        shown = await bench.me.send(caption="blocks", photo=sizes)
        await answered(bench, "\n\n2\n\n")
        assert (bench.work / "incoming" / f"photo-{shown.id}.jpg").read_bytes() == b"\xff\xd8large"


async def test_files_can_be_switched_off(bench: Bench) -> None:
    async with bench.bridge(files=TransferSettings(enabled=False)):
        await send(bench, "a.txt", b"1")
        await bench.bots.until(lambda: bench.me.sees("switched off"))
        assert not (bench.work / "incoming").exists()


@pytest.fixture
async def whisper() -> AsyncIterator[tuple[str, list[bytes]]]:
    """A service that writes down what it is sent."""
    heard: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await read_request(reader)
        if request is not None:
            heard.append(request.body)
            ok = b"good" in request.body
            body = b'{"text": "run the tests"}' if ok else b"no"
            writer.write(HttpAnswer(status=200 if ok else 500, body=body).encode(for_method="POST"))
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", heard
    server.close()
    await server.wait_closed()


async def test_a_voice_message_is_written_down_and_taken_as_a_prompt(
    bench: Bench, whisper: tuple[str, list[bytes]]
) -> None:
    url, heard = whisper
    bench.bots.files |= {"good": b"good sound", "bad": b"noise"}
    async with bench.bridge(voice=VoiceSettings(enabled=True, base_url=url, model="tiny", api_key="k")):
        await bench.me.send(voice={"file_id": "good", "file_size": 10})
        await answered(bench, "mock: (voice transcribed) run the tests")
        assert b'name="model"\r\n\r\ntiny' in heard[0]
        await bench.me.send(voice={"file_id": "bad", "file_size": 10})
        await bench.bots.until(lambda: bench.me.sees("✗ transcription: HTTP 500"))
        await bench.me.send(voice={"file_id": "good", "file_size": 11 * 1024 * 1024})
        await bench.bots.until(lambda: bench.me.sees("at most 10485760"))


async def test_voice_is_off_until_it_is_switched_on(bench: Bench) -> None:
    async with bench.bridge():
        await bench.me.send(voice={"file_id": "good", "file_size": 10})
        await bench.bots.until(lambda: bench.me.sees("voice messages are switched off"))


async def test_a_comment_and_its_forwards_are_one_prompt(bench: Bench) -> None:
    origin = {"type": "user", "date": 1, "sender_user": {"id": 5, "is_bot": False, "first_name": "x"}}
    await bench.me.write("what do they mean?")
    await bench.me.write("first words", forward_origin=origin)
    await bench.me.write("second words", forward_origin=origin)
    async with bench.bridge():
        answer = await answered(bench, "what do they mean?")
        assert "[forwarded message]\nfirst words" in answer.text
        assert "[forwarded message]\nsecond words" in answer.text
        assert len(bench.me.answers) == 1


async def test_a_lone_forward_does_nothing_and_no_prompt_waits_for_one(bench: Bench) -> None:
    origin = {"type": "user", "date": 1, "sender_user": {"id": 5, "is_bot": False, "first_name": "x"}}
    async with bench.bridge(forward_coalesce_s=30.0):
        await bench.me.write("a lone one", forward_origin=origin)
        await bench.me.write("hello")
        await answered(bench, "mock: hello")
        assert not bench.me.sees("lone")


async def test_an_answer_that_is_too_long_for_messages_is_a_file(bench: Bench) -> None:
    async with bench.bridge():
        await bench.me.write("big 3000000")
        await bench.bots.until(lambda: any(b.document == "answer.md" for b in bench.me.answers))
        assert [b.body for b in bench.me.answers if b.document] == [b"x" * 3_000_000]
        assert bench.me.sees("The answer has 3.0 MB: the file has all of it.")
        await bench.bots.until(lambda: len(bench.me.answers) == 2)


async def test_an_answer_that_is_too_large_for_a_file_says_its_size_and_where_it_is(bench: Bench) -> None:
    async with bench.bridge(files=TransferSettings(max_out_bytes=1_000_000)):
        await bench.me.write("big 3000000")
        await bench.bots.until(lambda: bench.me.sees("The answer has 3.0 MB. To read all of it open the session"))
        assert not [each for each in bench.me.answers if each.document]
