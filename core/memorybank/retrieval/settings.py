"""Every constant of ranking, with where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from memorybank.errors import InvalidInputError

Stage = Literal[
    "dense",
    "lexical",
    "context",
    "speaker",
    "date",
    "session",
    "association",
    "reply",
    "form",
    "links",
    "retention",
    "activation",
]
STAGES: tuple[Stage, ...] = (
    "dense",
    "lexical",
    "context",
    "speaker",
    "date",
    "session",
    "association",
    "reply",
    "form",
    "links",
    "retention",
    "activation",
)
"""The stages that can be switched off by name, in the order in which they add to the score."""


@dataclass(frozen=True)
class Floor:
    """When nothing that was found is evidence enough, nothing is recalled (``min_score="auto"``).

    The evidence of a row is ``similarity`` * its cosine + ``context`` * the share of the query's idf that it
    holds with the turns around it + ``date`` * how well its day fits the days that the query names. One of the
    best ``looks_at`` rows must reach ``threshold``.
    """

    similarity: float
    context: float
    date: float
    threshold: float
    looks_at: int = 5


LEXICAL = ""
"""The name under which the floor of recall without vectors stands."""

_FLOORS: Mapping[str, Floor] = {
    LEXICAL: Floor(0.0, 0.5, 0.2, 0.12),
    "multilingual-e5-small-q4@1571fc98/centred-1": Floor(1.0, 0.5, 0.2, 0.5),
}


@dataclass(frozen=True)
class RetrievalSettings:
    """Constants of ranking.

    "Fitted" weights are those of one linear model over all stages (conditional logit: the labelled evidence
    against the other candidates; L2) on the development conversations of LoCoMo and MemoryBank, English and
    Chinese together, divided by ten so that scores lie around 0 to 1. Left out in turn, each conversation is
    answered as well by the weights of the others (docs/evaluation.md).
    """

    candidates: int = 48
    """Best rows taken from the dense and from the lexical search each. Measured: 32 to 100 differ by < .003."""
    dated_candidates: int = 16
    """Best rows taken from the days that the query names."""

    cosine: float = 0.169
    """Fitted. On the cosine scaled to 0..1 between the last and the first of the dense hits."""
    bm25: float = 0.195
    """Fitted. On BM25 divided by its best."""
    context: float = 0.358
    """Fitted. On the share of the query's idf that a row holds together with the turns around it."""
    context_steps: int = 2
    """Measured: recall@10 +.014 with 1 or 2 turns on either side; 4 is no better."""
    speaker: float = 0.12
    """Added in half for rows of the speaker that the query names, taken away for others, as far as the best rows
    by all other stages are of that speaker ("agreement"). LoCoMo, 1 to 4: recall@5 .745 to .750, recall@10 .816
    to .821, MRR .655 to .661; category 5, which swaps the speaker: recall@5 .884 to .888, recall@10 .954 both.
    A constant .08 gives .826 and MRR .674, but category 5 falls to .941 (fitted: .211, .873)."""
    agreement: float = 0.08
    """Scores apart by this much count as 1 : e in the agreement. Measured: .06 to .08 the same, and 1 to 4 with
    .08 to .12 as the speaker's weight."""
    reply: float = 0.329
    """Fitted. On the relevance of the turn before, where that turn ends in a question."""
    question: float = -0.056
    """Fitted. For a row that ends in a question: it seldom holds an answer."""
    length: float = 0.035
    """Fitted. On log(1 + terms): very short turns say little."""
    length_cap: int = 40
    """Terms beyond which length earns nothing more."""
    session: float = 0.232
    """Fitted. On the mean relevance of the best two rows of the same session and day."""
    session_best: int = 2
    association: float = 0.161
    """Fitted. On the relevance that neighbouring turns lend, decaying with distance."""
    association_steps: int = 4
    association_decay: float = 0.6
    """Measured: .5 to .8 differ by < .003."""
    links: float = 0.2
    """Chosen. On the personalised PageRank that comes over links (derived from, recalled together)."""
    damping: float = 0.5
    link_steps: int = 4
    date: float = 0.42
    """Fitted. For rows of a day that the query names."""
    only_days: float = 4.0
    """Chosen, above what all other stages can add up to. For rows of the days that the query is about alone."""
    salience: float = 1.0
    """Chosen. Within those days, on log(1 + terms) as a share of that of ``salience_cap``: what says most comes
    first. MemoryBank, 6 questions about a day's talk: all of their evidence within the best 3 (before: 3 of 6)."""
    salience_cap: int = 400
    mention: float = 0.041
    """Fitted. For rows whose words point at such a day."""
    when: float = 0.187
    """Fitted. For rows that point at any day, when the query asks for a time."""
    retention: float = 0.4
    """Times the policy's ``rank_weight``, on R. Measured on LoCoMo, where old turns are asked for as often as new
    ones: a rank_weight of .05 costs .003 of recall@10 with a unit of 30 days (nothing with days), .25 costs .01."""
    activation: float = 0.05
    """Chosen. On the working-memory activation of the session, 0..1."""

    dense_share: float = 0.35
    lexical_share: float = 0.3
    """Relevance, which neighbours lend each other, is dense_share * scaled cosine + lexical_share * BM25/max."""

    off: frozenset[str] = frozenset()
    """Names of stages that are switched off."""
    floors: Mapping[str, Floor] = field(default_factory=lambda: _FLOORS)
    """Floors of ``min_score="auto"`` by the embedder's name; ``LEXICAL`` serves where none is calibrated.

    Calibrated to keep 95 % of the answerable development questions of each kind with a little to spare. e5 keeps
    .970 of LoCoMo 1 to 4, .982 of MemoryBank EN, 1.0 of CN, and refuses .926, .436, .446 of the same questions
    asked of another's bank (.54: keeps .954, .927, .982 and refuses .957, .527, .643). Words alone: .984, .964,
    1.0 and .547, .127, .250. Not calibrated on questions that swap the speaker.
    """

    def __post_init__(self) -> None:
        """Refuse unknown stages and numbers that cannot be."""
        unknown = sorted(set(self.off) - set(STAGES))
        if unknown:
            raise InvalidInputError(f"unknown stages {', '.join(unknown)}; stages are {', '.join(STAGES)}")
        if self.candidates < 1 or self.dated_candidates < 0 or self.session_best < 1:
            raise InvalidInputError(
                "candidates and session_best must be at least 1, dated_candidates at least 0; "
                f"given {self.candidates}, {self.session_best}, {self.dated_candidates}"
            )

    def without(self, *stages: str) -> RetrievalSettings:
        """The same settings with these stages switched off: an ablation."""
        return replace(self, off=self.off | set(stages))

    def only(self, *stages: str) -> RetrievalSettings:
        """The same settings with every stage but these switched off."""
        unknown = sorted(set(stages) - set(STAGES))
        if unknown:
            raise InvalidInputError(f"unknown stages {', '.join(unknown)}; stages are {', '.join(STAGES)}")
        return replace(self, off=frozenset(set(STAGES) - set(stages)))

    def floor(self, embedder: str) -> Floor:
        """The floor calibrated for an embedder; the lexical one where there is none."""
        return self.floors.get(embedder) or self.floors[LEXICAL]

    def on(self, stage: Stage) -> bool:
        """Whether a stage takes part."""
        return stage not in self.off
