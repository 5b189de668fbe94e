"""LangChain's own standard suites."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_tests", reason="langchain-tests is not installed")

from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import RetrieversIntegrationTests, ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from langchain_memorybank import MemoryBankRetriever, memorybank_tools
from memorybank import MemoryBank, MemoryStore
from memorybank.testing import HashEmbedder

_EXAMPLES: dict[str, dict[str, Any]] = {
    "search_memory": {"query": "cat"},
    "remember": {"text": "Gary likes tea."},
    "forget_memory": {"memory_id": "none"},
    "get_portrait": {},
}


class OnABank:
    """A bank with a few memories for each test."""

    held: MemoryBank

    @pytest.fixture(autouse=True)
    def _bank(self, tmp_path: Path) -> Any:
        with MemoryStore.open(
            tmp_path, embedder=HashEmbedder(64), chroma=False, synchronous="normal"
        ) as store:
            type(self).held = store.bank("gary")
            for i in range(5):
                self.held.add([{"role": "user", "content": f"Cat number {i} is asleep."}], session=str(i))
            yield


class TestRetriever(OnABank, RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return MemoryBankRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"bank": self.held}

    @property
    def retriever_query_example(self) -> str:
        return "Which cat is asleep?"


class _Tools(OnABank):
    name: str

    @property
    def tool_constructor(self) -> BaseTool:
        return memorybank_tools(bank=self.held, only=[self.name])[0]

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return _EXAMPLES[self.name]


class TestSearchUnit(_Tools, ToolsUnitTests):
    name = "search_memory"


class TestSearch(_Tools, ToolsIntegrationTests):
    name = "search_memory"


class TestRememberUnit(_Tools, ToolsUnitTests):
    name = "remember"


class TestRemember(_Tools, ToolsIntegrationTests):
    name = "remember"


class TestForgetUnit(_Tools, ToolsUnitTests):
    name = "forget_memory"


class TestForget(_Tools, ToolsIntegrationTests):
    name = "forget_memory"


class TestPortraitUnit(_Tools, ToolsUnitTests):
    name = "get_portrait"


class TestPortrait(_Tools, ToolsIntegrationTests):
    name = "get_portrait"
