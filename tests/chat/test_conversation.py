"""A conversation in a private chat: prompt, progress, answer, queue, cancel, resume."""

from __future__ import annotations

import re
from itertools import pairwise

from tests.chat.bench import ME, Bench, answered


async def test_a_prompt_gets_a_silent_progress_message_and_an_answer_with_a_sound(bench: Bench) -> None:
    async with bench.bridge():
        asked = await bench.me.write("hello")
        await bench.bots.until(lambda: bench.me.sees("mock: hello") and len(bench.me.answers) == 1)

        answer = bench.me.answers[0]
        assert re.match(r"done · mock · \d+s\n\nmock: hello\n\nmock --resume \S+$", answer.text)
        assert answer.reply_to == asked.id
        assert bench.me.room.sounds == [answer.text.partition("\n")[0]]
        first = bench.bots.calls("sendMessage")[0].parameters
        assert str(first["text"]).startswith("starting · mock · 0s")
        assert first["disable_notification"] is True
        assert first["link_preview_options"] == {"is_disabled": True}
        assert [call.method for call in bench.bots.log][-1] == "deleteMessage"


async def test_progress_shows_the_last_actions_and_a_clock_that_ticks(bench: Bench) -> None:
    async with bench.bridge(tick_s=0.2):
        await bench.me.write("slow 2500")
        await bench.bots.until(lambda: bench.me.sees("working · mock · 1s"))
        progress = bench.me.find("working")
        assert progress.labels == ["cancel"]
        assert progress.silent
        await answered(bench, "slow end")


async def test_cancel_by_button_stops_the_turn_and_keeps_the_session(bench: Bench) -> None:
    async with bench.bridge():
        await bench.me.write("hang")
        await bench.bots.until(lambda: bench.me.sees("working"))
        press = await bench.me.press("cancel")
        await answered(bench, "cancelled · mock")
        await bench.bots.until(lambda: bench.me.toast(press) is not None)
        assert bench.me.toast(press) == "cancelling..."
        assert not bench.me.sees("working")
        await bench.me.write("history")
        await answered(bench, "hang")


async def test_cancel_as_a_command_stops_what_runs_whatever_stands_behind_it(bench: Bench) -> None:
    async with bench.bridge():
        await bench.me.write("hang")
        await bench.bots.until(lambda: bench.me.sees("working"))
        await bench.me.write("/cancel please, now", reply_to=bench.me.find("working"))
        await bench.bots.until(lambda: bench.me.sees("cancelled · mock") and bench.me.sees("cancelling..."))
        await bench.me.write("/cancel")
        await bench.bots.until(lambda: bench.me.sees("nothing is currently running for that message."))


async def test_messages_to_one_session_queue_and_run_in_order(bench: Bench) -> None:
    async with bench.bridge():
        await bench.me.write("hang")
        await bench.bots.until(lambda: bench.me.sees("working"))
        await bench.me.write("second")
        await bench.bots.until(lambda: bench.me.sees("queued · mock"))
        assert bench.me.find("queued").labels == ["steer", "run now", "cancel"]
        await bench.me.write("third")
        await bench.bots.until(lambda: sum("queued" in text for text in bench.me.texts) == 2)
        await bench.me.press("cancel", on=bench.me.find("working"))
        await answered(bench, "mock: third")
        assert [text.partition(" ")[0] for text in bench.me.texts] == ["cancelled", "done", "done"]
        assert "mock: second" in bench.me.texts[1]
        assert "mock: third" in bench.me.texts[2]


async def test_a_queued_prompt_is_dropped_by_its_button(bench: Bench) -> None:
    async with bench.bridge():
        await bench.me.write("hang")
        await bench.bots.until(lambda: bench.me.sees("working"))
        await bench.me.write("second")
        await bench.bots.until(lambda: bench.me.sees("queued"))
        press = await bench.me.press("cancel", on=bench.me.find("queued"))
        await bench.bots.until(lambda: bench.me.sees("dropped from queue"))
        await bench.bots.until(lambda: bench.me.toast(press) is not None)
        assert bench.me.toast(press) == "dropped from queue."
        await bench.me.press("cancel", on=bench.me.find("working"))
        await answered(bench, "hang begin")
        assert not bench.me.sees("mock: second")


async def test_a_turn_that_cannot_be_steered_leaves_the_prompt_in_the_queue(bench: Bench) -> None:
    async with bench.bridge():
        await bench.me.write("hang")
        await bench.bots.until(lambda: bench.me.sees("working"))
        await bench.me.write("second")
        await bench.bots.until(lambda: bench.me.sees("queued"))
        press = await bench.me.press("steer")
        await bench.bots.until(lambda: bench.me.toast(press) is not None)
        assert bench.me.toast(press) == "active turn is not steerable; still queued."
        await bench.me.press("cancel", on=bench.me.find("working"))
        await answered(bench, "mock: second")


async def test_a_queued_prompt_can_cut_the_running_turn_short(bench: Bench) -> None:
    async with bench.bridge():
        await bench.me.write("hang")
        await bench.bots.until(lambda: bench.me.sees("working"))
        await bench.me.write("later")
        await bench.me.write("urgent")
        await bench.bots.until(lambda: sum("queued" in text for text in bench.me.texts) == 2)
        await bench.me.press("run now", on=bench.me.find("queued"))
        await answered(bench, "mock: later")
        order = [text for text in bench.me.texts if "mock: " in text]
        assert "urgent" in order[0]
        assert bench.me.sees("cancelled · mock")


