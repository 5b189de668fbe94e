"""The page, clicked through in a real browser: what is done there is what the memory holds afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memorybank.bank import MemoryBank
from memorybank.companion.talk import CUT
from memorybank.store import MemoryStore
from tests.app.conftest import Server, Visit, serve

pytest.importorskip("nicegui", reason="needs the extra: app")

HOSTILE = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script> **{{7*7}}** ${window.pwned=1}'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Server]:
    """The page on a loopback, with a scripted model and one profile whose memories are old."""
    folder = tmp_path_factory.mktemp("page") / "memory"
    with MemoryStore.open(folder, embedder=None, chroma=False) as store:
        bank = store.bank("Olive", timezone="UTC")
        long_ago = datetime.now(UTC) - timedelta(days=400)
        for day, words in enumerate(("My boat is called Heron", "The Heron leaks at the stern")):
            said = [{"role": "user", "content": words}, {"role": "assistant", "content": "Noted."}]
            bank.add(said, session=f"old-{day}", at=long_ago + timedelta(days=day))
        bank.add([{"role": "user", "content": "I bought varnish"}], at=datetime.now(UTC) - timedelta(days=3))
    yield from serve(folder, "--model", "tests.app.page_model:reply")


def enter(page: Any, name: str, start: str = "Start", field: str = "New profile") -> None:
    """Make a profile at the door."""
    page.get_by_label(field).fill(name)
    page.get_by_role("button", name=start).click()
    page.locator("#say").wait_for()


def say(page: Any, words: str, field: str = "Message") -> None:
    """Say something and wait until the answer stands there."""
    page.get_by_label(field, exact=True).fill(words)
    page.get_by_label(field, exact=True).press("Enter")
    page.locator(".said.mine", has_text=words[:20]).last.wait_for()
    page.locator(".log[aria-busy=false]").wait_for()


def begin_anew(page: Any, name: str = "New conversation") -> None:
    """Another conversation: what was said before is now remembered, not seen."""
    page.get_by_role("button", name=name).click()
    page.locator(".said").first.wait_for(state="detached")


def _ids(server: Server, owner: str) -> list[str | None]:
    """Ids of the messages of the owner's only session."""
    return server.look(owner, lambda bank: [one.id for one in bank.history(bank.sessions()[0])])


def until(done: Callable[[], bool]) -> None:
    """Wait for what cannot be seen on the page."""
    deadline = time.monotonic() + 20
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def turns(page: Any) -> list[str]:
    return [text.strip() for text in page.locator(".said .words").all_inner_texts()]


def test_what_is_taken_back_is_forgotten(server: Server, visit: Visit) -> None:
    """A turn is remembered; removed, neither message nor memory is left; answered again, there is one answer."""
    page = visit(server.address)
    enter(page, "ann")
    say(page, "My cat is called Biscuit")
    say(page, "What is my cat called?")
    assert turns(page)[-1] == "I heard: What is my cat called?"
    before = _ids(server, "ann")
    page.get_by_role("button", name="Answer again").click()
    until(lambda: len(ids := _ids(server, "ann")) == 4 and not {*ids[2:]} & {*before})
    page.locator(".log[aria-busy=false]").wait_for()
    assert len(turns(page)) == 4
    page.get_by_role("button", name="Remove last turn").click()
    page.locator(".said").nth(2).wait_for(state="detached")
    assert [one.text for one in server.look("ann", lambda bank: bank.memories())] == [
        "user: My cat is called Biscuit\nassistant: I heard: My cat is called Biscuit"
    ]
    page.get_by_role("button", name="Remove last turn").click()
    page.get_by_text("Say something.").wait_for()
    assert server.look("ann", lambda bank: (bank.memories(), bank.stats().messages)) == ([], 0)


