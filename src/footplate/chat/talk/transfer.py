"""Files in and out: `/file put`, `/file get`, and files that come with a message."""

from __future__ import annotations

import base64
import io
import posixpath
import zipfile
from pathlib import Path

from footplate.chat.model import Content, Message, Place
from footplate.chat.reading.commands import Command
from footplate.chat.reading.files import Attached, attached_to, check_path, is_denied, uploaded_words
from footplate.chat.reading.routing import Said
from footplate.chat.talk.commands.ordered import Handler, Ordered
from footplate.chat.talk.kit import Kit
from footplate.chat.talk.prompts import Prompter, Wish
from footplate.errors import InvalidValue, PathRefused, PermissionDenied, SwitchedOff
from footplate.events.content import ContentBlock, ImageBlock
from footplate.events.wording import format_size
from footplate.host.files import Files
from footplate.host.grounds import Grounds, telling

FORCE = "--force"


class Transfer:
    """Moves files between a chat and the folder of its project, and nowhere else."""

    def __init__(self, kit: Kit, prompter: Prompter) -> None:
        self._kit = kit
        self._prompter = prompter

    def handlers(self) -> dict[str, Handler]:
        """The commands of this room."""
        return {"file": self._file}

    async def take(self, messages: list[Message], ordered: Ordered) -> str:
        """Files without a command: kept, and given to the agent with what is written under them. What to tell."""
        self._check(ordered)
        if not self._kit.settings.files.auto_put:
            return "files are kept only by `/file put PATH` written under them."
        folder = await self._folder(ordered)
        paths, blocks = [], []
        for message in messages:
            attached = attached_to(message)
            if attached is not None:
                body = await self._fetch(attached)
                wanted = posixpath.join(self._kit.settings.files.uploads_dir, attached.name)
                paths.append(await self._put(folder, wanted, body, replace=False))
                blocks += _as_block(attached, body)
        prompt = ordered.said.text
        if not prompt or self._kit.settings.files.auto_put_mode == "upload":
            return "\n".join(f"saved `{path}`" for path in paths)
        said = Said(
            text=f"{prompt}\n\n{uploaded_words(paths)}",
            reply_text=ordered.said.reply_text,
            reply_session=ordered.said.reply_session,
        )
        await self._prompter.take(
            Wish(
                spot=ordered.spot,
                message=ordered.message.message_id,
                sender=ordered.sender,
                said=said,
                extra=tuple(blocks) if await self._sees(ordered) else (),
            )
        )
        return ""

    async def _sees(self, ordered: Ordered) -> bool:
        route = await self._prompter.route(ordered.spot, ordered.said)
        return self._kit.roster.capabilities(route.engine).images

    async def _file(self, command: Command, ordered: Ordered) -> str:
        self._check(ordered)
        verb, *words = command.words or [""]
        if verb == "put":
            return await self._put_by_command(words, ordered)
        if verb == "get" and len(words) == 1:
            return await self._get(words[0], ordered)
        raise InvalidValue("file", command.rest, "`/file put [--force] PATH` under a file, or `/file get PATH`")

    async def _put_by_command(self, words: list[str], ordered: Ordered) -> str:
        reply = ordered.message.reply_to_message
        attached = attached_to(ordered.message) or (attached_to(reply) if reply is not None else None)
        if attached is None:
            raise InvalidValue("file", "put", "a file: write the command under one, or reply to one")
        paths = [word for word in words if word != FORCE]
        wanted = paths[0] if paths else posixpath.join(self._kit.settings.files.uploads_dir, attached.name)
        if wanted.endswith("/"):
            wanted += attached.name
        folder = await self._folder(ordered)
        body = await self._fetch(attached)
        if FORCE in words:
            await self._record_replaced(folder, wanted, ordered)
        kept = await self._put(folder, wanted, body, replace=FORCE in words, rename=False)
        return f"saved `{kept}` ({format_size(len(body))})"

    # ---------------------------------------------------------------------------------------------- in

    async def _fetch(self, attached: Attached) -> bytes:
        limit = self._kit.settings.files.max_in_bytes
        if attached.size > limit:
            raise InvalidValue("file", attached.name, f"one of at most {format_size(limit)}")
        return await self._kit.transport.fetch(attached.file_id, limit=limit)

    async def _put(self, folder: str, path: str, body: bytes, *, replace: bool, rename: bool = True) -> str:
        clean = check_path(path, self._kit.settings.files.deny_globs)
        return await self._kit.services.surroundings.blocking(_write, folder, clean, body, replace, rename)

    async def _record_replaced(self, folder: str, path: str, ordered: Ordered) -> None:
        """Record, before it is written, that something lies there."""
        clean, services = check_path(path, self._kit.settings.files.deny_globs), self._kit.services
        if await services.surroundings.blocking(Files(Grounds.of(folder, (folder,))).is_there, clean):
            principal = self._kit.principal(ordered.sender)
            await services.audit.record("file.replace", principal, target=posixpath.join(folder, clean))

    async def _folder(self, ordered: Ordered) -> str:
        route = await self._prompter.route(ordered.spot, ordered.said)
        return await self._kit.folder(route.context)

    # --------------------------------------------------------------------------------------------- out

    async def _get(self, path: str, ordered: Ordered) -> str:
        settings = self._kit.settings.files
        clean = check_path(path, settings.deny_globs)
        folder = await self._folder(ordered)
        name, body = await self._kit.services.surroundings.blocking(
            _pack, folder, clean, settings.deny_globs, settings.max_out_bytes
        )
        found = await self._kit.outgoing(name, body)
        place = Place(chat=ordered.spot.chat, topic=ordered.spot.topic, reply_to=ordered.message.message_id)
        key = f"x/{ordered.spot.chat}-{ordered.message.message_id}"
        await self._kit.outbox.put(key, place, Content(text=clean[:1000]), urgent=True, document=str(found))
        return ""

    def _check(self, ordered: Ordered) -> None:
        settings = self._kit.settings.files
        if not self._kit.transport.capabilities.files:
            raise SwitchedOff(f"files cannot be sent or fetched on {self._kit.surface}")
        if not settings.enabled:
            raise SwitchedOff(f"files are switched off; [{self._kit.section}.files] enabled = true switches them on")
        if settings.allowed_user_ids and ordered.sender.id not in settings.allowed_user_ids:
            raise PermissionDenied(f"you may not send or fetch files ([{self._kit.section}.files] allowed_user_ids)")


