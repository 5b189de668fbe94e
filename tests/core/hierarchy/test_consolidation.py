"""Consolidation: days, globals, staleness, failures, concurrency; with real records and a scripted model."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from memorybank.bank import MemoryBank
from memorybank.hierarchy.prompts import CHINESE, ENGLISH
from memorybank.hierarchy.settings import HierarchySettings
from memorybank.models import Consolidated, Level, Maker
from memorybank.testing import GARBAGE, Delay, Hold, ScriptedLLM
from tests.core.hierarchy.saying import OpenBank, say

ALL = [Level.DAY_EVENTS, Level.DAY_PORTRAIT, Level.EVENTS, Level.PORTRAIT]


def answer(prompt: str) -> str:
    """A model that does its work: a line that names the day, or the portrait."""
    marker = next(word for word in ("Rome", "Paris", "bicycle", "tea", "walk") if word in prompt)
    if "<dialogue>" in prompt and "facts:" not in prompt:
        return f"The user spoke of {marker}."
    return f"facts: knows {marker}."


def levels(done: Consolidated) -> list[Level]:
    return [memory.level for memory in [*done.made, *done.updated]]


def two_days(bank: MemoryBank) -> MemoryBank:
    say(bank, 3, "I live in Paris and I love tea.")
    say(bank, 5, "I moved to Rome for a job at Acme.")
    return bank


@pytest.mark.parametrize("llm", [None, answer])
def test_days_and_globals_are_made_once(open_bank: OpenBank, llm: Callable[[str], str] | None) -> None:
    """Every finished day gets events and portrait, then the globals; a second run has nothing to do."""
    bank = two_days(open_bank(llm))
    done = bank.consolidate()
    assert sorted(levels(done)) == sorted([*ALL, Level.DAY_EVENTS, Level.DAY_PORTRAIT])
    assert not done.failed
    maker = Maker.EXTRACTIVE if llm is None else Maker.LLM
    assert {memory.maker for memory in done.made} == {maker}
    again = bank.consolidate()
    assert (again.made, again.updated, again.failed, again.calls) == ([], [], [], 0)


def test_every_summary_knows_its_sources_down_to_messages(open_bank: OpenBank) -> None:
    """Global → days → turns → messages, all of them existing."""
    bank = two_days(open_bank())
    bank.consolidate()
    events, portrait = bank.events(), bank.portrait()
    assert events is not None
    assert portrait is not None
    days = bank.get(events.sources)
    assert [memory.level for memory in days] == [Level.DAY_EVENTS] * 2
    turns = bank.get([source for memory in days for source in memory.sources])
    messages = {message.id for message in bank.history("s")}
    assert {source for turn in turns for source in turn.sources} == messages


def test_the_portrait_prefers_the_newer_fact(open_bank: OpenBank) -> None:
    """Of contradictory facts the newer is told first, both with their dates; no prose is invented."""
    bank = two_days(open_bank())
    bank.consolidate()
    portrait = bank.portrait()
    assert portrait is not None
    text = portrait.text
    assert text.index("Rome") < text.index("Paris")
    assert "(2026-01-05)" in text
    assert all('"' in line for line in text.splitlines())


def test_today_is_not_over_yet(open_bank: OpenBank) -> None:
    """Only finished days are written, by the bank's own midnight; an unfinished day if it is asked for."""
    bank = open_bank(timezone="Asia/Shanghai", now=datetime(2026, 1, 3, 15, 30, tzinfo=UTC))
    say(bank, 3, "I like tea.", hour=15)  # 23:00 in Shanghai
    assert not levels(bank.consolidate())
    assert Level.DAY_EVENTS in levels(bank.consolidate(now=datetime(2026, 1, 3, 16, 30, tzinfo=UTC)))
    say(bank, 3, "I walk home.", hour=17)  # 01:00 on the 4th in Shanghai
    assert Level.DAY_EVENTS in levels(bank.consolidate(until="2026-01-04"))
    assert bank.events("2026-01-04") is not None


