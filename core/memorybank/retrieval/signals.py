"""The stages: each a pure function from the candidates to one contribution per candidate (float32, unweighted)."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from memorybank.retrieval.candidates import Candidates, Floats, Rows
from memorybank.retrieval.corpus import Corpus
from memorybank.retrieval.query import Query


def speakers(named: int, corpus: Corpus, candidates: Candidates) -> Floats:
    """+1/2 for rows of the one speaker that the query names, -1/2 for other speakers' rows, else 0."""
    speaker = corpus.speaker[candidates.rows]
    signal: Floats = (speaker == named) - np.float32(0.5)
    signal *= speaker >= 0
    return signal


def agreement(signal: Floats, scores: Floats, temperature: float) -> float:
    """How far the best rows are of the speaker that the query names: 0 for half of them or fewer, 1 for all.

    Rows count by exp(score / temperature). Whoever asks what Ann did that Ben did finds Ben's rows first, and
    then they must not be pushed down.
    """
    weight = np.exp((scores - scores.max(initial=-np.inf)) / np.float32(temperature))
    theirs, all_named = float(weight @ signal), float(weight @ np.abs(signal))
    return max(0.0, theirs / all_named) if all_named else 0.0


def sessions(corpus: Corpus, candidates: Candidates, best: int) -> Floats:
    """Mean relevance of the ``best`` best candidates of the same session and day: what a talk was about.

    Rows of no session (summaries, notes) stand for themselves.
    """
    rows, own, c = candidates.rows, candidates.own, len(candidates)
    session = corpus.session[rows]
    key = session.astype(np.int64)
    key <<= 32
    key += corpus.day[rows]
    alone = (session < 0).nonzero()[0]
    if alone.shape[0]:
        key[alone] = -1 - alone
    order = np.lexsort((own, key))
    ordered, value = key[order], own[order]
    last = np.empty(c, dtype=np.bool_)
    last[-1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=last[:-1])
    ends = last.nonzero()[0]
    sums = value[ends]
    for back in range(1, min(best, c)):
        at = (
            ends - back
        )  # before the first group lies the last, which is another one as there are c > back rows
        sums = sums + value[at] * (ordered[at] == ordered[ends])
    sums = sums * np.float32(1 / best)
    signal = np.empty(c, dtype=np.float32)
    signal[order] = sums[last.cumsum() - last]
    if alone.shape[0]:
        signal[alone] = own[alone]
    return signal


def neighbours(candidates: Candidates, steps: int, decay: float) -> Floats:
    """Relevance lent by the turns up to ``steps`` before and after, times ``decay`` per step of distance."""
    signal: Floats = _decays(steps, decay) @ candidates.lent[1 : steps + 1].reshape(2 * steps, -1)
    return signal


@lru_cache(maxsize=8)
def _decays(steps: int, decay: float) -> Floats:
    return np.repeat(np.float32(decay) ** np.arange(1, steps + 1, dtype=np.float32), 2)


def replies(corpus: Corpus, candidates: Candidates) -> Floats:
    """Relevance of the turn before, where that turn ends in a question: an answer may share no word with it."""
    asked = corpus.lexical.asks.take(
        candidates.around[1, 0], mode="clip"
    )  # beyond the session nothing is lent
    signal: Floats = candidates.lent[1, 0] * asked
    return signal


def questions(corpus: Corpus, candidates: Candidates) -> NDArray[np.bool_]:
    """Whether each row ends in a question."""
    asks: NDArray[np.bool_] = corpus.lexical.asks[candidates.rows]
    return asks


def lengths(corpus: Corpus, candidates: Candidates, cap: int) -> Floats:
    """log(1 + terms) of each row, at most that of ``cap`` terms."""
    signal: Floats = _logarithms(cap)[np.minimum(corpus.length[candidates.rows], cap)]
    return signal


@lru_cache(maxsize=8)
def _logarithms(most: int) -> Floats:
    return np.log1p(np.arange(most + 1)).astype(np.float32)


def linked(corpus: Corpus, candidates: Candidates, damping: float, steps: int) -> Floats:
    """Personalised PageRank over links, on the candidates and their links among each other only.

    The seeds are the candidates, by relevance; what is returned is the mass that arrives over links, not the
    seeds' own. No links, no cost.
    """
    nothing = np.zeros(len(candidates), dtype=np.float32)
    if corpus.link_from.shape[0] == 0:
        return nothing
    place = np.full(len(corpus), -1, dtype=np.int64)
    place[candidates.rows] = np.arange(len(candidates))
    source, target = place[corpus.link_from], place[corpus.link_to]
    inside = (source >= 0) & (target >= 0)
    if not inside.any():
        return nothing
    one, other, weight = source[inside], target[inside], corpus.link_weight[inside].astype(np.float64)
    out = np.bincount(one, weights=weight, minlength=len(candidates)) + np.bincount(
        other, weights=weight, minlength=len(candidates)
    )
    share = damping / np.where(out > 0, out, 1.0)
    mass = seeds = candidates.own.astype(np.float64)
    for _ in range(steps):
        given = mass * share
        mass = (
            seeds
            + np.bincount(other, weights=given[one] * weight, minlength=len(candidates))
            + np.bincount(one, weights=given[other] * weight, minlength=len(candidates))
        )
    return (mass - seeds).astype(np.float32)


def said_on(query: Query, corpus: Corpus, candidates: Candidates) -> Floats:
    """How well the day of a row fits the days that the query names: 1 on a named day, less in a long span."""
    day = corpus.day[candidates.rows]
    signal = np.zeros(len(candidates), dtype=np.float32)
    for first, last in query.days:
        inside = (day >= first) & (day <= last)
        signal = np.maximum(signal, inside * np.float32(precision(last - first + 1)))
    return signal


def points_at(query: Query, corpus: Corpus, candidates: Candidates) -> Floats:
    """How well the days that a row's words point at fit the named ones: their overlap over their union."""
    signal = np.zeros(len(candidates), dtype=np.float32)
    owner, at = _mentions(corpus, candidates.rows)
    if owner.shape[0] == 0:
        return signal
    first, last = corpus.mention_first[at], corpus.mention_last[at]
    for begin, end in query.days:
        overlap = np.minimum(last, end) - np.maximum(first, begin) + 1
        union = np.maximum(last, end) - np.minimum(first, begin) + 1
        np.maximum.at(signal, owner, (np.maximum(overlap, 0) / union).astype(np.float32))
    return signal


def tells_when(corpus: Corpus, candidates: Candidates) -> Floats:
    """1 for rows whose words point at a day."""
    signal = np.zeros(len(candidates), dtype=np.float32)
    signal[_mentions(corpus, candidates.rows)[0]] = 1.0
    return signal


def precision(days: int) -> float:
    """What a named span of that many days is worth: 1 for up to a week, then less, as it holds more rows."""
    return min(1.0, math.sqrt(7.0 / days))


def _mentions(corpus: Corpus, rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each mention of these rows: the position of its row among them, and its own place."""
    begin = np.searchsorted(corpus.mention_row, rows, side="left")
    size = np.searchsorted(corpus.mention_row, rows, side="right") - begin
    owner = np.repeat(np.arange(rows.shape[0]), size)
    at = np.arange(owner.shape[0]) - np.repeat(np.cumsum(size) - size, size) + np.repeat(begin, size)
    return owner, at
