"""MemoryBankMemory: the memory of a chat engine or an agent."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.llms.llm import LLM
from llama_index.core.memory.memory import InsertMethod
from llama_index.core.memory.types import BaseMemory
from llama_index.core.utils import get_tokenizer
from pydantic import ConfigDict, Field, PrivateAttr

from llamaindex_memorybank._conversation import Conversation, Credit, OnError, turn_of
from llamaindex_memorybank._convert import as_chat, defielded, query_text, to_chat, to_message
from llamaindex_memorybank._stores import STORES, Lease, place_of
from llamaindex_memorybank._trimming import count_tokens, trim
from memorybank import InvalidInputError, MemoryBank, MemoryStore, Message, OwnerError
from memorybank.rewinding import new_id

_TOKEN_LIMIT = 30_000  # llama_index.core.memory.Memory's own
_WINDOW_SHARE = 0.75  # of a model's context window, as ChatMemoryBuffer has it
_MEMORY_LIMIT = 1_500
_LEAST_MEMORY = 64  # tokens; less holds no memory worth its fence
_COUNTED = 10_000  # messages whose token counts are kept


class MemoryBankMemory(BaseMemory):
    """Long-term memory of one user, and the exact history of one session of theirs.

    Make it with ``from_defaults``. Usable from threads and from async code; it can be saved with a ``Context``
    and reconnects by itself. There is no length and no truth value on purpose: engines replace a falsy memory.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(arbitrary_types_allowed=True)

    user_id: str
    session_id: str
    place: str | None = Field(default=None, description="Folder of the store, or its database's address.")
    token_limit: int = Field(default=_TOKEN_LIMIT, gt=0, description="Tokens of all that get() returns.")
    memory_token_limit: int = Field(default=_MEMORY_LIMIT, ge=0, description="Tokens of the memory message.")
    insert_method: InsertMethod | None = Field(
        default=None, description="Role of the memory message; None: system for engines, user for agents."
    )
    k: int = Field(default=12, ge=1, description="Memories recalled at most.")
    min_score: float | Literal["auto"] | None = None
    credit: Credit = "recalled"
    consolidate: bool = True
    tokenizer_fn: Callable[[str], Sequence[Any]] = Field(default_factory=get_tokenizer, exclude=True)
    on_error: OnError | None = Field(default=None, exclude=True)

    _conversation: Conversation | None = PrivateAttr(default=None)
    _store: MemoryStore | None = PrivateAttr(default=None)
    _lease: Lease | None = PrivateAttr(default=None)
    _counts: OrderedDict[str, int] = PrivateAttr(default_factory=OrderedDict)

    @classmethod
    def class_name(cls) -> str:
        """The name under which the framework knows it."""
        return "MemoryBankMemory"

    @classmethod
    def from_defaults(
        cls,
        store: MemoryStore | None = None,
        bank: MemoryBank | None = None,
        path: str | Path | None = None,
        user_id: str | None = None,
        session_id: str | None = None,
        chat_history: Sequence[ChatMessage] | None = None,
        token_limit: int | None = None,
        memory_token_limit: int | None = None,
        llm: LLM | None = None,
        embed_model: BaseEmbedding | None = None,
        insert_method: InsertMethod | str | None = None,
        on_error: OnError | None = None,
        tokenizer_fn: Callable[[str], Sequence[Any]] | None = None,
        k: int = 12,
        min_score: float | Literal["auto"] | None = None,
        credit: Credit = "recalled",
        consolidate: bool = True,
        **ignored: Any,
    ) -> Self:
        """The memory of a user in a session, over one of ``store``, ``bank`` and ``path`` (a folder).

        ``user_id`` is mandatory; a bank brings its own. ``session_id``: the session to go on with (None: a new
        one). ``chat_history`` sets the session's history; None and [] leave it as it is. ``token_limit`` bounds
        all that ``get`` returns (default: three quarters of ``llm``'s window, else 30,000 tokens),
        ``memory_token_limit`` the memory message (default: 1,500, at most a quarter). ``llm`` and ``embed_model``
        are the models of a store opened by ``path``; memories of one folder share one store. ``on_error`` gets
        what went wrong while the turn went on (default: it is logged). ``credit``: what is strengthened,
        "recalled" (all that was handed over), "used" (what the answer draws on) or "none".
        ``consolidate``: let finished days be summed up in the background. Other arguments are ignored.

        Raises OwnerError without a user, InvalidInputError, StoreError and its kinds.
        """
        lease = None
        if path is not None and store is None and bank is None:
            bank, store, lease = STORES.bank(path, _checked(user_id), embed_model=embed_model, llm=llm)
        elif embed_model is not None:
            raise InvalidInputError("embed_model= goes with path=; a store has its embedder already")
        else:
            bank = _bank(store, bank, user_id)
            STORES.introduce(bank if store is None else store)
        limit = token_limit or (_TOKEN_LIMIT if llm is None else _share_of_window(llm))
        memory = cls(
            user_id=bank.owner,
            session_id=new_id() if session_id is None else session_id,
            place=place_of(bank),
            token_limit=limit,
            memory_token_limit=min(_MEMORY_LIMIT, limit // 4)
            if memory_token_limit is None
            else memory_token_limit,
            insert_method=None if insert_method is None else InsertMethod(insert_method),
            k=k,
            min_score=min_score,
            credit=credit,
            consolidate=consolidate,
            tokenizer_fn=tokenizer_fn or get_tokenizer(),
            on_error=on_error,
        )
        memory._attach(bank, store, lease)
        if chat_history:
            memory.set(list(chat_history))
        return memory

    # -- reading -----------------------------------------------------------------------------------------------

    def get(
        self, input: Any = None, initial_token_count: int | None = None, **kwargs: Any
    ) -> list[ChatMessage]:
        """What to send: at most one memory message, then the newest turns of the history, all new objects.

        ``input`` (None, text, QueryBundle, ChatMessage): what the user says now, stored already or not; without
        it the last user message is asked with. ``initial_token_count`` is taken off ``token_limit``.
        """
        conversation = self._connected()
        budget = self.token_limit - (initial_token_count or 0)
        room = min(self.memory_token_limit, budget // 2)
        room = room if room >= _LEAST_MEMORY else 0
        end = conversation.end(lambda messages: self._fills(messages, budget))
        messages = [*end.head, *end.messages]
        chats = [to_chat(message) for message in messages]
        tokens = [self._tokens(message, chat) for message, chat in zip(messages, chats, strict=True)]
        kept = trim(chats, tokens, budget - room)
        turn, stored = turn_of(messages, query_text(input))
        history = [chats[i] for i in kept]
        if turn is None or room == 0:
            return history
        context = conversation.context(
            turn,
            shown=[messages[i].id or "" for i in kept],
            max_tokens=room,
            k=self.k,
            min_score=self.min_score,
        )
        if not context.text:
            return history
        role = self._role(agent=stored and initial_token_count is None)
        return [ChatMessage(role=role, content=defielded(context.text)), *history]

    async def aget(
        self, input: Any = None, initial_token_count: int | None = None, **kwargs: Any
    ) -> list[ChatMessage]:
        """``get`` on a thread: the event loop goes on."""
        return await asyncio.to_thread(self.get, input, initial_token_count, **kwargs)

    def get_all(self) -> list[ChatMessage]:
        """The whole history of the session, exactly as it was put."""
        return [to_chat(message) for message in self._connected().everything()]

    def _role(self, *, agent: bool) -> MessageRole:
        """Agents read with the user's message stored, and tell no token count. Where ReActAgent has no system
        prompt it drops a leading system message: agents get the user's role, unless told otherwise."""
        method = self.insert_method or (InsertMethod.USER if agent else InsertMethod.SYSTEM)
        return MessageRole.USER if method is InsertMethod.USER else MessageRole.SYSTEM

    def _fills(self, messages: Sequence[Message], budget: int) -> bool:
        """Whether messages fill the budget, and hold a whole turn."""
        total = 0
        for message in reversed(messages):
            total += self._tokens(message)
            if total > budget:
                return any(message.role == "user" for message in messages[1:])
        return False

    def _tokens(self, message: Message, chat: ChatMessage | None = None) -> int:
        key = message.id or ""
        known = self._counts.get(key)
        if known is None:
            known = count_tokens(chat or to_chat(message), self.tokenizer_fn)
            self._counts[key] = known
            while len(self._counts) > _COUNTED:
                self._counts.popitem(last=False)
        return known

    # -- writing -----------------------------------------------------------------------------------------------

    def put(self, message: ChatMessage) -> None:
        """Add a message to the history; what is said in it becomes a memory. Never fails the turn: see
        ``on_error``."""
        self.put_messages([message])

    async def aput(self, message: ChatMessage) -> None:
        """``put``, in the order of the calls; the event loop goes on."""
        await self.aput_messages([message])

    def put_messages(self, messages: Sequence[ChatMessage]) -> None:
        """Add messages in order, in one go."""
        if messages:
            conversation = self._connected()
            conversation.queue([to_message(as_chat(message)) for message in messages])
            conversation.flush()

    async def aput_messages(self, messages: Sequence[ChatMessage]) -> None:
        """``put_messages``; queued before the first await, so that rapid puts keep their order."""
        if messages:
            conversation = self._conversation
            if conversation is None:
                conversation = await asyncio.to_thread(self._connected)
            conversation.queue([to_message(as_chat(message)) for message in messages])
            await asyncio.to_thread(conversation.flush)

    def set(self, messages: Sequence[ChatMessage]) -> None:
        """Make the history these messages. A diff: nothing is stored twice, no memory is lost, twice is once.
        Raises StoreError, leaving the history as it was."""
        self._connected().set([to_message(as_chat(message)) for message in messages])

    def reset(self) -> None:
        """Begin the session's history anew. What was said before stays in the long-term memory."""
        self._connected().reset()

    def flush(self) -> bool:
        """Write what could not be written so far; whether all is written."""
        return self._connected().flush()

    # -- where it is kept --------------------------------------------------------------------------------------

    @property
    def bank(self) -> MemoryBank:
        """The user's memory itself: recall, explain, forget, export."""
        return self._connected().bank

    def close(self) -> None:
        """Write what waits, and let go of a store that ``path=`` opened: the last memory of it closes it.

        Used again, the memory reconnects."""
        if self._conversation is not None:
            self._conversation.flush()
        lease, self._lease = self._lease, None
        self._conversation = self._store = None
        if lease is not None:
            lease.end()

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """JSON values that say whose memory it is and where; no models, no keys, no texts."""
        return {**self.model_dump(mode="json"), "class_name": self.class_name()}

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """A memory from ``to_dict``; it connects at first use, to the store that is open at its place."""
        return cls(**{key: value for key, value in {**data, **kwargs}.items() if key != "class_name"})

    def _connected(self) -> Conversation:
        found = self._conversation
        if found is None:
            if self.place is None:
                raise InvalidInputError(
                    "this memory has no place; make it with MemoryBankMemory.from_defaults"
                )
            found = self._attach(*STORES.bank(self.place, self.user_id))
        return found

    def _attach(self, bank: MemoryBank, store: MemoryStore | None, lease: Lease | None) -> Conversation:
        self._store, self._lease = store, lease
        self._conversation = Conversation(
            bank,
            self.session_id,
            on_error=self.on_error,
            credit=self.credit,
            consolidate=self.consolidate,
        )
        return self._conversation

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """A memory is a handle: copies of a workflow's state share it."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self).from_dict, (self.to_dict(),))


def _checked(user_id: str | None) -> str:
    if user_id is None:
        raise OwnerError("user_id is missing; give the id of the user whose memory this is")
    return user_id


def _bank(store: MemoryStore | None, bank: MemoryBank | None, user_id: str | None) -> MemoryBank:
    if bank is not None:
        if user_id is not None and user_id != bank.owner:
            raise OwnerError(f"user_id={user_id!r}, but the bank is {bank.owner!r}'s; give one of them")
        return bank
    if store is None:
        raise InvalidInputError("give store=, bank= or path=: where the memories are kept")
    return store.bank(_checked(user_id))


def _share_of_window(llm: LLM) -> int:
    return max(1, int(llm.metadata.context_window * _WINDOW_SHARE))
