"""What a message or a press means. Pure."""

from __future__ import annotations

import pytest

from footplate.chat.model import Chat, Message, PhotoSize, User
from footplate.chat.reading.asking import Dialogue, Hint, press, reply
from footplate.chat.reading.commands import Command, read_command, read_shell
from footplate.chat.reading.directives import Directives, Names, read_directives
from footplate.chat.reading.files import attached_to, check_path
from footplate.chat.reading.gate import is_meant, may_use
from footplate.chat.reading.presses import Press, Sealer
from footplate.chat.reading.routing import Ambient, Context, Resumes, Said, choose_route
from footplate.chat.talk.menu import build_menu, restore_command
from footplate.config.telegram import TelegramSettings
from footplate.errors import InvalidValue, PermissionDenied
from footplate.events.base import ResumeToken
from footplate.events.ids import EngineSessionId, RequestId, SessionId
from footplate.events.model import SlashCommand
from footplate.events.requests import Allow, Decline, Deny, Reply, Request, Suggestion
from footplate.events.tools import Choice, Question

NAMES = Names(engines=("claude", "codex"), projects=("shop", "blog"), bot="my_bot")


def token(text: str) -> ResumeToken | None:
    found = None
    for line in text.splitlines():
        if line.strip("`").startswith("claude --resume "):
            found = ResumeToken(engine="claude", value=EngineSessionId(line.strip("`").split()[-1]))
    return found


RESUMES = Resumes(token, lambda line: token(line) is not None)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("hello", Directives(prompt="hello")),
        ("/claude hello", Directives(engine="claude", prompt="hello")),
        ("/Claude@my_bot hello", Directives(engine="claude", prompt="hello")),
        ("/claude@other_bot hello", Directives(prompt="/claude@other_bot hello")),
        ("/shop @x/y /codex do it", Directives(engine="codex", project="shop", branch="x/y", prompt="do it")),
        ("\n/shop\ndo it @later", Directives(project="shop", prompt="do it @later")),
        ("do it /claude", Directives(prompt="do it /claude")),
        ("/compact now", Directives(prompt="/compact now")),
    ],
)
def test_directives_are_a_prefix_of_the_first_line(text: str, found: Directives) -> None:
    assert read_directives(text, NAMES) == found


@pytest.mark.parametrize("text", ["/claude /codex x", "/shop /blog x", "@a @b x"])
def test_two_directives_of_a_kind_are_refused(text: str) -> None:
    with pytest.raises(InvalidValue):
        read_directives(text, NAMES)


def route(text: str, **given: object):  # type: ignore[no-untyped-def]
    ambient = given.pop("ambient", Ambient())
    return choose_route(Said(text=text, **given), ambient, NAMES, RESUMES)  # type: ignore[arg-type]


def test_a_resume_line_in_the_text_wins_then_one_in_the_reply_and_the_last_counts() -> None:
    both = route("claude --resume a\nclaude --resume b\ngo", reply_text="claude --resume c")
    assert (both.token.value, both.prompt) == ("b", "go")
    assert route("go", reply_text="x\n`claude --resume c`").token.value == "c"
    assert route("`claude --resume c`").prompt == "continue"


def test_a_reply_goes_on_with_the_session_of_its_message() -> None:
    found = route("go", reply_text="done", reply_session=SessionId("s1"))
    assert (found.session, found.token) == ("s1", None)


def test_the_engine_is_that_of_the_token_the_directive_the_topic_the_chat_the_project_the_settings() -> None:
    ambient = Ambient(
        engines=("topic", "chat"),
        context=Context(project="shop"),
        project_engines={"shop": "project"},
        default_engine="d",
    )
    assert route("x\nclaude --resume a", ambient=ambient).engine == "claude"
    assert route("/codex x", ambient=ambient).engine == "codex"
    assert route("x", ambient=ambient).engine == "topic"
    assert route("x", ambient=Ambient(engines=("", "chat"), default_engine="d")).engine == "chat"
    only_project = Ambient(context=Context(project="shop"), project_engines={"shop": "project"}, default_engine="d")
    assert route("x", ambient=only_project).engine == "project"
    assert route("x", ambient=Ambient(default_engine="d")).engine == "d"
    with pytest.raises(InvalidValue):
        route("/codex x\nclaude --resume a")


def test_the_footer_of_the_message_replied_to_beats_directives_and_must_be_known() -> None:
    found = route("/blog x", reply_text="done\n\nctx: shop @y")
    assert found.context == Context(project="shop", branch="y")
    with pytest.raises(InvalidValue, match="one of shop, blog"):
        route("x", reply_text="`ctx: gone`")


def test_a_branch_needs_a_project_and_goes_with_the_ambient_one() -> None:
    ambient = Ambient(context=Context(project="shop", branch="old"))
    assert route("@new x", ambient=ambient).context == Context(project="shop", branch="new")
    assert route("/blog x", ambient=ambient).context == Context(project="blog")
    with pytest.raises(InvalidValue, match="a project with it"):
        route("@new x")


def test_commands_of_ours_and_of_others() -> None:
    assert read_command("/reasoning high", "my_bot") == Command(name="effort", rest="high")
    assert read_command("/new@my_bot", "my_bot") == Command(name="new")
    assert read_command("/new@other", "my_bot") is None
    assert read_command("/compact", "my_bot") is None
    assert read_command("new", "my_bot") is None
    assert (read_shell("!ls -l"), read_shell("ls")) == ("ls -l", "")


