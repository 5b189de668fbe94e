"""The window of recent messages, its marks, and the digest that follows it."""

from __future__ import annotations

import pytest

from memorybank.errors import InvalidInputError
from memorybank.hierarchy.window import WindowSettings, digest_steps, marked, recent, slid_out
from memorybank.models import Message


def chat(roles: str) -> list[Message]:
    """One letter per message: u(ser), a(ssistant), t(ool)."""
    names = {"u": "user", "a": "assistant", "t": "tool"}
    return [Message(names[letter], f"m{place}", position=place) for place, letter in enumerate(roles)]


def shape(messages: tuple[Message, ...]) -> str:
    return "".join(message.role[0] for message in messages)


def test_recent_keeps_the_last_messages_in_order() -> None:
    """The window is the newest messages, oldest first."""
    assert [m.position for m in recent(chat("uauaua"), 4)] == [2, 3, 4, 5]
    assert recent([], 4) == ()
    assert recent(chat("ua"), 0) == ()


@pytest.mark.parametrize(
    ("roles", "size", "expected"),
    [
        ("uatta", 3, "a"),  # the call with two results does not fit beside the answer: it goes whole
        ("uatta", 4, "atta"),
        ("uatt", 2, "att"),  # the newest call is never cut, even when it is longer than the window
        ("ttua", 4, "ua"),  # results whose call is gone
        ("utua", 4, "uua"),  # likewise in the middle
        ("uatua", 5, "uatua"),
        ("ua", 9, "ua"),
        ("t", 3, ""),
    ],
)
def test_tool_calls_stay_with_their_results(roles: str, size: int, expected: str) -> None:
    """A window never starts with a tool message and never splits a call from its results."""
    assert shape(recent(chat(roles), size)) == expected


def test_marks_every_n_first_included_or_forced() -> None:
    """The session's first message is marked, then every n-th, and whatever is forced."""
    messages = chat("uauauauau")
    assert [m.position for m in marked(messages, 4)] == [0, 4, 8]
    assert [m.position for m in marked(messages, 4, forced={5})] == [0, 4, 5, 8]
    assert [m.position for m in marked(messages, 4, through=4)] == [8]


def test_where_a_marked_message_was_deleted_the_next_is_marked() -> None:
    """Deleting the marked message does not keep its neighbours out of the digest."""
    messages = [m for m in chat("uauauauau") if m.position not in (0, 4)]
    assert [m.position for m in marked(messages, 4)] == [1, 5, 8]


def test_only_marked_messages_that_slid_out_are_due() -> None:
    """Nothing is due while the marked message is in the window, or once a digest has covered it."""
    settings = WindowSettings(size=4, mark_every=2)
    assert slid_out(chat("uaua"), settings) == ()
    assert [m.position for m in slid_out(chat("uauau"), settings)] == [0]
    assert [m.position for m in slid_out(chat("uauauauau"), settings, through=0)] == [2, 4]
    assert [m.position for m in slid_out(chat("uauauauau"), settings, through=0, forced={1})] == [1, 2, 4]


def test_digest_reads_the_marked_message_with_its_window() -> None:
    """The step holds the marked message and what stood in the window with it."""
    steps = digest_steps(chat("uauau"), WindowSettings(size=4, mark_every=2))
    assert len(steps) == 1
    assert [m.position for m in steps[0].messages] == [0, 1, 2, 3]
    assert steps[0].through == 0


def test_catching_up_reads_each_message_about_once() -> None:
    """A long session digested late: steps in order that read all that slid out, without a flood."""
    messages = chat("ua" * 500)
    steps = digest_steps(messages, WindowSettings(size=20, mark_every=10), at_once=40)
    read = [m.position for step in steps for m in step.messages]
    assert read == sorted(set(read)), "no message is read twice in one catching up"
    assert set(range(980)) <= set(read)
    assert len(steps) <= 30
    assert [s.through for s in steps] == sorted({s.through for s in steps})
    assert digest_steps(messages, WindowSettings(size=20, mark_every=10), through=steps[-1].through) == []


def test_settings_refuse_nonsense() -> None:
    """A window holds at least one message."""
    with pytest.raises(InvalidInputError, match="size"):
        WindowSettings(size=0)