def test_a_late_turn_makes_exactly_its_day_and_the_globals_stale(open_bank: OpenBank) -> None:
    """Other days keep their text, version and strength."""
    bank = two_days(open_bank())
    bank.consolidate()
    untouched = bank.events(date(2026, 1, 3))
    say(bank, 5, "I bought a red bicycle.", hour=20, session="late")
    events, day = bank.events(), bank.events("2026-01-05")
    assert events is not None
    assert day is not None
    assert events.stale
    assert day.stale
    assert bank.events("2026-01-03") == untouched
    done = bank.consolidate()
    assert done.made == []
    assert Level.DAY_EVENTS in levels(done)
    assert bank.events("2026-01-03") == untouched
    fresh = bank.events()
    assert fresh is not None
    assert "bicycle" in fresh.text
    assert not fresh.stale
    assert fresh.id == events.id
    assert [version.text for version in bank.versions(events.id)] == [events.text]


def test_a_reply_that_completes_an_old_turn_is_seen(open_bank: OpenBank) -> None:
    """The summary of a day is stale when a turn of it gains its reply afterwards."""
    bank = open_bank()
    bank.add([{"role": "user", "content": "What should I see in Rome?"}], session="s", at="2026-01-05T23:58")
    bank.consolidate()
    bank.add([{"role": "assistant", "content": "The Pantheon, surely."}], session="s", at="2026-01-05T23:59")
    assert Level.DAY_EVENTS in levels(bank.consolidate())
    day = bank.events("2026-01-05")
    assert day is not None
    assert "Pantheon" in day.text


def test_an_edited_turn_is_read_anew(open_bank: OpenBank) -> None:
    """After a correction the summary and the globals say the corrected thing."""
    bank = two_days(open_bank())
    bank.consolidate()
    day = bank.events("2026-01-05")
    assert day is not None
    bank.edit(day.sources[0], "user: I moved to Naples for a job at Acme.\nassistant: I see.")
    bank.consolidate()
    for text in (bank.events("2026-01-05"), bank.events(), bank.portrait()):
        assert text is not None
        assert "Naples" in text.text
        assert "Rome" not in text.text


def test_a_deleted_turn_is_quoted_nowhere(open_bank: OpenBank) -> None:
    """What quoted it is emptied at once and written anew without it; a day without turns loses its summary."""
    bank = two_days(open_bank())
    bank.consolidate()
    day = bank.events("2026-01-03")
    assert day is not None
    bank.delete(day.sources)
    assert bank.events() is None
    bank.consolidate()
    assert bank.events("2026-01-03") is None
    assert not [memory for memory in bank.memories() if "Paris" in memory.text]
    assert not [
        version
        for memory in bank.memories()
        for version in bank.versions(memory.id)
        if "Paris" in version.text
    ]
    events = bank.events()
    assert events is not None
    assert "Rome" in events.text
    bank.delete([memory.id for memory in bank.memories(levels=["turn"])])
    bank.consolidate()
    assert bank.memories() == []


@pytest.mark.parametrize("reply", [*GARBAGE, "NONE", "the cat " * 300])
def test_an_unusable_reply_changes_nothing_and_is_tried_again(open_bank: OpenBank, reply: str) -> None:
    """The failure is in the outcome, without texts; the old summary stands; the next run succeeds."""
    bank = two_days(open_bank(answer))
    bank.consolidate()
    before = {level: bank.memories(levels=[level]) for level in ALL}
    say(bank, 5, "I bought a red bicycle.", hour=20)
    broken = open_bank(lambda prompt: reply)
    done = broken.consolidate()
    assert done.failed
    assert any("2026-01-05" in failure.subject for failure in done.failed)
    assert not any("bicycle" in failure.reason for failure in done.failed)
    day_events = {memory.id: memory.text for memory in broken.memories(levels=["day_events"])}
    assert day_events == {memory.id: memory.text for memory in before[Level.DAY_EVENTS]}
    mended = open_bank(lambda prompt: "facts: rides a bicycle.").consolidate()
    assert Level.DAY_EVENTS in levels(mended)
    assert not mended.failed


def test_a_model_that_raises_or_hangs_is_given_up(open_bank: OpenBank) -> None:
    """Exceptions and time-outs are failures; after three in a row the rest is not even asked."""
    bank = open_bank(ScriptedLLM([RuntimeError("secret prompt text"), Delay(5.0), RuntimeError("down")]))
    for day in range(2, 12):
        say(bank, day, "I love tea.")
    done = bank.consolidate(settings=HierarchySettings(timeout=0.05))
    assert done.calls == 3
    assert len(done.failed) == 20
    reasons = [failure.reason for failure in done.failed]
    assert "RuntimeError" in reasons[0]
    assert "0.05 s" in reasons[1]
    assert reasons[-1].startswith("not asked")
    assert not any("secret" in reason for reason in reasons)
    assert bank.memories(levels=ALL) == []


