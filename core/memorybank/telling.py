"""What is told of the result of each verb, in spans and logs: numbers and levels, never a text or an owner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memorybank.models import Consolidated, Context, Erased, Forgotten, Message, Recalled
from memorybank.watch import Attributes


def added(messages: Sequence[Message]) -> Attributes:
    """Of ``add``."""
    return {"messages": len(messages)}


def messages_added(messages: Sequence[Message]) -> Mapping[str, int]:
    """Counted of ``add``."""
    return {"messages": len(messages)}


def recalled(found: Sequence[Recalled]) -> Attributes:
    """Of ``recall``: how many, of which levels."""
    return {"recalled": len(found), "levels": _levels(found)}


def in_context(context: Context) -> Attributes:
    """Of ``context``."""
    return {"recalled": len(context.recalled), "levels": _levels(context.recalled), "tokens": context.tokens}


def _levels(found: Sequence[Recalled]) -> str:
    return ",".join(sorted({one.memory.level.value for one in found}))


def credited(ids: Sequence[str]) -> Attributes:
    """Of ``reinforce``."""
    return {"credited": len(ids)}


def consolidated(done: Consolidated) -> Attributes:
    """Of ``consolidate``."""
    made = {"made": len(done.made), "updated": len(done.updated), "failed": len(done.failed)}
    return {**made, **{name.replace(".", "_"): n for name, n in spent(done).items()}}


def spent(done: Consolidated) -> Mapping[str, int]:
    """Counted of ``consolidate``: what the language model cost."""
    return {
        "llm.calls": done.calls,
        "llm.tokens.prompt": done.prompt_tokens,
        "llm.tokens.reply": done.reply_tokens,
        "llm.failures": len(done.failed),
    }


def forgotten(done: Forgotten) -> Attributes:
    """Of ``forget``."""
    return {"archived": len(done.archived), "purged": len(done.purged), "kept": len(done.kept)}


def erased(done: Erased) -> Attributes:
    """Of ``erase``, ``delete`` and ``clear``."""
    return {"memories": done.memories, "messages": done.messages, "indexed": done.indexed}


def flushed(rows: int) -> Attributes:
    """Of ``flush``."""
    return {"rows": rows}
