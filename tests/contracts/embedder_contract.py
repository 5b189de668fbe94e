"""What every embedder must do. A new one inherits the suite and gives one fixture, ``embedder``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from memorybank.embedding import Embedder, as_embedder, embed_documents, embed_query

WALK = "Anna: I walked the dog in the park this morning."
TEXTS = [
    WALK,
    "Tom: the invoice for the new server has arrived",
    "小林: 昨天晚上我们去吃了四川火锅。",
    "陈静: docker 容器又启动失败了，日志里全是 timeout。",
]


class EmbedderContract(ABC):
    """Inherit, give the fixture, and each rule below is tested."""

    @pytest.fixture
    @abstractmethod
    def embedder(self) -> Embedder:
        """The embedder under test."""

    def test_it_is_one(self, embedder):
        """Name, dimension and both methods are there."""
        assert as_embedder(embedder) is embedder

    def test_documents_are_unit_rows_in_order(self, embedder):
        """One float32 row of length 1 for each text, the same as when it comes alone."""
        rows = embed_documents(embedder, TEXTS)
        assert rows.shape == (len(TEXTS), embedder.dimension)
        assert rows.dtype == np.float32
        assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
        for row, text in zip(rows, TEXTS, strict=True):
            assert np.allclose(row, embed_documents(embedder, [text])[0], atol=1e-5)

    def test_batches_make_no_difference(self, embedder):
        """Whatever the batch size, the rows are the same."""
        texts = [f"note {n}: {TEXTS[n % 4]}" for n in range(10)]
        assert np.allclose(
            embed_documents(embedder, texts, batch_size=3), embed_documents(embedder, texts), atol=1e-5
        )

    def test_no_texts_no_rows(self, embedder):
        """An empty list gives shape (0, dimension)."""
        assert embed_documents(embedder, []).shape == (0, embedder.dimension)

    def test_a_query_is_a_unit_vector(self, embedder):
        """Shape (dimension,), float32, length 1, the same each time."""
        vector = embed_query(embedder, "who walked the dog?")
        assert vector.shape == (embedder.dimension,)
        assert vector.dtype == np.float32
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
        assert np.array_equal(vector, embed_query(embedder, "who walked the dog?"))

    @pytest.mark.parametrize(
        ("query", "expected"),
        [("Who walked the dog in the park?", 0), ("昨天晚上去哪里吃火锅？", 2), ("docker 容器 timeout", 3)],
    )
    def test_the_text_that_answers_is_the_nearest(self, embedder, query, expected):
        """English, Chinese and mixed questions that share words with one text find it."""
        assert int(np.argmax(embed_documents(embedder, TEXTS) @ embed_query(embedder, query))) == expected

    @pytest.mark.parametrize(
        "text",
        ["a" * 1_000_000, "word " * 200_000, "记忆" * 500_000, "\U0001f600" * 250_000, " \n" * 500_000 + "x"],
        ids=["letters", "words", "chinese", "emoji", "blanks"],
    )
    def test_a_megabyte_takes_seconds(self, embedder, text):
        """A text far beyond any model's window is cut, not refused and not windowed for minutes."""
        assert np.isfinite(embed_documents(embedder, [text])).all()

    @pytest.mark.parametrize(
        "text", ["a\0b", "\ud800 lone", "!!!", "1", "？", "\u200b\u200b x", "e\u0301\u0301\u0301", "\ufffe"]
    )
    def test_odd_texts_have_a_vector(self, embedder, text):
        """NUL, lone surrogates, punctuation, one character: odd, but nothing a user may not type."""
        assert np.linalg.norm(embed_documents(embedder, [text])[0]) == pytest.approx(1, abs=1e-5)
        assert np.linalg.norm(embed_query(embedder, text)) == pytest.approx(1, abs=1e-5)

    def test_what_follows_a_nul_counts(self, embedder):
        """A C string would end there."""
        rows = embed_documents(embedder, ["a\0dog in the park", "a\0invoice"])
        assert not np.allclose(rows[0], rows[1], atol=1e-3)

    def test_threads_get_what_one_thread_gets(self, embedder):
        """Sixteen questions from eight threads: each its own vector."""
        queries = [f"question {n} about {TEXTS[n % 4]}" for n in range(16)]
        alone = [embed_query(embedder, query) for query in queries]
        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(lambda query: embed_query(embedder, query), queries))
        assert np.allclose(alone, together, atol=1e-5)
