"""Memory for ``create_agent``: captures every turn, recalls once per user turn, adds it to the prompt."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, NotRequired, TypeVar

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
)
from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables.config import ensure_config
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime

from langchain_memorybank import _thread
from langchain_memorybank._convert import as_block_message, extended, merged, to_message, usable_name
from langchain_memorybank._recollections import Held, Recollections, Turn
from langchain_memorybank._thread import Cursor
from langchain_memorybank.identity import Source, thread_of
from memorybank import Context, Erased, InvalidInputError, Level, MemoryBank, MemoryStore, OwnerError
from memorybank.accepting import Accepted, accept
from memorybank.intake import check_count, check_levels

logger: logging.Logger = logging.getLogger("memorybank.langchain")

OnError = Literal["warn", "raise"] | Callable[[Exception], None]
_T = TypeVar("_T")
_NOTHING = Context("", 0)
_Update = dict[str, Any] | None


class MemoryBankState(AgentState[Any]):
    """What the middleware adds to the agent's state: plain data, no memory texts, private to it."""

    memorybank_cursor: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]


class MemoryBankMiddleware(AgentMiddleware[MemoryBankState, Any, Any]):
    """Long-term memory for an agent.

        agent = create_agent(model, tools, middleware=[MemoryBankMiddleware(store)])
        agent.invoke({"messages": […]}, {"configurable": {"thread_id": "monday"}}, context={"user_id": "gary"})

    ``store`` with a user id per run (``context``, the server's user, or ``configurable``) or with ``user_id``;
    or ``bank``, one user's memory. A run without a user raises OwnerError: there is no default user.
    The session is the thread id; without one each run is a session of its own.

    ``k`` memories at most, of ``levels`` (default: turns, notes, day events), go into a block of at most
    ``max_tokens`` tokens at the end of the system message (``inject="system"``), or into a message of its own
    before the user's (``"human"``, which keeps a prompt cache of a long thread warm). ``capture=False`` only
    recalls, ``recall=False`` only captures. ``reinforce`` credits, at the end of the turn, what the answer used.
    ``consolidate`` has finished days summarised in the background. ``tools`` are added to the agent's.

    ``on_error``: what happens when the memory itself fails: "warn" (log it and go on without), "raise", or a
    function of the exception.
    """

    state_schema = MemoryBankState

    def __init__(
        self,
        store: MemoryStore | None = None,
        *,
        bank: MemoryBank | None = None,
        user_id: str | None = None,
        k: int = 12,
        max_tokens: int = 1500,
        levels: Iterable[Level | str] | None = None,
        capture: bool = True,
        recall: bool = True,
        reinforce: bool = True,
        consolidate: bool = True,
        inject: Literal["system", "human"] = "system",
        on_error: OnError = "warn",
        tools: Sequence[BaseTool] = (),
    ) -> None:
        super().__init__()
        if inject not in ("system", "human"):
            raise InvalidInputError(f"inject={inject!r}; allowed are 'system' and 'human'")
        if on_error not in ("warn", "raise") and not callable(on_error):
            raise InvalidInputError(f"on_error={on_error!r}; allowed are 'warn', 'raise' and a function")
        self._source = Source(bank=bank, store=store, user_id=user_id)
        self._k = check_count(k, "k")
        self._max_tokens = check_count(max_tokens, "max_tokens")
        self._levels = check_levels(levels)
        self._capture = capture
        self._recall = recall
        self._reinforce = reinforce
        self._consolidate = consolidate
        self._inject = inject
        self._on_error = on_error
        self._held = Recollections()
        self.tools: Sequence[BaseTool] = list(tools)

    def bank_for(self, user_id: str | None = None) -> MemoryBank:
        """The memory of a user: for consolidate, forget, export and the rest of ``MemoryBank``."""
        return self._source.bank_for(user_id)

    def erase(self, user_id: str | None = None) -> Erased:
        """Remove a user from the store; returns counts. The agent's checkpoints are the checkpointer's."""
        bank = self.bank_for(user_id)
        self._held.drop(bank.owner)
        return bank.erase()

    # -- hooks -------------------------------------------------------------------------------------------------

    def before_agent(self, state: MemoryBankState, runtime: Runtime[Any]) -> _Update:
        """Store the user's turn, then recall for it."""
        return self._begin(state, runtime, ensure_config())

    async def abefore_agent(self, state: MemoryBankState, runtime: Runtime[Any]) -> _Update:
        """As ``before_agent``, off the event loop."""
        return await asyncio.to_thread(self._begin, state, runtime, ensure_config())

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Add what was recalled to the prompt of this call."""
        turn, found = self._place(request, ensure_config())
        if found is None:
            found = self._recollect(turn, request.state["messages"])
        return handler(self._with_memory(request, turn, found))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """As ``wrap_model_call``."""
        turn, found = self._place(request, ensure_config())
        if found is None:
            found = await asyncio.to_thread(self._recollect, turn, request.state["messages"])
        return await handler(self._with_memory(request, turn, found))

    def after_model(self, state: MemoryBankState, runtime: Runtime[Any]) -> _Update:
        """Store what the model and the tools said."""
        return self._follow(state, runtime, ensure_config(), last=False)

    async def aafter_model(self, state: MemoryBankState, runtime: Runtime[Any]) -> _Update:
        """As ``after_model``, off the event loop."""
        return await asyncio.to_thread(self._follow, state, runtime, ensure_config(), last=False)

    def after_agent(self, state: MemoryBankState, runtime: Runtime[Any]) -> _Update:
        """Close the turn: store the rest, credit what the answer used, see to finished days."""
        return self._end(state, runtime, ensure_config())

    async def aafter_agent(self, state: MemoryBankState, runtime: Runtime[Any]) -> _Update:
        """As ``after_agent``, off the event loop."""
        return await asyncio.to_thread(self._end, state, runtime, ensure_config())

    # -- steps -------------------------------------------------------------------------------------------------

    def _begin(self, state: MemoryBankState, runtime: Runtime[Any], config: Mapping[str, Any]) -> _Update:
        owner = self._source.owner(runtime, config)
        messages = state["messages"]
        held = Cursor.from_state(state.get("memorybank_cursor"))
        fresh = _thread.opening_turn(messages, held)
        asked = tuple(m.id for m in fresh if isinstance(m, HumanMessage) and m.id)
        session = thread_of(runtime, config) or _own_session(messages, asked)
        cursor = replace(
            held or Cursor(session), session=session, asked=asked or (held.asked if held else ())
        )
        turn = (owner, session, cursor.asked)
        stored = self._store(turn, cursor, fresh)
        self._recollect(turn, messages)
        return {"memorybank_cursor": stored.to_state()}

    def _recollect(self, turn: Turn | None, messages: Sequence[BaseMessage]) -> Context:
        """Recall for a turn and hold it for the calls that follow."""
        if not self._recall or turn is None:
            return _NOTHING
        _, session, asked = turn
        query = "\n".join(str(m.text) for m in _thread.user_turn(messages, asked))

        def ask() -> Context:
            bank = self._bank(turn)
            context = bank.context(
                query,
                max_tokens=self._max_tokens,
                session=session,
                reinforce=False,
                k=self._k,
                levels=self._levels,
                shown=[usable_name(m.id) for m in messages if m.id],
            )
            self._held.put(turn, Held(bank, context))
            return context

        return self._guarded("recalling", ask, _NOTHING)

    def _place(
        self, request: ModelRequest[Any], config: Mapping[str, Any]
    ) -> tuple[Turn | None, Context | None]:
        """The turn that a model call belongs to, and what is held for it."""
        cursor = Cursor.from_state(request.state.get("memorybank_cursor"))
        if cursor is None:
            return None, None
        turn = (self._source.owner(request.runtime, config), cursor.session, cursor.asked)
        held = self._held.get(turn)
        return turn, None if held is None else held.context

    def _bank(self, turn: Turn) -> MemoryBank:
        """The user's bank, opened once in a turn."""
        held = self._held.get(turn)
        if held is None:
            held = Held(self._source.of(turn[0]))
            self._held.put(turn, held)
        return held.bank

    def _with_memory(
        self, request: ModelRequest[Any], turn: Turn | None, found: Context
    ) -> ModelRequest[Any]:
        if not found.text:
            return request
        messages: list[AnyMessage] = list(request.messages)
        if self._inject == "human":
            said = _thread.user_turn(messages, turn[2] if turn is not None else ())
            at = next((i for i, m in enumerate(messages) if said and m is said[0]), len(messages))
            return request.override(messages=[*messages[:at], as_block_message(found.text), *messages[at:]])
        leading = [request.system_message] if request.system_message is not None else []
        while messages and isinstance(first := messages[0], SystemMessage):
            leading.append(first)
            del messages[0]
        return request.override(system_message=extended(merged(leading), found.text), messages=messages)

    def _follow(
        self, state: MemoryBankState, runtime: Runtime[Any], config: Mapping[str, Any], *, last: bool
    ) -> _Update:
        cursor = Cursor.from_state(state.get("memorybank_cursor"))
        if cursor is None:
            return None
        fresh = _thread.replies(state["messages"], cursor, last=last)
        if not fresh:
            return None
        turn = (self._source.owner(runtime, config), cursor.session, cursor.asked)
        moved = self._store(turn, cursor, fresh)
        return None if moved == cursor else {"memorybank_cursor": moved.to_state()}

    def _end(self, state: MemoryBankState, runtime: Runtime[Any], config: Mapping[str, Any]) -> _Update:
        update = self._follow(state, runtime, config, last=True)
        cursor = Cursor.from_state(state.get("memorybank_cursor"))
        if cursor is None:
            return update
        turn = (self._source.owner(runtime, config), cursor.session, cursor.asked)
        self._guarded("closing the turn", lambda: self._close(turn, state["messages"]), None)
        return update

    def _close(self, turn: Turn, messages: Sequence[BaseMessage]) -> None:
        bank = self._bank(turn)
        held = self._held.pop(turn)
        context = held.context if held is not None else None
        if self._reinforce and context is not None and context.recalled:
            answer = _thread.answer_to(messages, turn[2])
            bank.reinforce(context.recalled, answer, asking=turn[1])
        if self._consolidate:
            bank.consolidate_soon()

    def _store(self, turn: Turn, cursor: Cursor, messages: Sequence[BaseMessage]) -> Cursor:
        """Store messages; the cursor passes them only if that succeeded, so that what failed is tried again.

        A message that is refused among others that are not is told of and left out: the turn is not lost for it.
        """
        if not messages or not self._capture:
            return _thread.moved(cursor, messages)

        def add() -> Accepted:
            return accept(
                self._bank(turn), [to_message(message) for message in messages], session=cursor.session
            )

        done = self._guarded(f"storing {len(messages)} messages", add, None)
        if done is None:
            return cursor
        if done.error is not None:
            self._failed(f"storing {len(done.refused)} of {len(messages)} messages", done.error)
        return _thread.moved(cursor, messages)

    def _guarded(self, what: str, act: Callable[[], _T], otherwise: _T) -> _T:
        try:
            return act()
        except OwnerError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever breaks in the memory must not take the agent down
            self._failed(what, error)
            return otherwise

    def _failed(self, what: str, error: Exception) -> None:
        if self._on_error == "raise":
            raise error
        if callable(self._on_error):
            self._on_error(error)
        else:
            logger.warning("memory: %s failed (%s); the agent goes on without", what, type(error).__name__)


def _own_session(messages: Sequence[BaseMessage], asked: Sequence[str]) -> str:
    """A session for a run without a thread: named by its first new message, so that a retry finds it again."""
    first = asked[0] if asked else next((m.id for m in messages if m.id), "")
    return usable_name(f"run-{first}")
