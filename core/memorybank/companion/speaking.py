"""What a chat model is here: from messages to pieces of text; and other things as one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from memorybank.errors import LLMError

Said = Mapping[str, str]
"""One message of a prompt: ``{"role": "system" | "user" | "assistant", "content": …}``."""

ChatModel = Callable[[Sequence[Said]], Iterable[str]]
"""Gives the reply piece by piece. May raise anything."""

_OPEN, _CLOSE = "<think>", "</think>"


def of_function(function: Callable[[str], object], *, bare: bool = False) -> ChatModel:
    """A function from text to text (or to pieces of text) as a chat model: it reads the talk as a script.

    ``bare``: it is given the words alone, without who says them.
    """

    def reply(messages: Sequence[Said]) -> Iterator[str]:
        made = function("\n\n".join(one["content"] for one in messages) if bare else _script(messages))
        if isinstance(made, str):
            yield made
            return
        if not isinstance(made, Iterable):
            raise LLMError(f"the model returned {type(made).__name__}, not text")
        for piece in made:
            if not isinstance(piece, str):
                raise LLMError(f"the model returned a piece of {type(piece).__name__}, not text")
            yield piece

    return reply


def _script(messages: Sequence[Said]) -> str:
    lines = [
        one["content"] if one["role"] == "system" else f"{one['role']}: {one['content']}" for one in messages
    ]
    return "\n\n".join([*lines, "assistant:"])


def as_llm(model: ChatModel) -> Callable[[str], str]:
    """A chat model as the ``llm`` of a store: one prompt, the whole reply."""

    def ask(prompt: str) -> str:
        return "".join(model([{"role": "user", "content": prompt}]))

    return ask


def without_thoughts(pieces: Iterable[str]) -> Iterator[str]:
    """The pieces without the ``<think>…</think>`` blocks that some models put first, and without leading blanks.

    Only blocks at the very beginning are taken away; if one never ends nothing follows.
    """
    held, talking = "", False
    for piece in pieces:
        if talking:
            if piece:
                yield piece
            continue
        held = _thought_away(held + piece)
        if not (_OPEN.startswith(held) or held.startswith(_OPEN)):
            yield held
            talking = True
    if not talking and held and not held.startswith(_OPEN):
        yield held


def _thought_away(text: str) -> str:
    """The text after whole blocks of thought; of one that is not over only what its end may be part of."""
    text = text.lstrip()
    while text.startswith(_OPEN):
        _, closed, after = text[len(_OPEN) :].partition(_CLOSE)
        if not closed:
            return _OPEN + text[len(_OPEN) :][-len(_CLOSE) :]
        text = after.lstrip()
    return text
