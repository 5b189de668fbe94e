"""Having a vector index, or doing without: opened late, given up with one warning when it fails, tried again."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Protocol

from memorybank.errors import IndexUnavailableError, InvalidInputError, MemoryBankError
from memorybank.index.protocol import Hits, VectorIndex, Vectors

logger: logging.Logger = logging.getLogger("memorybank.index")


class OpenIndex(Protocol):
    """Opens the index, or with ``reset`` makes it anew. Raises IndexUnavailableError."""

    def __call__(self, *, reset: bool = False) -> VectorIndex: ...


class Availability:
    """Holds the vector index of a store as long as it can be used. The base of ``Indexer``, which writes to it.

    ``several``: the index is on a server, where other processes of this store write too. It is opened by a thread of
    the subclass (``_wake_up``), and no search waits for one that does not answer longer than its own time limit.
    """

    def __init__(self, open_index: OpenIndex | None, *, retry_after: float, several: bool) -> None:
        self._open = open_index
        self._retry_after = retry_after
        self._several = several
        self._asked = False
        self._again = 0.0
        self._index: VectorIndex | None = None
        self._unavailable: IndexUnavailableError | None = None
        self._given_up: list[VectorIndex] = []
        self._renew()
        self._closed = False
        self.failures: int = 0
        """How often the index had to be done without."""

    def _renew(self) -> None:
        """New locks: in a forked child the old ones may be held by threads that are not there."""
        self._guard = threading.RLock()  # one flush at a time; also guards opening
        self._state = threading.Lock()  # held for moments only: a search must never wait for a flush
        _every.add(self)

    @property
    def wanted(self) -> bool:
        """Whether this store uses a vector index at all."""
        return self._open is not None

    @property
    def shared(self) -> bool:
        """Whether the open index is one that other stores may use too."""
        return self._index is not None and not self._index.embedded

    @property
    def usable(self) -> bool:
        """Whether a search may be put to the index: it is wanted and has not failed."""
        if self._open is None or self._closed or self._barred():
            return False
        if self._several and self._index is None:
            if not self._asked:
                self._asked = True
                self._wake_up()
            return False
        return True

    @property
    def reason(self) -> IndexUnavailableError | None:
        """Why the index cannot be used at the moment; None if it can, or was not tried yet."""
        return self._unavailable

    def index(self) -> VectorIndex:
        """The index, opened at first use. Raises IndexUnavailableError (and warns once) when it cannot be."""
        held = self._index
        if held is not None:
            return held  # without the guard: a search does not wait for a flush
        with self._guard:
            if self._index is not None:
                return self._index
            if self._unavailable is not None and self._barred():
                raise self._unavailable
            if self._open is None or self._closed:
                raise IndexUnavailableError("this store is used without a vector index", "none")
            self._let_go()
            return self._opened(reset=False)

    def _opened(self, *, reset: bool) -> VectorIndex:
        if self._open is None:
            raise IndexUnavailableError("this store is used without a vector index", "none")
        try:
            index = self._open(reset=reset)
        except IndexUnavailableError as error:
            self.fail(error)
            raise
        with self._state:
            self._index = index
            failed, self._unavailable = self._unavailable is not None, None
        if failed:
            logger.warning("the vector index is available again")
        return index

    def _barred(self) -> bool:
        """Whether a failure forbids another try for now. What may pass by itself is tried again in a while."""
        error = self._unavailable
        if error is None:
            return False
        return error.reason not in ("locked", "down", "full") or time.monotonic() < self._again

    def fail(self, error: IndexUnavailableError) -> None:
        """Do without the index from now on, with one warning; ``retry`` tries it again."""
        with self._state:
            self.failures += 1
            first = self._unavailable is None
            self._unavailable = error
            self._again = time.monotonic() + self._retry_after
            index, self._index = self._index, None
            if index is not None:
                self._given_up.append(index)
        if first:
            logger.warning(
                "the vector index is not available (%s); recall stays exact, from the records", error
            )
        if self._several:
            self._wake_up()  # closing waits for those who still wait for the server: not in a turn
        else:
            self._let_go()

    def _let_go(self) -> None:
        """Close what was given up."""
        with self._state:
            given_up, self._given_up = self._given_up, []
        for index in given_up:
            close_quietly(index)

    def retry(self) -> None:
        """Forget an earlier failure, so that the next use tries the index again."""
        with self._state:
            self._unavailable = None

    def search(self, uid: str, query: Vectors, n: int) -> Hits:
        """Hits of a bank. Raises IndexUnavailableError after noting the failure."""
        index = self.index()
        try:
            with trusted():
                return index.search(uid, query, n)
        except IndexUnavailableError as error:
            if error.reason != "closed":  # it is being compacted, and soon back
                self.fail(error)
            raise

    def _wake_up(self) -> None:
        """Have the thread look at what is to be done."""
        raise NotImplementedError


@contextlib.contextmanager
def trusted() -> Iterator[None]:
    """What the records hold is right: an index that refuses it is of another embedder, and to be rebuilt."""
    try:
        yield
    except InvalidInputError as error:
        raise IndexUnavailableError(f"{error}; rebuild the index", "damaged") from error


def close_quietly(index: VectorIndex) -> None:
    """Close an index; what goes wrong is logged."""
    try:
        index.close()
    except MemoryBankError as error:
        logger.info("closing the index: %s", error)


# A fork is the process's and asks no store: the one place that knows them all.
_every: weakref.WeakSet[Availability] = weakref.WeakSet()


def _forked() -> None:
    for one in list(_every):
        one._renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