def test_an_answer_is_stopped(server: Server, visit: Visit) -> None:
    """Stop ends an answer that is being written; what was said is kept, marked as cut. A page that was loaded
    anew meanwhile can stop it as well, and shows what became of it."""
    page = visit(server.address)
    enter(page, "stopper")
    _slowly(page, 0)
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("status").filter(has_text="Stopped").wait_for(timeout=10_000)
    assert turns(page)[-1].endswith(CUT)
    _slowly(page, 1)
    page.reload()
    page.get_by_role("button", name="Stop").click()
    page.locator(".said.theirs").nth(1).wait_for()
    page.locator(".log[aria-busy=false]").wait_for()
    assert [text.startswith("I heard: Tell it slowly 0 1") for text in turns(page)] == [False, True] * 2
    assert turns(page)[-1].endswith(CUT)


def _slowly(page: Any, before: int) -> None:
    """Ask for a long answer, and wait for its beginning; ``before``: how many there are already."""
    page.get_by_label("Message", exact=True).fill("Tell it slowly")
    page.get_by_role("button", name="Send").click()
    page.locator(".said.theirs", has_text="I heard: Tell it slowly 0 1").nth(before).wait_for()


def test_hostile_words_are_only_words(server: Server, visit: Visit) -> None:
    """Markup, script and templates in names, messages and memories are shown as they are and never run."""
    page = visit(server.address)
    enter(page, "<b onmouseover=alert(1)>eve</b>")
    say(page, HOSTILE)
    assert turns(page)[0] == HOSTILE
    begin_anew(page)
    say(page, "window pwned script")
    for tab in ("Recalled", "Days", "Fading", "Links", "Data"):
        page.get_by_role("tab", name=tab).click()
        if tab == "Days":
            page.get_by_text("of this day").click()
        if tab != "Data":
            page.locator(".memory .words", has_text="window.pwned").first.wait_for()
    page.get_by_role("tab", name="Search").click()
    page.get_by_label("What to look for").fill("pwned")
    page.get_by_label("What to look for").press("Enter")
    page.locator(".memory .words", has_text=HOSTILE).first.wait_for()
    assert page.evaluate("window.pwned === undefined && document.querySelectorAll('.words img').length === 0")


def test_chinese(server: Server, visit: Visit) -> None:
    """A Chinese browser gets a Chinese page; the button changes the language, and changes it back."""
    page = visit(server.address, "zh-CN", 390)
    enter(page, "小满", "开始", "新档案")
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    say(page, "我的猫叫豆包", "消息")
    begin_anew(page, "新的对话")
    say(page, "我的猫叫什么？", "消息")
    page.get_by_role("button", name="记忆", exact=True).click()
    page.locator(".memory .words", has_text="你: 我的猫叫豆包").wait_for()
    page.locator(".memory .reasons", has_text="原因").first.wait_for()
    for tab in ("画像", "日子", "淡忘", "查找", "关联", "数据"):
        page.get_by_role("tab", name=tab).click()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.title() == "SiliconFriend：有记忆的伙伴"
    page.get_by_role("button", name="切换到英文").click()
    page.get_by_role("button", name="change the language to Chinese").wait_for()
    assert page.evaluate("document.documentElement.lang") == "en-US"
    assert page.title() == "SiliconFriend: a companion that remembers"
    page.get_by_role("button", name="change the language to Chinese").click()
    page.get_by_role("button", name="切换到英文").wait_for()
    assert page.evaluate("document.documentElement.lang") == "zh-CN"


def test_by_keyboard_alone(server: Server, visit: Visit) -> None:
    """Everything is reached and done with Tab, arrows, Enter and Escape, and each stop has a name."""
    page = visit(server.address)
    press = page.keyboard.press
    to(page, "New profile")
    page.keyboard.type("kim")
    press("Enter")
    page.locator("#say").wait_for()
    to(page, "Message")
    page.keyboard.type("I keep bees")
    press("Shift+Enter")
    page.keyboard.type("in Leeds")
    press("Enter")
    page.locator(".said.theirs").wait_for()
    assert turns(page)[0] == "I keep bees\nin Leeds"
    to(page, "Recalled")
    press("ArrowRight")
    press("ArrowRight")
    press("Enter")
    page.get_by_role("button", name="Sum up the days").wait_for()
    to(page, "Remove last turn", back=True)
    press("Enter")
    page.get_by_text("Say something.").wait_for()
    assert server.look("kim", lambda bank: bank.memories()) == []


