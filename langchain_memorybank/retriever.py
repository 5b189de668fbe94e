"""Recall as a LangChain retriever: memories as Documents, with what is known about each."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from pydantic import Field, PrivateAttr

from langchain_memorybank._convert import to_document
from langchain_memorybank.identity import Source, thread_of
from memorybank import InvalidInputError, Level, MemoryBank, MemoryStore

_OPTIONS = frozenset({"k", "levels", "score_threshold", "reinforce", "since", "until"})
_RUN = frozenset({"verbose", "run_id"})  # what LangChain itself passes along


class MemoryBankRetriever(BaseRetriever):
    """The memories of one user that fit a query, best first.

        MemoryBankRetriever(bank=bank, k=6).invoke("Where does she live?")

    ``bank``, or ``store`` with a ``user_id`` (else the user of each call: see ``MemoryBankMiddleware``).
    ``levels`` (default: turns, notes, day events), ``score_threshold`` (on ``metadata["score"]``), ``since`` and
    ``until`` (times the memory is about) narrow the search; ``reinforce`` credits what is returned, once per
    user turn where the call has a thread id. Each of these can be given per call too, sync and async:
    ``retriever.invoke(query, k=3)``; other arguments are refused.
    """

    bank: MemoryBank | None = None
    store: MemoryStore | None = None
    user_id: str | None = None
    k: int = Field(default=6, ge=1)
    levels: Sequence[Level | str] | None = None
    score_threshold: float | None = None
    reinforce: bool = True
    since: datetime | str | None = None
    until: datetime | str | None = None
    _source: Source = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Check where the memories are."""
        self._source = Source(bank=self.bank, store=self.store, user_id=self.user_id)

    def bank_for(self, user_id: str | None = None) -> MemoryBank:
        """The memory of a user: for consolidate, forget, export and the rest of ``MemoryBank``."""
        return self._source.bank_for(user_id)

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Documents of the memories that fit. Raises OwnerError if no user is named."""
        return super().invoke(input, config, **self._call(config, kwargs))

    async def ainvoke(
        self, input: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """As ``invoke``, off the event loop."""
        return await super().ainvoke(input, config, **self._call(config, kwargs))

    def _call(self, config: RunnableConfig | None, kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments of one call, with the run it belongs to: retrievers do not see their config."""
        unknown = sorted(kwargs.keys() - _OPTIONS - _RUN)
        if unknown:
            raise InvalidInputError(
                f"unknown argument {unknown[0]!r}; allowed are {', '.join(sorted(_OPTIONS))}"
            )
        return {**kwargs, "of_run": ensure_config(config)}

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        of_run: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        return self._documents(query, of_run, kwargs)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        of_run: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        return await asyncio.to_thread(self._documents, query, of_run, kwargs)

    def _documents(self, query: str, config: RunnableConfig | None, kwargs: dict[str, Any]) -> list[Document]:
        bank = self._source.resolve(config=config)
        options = {name: kwargs.get(name, getattr(self, name)) for name in _OPTIONS}
        found = bank.recall(
            query,
            options["k"],
            levels=options["levels"],
            since=options["since"],
            until=options["until"],
            min_score=options["score_threshold"],
            reinforce=options["reinforce"],
            asking=thread_of(config=config),
        )
        zone = ZoneInfo(bank.timezone)
        return [to_document(one, zone) for one in found]

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        embedder = (self.bank.runtime if self.bank is not None else self.bank_runtime()).embedder
        params = LangSmithRetrieverParams(
            ls_retriever_name="memorybank", ls_vector_store_provider="memorybank"
        )
        if embedder is not None:
            params["ls_embedding_model"] = embedder.name
        return params

    def bank_runtime(self) -> Any:
        """The parts of the store."""
        if self.store is None:
            raise InvalidInputError("give either store= or bank=")
        return self.store.runtime