def _as_block(attached: Attached, body: bytes) -> list[ContentBlock]:
    """A picture for the model's eyes."""
    if not attached.image:
        return []
    return [ImageBlock(media_type=attached.media_type, data=base64.b64encode(body).decode())]


def _write(folder: str, path: str, body: bytes, replace: bool, rename: bool) -> str:
    """Write it whole or not at all; beside one that is there already under another name, or not at all."""
    files = Files(Grounds.of(folder, (folder,)))
    target, number = path, 0
    while not replace and _is_there(files, target, body):
        if not rename:
            raise PathRefused("path already exists; --force writes over it", path)
        number += 1
        stem, dot, suffix = path.rpartition(".")
        target = f"{stem}-{number}.{suffix}" if dot and "/" not in suffix else f"{path}-{number}"
    upload = files.write(target)
    try:
        upload.write(body)
        upload.finish()
    finally:
        upload.drop()
    return target


def _is_there(files: Files, path: str, body: bytes) -> bool:
    """Whether something else lies there; the very same file may be written again."""
    try:
        opened = files.open(path)
    except PathRefused as problem:
        return "not found" not in str(problem)
    try:
        with open(opened.fd, "rb", closefd=False) as file:
            return file.read(len(body) + 1) != body
    finally:
        opened.close()


def _pack(folder: str, path: str, denied: tuple[str, ...], limit: int) -> tuple[str, bytes]:
    """The file, or the folder as an archive: its name and its bytes."""
    files = Files(Grounds.of(folder, (folder,)))
    name = posixpath.basename(path) or "files"
    if files.stat(path).entry_type == "directory":
        return f"{name}.zip", _zip(files, folder, path, denied, limit)
    return name, _read(files, path, limit)


def _zip(files: Files, folder: str, path: str, denied: tuple[str, ...], limit: int) -> bytes:
    size, waiting, target = 0, [path], io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        while waiting:
            for entry in files.entries(waiting.pop()):
                inner = posixpath.relpath(entry.path, folder) if entry.path.startswith("/") else entry.path
                if is_denied(inner, denied) or Path(folder, inner).is_symlink():
                    continue
                if entry.entry_type == "directory":
                    waiting.append(inner)
                    continue
                body = _read(files, inner, limit - size)
                size += len(body)
                archive.writestr(posixpath.relpath(inner, path), body)
    return target.getvalue()


def _read(files: Files, path: str, limit: int) -> bytes:
    opened = files.open(path)
    try:
        with telling(path), open(opened.fd, "rb", closefd=False) as file:
            body = file.read(limit + 1)
    finally:
        opened.close()
    if len(body) > limit:
        raise InvalidValue("file", path, f"one of at most {format_size(limit)}")
    return body