async def test_in_chat_mode_a_message_goes_on_with_the_session_until_new(bench: Bench) -> None:
    async with bench.bridge():
        await bench.me.write("first")
        await answered(bench, "mock: first")
        await bench.me.write("history")
        await answered(bench, "\n\nfirst")
        await bench.me.write("/new")
        await bench.bots.until(lambda: bench.me.sees("begins a new session"))
        await bench.me.write("history")
        await answered(bench, "no prompts so far")


async def test_in_stateless_mode_only_a_reply_or_a_resume_line_goes_on(bench: Bench) -> None:
    async with bench.bridge(session_mode="stateless", show_resume_line=False):  # hidden only where a chat goes on
        await bench.me.write("first")
        answer = await answered(bench, "mock: first")
        await bench.me.write("history")
        await answered(bench, "no prompts so far")
        await bench.me.write("history", reply_to=answer)
        await bench.bots.until(lambda: sum(text.count("\nfirst") for text in bench.me.texts) == 1)
        line = answer.text.splitlines()[-1]
        await bench.me.write(f"history\n`{line}`")
        await bench.bots.until(lambda: sum(text.count("\nfirst") for text in bench.me.texts) == 2)


async def test_a_reply_to_a_running_progress_message_queues_behind_it(bench: Bench) -> None:
    async with bench.bridge(session_mode="stateless"):
        await bench.me.write("hang")
        await bench.bots.until(lambda: bench.me.sees("working"))
        await bench.me.write("history", reply_to=bench.me.find("working"))
        await bench.bots.until(lambda: bench.me.sees("queued · mock"))
        await bench.me.press("cancel", on=bench.me.find("working"))
        await answered(bench, "\n\nhang")


async def test_a_resume_line_alone_means_continue(bench: Bench) -> None:
    async with bench.bridge(session_mode="stateless"):
        await bench.me.write("first")
        line = (await answered(bench, "mock: first")).text.splitlines()[-1]
        await bench.me.write(line)
        await answered(bench, "mock: continue")


async def test_a_resumed_prompt_costs_no_more_calls_than_a_new_one(bench: Bench) -> None:
    async with bench.bridge():
        await bench.me.write("first")
        await bench.bots.until(lambda: bench.bots.calls("deleteMessage"))
        await bench.me.write("second")
        await bench.bots.until(lambda: len(bench.bots.calls("deleteMessage")) == 2)
        assert len(bench.bots.calls("sendMessage")) == 4
        assert len(bench.bots.calls("editMessageText")) <= 4


async def test_text_is_shown_in_a_draft_as_it_is_written(bench: Bench) -> None:
    async with bench.bridge():
        await bench.me.write("stream 5 60")
        await answered(bench, "chunk 4")
        drafts = bench.me.room.drafts
        assert drafts
        assert all(later.startswith(earlier) for earlier, later in pairwise(drafts))


async def test_where_drafts_are_refused_the_progress_message_shows_the_text(bench: Bench) -> None:
    bench.bots.fail(method="sendMessageDraft", status=400, words="Bad Request: no drafts", times=99)
    async with bench.bridge(tick_s=0.1):
        await bench.me.write("stream 8 200")
        await bench.bots.until(lambda: any("working" in t and "chunk 2" in t for t in bench.me.texts))
        await answered(bench, "chunk 7")
        assert len(bench.bots.calls("sendMessageDraft")) == 1


async def test_a_failed_turn_is_an_error_with_its_words(bench: Bench) -> None:
    async with bench.bridge():
        await bench.me.write("error")
        answer = await answered(bench, "error · mock")
        assert "requested" in answer.text or "Internal error" in answer.text


async def test_what_is_refused_is_told_in_the_chat(bench: Bench) -> None:
    async with bench.bridge(cwd=str(bench.folder / "nowhere")):
        await bench.me.write("hello")
        await bench.bots.until(lambda: bench.me.sees("a folder that exists"))
        assert len(bench.me.answers) == 1


async def test_without_a_sound_the_progress_message_turns_into_the_answer(bench: Bench) -> None:
    async with bench.bridge(final_notify=False):
        await bench.me.write("slow 300")
        await answered(bench, "slow end")
        assert bench.me.room.sounds == []
        assert len(bench.bots.calls("sendMessage")) == 1
        assert len(bench.me.answers) == 1


async def test_a_long_answer_comes_in_parts_and_only_the_first_sounds(bench: Bench) -> None:
    async with bench.bridge():
        await bench.me.write("big 9000")
        await answered(bench, "continued (3/3)")
        parts = bench.me.answers
        assert sum(part.text.count("x") for part in parts) == 9000
        assert [part.silent for part in parts] == [False, True, True]
        assert all("mock --resume" in part.text for part in parts)


async def test_a_long_answer_is_trimmed_where_that_is_wanted(bench: Bench) -> None:
    async with bench.bridge(message_overflow="trim"):
        await bench.me.write("big 9000")
        answer = await answered(bench, "…")
        assert len(bench.me.answers) == 1
        assert answer.text.splitlines()[-1].startswith("mock --resume")


async def test_nobody_else_gets_an_answer(bench: Bench) -> None:
    async with bench.bridge():
        stranger = bench.bots.person(666)
        await stranger.write("hello")
        intruder = bench.bots.person(666, ME)
        await intruder.write("hello from inside")
        await bench.me.write("hello")
        await answered(bench, "mock: hello")
        assert stranger.answers == []
        assert not bench.me.sees("inside")
