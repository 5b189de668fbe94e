"""A LangGraph store over a bank: items with namespaces and keys, found by meaning, erased with their owner."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, cast

from langchain_core.runnables.config import ensure_config
from langgraph.store.base import (
    NOT_PROVIDED,
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    NamespacePath,
    NotProvided,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from langchain_memorybank import _items
from langchain_memorybank._labels import SPACE, decode_label, encode_label, path_of, session_of
from langchain_memorybank.identity import Source
from memorybank import Erased, InvalidInputError, Level, MemoryBank, MemoryStore, Message

_MOST_RANKED = 1_000  # notes ranked for one search


class MemoryBankStore(BaseStore):
    """``store=`` of a LangGraph graph or agent, in the memory of one user or of the user of each run.

        agent = create_agent(model, tools, store=MemoryBankStore(store))     # the user of each run
        MemoryBankStore(bank=bank).put(("preferences",), "colours", {"text": "likes green"})

    ``bank``, or ``store`` with a ``user_id`` (else the user of each call: see ``MemoryBankMiddleware``); other
    users' items cannot be reached whatever the namespace. Each item is a note of the bank too: middleware,
    retriever and tools find it; ``index=False`` keeps it out of that, ``index=[…]`` (or ``fields`` for all)
    names the fields that are searched. Labels may be any ids: numbers count as their text, and "." is allowed.
    An item that is put again keeps its ``created_at``; its earlier values stay in the bank's transcript until
    it is deleted. Reads of a batch see the state before the batch; of several writes of one key the last holds.
    No TTL: how memories fade is the bank's policy.
    """

    def __init__(
        self,
        store: MemoryStore | None = None,
        *,
        bank: MemoryBank | None = None,
        user_id: str | None = None,
        fields: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        self._source = Source(bank=bank, store=store, user_id=user_id)
        self._fields = None if fields is None else list(fields)

    def bank_for(self, user_id: str | None = None) -> MemoryBank:
        """The memory of a user: for consolidate, forget, export and the rest of ``MemoryBank``."""
        return self._source.bank_for(user_id)

    def erase(self, user_id: str | None = None) -> Erased:
        """Remove a user from the store; returns counts."""
        return self._source.erase(user_id)

    # -- LangGraph's interface ---------------------------------------------------------------------------------

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations; results in their order."""
        return _batch(self._source.resolve(config=ensure_config()), list(ops), self._fields)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As ``batch``, off the event loop."""
        return await asyncio.to_thread(self.batch, list(ops))

    def get(self, namespace: tuple[str, ...], key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        """An item, or None."""
        return super().get(_encoded(namespace), key, refresh_ttl=refresh_ttl)

    def search(self, namespace_prefix: tuple[str, ...], /, **options: Any) -> list[SearchItem]:
        """Items whose namespace begins with these labels, best first for a ``query``, else oldest first."""
        return super().search(_encoded(namespace_prefix), **options)

    def put(
        self,
        namespace: tuple[str, ...],
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> None:
        """Store an item, in place of what the key held."""
        super().put(_encoded(namespace), key, cast("dict[str, Any]", value), index, ttl=ttl)

    def delete(self, namespace: tuple[str, ...], key: str) -> None:
        """Destroy an item, its earlier values and its memory."""
        super().delete(_encoded(namespace), key)

    def list_namespaces(
        self, *, prefix: NamespacePath | None = None, suffix: NamespacePath | None = None, **options: Any
    ) -> list[tuple[str, ...]]:
        """Namespaces that hold items, sorted."""
        return super().list_namespaces(prefix=_path(prefix), suffix=_path(suffix), **options)

    async def aget(
        self, namespace: tuple[str, ...], key: str, *, refresh_ttl: bool | None = None
    ) -> Item | None:
        """As ``get``."""
        return await super().aget(_encoded(namespace), key, refresh_ttl=refresh_ttl)

    async def asearch(self, namespace_prefix: tuple[str, ...], /, **options: Any) -> list[SearchItem]:
        """As ``search``."""
        return await super().asearch(_encoded(namespace_prefix), **options)

    async def aput(
        self,
        namespace: tuple[str, ...],
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> None:
        """As ``put``."""
        await super().aput(_encoded(namespace), key, cast("dict[str, Any]", value), index, ttl=ttl)

    async def adelete(self, namespace: tuple[str, ...], key: str) -> None:
        """As ``delete``."""
        await super().adelete(_encoded(namespace), key)

    async def alist_namespaces(
        self, *, prefix: NamespacePath | None = None, suffix: NamespacePath | None = None, **options: Any
    ) -> list[tuple[str, ...]]:
        """As ``list_namespaces``."""
        return await super().alist_namespaces(prefix=_path(prefix), suffix=_path(suffix), **options)


def _encoded(namespace: tuple[Any, ...]) -> tuple[str, ...]:
    return cast("tuple[str, ...]", tuple(encode_label(label) for label in namespace))


def _decoded(namespace: Iterable[str]) -> tuple[str, ...]:
    return tuple(decode_label(label) for label in namespace)


def _path(path: NamespacePath | None) -> NamespacePath | None:
    return None if path is None else _encoded(path)


# -- operations over a bank -------------------------------------------------------------------------------------


def _batch(bank: MemoryBank, ops: Sequence[Op], fields: Sequence[str] | None) -> list[Result]:
    results: list[Result] = []
    writes: dict[tuple[tuple[str, ...], str], PutOp] = {}
    for op in ops:
        if isinstance(op, GetOp):
            held = _held(bank, session_of(_decoded(op.namespace), op.key))
            results.append(None if held is None else held[0])
        elif isinstance(op, SearchOp):
            results.append(cast("Result", _search(bank, op)))
        elif isinstance(op, ListNamespacesOp):
            results.append(_list(bank, op))
        elif isinstance(op, PutOp):
            writes[(_decoded(op.namespace), op.key)] = op
            results.append(None)
        else:
            raise InvalidInputError(f"unknown operation {type(op).__name__}")
    for (namespace, key), op in writes.items():
        if op.value is None:
            _delete(bank, session_of(namespace, key))
        else:
            _put(bank, namespace, key, op.value, _words(op, fields))
    return results


def _words(op: PutOp, fields: Sequence[str] | None) -> str:
    if op.index is False or op.value is None:
        return ""
    return _items.searchable(op.value, fields if op.index is None else op.index)


def _held(bank: MemoryBank, session: str) -> tuple[Item, str | None] | None:
    messages = bank.history(session, last=1)
    return _items.from_payload(messages[0].payload) if messages else None


def _put(
    bank: MemoryBank, namespace: tuple[str, ...], key: str, value: Mapping[str, Any], words: str
) -> None:
    """The new note first, then the item that names it, then the old note goes: a crash between leaves one item."""
    session = session_of(namespace, key)
    before = _held(bank, session)
    now: datetime = bank.runtime.clock()
    note = bank.remember(words).id if words.strip() else None
    created = now if before is None else before[0].created_at
    item = Item(value=dict(value), key=key, namespace=namespace, created_at=created, updated_at=now)
    bank.add([Message("system", "", payload=_items.to_payload(item, note))], session=session)
    if before is not None and before[1] is not None:
        bank.delete([before[1]])


def _delete(bank: MemoryBank, session: str) -> None:
    held = _held(bank, session)
    if held is None:
        return
    bank.clear(session)
    if held[1] is not None:
        bank.delete([held[1]])


def _under(bank: MemoryBank, prefix: tuple[str, ...]) -> list[str]:
    """Sessions of the items under a prefix, in order of their making."""
    found = []
    for session in bank.sessions():
        if not session.startswith(SPACE):
            continue
        path = path_of(session)
        if path is None:
            held = _held(bank, session)
            path = None if held is None else (held[0].namespace, held[0].key)
        if path is not None and path[0][: len(prefix)] == prefix:
            found.append(session)
    return found


def _search(bank: MemoryBank, op: SearchOp) -> list[SearchItem]:
    sessions = _under(bank, _decoded(op.namespace_prefix))
    if not op.filter and not op.query:
        sessions = sessions[op.offset : op.offset + op.limit]
    held = [one for one in (_held(bank, session) for session in sessions) if one is not None]
    held = [
        one for one in held if all(_items.fits(one[0].value.get(k), v) for k, v in (op.filter or {}).items())
    ]
    if not op.query:
        chosen = held[op.offset : op.offset + op.limit] if op.filter else held
        return [_found(item, None) for item, _ in chosen]
    ranked = bank.recall(op.query, min(len(held) + 50, _MOST_RANKED), levels=[Level.NOTE], reinforce=False)
    by_note = {note: item for item, note in held if note is not None}
    best = [_found(by_note[one.memory.id], one.score) for one in ranked if one.memory.id in by_note]
    listed = {(item.namespace, item.key) for item in best}
    rest = [_found(item, None) for item, _ in held if (item.namespace, item.key) not in listed]
    return [*best, *rest][op.offset : op.offset + op.limit]


def _found(item: Item, score: float | None) -> SearchItem:
    return SearchItem(item.namespace, item.key, item.value, item.created_at, item.updated_at, score)


def _list(bank: MemoryBank, op: ListNamespacesOp) -> list[tuple[str, ...]]:
    conditions = [c._replace(path=_decoded(c.path)) for c in op.match_conditions or ()]
    spaces = set()
    for session in _under(bank, ()):
        path = path_of(session)
        held = None if path is not None else _held(bank, session)
        namespace = path[0] if path is not None else held[0].namespace if held is not None else ()
        if all(_items.matches(condition, namespace) for condition in conditions):
            spaces.add(namespace if op.max_depth is None else namespace[: op.max_depth])
    return sorted(spaces)[op.offset : op.offset + op.limit]
