"""Memory for ``create_agent``: captures every turn, recalls once per user turn, adds it to the prompt."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NotRequired, TypeVar

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
)
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables.config import ensure_config
from langchain_core.tools import BaseTool
from langgraph.channels.untracked_value import UntrackedValue
from langgraph.runtime import Runtime
from langgraph.types import Command

from langchain_memorybank import _thread
from langchain_memorybank._convert import as_block_message, extended, merged, to_message, usable_name
from langchain_memorybank._thread import Cursor
from langchain_memorybank.identity import Source, thread_of
from memorybank import Context, Erased, InvalidInputError, Level, MemoryBank, MemoryStore, OwnerError

logger = logging.getLogger("memorybank.langchain")

OnError = Literal["warn", "raise"] | Callable[[Exception], None]
_T = TypeVar("_T")
_Reply = ModelResponse[Any] | AIMessage | ExtendedModelResponse[Any]


@dataclass(frozen=True)
class Recollection:
    """What was recalled for the turn in progress. Never checkpointed: it quotes other conversations."""

    context: Context


class MemoryBankState(AgentState[Any]):
    """What the middleware adds to the agent's state; both keys are private to it."""

    memorybank_cursor: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]
    memorybank_recalled: NotRequired[Annotated[Recollection, UntrackedValue, PrivateStateAttr]]