def test_data_of_a_button_is_sealed_and_fits() -> None:
    sealer = Sealer("1:token")
    button = sealer.button("Allow", "r", "req_01ARZ3NDEKTSV4RRFFQ69G5FAV", "c10.10")
    assert len(button.callback_data.encode()) <= 64
    assert sealer.read(button.callback_data) == Press("r", "req_01ARZ3NDEKTSV4RRFFQ69G5FAV", "c10.10")
    assert sealer.read(button.callback_data.replace("c10", "c11")) is None
    assert Sealer("2:other").read(button.callback_data) is None
    assert sealer.read("nonsense") is None
    with pytest.raises(ValueError, match="too long"):
        sealer.button("x", "c", "x" * 64)


PERMISSION = Request(
    id=RequestId("r"),
    kind="permission",
    title="t",
    suggestions=(Suggestion(label="a", destination="session"), Suggestion(label="b", destination="project")),
)
QUESTIONS = Request(
    id=RequestId("q"),
    kind="question",
    title="t",
    questions=(
        Question(text="Which?", choices=(Choice(label="A"), Choice(label="B")), multiple=True),
        Question(text="Why?", choices=(Choice(label="C"),)),
    ),
)


def test_buttons_of_a_permission() -> None:
    given_answers = {
        choice: press(PERMISSION, Dialogue(), choice) for choice in ("o", "s", "a1", "a0", "d", "w", "x", "?")
    }
    assert given_answers == {
        "o": Allow(),
        "s": Allow(scope="session"),
        "a1": Allow(scope="always", suggestion=1),
        "a0": Allow(scope="session", suggestion=0),
        "d": Deny(),
        "w": Dialogue(stage="words"),
        "x": Deny(interrupt=True),
        "?": Hint("this button means nothing here"),
    }
    assert reply(PERMISSION, Dialogue(stage="words"), " no ") == Deny(message="no")
    assert isinstance(reply(PERMISSION, Dialogue(), " "), Hint)


def test_several_questions_one_after_the_other() -> None:
    assert press(QUESTIONS, Dialogue(), "n0") == Hint("choose at least one first")
    ticked = press(QUESTIONS, Dialogue(), "c0.1")
    assert ticked == Dialogue(chosen=(1,))
    both = press(QUESTIONS, Dialogue(chosen=(1,)), "c0.0")
    assert both == Dialogue(chosen=(0, 1))
    assert press(QUESTIONS, Dialogue(chosen=(0, 1)), "c0.1") == Dialogue(chosen=(0,))
    second = press(QUESTIONS, Dialogue(chosen=(0, 1)), "n0")
    assert second == Dialogue(replies={"Which?": ["A", "B"]})
    assert isinstance(second, Dialogue)
    assert press(QUESTIONS, second, "c0.0") == Hint("that question is answered already")
    assert press(QUESTIONS, second, "c1.0") == Reply(answers={"Which?": ["A", "B"], "Why?": "C"})
    assert reply(QUESTIONS, second, "own words") == Reply(answers={"Which?": ["A", "B"], "Why?": "own words"})
    assert press(QUESTIONS, second, "z") == Decline()


def message(text: str, **more: object) -> Message:
    given_values = {"message_id": 1, "chat": Chat(id=-5, type="supergroup"), "sender": User(id=7), "text": text, **more}
    return Message(**given_values)  # type: ignore[arg-type]


def test_who_is_let_in() -> None:
    own, club = Chat(id=7), Chat(id=-5, type="supergroup")
    alone, group = TelegramSettings(chat_id=7), TelegramSettings(chat_id=-5, allowed_user_ids=(7, 8))
    assert may_use(alone, User(id=7), own)
    assert not may_use(alone, User(id=8), Chat(id=8))
    assert not may_use(alone, User(id=7), club)
    assert not may_use(alone, None, own)
    assert not may_use(alone, User(id=7, is_bot=True), own)
    assert may_use(group, User(id=8), club)
    assert may_use(group, User(id=8), Chat(id=8))
    assert not may_use(group, User(id=9), club)


def test_which_messages_of_a_group_are_meant() -> None:
    reply_to_bot = Message(message_id=2, chat=Chat(id=-5), sender=User(id=99, is_bot=True))
    assert is_meant(message("x"), "all", "my_bot", 99)
    assert not is_meant(message("x"), "mentions", "my_bot", 99)
    assert is_meant(message("hey @My_Bot x"), "mentions", "my_bot", 99)
    assert is_meant(message("/new"), "mentions", "my_bot", 99)
    assert not is_meant(message("/new@other_bot"), "mentions", "my_bot", 99)
    assert is_meant(message("x", reply_to_message=reply_to_bot), "mentions", "my_bot", 99)
    assert is_meant(message("x", chat=Chat(id=7)), "mentions", "my_bot", 99)


def test_the_largest_photo_and_safe_names() -> None:
    sizes = (PhotoSize(file_id="s", width=1, height=1), PhotoSize(file_id="l", width=9, height=9))
    found = attached_to(message("", photo=sizes))
    assert found is not None
    assert (found.file_id, found.image) == ("l", True)


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", "", "a\0b"])
def test_paths_that_lead_out_are_refused(path: str) -> None:
    with pytest.raises(InvalidValue):
        check_path(path, ())


@pytest.mark.parametrize("path", [".env", "a/.env", ".git/config", ".git", "keys/a.pem"])
def test_paths_that_are_denied(path: str) -> None:
    with pytest.raises(PermissionDenied):
        check_path(path, TelegramSettings().files.deny_globs)


def test_the_menu_is_cut_at_a_hundred_and_keeps_ours() -> None:
    own = [SlashCommand(name=f"skill-{number}") for number in range(200)]
    menu = build_menu(("claude",), ("shop",), own)
    names = [each.command for each in menu]
    assert len(menu) == 100
    assert {"cancel", "new", "claude", "shop", "skill_1"} <= set(names)
    assert restore_command("/skill_1 now", own) == "/skill-1 now"
    assert restore_command("/other now", own) == "/other now"
