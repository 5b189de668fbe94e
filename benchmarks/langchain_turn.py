"""What memory adds to an agent's turn: ``python -m benchmarks.langchain_turn``.

The same agent with and without ``MemoryBankMiddleware``, with a model that answers at once, interleaved in one
process. The difference is given in multiples of one ``bank.add`` of an exchange plus one ``bank.recall``, measured
in the same rounds on the same store; embedding time is excluded (vectors are ready made).
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from rich.console import Console

from benchmarks.material import FreeEmbedder, talk
from langchain_memorybank import MemoryBankMiddleware
from memorybank import MemoryStore

console = Console()


class AtOnce(BaseChatModel):
    """A chat model that answers at once."""

    @property
    def _llm_type(self) -> str:
        return "at-once"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("Noted, as you say."))])


def run(folder: Path, memories: int, turns: int, *, checkpointer: bool) -> dict[str, float]:
    """Milliseconds, median: plain agent, agent with memory, add + recall; and the overhead in multiples of that."""
    store = MemoryStore.open(folder, embedder=FreeEmbedder())
    bank = store.bank("gary", timezone="UTC")
    bank.add([{"role": "user", "content": text} for text in talk(memories, seed=1)], session="earlier")
    store.flush()

    def saver() -> InMemorySaver | None:
        return InMemorySaver() if checkpointer else None

    plain = create_agent(AtOnce(), checkpointer=saver())
    remembering = create_agent(AtOnce(), middleware=[MemoryBankMiddleware(store)], checkpointer=saver())
    taken: dict[str, list[float]] = {"plain": [], "memory": [], "floor": []}
    texts = talk(2 * (turns + 10), seed=2)
    for i in range(turns + 10):
        said, asked = texts[2 * i], " ".join(texts[2 * i + 1].split()[:8])
        # A thread is ten turns long: the agent's own cost grows with its messages, ours must not.
        config: Any = {"configurable": {"thread_id": f"t{i // 10}"}}
        context = {"user_id": "gary"}
        asking = {"messages": [HumanMessage(asked)]}
        acts: dict[str, Callable[[], object]] = {
            "plain": partial(plain.invoke, asking, config, context=context),
            "memory": partial(remembering.invoke, asking, config, context=context),
            "floor": partial(_add_and_recall, store, said, asked),
        }
        for name, act in acts.items():
            start = time.perf_counter()
            act()
            if i >= 10:
                taken[name].append((time.perf_counter() - start) * 1e3)
    store.close()
    middle = {name: statistics.median(found) for name, found in taken.items()}
    return {**middle, "overhead": (middle["memory"] - middle["plain"]) / middle["floor"]}


def _add_and_recall(store: MemoryStore, said: str, asked: str) -> None:
    bank = store.bank("gary")
    bank.add(
        [{"role": "user", "content": said}, {"role": "assistant", "content": "Noted, as you say."}],
        session="floor",
    )
    bank.recall(asked, 12)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.langchain_turn", description=__doc__)
    parser.add_argument("--memories", type=int, default=1_000)
    parser.add_argument("--turns", type=int, default=100)
    given = parser.parse_args()
    for checkpointer in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            found = run(Path(folder), given.memories, given.turns, checkpointer=checkpointer)
        console.print(
            f"{'with' if checkpointer else 'without'} a checkpointer: plain turn {found['plain']:.1f} ms, "
            f"with memory {found['memory']:.1f} ms, add + recall {found['floor']:.1f} ms: "
            f"memory costs {found['overhead']:.2f} x (add + recall) per turn"
        )


if __name__ == "__main__":
    main()
