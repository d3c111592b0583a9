"""The commands of a chat, groups, topics, schedules."""

from __future__ import annotations

import subprocess
from pathlib import Path

from footplate.chat.reading.commands import COMMANDS
from footplate.config.chat import TopicSettings
from tests.chat.bench import GROUP, ME, OTHER, Bench, answered


def make_project(folder: Path, environ: dict[str, str]) -> Path:
    project = folder / "shop"
    project.mkdir()
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@y", "-C", str(project)]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True, env=environ)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True, env=environ)
    return project


async def test_help_lists_every_command(bench: Bench) -> None:
    async with bench.bridge():
        await bench.me.write("/start")
        await bench.bots.until(lambda: bench.me.sees("/cancel - "))
        told = bench.me.texts[-1]
        assert [name for name in COMMANDS if f"/{name} - " not in told] == []


async def test_the_agent_of_a_chat_is_shown_set_and_cleared(bench: Bench) -> None:
    async with bench.bridge():
        await bench.me.write("/agent")
        await bench.bots.until(lambda: bench.me.sees("agent: mock"))
        await bench.me.write("/agent set codex")
        await bench.bots.until(lambda: bench.me.sees("agent: codex (but: "))  # it is not installed here
        await bench.me.write("/agent nonsense")
        await bench.bots.until(lambda: bench.me.sees("'nonsense' cannot be used"))
        await bench.me.write("/agent clear")
        await bench.bots.until(lambda: sum("agent: mock" in text for text in bench.me.texts) == 2)
        await bench.me.write("hello")
        await answered(bench, "done · mock")


async def test_model_effort_and_mode_hold_for_the_chat(bench: Bench) -> None:
    async with bench.bridge() as bridge:
        await bench.me.write("/model mock-fast")
        await bench.bots.until(lambda: bench.me.sees("model of mock: mock-fast"))
        await bench.me.write("/reasoning high")
        await bench.bots.until(lambda: bench.me.sees("effort of mock: high"))
        await bench.me.write("/mode nonsense")
        await bench.bots.until(lambda: bench.me.sees("mode: 'nonsense' cannot be used"))
        await bench.me.write("/mode plan")
        await bench.bots.until(lambda: bench.me.sees("permission mode: plan"))
        await bench.me.write("hello")
        await answered(bench, "mock: hello")
        row = (await bridge.kit.hub.sessions()).items[0]
        spec = (await bridge.kit.hub.get(row.session)).spec
        assert (spec.model, spec.effort, spec.mode) == ("mock-fast", "high", "plan")
        assert row.effort == "high"
        await bench.me.write("/effort low")
        await bench.bots.until(lambda: bench.me.sees("effort of mock: low"))
        assert (await bridge.kit.hub.get(row.session)).view().effort == "low"
    async with bench.bridge():
        await bench.me.write("/model")
        await bench.bots.until(lambda: sum("model of mock: mock-fast" in text for text in bench.me.texts) == 2)


async def test_sessions_and_usage_tell_what_there_is(bench: Bench) -> None:
    async with bench.bridge():
        await bench.me.write("/usage")
        await bench.bots.until(lambda: bench.me.sees("✗"))
        await bench.me.write("usage")
        await answered(bench, "usage sent")
        await bench.me.write("/usage")
        await bench.bots.until(lambda: bench.me.sees("- turns: 1"))
        assert "context: 1.2k of 200k" in bench.me.find("- turns: 1").text
        await bench.me.write("/sessions")
        await bench.bots.until(lambda: bench.me.sees("- mock · idle · 1 turn · "))


async def test_what_is_allowed_for_the_session_is_listed_and_revoked(bench: Bench) -> None:
    async with bench.bridge():
        await bench.me.write("permission")
        await bench.bots.until(lambda: bench.me.sees("permission · mock"))
        await bench.me.press("Allow for session")
        await answered(bench, "permission: allow")
        await bench.me.write("permission")
        await bench.bots.until(lambda: sum("permission: a" in text for text in bench.me.texts) == 2)
        await bench.me.write("/rules")
        await bench.bots.until(lambda: bench.me.sees("/revoke N takes one back"))
        await bench.me.write("/revoke 1")
        await bench.bots.until(lambda: bench.me.sees("revoked: "))
        await bench.me.write("permission")
        await bench.bots.until(lambda: any(b.labels[:1] == ["Allow once"] for b in bench.me.answers))


