"""An index that another process held is taken up again by itself once it is let go."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorybank.embedding.current import Embedding
from memorybank.errors import IndexUnavailableError
from memorybank.index.chroma import ChromaIndex
from memorybank.index.protocol import VectorIndex
from memorybank.indexer import Indexer
from memorybank.records.database import open_sqlite
from memorybank.records.migrations import prepare
from memorybank.testing import HashEmbedder


def test_a_locked_index_is_tried_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """While locked: one warning, unusable until the wait is over; afterwards it is opened and said to be back."""
    database = open_sqlite(tmp_path / "memorybank.db", read_only=False, synchronous="normal")
    prepare(database)
    folder = tmp_path / "chroma"
    holder = ChromaIndex.open(folder)

    def open_index(*, reset: bool = False) -> VectorIndex:
        return ChromaIndex.open(folder, reset=reset)

    patient = Indexer(database, Embedding(HashEmbedder(), True, 0), open_index)
    eager = Indexer(database, Embedding(HashEmbedder(), True, 0), open_index, retry_after=0.0)
    try:
        for indexer in (patient, eager):
            with pytest.raises(IndexUnavailableError, match="in use"):
                indexer.index()
        assert not patient.usable
        with pytest.raises(IndexUnavailableError, match="in use"):
            eager.index()
        assert len([r for r in caplog.records if "not available" in r.message]) == 2

        holder.close()
        with pytest.raises(IndexUnavailableError):
            patient.index()  # its wait is not over
        assert eager.usable
        assert eager.index().count("nobody") == 0
        assert "available again" in caplog.text
    finally:
        holder.close()
        patient.close()
        eager.close()
        database.close()
