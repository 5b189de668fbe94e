"""Parts for tests of programs that use MemoryBank: real behaviour, no network, no chance, no waiting.

``HashEmbedder`` embeds and ``WordOverlapReranker`` reranks without a model, ``FrozenClock`` moves only when told,
``ScriptedLLM`` answers from a script (and can raise, time out, block and talk nonsense), ``BrokenEmbedder`` fails
in the ways embedders do.
"""

from __future__ import annotations

import re
import threading
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from memorybank.errors import InvalidInputError, LLMError

# Runs of CJK ideographs and kana; runs of any other letters and digits.
_RUNS = re.compile(r"([\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+)|([^\W_]+)")
_SPOTS = 8  # coordinates that a term touches: enough for unlike terms to be nearly orthogonal
_CACHED_TERMS = 100_000

START = datetime(2026, 1, 1, 9, 0, tzinfo=UTC)
"""When a ``FrozenClock`` starts unless told otherwise."""

GARBAGE: tuple[str, ...] = (
    "",
    " \n\t ",
    "null",
    "[]",
    "{",
    "```json\n```",
    '```json\n{"summary": "cut off in the mid',
    "<think>The user wants a summary. Let me",
    "I'm sorry, but I can't help with that.",
    "\x00\ufffd\ufffd",
)
"""Replies that language models really give and that hold nothing usable."""


