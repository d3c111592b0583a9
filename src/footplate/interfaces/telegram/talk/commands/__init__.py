"""The commands of the chat, by what they are about."""

from footplate.interfaces.telegram.talk.commands.book import Commands
from footplate.interfaces.telegram.talk.commands.ordered import Ordered

__all__ = ["Commands", "Ordered"]
