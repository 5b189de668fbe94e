"""The vector index: a rebuildable copy of the records' vectors, for search.

`VectorIndex` is the contract; `ExactIndex` keeps it by comparing everything, `ChromaIndex` through Chroma.
"""

from memorybank.index.chroma import ChromaIndex
from memorybank.index.client import Server
from memorybank.index.exact import ExactIndex, scan
from memorybank.index.protocol import Hits, VectorIndex

__all__ = ["ChromaIndex", "ExactIndex", "Hits", "Server", "VectorIndex", "scan"]
