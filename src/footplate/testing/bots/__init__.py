"""A Bot API that plays Telegram: real rate limits, injected faults, and the chat as a person sees it.

    async with ScriptedBots() as bots:
        person = bots.person(7)
        person.write("hello")
        start_bridge(token=bots.token, api_url=bots.url)
        await bots.until(lambda: person.sees("done"))
        person.press("Allow once")

Private chats share one sequence of message ids, as those of one bot do; every supergroup has its own.
"""

from footplate.testing.bots.faults import Fault
from footplate.testing.bots.person import Person
from footplate.testing.bots.server import ScriptedBots
from footplate.testing.bots.world import Bubble, Room

__all__ = ["Bubble", "Fault", "Person", "Room", "ScriptedBots"]
