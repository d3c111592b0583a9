"""A thin client of the Bot API: one method per call we make, typed results, typed errors, any base address."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from footplate.chat.model import Chat, Command, Content, Id, Keyboard, Place, Update, User
from footplate.errors import BotUnreachable
from footplate.interfaces.telegram.bot.refusals import read_refusal
from footplate.interfaces.telegram.bot.wire import Answer, FileInfo, Member, Sent, Topic

if TYPE_CHECKING:
    import httpx

API_URL: Final = "https://api.telegram.org"
TIMEOUT_S: Final = 15.0
UPLOAD_S: Final = 120.0
POLL_GRACE_S: Final = 10.0
"""How much longer than the long poll itself a poll may take."""
UPDATES: Final = ("message", "callback_query")

T = TypeVar("T")
Parameters = dict[str, object]


def markup(keyboard: Keyboard) -> Parameters:
    """The buttons as a parameter."""
    return {"inline_keyboard": [[msgspec.to_builtins(button) for button in row] for row in keyboard]}


class BotClient:
    """Calls as one bot. Every method raises a `BotError`; nothing is tried twice here."""

    def __init__(self, http: httpx.AsyncClient, token: str, url: str) -> None:
        self._http = http
        self._base = f"{url.rstrip('/')}/bot{token}"
        self._files = f"{url.rstrip('/')}/file/bot{token}"

    @classmethod
    @asynccontextmanager
    async def open(cls, token: str, url: str = API_URL) -> AsyncIterator[BotClient]:
        """A client for as long as the block lasts."""
        import httpx  # noqa: PLC0415  - dear to import, and only who talks needs it

        limits = httpx.Limits(max_connections=40, max_keepalive_connections=20, keepalive_expiry=30)
        secure = url.startswith("https://")  # to read all certificates takes long, and plain HTTP needs none
        async with httpx.AsyncClient(timeout=TIMEOUT_S, limits=limits, verify=secure, trust_env=secure) as http:
            yield cls(http, token, url)

    # ---------------------------------------------------------------------------------------- reading

    async def get_me(self) -> User:
        """Who the bot is."""
        return await self._call("getMe", {}, User)

    async def get_updates(self, *, offset: int | None, timeout_s: float, limit: int = 100) -> list[Update]:
        """What happened from that number on; whatever is older is forgotten there."""
        given: Parameters = {"timeout": int(timeout_s), "limit": limit, "allowed_updates": UPDATES}
        if offset is not None:
            given["offset"] = offset
        return await self._call("getUpdates", given, list[Update], timeout_s=timeout_s + POLL_GRACE_S)

    async def delete_webhook(self) -> None:
        """Have updates come by polling; none of those that wait is dropped."""
        await self._call("deleteWebhook", {"drop_pending_updates": False}, bool)

    async def get_chat(self, chat: Id) -> Chat:
        """A chat."""
        return await self._call("getChat", {"chat_id": chat}, Chat)

    async def get_member(self, chat: Id, user: Id) -> Member:
        """What somebody is in a chat."""
        return await self._call("getChatMember", {"chat_id": chat, "user_id": user}, Member)

    async def get_file(self, file_id: str) -> FileInfo:
        """Where a file can be fetched."""
        return await self._call("getFile", {"file_id": file_id}, FileInfo)

    async def download(self, path: str, *, limit: int) -> bytes:
        """A file's bytes; more than the limit is `BotUnreachable`, for certain."""
        import httpx  # noqa: PLC0415

        pieces, size = [], 0
        try:
            async with self._http.stream("GET", f"{self._files}/{path}", timeout=UPLOAD_S) as answer:
                if answer.status_code != 200:
                    raise BotUnreachable("download", f"HTTP {answer.status_code}", certain=True)
                async for piece in answer.aiter_bytes():
                    size += len(piece)
                    if size > limit:
                        raise BotUnreachable("download", f"larger than {limit} bytes", certain=True)
                    pieces.append(piece)
        except httpx.HTTPError as problem:
            raise BotUnreachable("download", _words(problem), certain=True) from problem
        return b"".join(pieces)

    # --------------------------------------------------------------------------------------- messages

    async def send_message(self, place: Place, content: Content) -> int:
        """Write a message; its id."""
        return (await self._call("sendMessage", {**_placing(place), **_content(content)}, Sent)).message_id

    async def edit_text(self, chat: Id, message: Id, content: Content) -> None:
        """Put another text, or other buttons, in place of what a message has."""
        values = {"chat_id": chat, "message_id": message, **_content(content)}
        await self._call("editMessageText", values, msgspec.Raw)

    async def edit_caption(self, chat: Id, message: Id, text: str) -> None:
        """Put another text under a file."""
        await self._call("editMessageCaption", {"chat_id": chat, "message_id": message, "caption": text}, msgspec.Raw)

    async def edit_keyboard(self, chat: Id, message: Id, keyboard: Keyboard) -> None:
        """Put other buttons under a message."""
        values: Parameters = {"chat_id": chat, "message_id": message, "reply_markup": markup(keyboard)}
        await self._call("editMessageReplyMarkup", values, msgspec.Raw)

    async def delete_message(self, chat: Id, message: Id) -> None:
        """Take a message away."""
        await self._call("deleteMessage", {"chat_id": chat, "message_id": message}, bool)

    async def send_draft(self, chat: Id, draft: int, text: str, *, topic: Id | None = None) -> None:
        """Show a text as it is being written; only in private chats."""
        values: Parameters = {"chat_id": chat, "draft_id": draft, "text": text}
        if topic is not None:
            values["message_thread_id"] = topic
        await self._call("sendMessageDraft", values, bool)

    async def send_document(self, place: Place, name: str, body: bytes, *, caption: str = "") -> int:
        """Send a file; the id of its message."""
        values = {**_placing(place), **({"caption": caption} if caption else {})}
        files = {"document": (name, body)}
        return (await self._call("sendDocument", values, Sent, files=files, timeout_s=UPLOAD_S)).message_id

    async def chat_action(self, chat: Id, action: str = "typing", *, topic: Id | None = None) -> None:
        """Say that something is on its way."""
        values: Parameters = {"chat_id": chat, "action": action}
        if topic is not None:
            values["message_thread_id"] = topic
        await self._call("sendChatAction", values, bool)

    async def answer_callback(self, query: str, text: str = "", *, alert: bool = False) -> None:
        """Answer a press of a button, so that it stops to spin."""
        await self._call("answerCallbackQuery", {"callback_query_id": query, "text": text, "show_alert": alert}, bool)

    # ----------------------------------------------------------------------------------------- others

    async def set_commands(self, commands: Sequence[Command]) -> None:
        """Put up the command menu."""
        await self._call("setMyCommands", {"commands": [msgspec.to_builtins(each) for each in commands]}, bool)

    async def create_topic(self, chat: Id, name: str) -> Topic:
        """Make a topic in a forum."""
        return await self._call("createForumTopic", {"chat_id": chat, "name": name[:128]}, Topic)

    async def rename_topic(self, chat: Id, topic: Id, name: str) -> None:
        """Give a topic another name."""
        await self._call("editForumTopic", {"chat_id": chat, "message_thread_id": topic, "name": name[:128]}, bool)

    # ----------------------------------------------------------------------------------------- inside

    async def _call(
        self,
        method: str,
        parameters: Parameters,
        kind: type[T],
        *,
        timeout_s: float = TIMEOUT_S,
        files: Mapping[str, tuple[str, bytes]] | None = None,
    ) -> T:
        import httpx  # noqa: PLC0415

        url = f"{self._base}/{method}"
        try:
            if files is None:
                body = msgspec.json.encode(parameters)
                headers = {"content-type": "application/json"}
                answer = await self._http.post(url, content=body, headers=headers, timeout=timeout_s)
            else:
                fields = {name: _field(value) for name, value in parameters.items()}
                answer = await self._http.post(url, data=fields, files=files, timeout=timeout_s)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol) as problem:
            raise BotUnreachable(method, _words(problem), certain=True) from problem
        except httpx.HTTPError as problem:
            raise BotUnreachable(method, _words(problem), certain=False) from problem
        return _read(method, answer.status_code, answer.content, kind)


def _read(method: str, status: int, body: bytes, kind: type[T]) -> T:
    try:
        answer = msgspec.json.decode(body, type=Answer)
        if answer.ok:
            return msgspec.json.decode(answer.result, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise BotUnreachable(method, f"HTTP {status}, not an answer of the Bot API: {problem}", certain=False) from None
    raise read_refusal(method, answer, status)


def _content(content: Content) -> Parameters:
    """A message's content as parameters; what is empty is left out."""
    values: Parameters = {"text": content.text, "link_preview_options": {"is_disabled": True}}
    if content.entities:
        values["entities"] = msgspec.to_builtins(content.entities)
    if content.keyboard:
        values["reply_markup"] = markup(content.keyboard)
    return values


def _placing(place: Place) -> Parameters:
    values: Parameters = {"chat_id": place.chat}
    if place.topic is not None:
        values["message_thread_id"] = place.topic
    if place.reply_to is not None:
        values["reply_parameters"] = {"message_id": place.reply_to, "allow_sending_without_reply": True}
    if place.silent:
        values["disable_notification"] = True
    return values


def _field(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _words(problem: Exception) -> str:
    """What went wrong, without the address: that holds the token."""
    return type(problem).__name__