class MemoryBankMiddleware(AgentMiddleware[MemoryBankState, Any, Any]):
    """Long-term memory for an agent.

        agent = create_agent(model, tools, middleware=[MemoryBankMiddleware(store)])
        agent.invoke({"messages": […]}, {"configurable": {"thread_id": "monday"}}, context={"user_id": "gary"})

    ``store`` with a user id per run (``context``, the server's user, or ``configurable``) or with ``user_id``;
    or ``bank``, one user's memory. A run without a user raises OwnerError: there is no default user.
    The session is the thread id; without one each run is a session of its own.

    ``k`` memories at most, ``levels`` of them (default: turns, notes, day events), go into a block of at most
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
        self._k = k
        self._max_tokens = max_tokens
        self._levels = None if levels is None else [Level(level) for level in levels]
        self._capture = capture
        self._recall = recall
        self._reinforce = reinforce
        self._consolidate = consolidate
        self._inject = inject
        self._on_error = on_error
        self.tools = list(tools)

    def bank_for(self, user_id: str | None = None) -> MemoryBank:
        """The memory of a user: for consolidate, forget, export and the rest of ``MemoryBank``."""
        return self._source.bank_for(user_id)

    def erase(self, user_id: str | None = None) -> Erased:
        """Remove a user from the store; returns counts. The agent's checkpoints are the checkpointer's."""
        return self._source.erase(user_id)

    # -- hooks -------------------------------------------------------------------------------------------------

    def before_agent(self, state: MemoryBankState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Store the user's turn, then recall for it."""
        return self._begin(state, runtime, ensure_config())

    async def abefore_agent(self, state: MemoryBankState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """As ``before_agent``, off the event loop."""
        return await asyncio.to_thread(self._begin, state, runtime, ensure_config())

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> _Reply:
        """Add what was recalled to the prompt of this call."""
        known = _recalled(request)
        found = known or self._again(request, ensure_config())
        response = handler(self._with_memory(request, found))
        return response if known or not found else _keeping(response, found)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> _Reply:
        """As ``wrap_model_call``."""
        known = _recalled(request)
        found = known or await asyncio.to_thread(self._again, request, ensure_config())
        response = await handler(self._with_memory(request, found))
        return response if known or not found else _keeping(response, found)

    def after_model(self, state: MemoryBankState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Store what the model and the tools said."""
        return self._follow(state, runtime, ensure_config(), last=False)

    async def aafter_model(self, state: MemoryBankState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """As ``after_model``, off the event loop."""
        return await asyncio.to_thread(self._follow, state, runtime, ensure_config(), last=False)

    def after_agent(self, state: MemoryBankState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Close the turn: store the rest, credit what the answer used, see to finished days."""
        return self._end(state, runtime, ensure_config())

    async def aafter_agent(self, state: MemoryBankState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """As ``after_agent``, off the event loop."""
        return await asyncio.to_thread(self._end, state, runtime, ensure_config())

    # -- steps -------------------------------------------------------------------------------------------------

    def _begin(
        self, state: MemoryBankState, runtime: Runtime[Any], config: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        bank = self._bank(runtime, config)
        messages = state["messages"]
        held = Cursor.from_state(state.get("memorybank_cursor"))
        fresh = _thread.opening_turn(messages, held)
        asked = tuple(m.id for m in fresh if isinstance(m, HumanMessage) and m.id)
        session = thread_of(runtime, config) or _own_session(messages, asked, held)
        cursor = replace(
            held or Cursor(session), session=session, asked=asked or (held.asked if held else ())
        )
        update: dict[str, Any] = {"memorybank_cursor": self._store(bank, cursor, fresh).to_state()}
        if self._recall:
            update["memorybank_recalled"] = self._recollect(bank, cursor, messages)
        return update

    def _recollect(
        self, bank: MemoryBank | None, cursor: Cursor, messages: Sequence[BaseMessage]
    ) -> Recollection:
        query = "\n".join(str(m.text) for m in _thread.user_turn(messages, cursor.asked))

        def ask() -> Context:
            if bank is None:
                return Context("", 0)
            return bank.context(
                query,
                max_tokens=self._max_tokens,
                session=cursor.session,
                reinforce=False,
                k=self._k,
                levels=self._levels,
                shown=[usable_name(m.id) for m in messages if m.id],
            )

        return Recollection(self._guarded("recalling", ask, Context("", 0)))

    def _again(self, request: ModelRequest[Any], config: Mapping[str, Any]) -> Recollection | None:
        """What a run that was interrupted and resumed has to recall anew."""
        cursor = Cursor.from_state(request.state.get("memorybank_cursor"))
        if not self._recall or cursor is None:
            return None
        return self._recollect(self._bank(request.runtime, config), cursor, request.state["messages"])

    def _with_memory(self, request: ModelRequest[Any], found: Recollection | None) -> ModelRequest[Any]:
        block = found.context.text if found is not None else ""
        if not block:
            return request
        messages: list[AnyMessage] = list(request.messages)
        if self._inject == "human":
            turn = _thread.user_turn(messages, _asked(request))
            at = next((i for i, m in enumerate(messages) if turn and m is turn[0]), len(messages))
            return request.override(messages=[*messages[:at], as_block_message(block), *messages[at:]])
        leading = [request.system_message] if request.system_message is not None else []
        while messages and isinstance(first := messages[0], SystemMessage):
            leading.append(first)
            del messages[0]
        return request.override(system_message=extended(merged(leading), block), messages=messages)

    def _follow(
        self, state: MemoryBankState, runtime: Runtime[Any], config: Mapping[str, Any], *, last: bool
    ) -> dict[str, Any] | None:
        cursor = Cursor.from_state(state.get("memorybank_cursor"))
        if cursor is None:
            return None
        fresh = _thread.replies(state["messages"], cursor, last=last)
        if not fresh:
            return None
        moved = self._store(self._bank(runtime, config), cursor, fresh)
        return None if moved == cursor else {"memorybank_cursor": moved.to_state()}

    def _end(
        self, state: MemoryBankState, runtime: Runtime[Any], config: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        update = self._follow(state, runtime, config, last=True)
        cursor = Cursor.from_state(state.get("memorybank_cursor"))
        bank = self._bank(runtime, config)
        if cursor is None or bank is None:
            return update
        found = state.get("memorybank_recalled")
        if self._reinforce and found is not None and found.context.recalled:
            answer = _thread.answer_to(state["messages"], cursor.asked)
            self._guarded(
                "crediting",
                lambda: bank.reinforce(found.context.recalled, answer, asking=cursor.session),
                None,
            )
        if self._consolidate:
            self._guarded("consolidating", bank.consolidate_soon, None)
        return update

    def _store(self, bank: MemoryBank | None, cursor: Cursor, messages: Sequence[BaseMessage]) -> Cursor:
        """Store messages; the cursor passes over them only if that succeeded, so that what failed is tried again."""
        if not messages or not self._capture:
            return _thread.moved(cursor, messages)

        def add() -> bool:
            if bank is None:
                return False
            bank.add([to_message(message) for message in messages], session=cursor.session)
            return True

        stored = self._guarded(f"storing {len(messages)} messages", add, False)
        return _thread.moved(cursor, messages) if stored else cursor

    def _bank(self, runtime: Any, config: Mapping[str, Any]) -> MemoryBank | None:
        """The user's bank. Raises OwnerError without a user; None if the store cannot be read."""
        return self._guarded("opening the bank", lambda: self._source.resolve(runtime, config), None)

    def _guarded(self, what: str, act: Callable[[], _T], otherwise: _T) -> _T:
        try:
            return act()
        except OwnerError:
            raise
        except Exception as error:  # whatever breaks in the memory must not take the agent down
            if self._on_error == "raise":
                raise
            if callable(self._on_error):
                self._on_error(error)
            else:
                logger.warning(
                    "memory: %s failed (%s); the agent goes on without", what, type(error).__name__
                )
            return otherwise


def _recalled(request: ModelRequest[Any]) -> Recollection | None:
    found = request.state.get("memorybank_recalled")
    return found if isinstance(found, Recollection) else None


def _asked(request: ModelRequest[Any]) -> tuple[str, ...]:
    cursor = Cursor.from_state(request.state.get("memorybank_cursor"))
    return () if cursor is None else cursor.asked


def _own_session(messages: Sequence[BaseMessage], asked: Sequence[str], held: Cursor | None) -> str:
    """A session for a run without a thread: named by its first message, so that a retry finds it again."""
    first = asked[0] if asked else next((m.id for m in messages if m.id), None)
    return usable_name(f"run-{first}") if first else (held.session if held else "run")


def _keeping(response: _Reply, found: Recollection) -> _Reply:
    """The response, with what was recalled put into the state for the calls that follow."""
    if isinstance(response, ExtendedModelResponse):
        return response
    if isinstance(response, AIMessage):
        response = ModelResponse(result=[response])
    return ExtendedModelResponse(
        model_response=response, command=Command(update={"memorybank_recalled": found})
    )
