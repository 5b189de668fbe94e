"""MemoryBankRetriever: one user's memories as nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from llamaindex_memorybank._convert import to_node
from memorybank import Level, MemoryBank, MemoryStore, OwnerError


def bank_of(bank: MemoryBank | None, store: MemoryStore | None, user_id: str | None) -> MemoryBank:
    """The bank that was given, or the user's in the store. Raises OwnerError when it is not clear whose."""
    if bank is not None:
        if user_id is not None and user_id != bank.owner:
            raise OwnerError(f"user_id={user_id!r}, but the bank is {bank.owner!r}'s; give one of them")
        return bank
    if store is None or user_id is None:
        raise OwnerError("give bank=, or store= and user_id=: whose memories these are")
    return store.bank(user_id)


class MemoryBankRetriever(BaseRetriever):
    """Recalls one user's memories for a query engine, a chat engine or a tool.

    It keeps nothing between calls: one object serves any number of threads. ``levels``, ``since``/``until`` and
    ``session`` narrow what is recalled; ``asking`` names the session that asks, which credits a memory once per
    user turn and does not recall its turn in progress; ``min_score`` as in ``MemoryBank.recall``.
    Node ids are memory ids; ``score`` orders the nodes of one query.
    """

    def __init__(
        self,
        bank: MemoryBank | None = None,
        *,
        store: MemoryStore | None = None,
        user_id: str | None = None,
        k: int = 6,
        levels: Iterable[Level | str] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        session: str | None = None,
        asking: str | None = None,
        min_score: float | Literal["auto"] | None = None,
        include_archived: bool = False,
        reinforce: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._bank = bank_of(bank, store, user_id)
        self._options: dict[str, Any] = {
            "k": k,
            "levels": None if levels is None else ([levels] if isinstance(levels, str) else list(levels)),
            "since": since,
            "until": until,
            "session": session,
            "asking": asking,
            "min_score": min_score,
            "include_archived": include_archived,
            "reinforce": reinforce,
        }

    @property
    def bank(self) -> MemoryBank:
        """Whose memories these are."""
        return self._bank

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [to_node(one) for one in self._bank.recall(query_bundle.query_str, **self._options)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)