def to(page: Any, name: str, *, back: bool = False) -> None:
    """Tab until what has the focus has that name."""
    for _ in range(40):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        label = page.evaluate(
            "(() => { const one = document.activeElement; return one.getAttribute('aria-label') "
            "|| one.labels?.[0]?.innerText || one.innerText || '' })()"
        )
        assert label.strip(), "a stop without a name"
        if label.strip().startswith(name):
            return
    raise AssertionError(f"no way to {name!r}")


def test_two_browsers_share_nothing(server: Server, visit: Visit) -> None:
    """Each visitor sees the memory of the profile that was opened there, whatever happens in the other browser."""
    left, right = visit(server.address), visit(server.address)
    enter(left, "left")
    enter(right, "right")
    say(left, "My secret word is marzipan")
    say(right, "My secret word is juniper")
    begin_anew(left)
    begin_anew(right)
    say(left, "What is my secret word?")
    say(right, "What is my secret word?")
    for page, own, other in ((left, "marzipan", "juniper"), (right, "juniper", "marzipan")):
        page.locator(".memory .words", has_text=own).first.wait_for()
        page.reload()
        page.locator(".said").first.wait_for()
        assert own in page.content()
        assert other not in page.content()
    held = server.look("left", lambda bank: [one.text for one in bank.memories()])
    assert "juniper" not in " ".join(held)


def test_keeping_and_letting_go(server: Server, visit: Visit) -> None:
    """What is old fades into the archive and is restored; a memory is pinned, corrected, searched by day, and
    forgotten; an export is downloaded; erased, the profile is gone."""
    page = visit(server.address)
    page.get_by_role("button", name="Open: Olive").click()
    page.get_by_role("tab", name="Fading").click()
    page.locator(".picture img").wait_for()
    page.get_by_role("button", name="Let fade now").click()
    page.get_by_role("dialog").get_by_role("button", name="Let fade now").click()
    page.get_by_role("button", name="Restore: You: My boat").click()
    page.get_by_role("button", name="Pin: You: My boat").click()
    page.get_by_role("button", name="Pin: You: My boat").wait_for(state="detached")
    _search(page, "boat", "2020-01-01")
    page.get_by_role("button", name="Correct: You: My boat").click()
    page.get_by_role("dialog").get_by_label("Correct").fill("You: My boat is called Egret")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    page.get_by_role("dialog").wait_for(state="detached")
    _search(page, "", (datetime.now(UTC) - timedelta(days=30)).date().isoformat())
    page.get_by_text("1 found").wait_for()
    page.get_by_role("button", name="Forget: You: I bought varnish").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    page.get_by_role("dialog").wait_for(state="detached")
    page.get_by_text("Nothing found.").wait_for()
    left = [
        ("user: My boat is called Egret", True, "active"),
        ("user: The Heron leaks at the stern\nassistant: Noted.", False, "archived"),
    ]
    until(lambda: server.look("Olive", _states) == left)
    page.get_by_role("tab", name="Data").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    assert "Egret" in Path(download.value.path()).read_text("utf-8")
    page.get_by_role("button", name="Erase me").click()
    sure = page.get_by_role("dialog").get_by_role("button", name="Erase me")
    assert sure.is_disabled()
    page.get_by_role("dialog").get_by_label("Type “erase” to confirm").fill("erase")
    sure.click()
    page.get_by_text("Whose memory?").wait_for()
    assert "Olive" not in server.owners()


def _states(bank: MemoryBank) -> list[tuple[str, bool, str]]:
    return [(one.text, one.pinned, one.status.value) for one in bank.memories()]


def _search(page: Any, words: str, since: str) -> None:
    page.get_by_role("tab", name="Search").click()
    page.get_by_label("What to look for").fill(words)
    page.get_by_label("From").fill(since)
    page.get_by_role("search").get_by_role("button", name="Search").click()
