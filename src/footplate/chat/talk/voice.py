"""Voice messages written down by an OpenAI-compatible service."""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.chat.model import Attachment, Message
from footplate.chat.talk.kit import Kit
from footplate.errors import BotUnreachable, InvalidValue, SwitchedOff

PREFIX: Final = "(voice transcribed) "
TIMEOUT_S: Final = 120.0


class Transcript(msgspec.Struct, frozen=True):
    """What the service answers."""

    text: str


def voice_of(message: Message) -> Attachment | None:
    """The recording of a message."""
    return message.voice or message.audio


async def transcribe(kit: Kit, voice: Attachment) -> str:
    """The words of a recording, marked as such. Raises a `FootplateError` that says what is missing."""
    settings = kit.settings.voice
    if not settings.enabled:
        raise SwitchedOff(f"voice messages are switched off; [{kit.section}.voice] enabled = true switches them on")
    if voice.file_size > settings.max_bytes:
        raise InvalidValue("voice message", f"{voice.file_size} bytes", f"at most {settings.max_bytes}")
    body = await kit.transport.fetch(voice.file_id, limit=settings.max_bytes)
    key = settings.api_key or kit.services.environ.get("OPENAI_API_KEY", "")
    return PREFIX + await _ask(settings.base_url, key, settings.model, body)


async def _ask(base_url: str, key: str, model: str, body: bytes) -> str:
    import httpx  # noqa: PLC0415

    headers = {"authorization": f"Bearer {key}"} if key else {}
    url = f"{base_url.rstrip('/')}/audio/transcriptions"
    try:
        async with httpx.AsyncClient(timeout=TIMEOUT_S, verify=url.startswith("https://")) as http:
            files = {"file": ("voice.ogg", body, "audio/ogg")}
            answer = await http.post(url, data={"model": model}, files=files, headers=headers)
    except httpx.HTTPError as problem:
        raise BotUnreachable("transcription", type(problem).__name__, certain=True) from problem
    if answer.status_code != 200:
        raise BotUnreachable("transcription", f"HTTP {answer.status_code} {answer.text[:200]}", certain=True)
    try:
        words = msgspec.json.decode(answer.content, type=Transcript).text.strip()
    except msgspec.DecodeError as problem:
        raise BotUnreachable("transcription", f"not an answer: {problem}", certain=True) from problem
    if not words:
        raise BotUnreachable("transcription", "no words were heard", certain=True)
    return words
