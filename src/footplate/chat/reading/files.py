"""Files of messages: which one is meant, which names are refused. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from fnmatch import fnmatch

import msgspec

from footplate.chat.model import Message
from footplate.errors import InvalidValue, PermissionDenied

IMAGES = {"image/jpeg", "image/png", "image/gif", "image/webp"}


class Attached(msgspec.Struct, frozen=True, kw_only=True):
    """A file that came with a message."""

    file_id: str
    name: str
    media_type: str = ""
    size: int = 0

    @property
    def image(self) -> bool:
        """Whether a model can look at it."""
        return self.media_type in IMAGES


def attached_to(message: Message) -> Attached | None:
    """The file of a message: a document, a video, a sticker, or the largest size of a photo."""
    if message.photo:
        largest = max(message.photo, key=lambda size: (size.width * size.height, size.file_size))
        name = f"photo-{message.message_id}.jpg"
        return Attached(file_id=largest.file_id, name=name, media_type="image/jpeg", size=largest.file_size)
    for kind, found in (("document", message.document), ("video", message.video), ("sticker", message.sticker)):
        if found is not None:
            suffix = {"video": ".mp4", "sticker": ".webp"}.get(kind, "")
            name = safe_name(found.file_name) or f"{kind}-{message.message_id}{suffix}"
            return Attached(file_id=found.file_id, name=name, media_type=found.mime_type, size=found.file_size)
    return None


def safe_name(name: str) -> str:
    """A name without folders and without what a shell or a person would stumble over."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return re.sub(r"[^\w.\- ]+", "_", last).strip(" .")[:120]


def check_path(path: str, denied: Iterable[str]) -> str:
    """The path inside of the project, tidied up. Raises for one that leads out, or that may not be touched."""
    clean = posixpath.normpath(path.strip())
    if not path.strip() or clean.startswith(("/", "..")) or clean == ".." or "\0" in path:
        raise InvalidValue("path", path, "a path inside of the project's folder")
    if is_denied(clean, denied):
        raise PermissionDenied(f"{clean} may not be touched from a chat (deny_globs of its section files)")
    return clean


def is_denied(path: str, globs: Iterable[str]) -> bool:
    """Whether one of the globs fits the path."""
    return any(fnmatch(path, glob) or fnmatch(f"./{path}", glob) or path == glob.removesuffix("/**") for glob in globs)


def uploaded_words(paths: list[str]) -> str:
    """What the agent is told of files that came along."""
    if len(paths) == 1:
        return f"[uploaded file: {paths[0]}]"
    return "\n".join(["[uploaded files]", *(f"- {path}" for path in paths)])
