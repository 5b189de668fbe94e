"""Rerankers: the protocol, the offline cross-encoder, and how their scores join those of recall. Optional."""

from memorybank.rerank.blending import TOP, WEIGHT, rerank
from memorybank.rerank.checked import score
from memorybank.rerank.cross_encoder import MISSING_RERANK, CrossEncoder, default_reranker
from memorybank.rerank.protocol import Reranker, as_reranker

__all__ = [
    "MISSING_RERANK",
    "TOP",
    "WEIGHT",
    "CrossEncoder",
    "Reranker",
    "as_reranker",
    "default_reranker",
    "rerank",
    "score",
]