class HashEmbedder:
    """A bag of hashed words and CJK bigrams, projected at random: texts that share words are similar.

    Deterministic across processes and machines, thread-safe, a few microseconds a word. It knows nothing of
    meaning: synonyms are unrelated. Rows are float32 of unit length.
    """

    def __init__(self, dimension: int = 256) -> None:
        if dimension < _SPOTS:
            raise InvalidInputError(f"dimension is {dimension}; give at least {_SPOTS}")
        self.dimension = dimension
        self.name: str = f"hash-{dimension}"
        self._spots: dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]] = {}

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        """Unit rows, shape (len(texts), dimension)."""
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            rows[row] = self.embed_query(text)
        return rows

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """A unit vector, shape (dimension,). A text without words is embedded as one term of its own."""
        counts = Counter(_terms(text)) or Counter([f"\0{text}"])
        spots = [self._term(term) for term in counts]
        where = np.concatenate([spot[0] for spot in spots])
        weights = np.concatenate([spot[1] * n for spot, n in zip(spots, counts.values(), strict=True)])
        vector = np.bincount(where, weights, minlength=self.dimension)
        length = float(np.linalg.norm(vector))
        if length < 1e-9:  # terms that cancel each other out exactly
            vector[0] = length = 1.0
        return (vector / length).astype(np.float32)

    def _term(self, term: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        known = self._spots.get(term)
        if known is not None:
            return known
        digest = blake2b(term.encode("utf-8", "surrogatepass"), digest_size=4 * _SPOTS).digest()
        numbers = np.frombuffer(digest, dtype="<u4").astype(np.int64)
        # Short English words are mostly function words; single characters are weaker evidence than bigrams.
        weight = 0.3 if (len(term) < 4 and term.isascii()) or len(term) == 1 else 1.0
        made = ((numbers >> 1) % self.dimension, np.where(numbers & 1, weight, -weight))
        if len(self._spots) >= _CACHED_TERMS:
            self._spots.clear()
        self._spots[term] = made
        return made


def _terms(text: str) -> list[str]:
    found: list[str] = []
    for match in _RUNS.finditer(unicodedata.normalize("NFKC", text).casefold()):
        cjk, word = match.groups()
        if cjk:
            found.extend(cjk)
            found.extend(cjk[i : i + 2] for i in range(len(cjk) - 1))
        else:
            found.append(word)
    return found


class WordOverlapReranker:
    """A reranker without a model: the share of the question's words (in Chinese: characters, bigrams) in a text.

    ``calls`` counts how often it was asked. ``languages`` as rerankers have them, None for every language.
    """

    def __init__(self, languages: Collection[str] | None = None) -> None:
        self.name = "word-overlap"
        self.languages = languages
        self.calls: int = 0

    def score(self, query: str, texts: list[str]) -> NDArray[np.float32]:
        """Shape (len(texts),), in 0..1."""
        self.calls += 1
        asked = set(_terms(query))
        shares = [len(asked.intersection(_terms(text))) / max(len(asked), 1) for text in texts]
        return np.array(shares, dtype=np.float32)


Fault = Literal["raises", "nan", "inf", "zero", "dimension", "rows", "ragged", "none"]


class BrokenEmbedder(HashEmbedder):
    """Works for ``good_calls`` calls, then fails in one way at each call until ``mend()``.

    ``raises`` (RuntimeError), ``nan``, ``inf``, ``zero`` (vectors of zeros), ``dimension`` (one too many),
    ``rows`` (one vector too few), ``ragged`` (lists of unequal length), ``none`` (returns None).
    """

    def __init__(self, fault: Fault = "raises", good_calls: int = 0, dimension: int = 256) -> None:
        super().__init__(dimension)
        self._fault: Fault | None = fault
        self._good_calls = good_calls
        self.calls: int = 0

    def mend(self) -> None:
        """From now on it works."""
        self._fault = None

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        """Rows as ``HashEmbedder`` gives them, until the fault sets in."""
        self.calls += 1
        rows = np.stack([super(BrokenEmbedder, self).embed_query(text) for text in texts])
        return self._spoil(rows) if self._fault and self.calls > self._good_calls else rows

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """A vector as ``HashEmbedder`` gives it, until the fault sets in."""
        rows = self.embed_documents([text])
        return rows[0] if isinstance(rows, np.ndarray) and len(rows) else rows

    def _spoil(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        match self._fault:
            case "nan" | "inf":
                rows[-1, 0] = np.nan if self._fault == "nan" else np.inf
                return rows
            case "zero":
                return np.zeros_like(rows)
            case "dimension":
                return np.concatenate([rows, rows[:, :1]], axis=1)
            case "rows":
                return rows[:-1]
            case "ragged":
                return [row[: 1 + i] for i, row in enumerate([*rows.tolist(), [0.5, 0.5]])]  # type: ignore[return-value]  # wrong on purpose
            case "none":
                return None  # type: ignore[return-value]  # wrong on purpose
        raise RuntimeError("the embedding service is down")


class FrozenClock:
    """A clock for ``MemoryStore.open(clock=…)``: stands still until it is moved. Always aware, in UTC."""

    def __init__(self, now: datetime = START) -> None:
        self._now = _aware(now)

    def __call__(self) -> datetime:
        return self._now

    def advance(self, by: timedelta) -> datetime:
        """Move by a span (backwards too: clocks do that) and return the new time."""
        self._now += by
        return self._now

    def set(self, now: datetime) -> datetime:
        """Jump to a time and return it."""
        self._now = _aware(now)
        return self._now


def _aware(now: datetime) -> datetime:
    if now.tzinfo is None:
        raise InvalidInputError(f"{now.isoformat()} has no time zone; add tzinfo=UTC")
    return now.astimezone(UTC)


Step = str | BaseException | Callable[[str], str]


class ScriptedLLM:
    """A language model that follows a script: ``Callable[[str], str]``, as MemoryBank takes them.

    ``script`` is a function of the prompt, or a sequence of steps, one per call: a string is the answer, an
    exception is raised, a function (``Delay``, ``Hold``) is called with the prompt. After the last step it
    raises ``LLMError``, or repeats that step for ever when ``repeat_last``. ``prompts`` records them.
    """

    def __init__(self, script: Callable[[str], str] | Iterable[Step], *, repeat_last: bool = False) -> None:
        if isinstance(script, str):
            raise InvalidInputError("script is one string; give a list of answers: [answer]")
        self._function = script if callable(script) else None
        self._steps: list[Step] = [] if callable(script) else list(script)
        self._repeat_last = repeat_last
        self._lock = threading.Lock()
        self.prompts: list[str] = []

    @property
    def calls(self) -> int:
        """How often it was asked."""
        return len(self.prompts)

    def __call__(self, prompt: str) -> str:
        with self._lock:
            call = len(self.prompts)
            self.prompts.append(prompt)
        step = self._function or self._step(call)
        if isinstance(step, BaseException):
            raise step
        return step if isinstance(step, str) else step(prompt)

    def _step(self, call: int) -> Step:
        if call < len(self._steps):
            return self._steps[call]
        if self._repeat_last and self._steps:
            return self._steps[-1]
        raise LLMError(f"the script has {len(self._steps)} answers and this is call {call + 1}")


class Delay:
    """A step of a script that takes ``seconds`` and then answers: for time-outs."""

    def __init__(self, seconds: float, answer: str = "") -> None:
        self.seconds = seconds
        self.answer = answer

    def __call__(self, prompt: str) -> str:
        time.sleep(self.seconds)
        return self.answer


class Hold:
    """A step that blocks until ``release()``. ``wait_until_called()`` returns once the call is blocked.

    ``patience`` (seconds) bounds the wait, so that a failing test does not hang: then TimeoutError is raised.
    """

    def __init__(self, answer: str = "", patience: float = 30.0) -> None:
        self.answer = answer
        self.patience = patience
        self._called = threading.Event()
        self._released = threading.Event()

    def __call__(self, prompt: str) -> str:
        self._called.set()
        if not self._released.wait(self.patience):
            raise TimeoutError(f"not released within {self.patience} s")
        return self.answer

    def wait_until_called(self) -> None:
        """Block until the model is inside the call; TimeoutError after ``patience`` seconds."""
        if not self._called.wait(self.patience):
            raise TimeoutError(f"not called within {self.patience} s")

    def release(self) -> None:
        """Let the call answer."""
        self._released.set()
