"""The commands of the chat, by what they are about."""

from footplate.chat.talk.commands.book import Commands
from footplate.chat.talk.commands.ordered import Ordered

__all__ = ["Commands", "Ordered"]
