"""The data behind buttons: a verb, the id of what it is about, what was chosen, and a seal. Pure.

The seal is made with the bot's token, so data that no button of ours has sent is not believed. At most 64 bytes.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final, Literal, cast, get_args

import msgspec

from footplate.chat.model import Button

Verb = Literal["r", "c", "s", "i", "n", "g", "x"]
"""Answer a request; cancel, steer, interrupt for, begin anew with a prompt; continue a session; call a
command that a package brings."""
VERBS: Final[tuple[str, ...]] = get_args(Verb)
SEAL: Final = 6
MOST_BYTES: Final = 64


class Press(msgspec.Struct, frozen=True):
    """What a button means."""

    verb: Verb
    about: str
    choice: str = ""


class Sealer:
    """Makes and reads the data of buttons for one bot."""

    def __init__(self, token: str) -> None:
        self._key = hashlib.sha256(f"footplate buttons {token}".encode()).digest()

    def button(self, text: str, verb: Verb, about: str, choice: str = "") -> Button:
        """A button that means this."""
        data = f"{verb}:{about}:{choice}"
        sealed = f"{data}:{self._seal(data)}"
        if len(sealed.encode()) > MOST_BYTES:
            raise ValueError(f"{sealed!r} is too long for a button")
        return Button(text=text[:60], callback_data=sealed)

    def read(self, data: str) -> Press | None:
        """What a press means; None when no button of ours says so."""
        said, _, seal = data.rpartition(":")
        if not hmac.compare_digest(seal.encode(), self._seal(said).encode()):
            return None
        verb, _, rest = said.partition(":")
        about, _, choice = rest.partition(":") if verb == "x" else rest.rpartition(":")
        return Press(cast("Verb", verb), about, choice) if verb in VERBS else None

    def _seal(self, data: str) -> str:
        return hmac.new(self._key, data.encode(), hashlib.sha256).hexdigest()[:SEAL]
