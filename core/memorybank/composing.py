"""Composing the context: what goes into the block for a prompt. The order of steps; rendering is in ``context``."""

from __future__ import annotations

from collections.abc import Collection

from memorybank import reporting
from memorybank.context import ContextParts, block_language, render_context
from memorybank.models import Context, Level, Window
from memorybank.recalling import Request, recall
from memorybank.runtime import Runtime


def context(
    runtime: Runtime,
    owner: str,
    request: Request,
    *,
    max_tokens: int,
    window: int | None,
    language: str | None,
    shown: Collection[str] = (),
) -> Context:
    """The block for a prompt. Reads only."""
    asking = request.asking
    digest, talk = None, Window(())
    if asking is not None and window is not None:
        talk = reporting.window(runtime, owner, asking, window)
        digest = talk.digest
    elif asking is not None:
        digest = reporting.digest(runtime, owner, asking)
    known = {*shown, *(message.id for message in talk.messages)}
    parts = ContextParts(
        portrait=reporting.derived(runtime, owner, Level.PORTRAIT, None, request.zone),
        events=reporting.derived(runtime, owner, Level.EVENTS, None, request.zone),
        recalled=recall(runtime, owner, request, known, quotes=False),
        digest=digest,
        window=talk.messages,
    )
    return render_context(
        parts,
        max_tokens=max_tokens,
        counter=runtime.counter,
        zone=request.zone,
        now=request.now,
        language=block_language(parts, language, request.query),
    )
