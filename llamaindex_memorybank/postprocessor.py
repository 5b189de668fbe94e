"""ForgettingPostprocessor: any retriever's nodes, weighed by how well they are retained."""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle
from pydantic import Field, PrivateAttr

from llamaindex_memorybank.retriever import bank_of
from memorybank import Explanation, MemoryBank, MemoryStore, NotFoundError


class ForgettingPostprocessor(BaseNodePostprocessor):
    """Multiplies a node's score by ``1 - weight + weight * retention``, and orders the nodes anew.

    A node is a memory if its id is one of the user's memories; retention is read from the bank at the store's
    time, so strength and age are never out of date. Other nodes (documents) do not fade: their score stays as it
    is. Nodes that say they belong to another user are dropped. ``keep_above``: memories below this retention are
    left out (default: none are; forgetting is a prior, not a veto). A node without a score counts as 0 and stays
    behind those that have one. The given nodes are not changed.
    """

    weight: float = Field(default=0.3, ge=0.0, le=1.0)
    keep_above: float | None = Field(default=None, ge=0.0, le=1.0)
    _bank: MemoryBank = PrivateAttr()

    def __init__(
        self,
        bank: MemoryBank | None = None,
        *,
        store: MemoryStore | None = None,
        user_id: str | None = None,
        weight: float = 0.3,
        keep_above: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight=weight, keep_above=keep_above, **kwargs)  # type: ignore[call-arg]  # pydantic's
        self._bank = bank_of(bank, store, user_id)

    @classmethod
    def class_name(cls) -> str:
        """The name under which the framework knows it."""
        return "ForgettingPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        kept = [
            weighed
            for node in nodes
            if node.node.metadata.get("owner", self._bank.owner) == self._bank.owner
            and (weighed := self._weighed(node)) is not None
        ]
        return sorted(kept, key=lambda node: (node.score is not None, node.score or 0.0), reverse=True)

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._postprocess_nodes, nodes, query_bundle)

    def _weighed(self, node: NodeWithScore) -> NodeWithScore | None:
        known = self._explained(node.node.node_id)
        if known is None:
            return node
        if self.keep_above is not None and known.retention < self.keep_above:
            return None
        if node.score is None:
            return node
        factor = 1.0 - self.weight + self.weight * known.retention
        return NodeWithScore(node=node.node, score=node.score * factor)

    def _explained(self, id_: str) -> Explanation | None:
        try:
            return self._bank.explain(id_)
        except NotFoundError:
            return None
