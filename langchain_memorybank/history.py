"""A session's transcript as a LangChain chat history: verbatim, in order, and nothing else.

Recalled memories, summaries and forgetting never show in it: ``RunnableWithMessageHistory`` counts its messages
on the way in and on the way out, and loses the user's turn if the number changed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage

from langchain_memorybank import _unsaved
from langchain_memorybank._convert import from_message, normalise, usable_name
from langchain_memorybank._window import last_messages
from langchain_memorybank.identity import Source
from memorybank import InvalidInputError, MemoryBank, MemoryStore, rewinding
from memorybank.accepting import accept
from memorybank.outline import outline

logger: logging.Logger = logging.getLogger("memorybank.langchain")


class MemoryBankChatMessageHistory(BaseChatMessageHistory):
    """One session of one user.

        RunnableWithMessageHistory(chain, lambda session_id: MemoryBankChatMessageHistory(bank, session_id))

    ``bank``, or ``store`` and ``user_id``. With ``window`` only the last so many messages are given, starting
    at a user's message and with tool calls and their results together; everything stays stored.
    Each exchange that is added is a memory of the bank too, for retriever, tools and middleware.
    ``consolidate`` has finished days summarised in the background.
    """

    def __init__(
        self,
        bank: MemoryBank | None = None,
        session_id: str | None = None,
        window: int | None = None,
        *,
        store: MemoryStore | None = None,
        user_id: str | None = None,
        consolidate: bool = True,
    ) -> None:
        super().__init__()
        if session_id is None or not str(session_id).strip():
            raise InvalidInputError("session_id is missing or blank; give the id of the conversation")
        if window is not None and (isinstance(window, bool) or not isinstance(window, int) or window < 1):
            raise InvalidInputError(
                f"window={window!r}; give a whole number of at least 1, or None for everything"
            )
        self.bank: MemoryBank = Source(bank=bank, store=store, user_id=user_id).bank_for()
        self.session_id: str = usable_name(session_id)
        self.window = window
        self._consolidate = consolidate

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # the base class declares an attribute
        """The transcript (of which the window, if there is one), oldest first. Assigning is not possible."""
        if self.window is None:
            found = rewinding.read(self.bank, self.session_id)
        else:
            found = last_messages(self.bank, self.session_id, self.window)
        return [from_message(message) for message in found]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store messages in order. A message with an id that the session has is stored once.

        What cannot be stored is logged, kept for the next call on this session while the store is open, and
        the error raised: ``RunnableWithMessageHistory`` would swallow it in silence. A message that is refused (by
        the redaction) among others that are not is logged and left out: the turn is not lost for it.
        """
        items = _unsaved.outstanding(self.bank, self.session_id, normalise(messages))
        if not items:
            return
        try:
            done = accept(self.bank, [item for _, item in items], session=self.session_id)
        except InvalidInputError:
            raise  # not kept: what is refused once is refused again, and would block what follows
        except Exception as error:  # whatever it was, the messages wait for the next write
            _unsaved.keep(self.bank, self.session_id, items)
            logger.error(  # no traceback: the errors in its chain may quote a message
                "memory: %d messages of a session were not stored (%s); they are tried again with the next ones",
                len(items),
                outline(error),
            )
            raise
        _unsaved.settle(self.bank, self.session_id)
        if done.error is not None:
            logger.error("memory: %s", done.error)
        if self._consolidate:
            self.bank.consolidate_soon()

    def clear(self) -> None:
        """Destroy this session: its messages and the memories made of them. Other sessions and users stay."""
        _unsaved.settle(self.bank, self.session_id)
        self.bank.clear(self.session_id)

    async def aget_messages(self) -> list[BaseMessage]:
        """As ``messages``, off the event loop."""
        return await asyncio.to_thread(lambda: self.messages)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """As ``add_messages``, off the event loop."""
        await asyncio.to_thread(self.add_messages, messages)

    async def aclear(self) -> None:
        """As ``clear``, off the event loop."""
        await asyncio.to_thread(self.clear)
