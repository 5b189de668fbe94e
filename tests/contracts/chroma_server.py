"""A Chroma server on loopback for tests, from the wheel of chromadb."""

from __future__ import annotations

import pytest

from benchmarks import servers
from benchmarks.servers import free_port

__all__ = ["ChromaServer", "free_port"]


class ChromaServer(servers.ChromaServer):
    """As the benchmarks' own; skips the test if it cannot be started."""

    def start(self) -> None:
        """Start it and wait until it answers."""
        try:
            super().start()
        except servers.MissingServerError as error:
            pytest.skip(str(error))
