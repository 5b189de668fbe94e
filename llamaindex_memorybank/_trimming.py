"""Fitting a history into a budget of tokens: whole turns, tool calls with their results, the user's words always."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import accumulate

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock

Tokenizer = Callable[[str], Sequence[object]]

# Tokens of what is not text; the framework's own estimates (llama_index.core.memory.Memory).
_MEDIA = {"image": 256, "audio": 256, "video": 256, "document": 2048}
_SYSTEM = (MessageRole.SYSTEM, MessageRole.DEVELOPER)
_RESULTS = (MessageRole.TOOL, MessageRole.FUNCTION)


def count_tokens(chat: ChatMessage, tokenizer: Tokenizer) -> int:
    """Tokens of a message: words, thoughts, tool calls however they are told; never opens a file or an address."""
    total = 0
    for block in chat.blocks:
        kind = block.block_type
        if isinstance(block, TextBlock):
            total += len(tokenizer(block.text))
        elif kind in _MEDIA:
            total += _MEDIA[kind]
        elif kind != "cache":
            total += len(tokenizer(block.model_dump_json(exclude_none=True)))
    if chat.additional_kwargs:
        total += len(tokenizer(json.dumps(chat.additional_kwargs, default=str, ensure_ascii=False)))
    return total


def trim(chats: Sequence[ChatMessage], tokens: Sequence[int], budget: int) -> list[int]:
    """Which messages to keep, as indexes in order: leading system messages, then the newest whole turns that fit,
    from a user message on.

    A history that fits is kept whole. The last turn is never dropped: where it is too long itself, its oldest
    tool traffic goes, its user message and its last step stay. Never raises, whatever the budget.
    """
    everything = list(range(len(chats)))
    after = [0, *accumulate(reversed(tokens))][::-1]  # after[i]: tokens from message i on
    if not chats or after[0] <= budget:
        return everything
    head = 0
    while head < len(chats) and chats[head].role in _SYSTEM:
        head += 1
    room = budget - (after[0] - after[head])
    starts = [i for i in everything[head:] if chats[i].role is MessageRole.USER]
    if not starts:
        # Talk without a user: what fits from the end, at least the last message.
        last = next((i for i in everything[head:] if after[i] <= room), len(chats) - 1)
        return everything[:head] + everything[max(last, head) :]
    for start in starts:
        if after[start] <= room:
            return everything[:head] + everything[start:]
    return everything[:head] + _shortened(everything[starts[-1] :], chats, tokens, room)


def _shortened(turn: list[int], chats: Sequence[ChatMessage], tokens: Sequence[int], room: int) -> list[int]:
    """A turn without its oldest steps: a step is a message with the tool results that follow it."""
    steps: list[list[int]] = []
    for i in turn[1:]:
        if chats[i].role in _RESULTS and steps:
            steps[-1].append(i)
        else:
            steps.append([i])
    left = sum(tokens[i] for i in turn)
    while len(steps) > 1 and left > room:
        left -= sum(tokens[i] for i in steps.pop(0))
    return [turn[0], *(i for step in steps for i in step)]
