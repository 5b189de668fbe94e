"""What a chat turn costs under LlamaIndex: SimpleChatEngine with MemoryBankMemory against its default memory.

The overhead is given in multiples of (one ``bank.add`` of an exchange + one ``bank.recall``), timed in the same
run, turn by turn. Embedding and the model cost nothing here (lookup vectors, MockLLM).

    python -m benchmarks.llamaindex_turn [--memories 1000] [--turns 100]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.memory import BaseMemory, ChatMemoryBuffer, Memory
from rich.console import Console

from benchmarks.material import FreeEmbedder, talk
from llamaindex_memorybank import MemoryBankMemory
from memorybank import MemoryStore


@dataclass(frozen=True)
class Overhead:
    """Median milliseconds a turn; ``ratio`` = (ours - default) / (add + recall)."""

    ours: float
    default: float
    buffer: float
    add: float
    recall: float

    @property
    def ratio(self) -> float:
        """Overhead over LlamaIndex's default memory."""
        return (self.ours - self.default) / (self.add + self.recall)

    @property
    def buffer_ratio(self) -> float:
        """Overhead over the plain list of ChatMemoryBuffer."""
        return (self.ours - self.buffer) / (self.add + self.recall)


def measure(folder: Path, *, memories: int, turns: int, warm: int = 10) -> Overhead:
    """Time the three engines and the core's own two calls, interleaved."""
    embedder = FreeEmbedder()
    texts = talk(warm + turns, seed=2, words=8)
    fill = talk(memories, seed=1)
    embedder.prepare(fill)
    with (
        MemoryStore.open(folder / "ours", embedder=embedder) as store,
        MemoryStore.open(folder / "core", embedder=embedder) as core,
    ):
        for one in (store, core):
            for n in range(0, memories, 500):
                one.bank("gary").add(
                    [{"role": "user", "content": text} for text in fill[n : n + 500]], session="past"
                )
            one.flush()
        ours = _engine(MemoryBankMemory.from_defaults(store=store, user_id="gary", consolidate=False))
        default = _engine(Memory.from_defaults(session_id="s"))
        buffer = _engine(ChatMemoryBuffer.from_defaults(token_limit=30_000))
        bank = core.bank("gary")

        def add(text: str) -> None:
            said = [{"role": "user", "content": text}, {"role": "assistant", "content": "text text"}]
            bank.add(said, session="now")

        taken = _race([ours, default, buffer, add, bank.recall], texts, warm)
    return Overhead(*(statistics.median(one) for one in taken))


def _engine(memory: BaseMemory) -> Callable[[str], object]:
    return SimpleChatEngine.from_defaults(llm=MockLLM(max_tokens=2), memory=memory).chat


def _race(
    contenders: Sequence[Callable[[str], object]], texts: Sequence[str], warm: int
) -> list[list[float]]:
    taken: list[list[float]] = [[] for _ in contenders]
    for i, text in enumerate(texts):
        for one, found in zip(contenders, taken, strict=True):
            start = time.perf_counter()
            one(text)
            if i >= warm:
                found.append((time.perf_counter() - start) * 1e3)
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.llamaindex_turn", description=__doc__)
    parser.add_argument("--memories", type=int, default=1_000, help="memories that the user has")
    parser.add_argument("--turns", type=int, default=100)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), memories=given.memories, turns=given.turns)
    Console().print(
        f"a turn of SimpleChatEngine at {given.memories:,} memories: {found.ours:.1f} ms with MemoryBankMemory, "
        f"{found.default:.1f} ms with Memory, {found.buffer:.1f} ms with ChatMemoryBuffer\n"
        f"one add {found.add:.1f} ms + one recall {found.recall:.1f} ms\n"
        f"overhead over Memory: {found.ratio:.2f} x (add + recall); over a plain list: {found.buffer_ratio:.2f} x"
    )


if __name__ == "__main__":
    main()