def test_what_was_done_before_a_failure_is_kept(open_bank: OpenBank) -> None:
    """Each text has a transaction of its own: the next run goes on where this one broke."""
    calls = iter(range(100))

    def flaky(prompt: str) -> str:
        if next(calls) in (2, 3):
            raise ConnectionError
        return answer(prompt)

    bank = two_days(open_bank(flaky))
    first = bank.consolidate()
    assert len(first.failed) == 2
    second = bank.consolidate()
    assert not second.failed
    assert {m.level for m in second.made} == {Level.DAY_EVENTS, Level.DAY_PORTRAIT}
    assert {m.level for m in second.updated} <= {Level.EVENTS, Level.PORTRAIT}


def consolidating(bank: MemoryBank) -> tuple[threading.Thread, list[Consolidated]]:
    done: list[Consolidated] = []
    thread = threading.Thread(target=lambda: done.append(bank.consolidate()))
    thread.start()
    return thread, done


def test_adding_goes_on_while_the_model_thinks(open_bank: OpenBank) -> None:
    """No transaction is open while a model answers; what is added meanwhile is kept and summed up next time."""
    hold = Hold("The user spoke of Paris.")
    bank = open_bank(ScriptedLLM([hold, *["The user spoke of Paris."] * 20]))
    say(bank, 3, "I live in Paris.")
    thread, done = consolidating(bank)
    hold.wait_until_called()
    say(bank, 3, "I bought a red bicycle.", hour=20, session="other")
    hold.release()
    thread.join(20)
    assert not done[0].failed
    assert len(bank.history("other")) == 2
    day = bank.events("2026-01-03")
    assert day is not None
    assert day.stale
    assert not bank.consolidate().failed
    day = bank.events("2026-01-03")
    assert day is not None
    assert len(day.sources) == 2


@pytest.mark.parametrize("change", ["delete", "edit", "erase"])
def test_a_source_that_goes_while_the_model_thinks_is_not_quoted(open_bank: OpenBank, change: str) -> None:
    """The sources are compared again before the text is stored."""
    hold = Hold("The user lives in Paris.")
    bank = open_bank(ScriptedLLM([hold, *["NONE"] * 20]))
    say(bank, 3, "I live in Paris.")
    say(bank, 3, "I love tea.", hour=11)
    turn = bank.memories(levels=["turn"])[0]
    thread, done = consolidating(bank)
    hold.wait_until_called()
    if change == "delete":
        bank.delete([turn.id])
    elif change == "edit":
        bank.edit(turn.id, "user: I live in Rome.")
    else:
        open_bank.store().erase("gary")  # type: ignore[attr-defined]  # the fixture's last store
    hold.release()
    thread.join(20)
    assert not [memory for memory in bank.memories() if memory.text == "The user lives in Paris."]
    assert done[0].failed or change == "erase"


def test_two_runs_at_once_make_no_twins(open_bank: OpenBank) -> None:
    """Whoever is second finds the text written and leaves it."""
    barrier = threading.Barrier(2, timeout=20)

    def together(prompt: str) -> str:
        if "2026-01-03" in prompt and "<dialogue>" in prompt and "facts:" not in prompt:
            barrier.wait()
        return answer(prompt)

    bank = open_bank(together)
    say(bank, 3, "I live in Paris.")
    runs = [consolidating(bank) for _ in range(2)]
    for thread, _ in runs:
        thread.join(30)
    bank.consolidate()
    for level in ALL:
        assert len(bank.memories(levels=[level])) == 1


def test_calls_and_tokens_are_counted(open_bank: OpenBank) -> None:
    """Two calls for a day, two for the globals; prompt and reply tokens by the store's counter."""
    model = ScriptedLLM(answer)
    bank = open_bank(model, tokenizer=lambda text: len(text.split()))
    two_days(bank)
    done = bank.consolidate()
    assert done.calls == model.calls == 2 * 2 + 2
    assert done.prompt_tokens == sum(len(prompt.split()) for prompt in model.prompts)
    assert done.reply_tokens == sum(len(answer(prompt).split()) for prompt in model.prompts)