async def test_a_budget_is_set_and_told(bench: Bench) -> None:
    async with bench.bridge():
        await bench.me.write("hello")
        await answered(bench, "mock: hello")
        await bench.me.write("/budget 2.50")
        await bench.bots.until(lambda: bench.me.sees("budget: $2.50"))
        await bench.me.write("/budget much")
        await bench.bots.until(lambda: bench.me.sees("an amount in dollars"))


async def test_a_session_is_exported_also_after_a_restart(bench: Bench) -> None:
    async with bench.bridge():
        await bench.me.write("remember me")
        await answered(bench, "mock: remember me")
    async with bench.bridge():
        await bench.me.write("/export")
        await bench.bots.until(lambda: any(b.document.endswith(".jsonl") for b in bench.me.answers))
        sent = next(b for b in bench.me.answers if b.document)
        assert b"remember me" in sent.body


async def test_a_shell_command_runs_in_the_folder_and_only_for_administrators(bench: Bench) -> None:
    async with bench.bridge():
        await bench.me.write("hello")
        await answered(bench, "mock: hello")
        await bench.me.write("!echo it is $((6 * 7)); exit 3")
        await bench.bots.until(lambda: bench.me.sees("it is 42"))
        assert "(exit 3)" in bench.me.find("it is 42").text
    async with bench.bridge(admin_user_ids=(OTHER,)):
        await bench.me.write("!echo no")
        await bench.bots.until(lambda: bench.me.sees("only administrators may run commands"))


async def test_a_prompt_for_later_survives_a_restart_and_denies_what_it_would_ask(bench: Bench) -> None:
    async with bench.bridge():
        await bench.me.write("/at 1s permission")
        await bench.bots.until(lambda: bench.me.sees("with nobody there"))
    async with bench.bridge():
        await answered(bench, "permission: reject")
        assert bench.me.sees(": Nobody is there") or not bench.me.sees("Allow once")


async def test_prompts_for_later_are_listed_and_taken_back(bench: Bench) -> None:
    async with bench.bridge():
        await bench.me.write("/at 2h run the tests")
        await bench.bots.until(lambda: bench.me.sees("with nobody there"))
        await bench.me.write("/at")
        await bench.bots.until(lambda: bench.me.sees("run the tests"))
        await bench.me.write("/at cancel 1")
        await bench.bots.until(lambda: bench.me.sees("taken back."))
        await bench.me.write("/at soon do it")
        await bench.bots.until(lambda: bench.me.sees("a time and a prompt"))


async def test_the_menu_has_our_commands_the_engines_and_the_agents_own(bench: Bench) -> None:
    async with bench.bridge():
        names = [entry["command"] for entry in bench.bots.menu]
        assert names[:2] == ["new", "cancel"]
        assert "mock" in names
        assert "claude" in names
        assert len(names) <= 100


async def test_directives_choose_project_and_branch_and_the_footer_brings_them_back(bench: Bench) -> None:
    project = make_project(bench.folder, bench.environ)
    async with bench.bridge(projects={"shop": str(project)}) as bridge:
        await bench.me.write("/shop @feature/x hello")
        answer = await answered(bench, "mock: hello")
        assert "ctx: shop @feature/x" in answer.text
        assert bench.me.room.bubbles[answer.id].text.splitlines()[-2] == "ctx: shop @feature/x"
        row = (await bridge.kit.hub.sessions()).items[0]
        assert row.cwd == str(project / ".worktrees" / "feature/x")
        await bench.me.write("again", reply_to=answer)
        await answered(bench, "mock: again")
        assert "ctx: shop @feature/x" in bench.me.find("mock: again").text
        await bench.me.write("/shop /shop twice")
        await bench.bots.until(lambda: bench.me.sees("one project in a message"))


