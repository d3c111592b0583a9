"""A command that a package brings, as the tests bring it."""

from __future__ import annotations

from footplate.chat.command import Call, Reply


class Dice:
    """`/dice N`: shows a throw; its buttons throw again, ask the agent, or break."""

    description = "throw a dice"

    async def run(self, call: Call) -> Reply:
        if call.words == "ask":
            await call.prompt(f"thrown by {call.name}")
            return Reply(text="asked the agent")
        if call.words == "break":
            raise RuntimeError("it fell off the table")
        throw = int(call.words or "1")
        again = str(throw + 1)
        return Reply(text=f"**{throw}** eyes", buttons=(("again", again), ("ask", "ask"), ("break", "break")))


def create() -> Dice:
    return Dice()


def broken() -> Dice:
    raise RuntimeError("cannot be made")
