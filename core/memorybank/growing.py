"""Arrays that grow at the end while views already handed out stay valid."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

S = TypeVar("S", bound=np.generic)


class Growing(Generic[S]):
    """A numpy array of one dtype and ``width`` columns (None: one-dimensional) that grows by doubling."""

    def __init__(self, dtype: type[S], width: int | None = None) -> None:
        self._shape: tuple[int, ...] = () if width is None else (width,)
        self._buffer: NDArray[S] = np.empty((0, *self._shape), dtype=dtype)
        self._n = 0

    def __len__(self) -> int:
        return self._n

    @property
    def nbytes(self) -> int:
        """Bytes reserved."""
        return int(self._buffer.nbytes)

    def view(self) -> NDArray[S]:
        """The array as it is now. What is appended later does not show in it; changes in place do."""
        return self._buffer[: self._n]

    def extend(self, values: ArrayLike) -> None:
        """Append rows."""
        rows: NDArray[Any] = np.asarray(values, dtype=self._buffer.dtype).reshape((-1, *self._shape))
        wanted = self._n + rows.shape[0]
        if wanted > self._buffer.shape[0]:
            # Exactly what a first fill needs, then in doublings: banks are mostly read, and often small.
            room = wanted if self._n == 0 else max(wanted, 2 * self._buffer.shape[0], 16)
            grown = np.empty((room, *self._shape), dtype=self._buffer.dtype)
            grown[: self._n] = self._buffer[: self._n]
            self._buffer = grown
        self._buffer[self._n : wanted] = rows
        self._n = wanted

    def append(self, value: ArrayLike) -> None:
        """Append one row."""
        if self._n == self._buffer.shape[0]:
            self.extend(np.asarray(value)[None])
            return
        self._buffer[self._n] = value
        self._n += 1