async def test_a_chat_is_bound_to_a_project(bench: Bench) -> None:
    project = make_project(bench.folder, bench.environ)
    async with bench.bridge(projects={"shop": str(project)}) as bridge:
        await bench.me.write("/ctx set shop @side")
        await bench.bots.until(lambda: bench.me.sees("context: ctx: shop @side"))
        await bench.me.write("hello")
        await answered(bench, "mock: hello")
        assert (await bridge.kit.hub.sessions()).items[0].cwd.endswith("/.worktrees/side")
        await bench.me.write("/ctx set nothing")
        await bench.bots.until(lambda: bench.me.sees("projects: shop"))
        await bench.me.write("/ctx clear")
        await bench.bots.until(lambda: bench.me.sees("context: none"))


async def test_in_a_group_mentions_can_be_asked_for_and_administrators_decide(bench: Bench) -> None:
    bench.bots.world.room(GROUP).admins.add(ME)
    boss, other = bench.bots.person(ME, GROUP), bench.bots.person(OTHER, GROUP)
    async with bench.bridge(chat_id=GROUP, allowed_user_ids=(ME, OTHER)):
        await other.write("/trigger mentions")
        await bench.bots.until(lambda: other.sees("only an administrator"))
        await boss.write("/trigger mentions")
        await bench.bots.until(lambda: other.sees("prompts here: mentions"))
        await other.write("just talking")
        await other.write("@footplate_bot hello there")
        await bench.bots.until(lambda: other.sees("mock: hello there"))
        assert not other.sees("just talking")
        await other.write("and on", reply_to=other.find("mock: hello there"))
        await bench.bots.until(lambda: other.sees("mock: and on"))


async def test_in_a_group_everybody_has_a_session_of_their_own(bench: Bench) -> None:
    bench.bots.world.room(GROUP)
    one, two = bench.bots.person(ME, GROUP), bench.bots.person(OTHER, GROUP)
    async with bench.bridge(chat_id=GROUP, allowed_user_ids=(ME, OTHER)):
        await one.write("first of one")
        await bench.bots.until(lambda: one.sees("mock: first of one"))
        await two.write("history")
        await bench.bots.until(lambda: one.sees("no prompts so far"))
        await one.write("history")
        await bench.bots.until(lambda: one.sees("\n\nfirst of one"))


async def test_a_topic_is_made_and_bound_to_a_project_and_branch(bench: Bench) -> None:
    project = make_project(bench.folder, bench.environ)
    room = bench.bots.world.room(GROUP, forum=True)
    room.admins |= {ME, bench.bots.world.bot}
    boss = bench.bots.person(ME, GROUP)
    async with bench.bridge(
        chat_id=GROUP, allowed_user_ids=(ME,), topics=TopicSettings(enabled=True), projects={"shop": str(project)}
    ) as bridge:
        await boss.write("/topic shop @side")
        await bench.bots.until(lambda: boss.sees("topic shop @side works in ctx: shop @side"))
        topic = next(iter(room.topics))
        await boss.write("hello from the topic", topic=topic)
        await bench.bots.until(lambda: boss.sees("mock: hello from the topic"))
        assert boss.find("mock: hello").topic == topic
        assert (await bridge.kit.hub.sessions()).items[0].cwd.endswith("/.worktrees/side")
        await boss.write("/topic shop @side")
        await bench.bots.until(lambda: boss.sees("that topic is there already"))
        del room.topics[topic]  # somebody removes it: it is made anew, and the old one is forgotten
        await boss.write("/topic shop @side")
        await bench.bots.until(lambda: sum("topic shop @side works in" in text for text in boss.texts) == 2)
        [fresh] = room.topics
        assert fresh != topic
        await boss.write("/topic shop", topic=fresh)  # in a topic: it is bound to something else, and named after it
        await bench.bots.until(lambda: boss.sees("topic shop works in ctx: shop"))
        assert room.topics[fresh] == "shop"


async def test_a_group_needs_to_be_known(bench: Bench) -> None:
    bench.bots.world.room(GROUP)
    async with bench.bridge():
        await bench.bots.person(ME, GROUP).write("hello")
        await bench.me.write("hi")
        await answered(bench, "mock: hi")
        assert bench.bots.person(ME, GROUP).answers == []