def test_prompts_carry_the_day_and_the_owners_language(open_bank: OpenBank) -> None:
    """A Chinese dialogue is summed up in Chinese, an English one in English; dates with weekdays are given."""
    model = ScriptedLLM(
        lambda prompt: "用户住在罗马。" if "对话" in prompt or "记录" in prompt else "Lives in Rome."
    )
    english = open_bank(model)
    say(english, 3, "I live in Rome.")
    english.consolidate()
    assert model.prompts[0].startswith(ENGLISH.day_events[:20])
    assert "2026-01-03 (Saturday)" in model.prompts[0]
    assert "user: I live in Rome." in model.prompts[0]
    count = len(model.prompts)
    chinese = open_bank(model, owner="小明")
    say(chinese, 3, "我住在罗马。", "好的。")
    chinese.consolidate()
    assert model.prompts[count].startswith(CHINESE.day_events[:10])
    assert "2026-01-03（星期六）" in model.prompts[count]
    assert "用户: 我住在罗马。" in model.prompts[count]
    forced = open_bank(model, owner="forced", language="zh")
    count = len(model.prompts)
    say(forced, 3, "I live in Rome.")
    forced.consolidate()
    assert model.prompts[count].startswith(CHINESE.day_events[:10])


def test_prompts_are_the_users_to_edit(open_bank: OpenBank) -> None:
    """Own prompt objects are used; replies pass the redact hook before they are stored."""
    model = ScriptedLLM(lambda prompt: "The code is 4711, said the user.")
    own = replace(ENGLISH, day_events="Diary of {day}, please:\n<x>\n{text}\n</x>")
    bank = open_bank(model, redact=lambda text: text.replace("4711", "[code]"))
    say(bank, 3, "I love tea.")
    bank.consolidate(settings=HierarchySettings(prompts={"en": own, "zh": CHINESE}))
    assert model.prompts[0].startswith("Diary of 2026-01-03 (Saturday), please:")
    assert "[code]" in bank.memories(levels=["day_events"])[0].text
    assert not [memory for memory in bank.memories() if "4711" in memory.text]


def test_nothing_about_the_user_is_no_failure(open_bank: OpenBank) -> None:
    """A day that says nothing about the user has no portrait, and is not asked about again."""
    bank = open_bank(lambda prompt: "NONE" if "facts:" in prompt else "They spoke of the weather.")
    say(bank, 3, "Nice weather today.")
    assert not bank.consolidate().failed
    assert bank.portrait("2026-01-03") is None
    assert bank.portrait() is None
    assert bank.consolidate().calls == 0


def test_a_day_longer_than_a_prompt_is_read_in_parts(open_bank: OpenBank) -> None:
    """No prompt holds more than the budget; every turn is in one of them."""
    model = ScriptedLLM(lambda prompt: "facts: something." if "facts" in prompt else "Something happened.")
    bank = open_bank(model, tokenizer=lambda text: len(text.split()))
    for number in range(40):
        say(bank, 3, f"Fact{number} " + "words " * 40, hour=number % 24)
    bank.consolidate(settings=HierarchySettings(read=800, block=300))
    assert all(len(prompt.split()) < 1100 for prompt in model.prompts)
    assert all(any(f"Fact{number} " in prompt for prompt in model.prompts) for number in range(40))


def test_summaries_are_recalled_and_portraits_are_not(open_bank: OpenBank) -> None:
    """Day summaries are memories like turns; portraits and globals come by the context, or when asked for."""
    bank = two_days(open_bank())
    bank.consolidate()
    found = bank.recall("Rome Acme job", reinforce=False, k=10)
    assert {Level.TURN, Level.DAY_EVENTS} == {one.memory.level for one in found}
    only = bank.recall("Rome Acme job", reinforce=False, levels=["portrait"])
    assert [one.memory.level for one in only] == [Level.PORTRAIT]
    assert "Rome" in bank.context("hello?", reinforce=False).text


def test_progress_is_told(open_bank: OpenBank) -> None:
    """What is being written, how many days are done, how many there are."""
    told: list[tuple[str, int, int]] = []
    bank = two_days(open_bank())
    bank.consolidate(progress=lambda what, done, total: told.append((what, done, total)))
    assert told[:2] == [("2026-01-03", 0, 2), ("2026-01-05", 1, 2)]
    assert told[-1] == ("portrait", 2, 2)
