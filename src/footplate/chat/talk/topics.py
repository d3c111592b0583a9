"""`/topic`: a topic of a forum bound to a project and branch; made, named, and found again."""

from __future__ import annotations

from footplate.chat.model import Id
from footplate.chat.reading.commands import Command
from footplate.chat.reading.routing import Context
from footplate.chat.talk.commands.choices import Choices, is_admin
from footplate.chat.talk.commands.ordered import Handler, Ordered
from footplate.chat.talk.kit import Kit
from footplate.chat.talk.places import Places, Spot
from footplate.errors import BotError, InvalidValue, PermissionDenied, SwitchedOff


class Topics:
    """Topics as places of work."""

    def __init__(self, kit: Kit, places: Places, choices: Choices) -> None:
        self._kit = kit
        self._places = places
        self._choices = choices

    def handlers(self) -> dict[str, Handler]:
        """The commands of this room."""
        return {"topic": self._topic}

    def in_scope(self, chat: Id) -> bool:
        """Whether topics of the chat are places of work."""
        settings = self._kit.settings
        if not settings.topics.enabled or not self._kit.transport.capabilities.topics:
            return False
        projects = set(settings.project_chats.values())
        match settings.topics.scope:
            case "all":
                return True
            case "main":
                return chat == settings.chat_id
            case "projects":
                return chat in projects
            case _:
                return chat in projects if projects else chat == settings.chat_id

    async def _topic(self, command: Command, ordered: Ordered) -> str:
        chat = ordered.spot.chat
        if not self.in_scope(chat):
            raise SwitchedOff(f"topics are not switched on for this chat; see [{self._kit.section}.topics]")
        if not await is_admin(self._kit, ordered):
            raise PermissionDenied("only an administrator of the group may make topics")
        if not command.rest.strip():
            raise InvalidValue("topic", "", "a project and perhaps @branch: `/topic PROJECT @BRANCH`")
        context = self._choices.read_context(command.rest)
        await self._kit.folder(context)
        if ordered.spot.topic is not None:
            return await self._bind(chat, ordered.spot.topic, context)
        known = await self._find(chat, context)
        if known is not None and await self._is_alive(chat, known, context):
            return f"that topic is there already: **{topic_name(context)}**"
        made = await self._kit.transport.make_topic(chat, topic_name(context))
        if known is not None:
            await self._kit.records.prefs.drop(Spot(chat=chat, topic=known).key)
        return await self._bind(chat, made, context, rename=False)

    async def _bind(self, chat: Id, topic: Id, context: Context, *, rename: bool = True) -> str:
        await self._places.change(Spot(chat=chat, topic=topic, private=False), context=context)
        if rename:
            await self._kit.transport.rename_topic(chat, topic, topic_name(context))
        return f"topic **{topic_name(context)}** works in `{context.words()}`"

    async def _find(self, chat: Id, context: Context) -> Id | None:
        for key, prefs in (await self._kit.records.prefs.all()).items():
            owner, _, topic = key.partition("/")
            if owner == str(chat) and topic and prefs.context == context:
                return int(topic) if topic.isdecimal() else topic
        return None

    async def _is_alive(self, chat: Id, topic: Id, context: Context) -> bool:
        """Whether the topic is still there: a stale one is made anew."""
        try:
            await self._kit.transport.rename_topic(chat, topic, topic_name(context))
        except BotError as problem:
            return "not modified" in str(problem).lower()
        return True


def topic_name(context: Context) -> str:
    """The name of a context's topic."""
    return f"{context.project} @{context.branch}" if context.branch else context.project
