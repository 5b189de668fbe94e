"""Tools with which an agent looks into its memory, adds to it and takes from it. The user is never an argument."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from langchain_core.runnables.config import ensure_config
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, Field

from langchain_memorybank._convert import listed
from langchain_memorybank.identity import Source, thread_of
from memorybank import Level, MemoryBank, MemoryBankError, MemoryStore, OwnerError, Recalled


class SearchMemory(BaseModel):
    """What to look for."""

    query: str = Field(description="What to look for, as a question or a few words. Dates may be named.")
    k: int = Field(default=6, ge=1, le=50, description="How many memories at most.")


class Remember(BaseModel):
    """What to keep."""

    text: str = Field(description="One fact or wish, in a full sentence that is clear on its own.")


class ForgetMemory(BaseModel):
    """What to destroy."""

    memory_id: str = Field(description="The id of the memory, as search_memory gives it.")


class GetPortrait(BaseModel):
    """Nothing to say."""


def memorybank_tools(
    store: MemoryStore | None = None,
    *,
    bank: MemoryBank | None = None,
    user_id: str | None = None,
    k: int = 6,
    only: Sequence[str] | None = None,
) -> list[BaseTool]:
    """search_memory, remember, forget_memory and get_portrait, for one user or for the user of each run.

    ``bank``, or ``store`` with a ``user_id`` (else the user of each call: see ``MemoryBankMiddleware``).
    ``k`` is the default number of memories found. ``only`` names the tools wanted. A run without a user raises
    OwnerError; other failures are told to the model. ``forget_memory`` destroys for good: guard it with
    LangChain's ``HumanInTheLoopMiddleware`` where a person should agree.
    """
    source = Source(bank=bank, store=store, user_id=user_id)

    def search_memory(query: str, k: int = k) -> str:
        return _search(_here(source), query, k)

    def remember(text: str) -> str:
        return _remember(_here(source), text)

    def forget_memory(memory_id: str) -> str:
        return _forget(_here(source), memory_id)

    def get_portrait() -> str:
        found = _here(source).portrait()
        return found.text if found is not None and found.text else "There is no portrait of the user yet."

    made = [
        _tool(
            search_memory,
            SearchMemory,
            "Search the long-term memory of earlier conversations with this user. "
            "Gives memories with their dates and ids; they may be out of date.",
        ),
        _tool(
            remember,
            Remember,
            "Keep something about this user for good. Use it when the user asks you to remember something.",
        ),
        _tool(
            forget_memory,
            ForgetMemory,
            "Destroy one memory for good. Use it only when the user asks for it, after search_memory gave the id.",
        ),
        _tool(get_portrait, GetPortrait, "What is known about this user's character, moods and preferences."),
    ]
    return [tool for tool in made if only is None or tool.name in only]


def _tool(act: Callable[..., str], arguments: type[BaseModel], description: str) -> BaseTool:
    def call(**given: Any) -> str:
        try:
            return act(**given)
        except OwnerError:
            raise
        except MemoryBankError as error:  # its message is written for the caller, and holds no memory texts
            raise ToolException(str(error)) from error

    async def acall(**given: Any) -> str:
        return await asyncio.to_thread(call, **given)

    return StructuredTool.from_function(
        func=call,
        coroutine=acall,
        name=act.__name__,
        description=description,
        args_schema=arguments,
        handle_tool_error=True,
    )


def _here(source: Source) -> MemoryBank:
    return source.resolve(config=ensure_config())


def _search(bank: MemoryBank, query: str, k: int) -> str:
    session = thread_of(config=ensure_config())
    found = bank.recall(query, k + 1, reinforce=False, asking=session)
    fresh = [one for one in found if not _in_progress(bank, one, session)][:k]
    if not fresh:
        return "Nothing was found in memory."
    bank.reinforce(fresh, asking=session)
    return listed(fresh, ZoneInfo(bank.timezone))


def _in_progress(bank: MemoryBank, found: Recalled, session: str | None) -> bool:
    """Whether it is the very turn in which the agent is searching."""
    if session is None or found.memory.session != session or not found.memory.sources:
        return False
    last = bank.history(session, last=1, role="user")
    return bool(last) and last[0].id in found.memory.sources


def _remember(bank: MemoryBank, text: str) -> str:
    held = next(
        (
            one.memory
            for one in bank.recall(text, 3, levels=[Level.NOTE], reinforce=False)
            if one.memory.text.strip() == text.strip()
        ),
        None,
    )
    memory = held or bank.remember(text)
    return f"Remembered (id {memory.id})."


def _forget(bank: MemoryBank, memory_id: str) -> str:
    gone = bank.delete([memory_id])
    return "Forgotten." if gone.memories else "There is no memory with this id; search_memory gives ids."
