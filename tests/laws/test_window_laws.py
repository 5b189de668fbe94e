"""Laws of the window, for every sequence of roles."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memorybank.hierarchy.window import WindowSettings, digest_steps, recent
from memorybank.models import Message

TRANSCRIPTS = st.lists(st.sampled_from(["user", "assistant", "tool", "system"]), max_size=60).map(
    lambda roles: [Message(role, str(place), position=place) for place, role in enumerate(roles)]
)


@given(TRANSCRIPTS, st.integers(1, 30))
def test_a_window_is_acceptable_to_a_chat_model(messages: list[Message], size: int) -> None:
    """No tool message without its call before it; order kept; a call in the window has all its results."""
    window = recent(messages, size)
    positions = [m.position for m in window]
    assert positions == sorted(set(positions))
    for place, message in enumerate(window):
        if message.role == "tool":
            assert place > 0
            assert window[place - 1].role in {"assistant", "tool"}
            assert window[place - 1].position == message.position - 1
        if message.role == "assistant":
            following = message.position + 1
            if following < len(messages) and messages[following].role == "tool":
                assert following in positions
    if len(window) > size:
        assert [m.role for m in window] == ["assistant"] + ["tool"] * (len(window) - 1), (
            "one long call, alone"
        )


@given(TRANSCRIPTS, st.integers(1, 12), st.integers(1, 12), st.sets(st.integers(0, 60), max_size=4))
def test_digesting_ends(messages: list[Message], size: int, every: int, forced: set[int]) -> None:
    """Steps advance, and after the last one nothing is due."""
    settings = WindowSettings(size, every)
    steps = digest_steps(messages, settings, forced=forced)
    ends = [step.through for step in steps]
    assert ends == sorted(set(ends))
    assert all(step.messages for step in steps)
    if steps:
        assert digest_steps(messages, settings, through=ends[-1], forced=forced) == []
