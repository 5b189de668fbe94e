"""Stopping a reply at once, even while the model is silent."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence

from memorybank.companion.speaking import ChatModel, Said
from memorybank.errors import LLMError

STOPPED = "stopped"
"""The reason of a reply that somebody broke off."""

_LOOK = 0.05  # seconds between two looks at whether to stop; nobody notices so little


def stoppable(model: ChatModel, stopped: Callable[[], bool]) -> ChatModel:
    """The model, left as soon as ``stopped()`` is true: then LLMError with the reason ``STOPPED``.

    The model speaks on a thread of its own, which ends with its next piece: a server that is silent cannot be
    interrupted, but nobody waits for it.
    """

    def reply(messages: Sequence[Said]) -> Iterator[str]:
        pieces: queue.SimpleQueue[str | Exception | None] = queue.SimpleQueue()
        left = threading.Event()
        arguments = (model, messages, pieces, left)
        threading.Thread(target=_speak, args=arguments, name="memorybank-reply", daemon=True).start()
        try:
            while not stopped():
                try:
                    piece = pieces.get(timeout=_LOOK)
                except queue.Empty:
                    continue
                if piece is None:
                    return
                if isinstance(piece, Exception):
                    raise piece
                yield piece
            raise LLMError(STOPPED)
        finally:
            left.set()

    return reply


def _speak(
    model: ChatModel,
    messages: Sequence[Said],
    pieces: queue.SimpleQueue[str | Exception | None],
    left: threading.Event,
) -> None:
    try:
        for piece in model(messages):
            if left.is_set():
                break
            pieces.put(piece)
        pieces.put(None)
    except Exception as error:  # noqa: BLE001 - a model may raise anything; whoever listens raises it
        pieces.put(error)
