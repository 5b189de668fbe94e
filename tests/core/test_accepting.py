"""What can be stored of a turn when one of its messages is refused."""

from __future__ import annotations

import pytest

from memorybank.accepting import accept
from memorybank.bank import MemoryBank
from memorybank.errors import StoreError
from memorybank.models import Message
from tests.conftest import OpenStore


class RefusedError(RuntimeError):
    """What a redaction raises."""


def refusing(text: str) -> str:
    """A redaction that does not let one kind of text pass."""
    if "poison" in text:
        raise RefusedError(text)
    return text.replace("secret", "[…]")


@pytest.fixture
def bank(open_store: OpenStore) -> MemoryBank:
    """A bank of a store that refuses poison."""
    return open_store(redact=refusing).bank("gary")


def said(*texts: str) -> list[Message]:
    """A turn of these words, user and assistant by turns."""
    return [
        Message(("user", "assistant")[i % 2], text, id=f"m{i}-{text[:3]}") for i, text in enumerate(texts)
    ]


def stored(bank: MemoryBank) -> list[str]:
    """What the session holds."""
    return [message.text for message in bank.history("s")]


def test_all_is_stored_where_nothing_is_refused(bank: MemoryBank) -> None:
    """The ordinary case is ``add``, redacted once."""
    done = accept(bank, said("my secret", "yes"), "s")
    assert (done.refused, done.why, done.error) == ((), (), None)
    assert [message.text for message in done.stored] == stored(bank) == ["my […]", "yes"]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_that_is_refused_costs_no_other(bank: MemoryBank, place: int) -> None:
    """Wherever it stands: the others are stored in their order, and it is told of without its words."""
    words = ["one", "two", "three"]
    words[place] = "poison"
    done = accept(bank, said(*words), "s")
    assert done.refused == (place,)
    assert done.why == ("RefusedError",)
    assert stored(bank) == [word for word in words if word != "poison"]
    assert "1 of 3" in str(done.error)
    assert "poison" not in str(done.error)


def test_what_is_no_message_is_refused_like_what_is_redacted(bank: MemoryBank) -> None:
    """A role that nobody knows, a payload that the redaction stops."""
    given = [*said("one"), Message("narrator", "two"), Message("user", "three", payload="poison")]
    done = accept(bank, given, "s")
    assert done.refused == (1, 2)
    assert stored(bank) == ["one"]


def test_where_all_is_refused_the_redaction_may_be_what_fails(bank: MemoryBank) -> None:
    """Its error is raised, so that the caller tries again later."""
    with pytest.raises(RefusedError):
        accept(bank, said("poison", "more poison"), "s")
    assert stored(bank) == []


def test_a_store_that_fails_refuses_nobody(bank: MemoryBank) -> None:
    """Nothing is left out because the disk is full or the store is closed."""
    bank.runtime.database.close()
    with pytest.raises(StoreError):
        accept(bank, said("one", "poison"), "s")
