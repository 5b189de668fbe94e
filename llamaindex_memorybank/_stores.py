"""Which stores this process has open, so that memories of one place share one, and find it again by its place.

A ``Context`` that is saved keeps a memory's place (a folder), never the store or its models. Restored, the memory
asks here: for a store that the program opened and showed us, else for one that we opened, else to open it.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms.llm import LLM
from llama_index.core.settings import Settings

from llamaindex_memorybank.models import from_llama_index, from_llm
from memorybank import EmbedderMismatchError, InvalidInputError, MemoryBank, MemoryStore, StoreError

_IDLE = 8  # stores that nobody uses any more are kept open for the next memory, so many of them


class Lease:
    """One memory's use of a store that we opened. ``end`` it, or let it go."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

    def end(self) -> None:
        """Let go of the store; the last one closes it. Twice is once."""
        self._stores.release(self)


@dataclass
class _Opened:
    store: MemoryStore
    users: weakref.WeakSet[Lease] = field(default_factory=weakref.WeakSet)


def place_of(of: MemoryStore | MemoryBank) -> str:
    """A store's folder, resolved; of a shared database its address without the password."""
    database = of.runtime.database
    return database.where if database.path is None else str(database.path.resolve().parent)


class Stores:
    """The open stores of a process by place. Thread-safe; a forked child starts with none."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._given: weakref.WeakValueDictionary[str, MemoryStore] = weakref.WeakValueDictionary()
        self._banks: weakref.WeakValueDictionary[tuple[str, str], MemoryBank] = weakref.WeakValueDictionary()
        self._opened: OrderedDict[str, _Opened] = OrderedDict()

    def introduce(self, given: MemoryStore | MemoryBank) -> str:
        """Know a store or a bank that the program opened, and closes itself; returns its place."""
        with self._lock:
            self._check_process()
            place = place_of(given)
            if isinstance(given, MemoryStore):
                self._given[place] = given
            else:
                self._banks[place, given.owner] = given
            return place

    def bank(
        self,
        place: str | Path,
        owner: str,
        *,
        embed_model: BaseEmbedding | None = None,
        llm: LLM | None = None,
    ) -> tuple[MemoryBank, MemoryStore | None, Lease | None]:
        """The bank of an owner at a place, with what keeps it open: one that the program showed, else by
        ``acquire``."""
        with self._lock:
            self._check_process()
            known = None if embed_model is not None else self._banks.get((str(place), owner))
            if known is not None and str(place) not in self._given:
                return known, None, None
            store, lease = self.acquire(place, embed_model=embed_model, llm=llm)
            return store.bank(owner), store, lease

    def acquire(
        self, place: str | Path, *, embed_model: BaseEmbedding | None = None, llm: LLM | None = None
    ) -> tuple[MemoryStore, Lease | None]:
        """The store of a folder: one that is open, else opened now; with the lease that keeps it open.

        Raises StoreError and its kinds; EmbedderMismatchError also for another model than the open store's.
        """
        resolved = str(Path(place).expanduser().resolve())
        with self._lock:
            self._check_process()
            for known in (resolved, str(place)):
                given = self._given.get(known)
                if given is not None and not given.closed:
                    _check_model(given, embed_model, known)
                    return given, None
            if "://" in str(place):
                raise InvalidInputError(
                    f"no store of {place} is open in this process; open it and call "
                    "llamaindex_memorybank.connect(store) before the memory is used"
                )
            opened = self._opened.get(resolved)
            if opened is None or opened.store.closed:
                opened = _Opened(_open(resolved, embed_model, llm))
                self._opened[resolved] = opened
            else:
                _check_model(opened.store, embed_model, resolved)
            self._opened.move_to_end(resolved)
            lease = Lease(self)
            opened.users.add(lease)
            self._close_idle(_IDLE)
            return opened.store, lease

    def release(self, lease: Lease) -> None:
        """End a use; a store without users is closed."""
        with self._lock:
            for place, opened in list(self._opened.items()):
                if lease in opened.users:
                    opened.users.discard(lease)
                    if not opened.users:
                        self._opened.pop(place).store.close()

    def close_all(self) -> None:
        """Close every store that was opened here: at the end of the process."""
        with self._lock:
            self._check_process()
            while self._opened:
                self._opened.popitem()[1].store.close()

    def _check_process(self) -> None:
        if self._process != os.getpid():
            # What a parent opened is the parent's: connections and locks do not survive a fork.
            self._process = os.getpid()
            self._given = weakref.WeakValueDictionary()
            self._banks = weakref.WeakValueDictionary()
            self._opened = OrderedDict()

    def _close_idle(self, keep: int) -> None:
        idle = [place for place, opened in self._opened.items() if not opened.users]
        for place in idle[: max(0, len(idle) - keep)]:
            self._opened.pop(place).store.close()


def _check_model(store: MemoryStore, embed_model: BaseEmbedding | None, place: str) -> None:
    if embed_model is None:
        return
    name = from_llama_index(embed_model).name
    held = None if store.embedder is None else store.embedder.name
    if name != held:
        raise EmbedderMismatchError(
            f"the store at {place} is open with the embedder {held!r}; embed_model= is {name!r}. "
            "Leave embed_model out, or close the store and open it with that model"
        )


def _open(place: str, embed_model: BaseEmbedding | None, llm: LLM | None) -> MemoryStore:
    written = None if llm is None else from_llm(llm)
    if embed_model is not None:
        return MemoryStore.open(place, embedder=from_llama_index(embed_model), llm=written)
    mismatch = None
    try:
        store = MemoryStore.open(place, llm=written)
        if store.embedder is not None or not store.runtime.expects_vectors:
            return store
    except EmbedderMismatchError as error:
        store, mismatch = None, error
    # A memory restored in a new process: its model is the program's own, which LlamaIndex keeps in Settings.
    model = _model_of_settings()
    if model is not None:
        if store is not None:
            store.close()
        return MemoryStore.open(place, embedder=from_llama_index(model), llm=written)
    if store is None:
        raise mismatch or StoreError(f"{place} cannot be opened")
    return store


def _model_of_settings() -> BaseEmbedding | None:
    try:
        return Settings.embed_model
    except (ImportError, ValueError):  # none was set, and the default one is not installed or has no key
        return None


STORES = Stores()  # one per process by its nature: two handles on one folder would be two writers
atexit.register(STORES.close_all)


def connect(store: MemoryStore | MemoryBank) -> str:
    """Tell which store of a place this process uses, before a restored ``Context`` is run; returns the place.

    Needed in a new process where the store is a shared database or has an embedder or clock of its own;
    ``from_defaults(store=…)`` does it too.
    """
    return STORES.introduce(store)
