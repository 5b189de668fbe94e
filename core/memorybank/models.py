"""The values that flow through MemoryBank: frozen, with no behaviour beyond reading themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum


class Level(StrEnum):
    """Where a memory stands in the hierarchy (MemoryBank, section 2; digest after SoulMem)."""

    TURN = "turn"
    DAY_EVENTS = "day_events"
    EVENTS = "events"
    DAY_PORTRAIT = "day_portrait"
    PORTRAIT = "portrait"
    DIGEST = "digest"
    NOTE = "note"


class Status(StrEnum):
    """``archived`` memories are kept but not recalled unless asked for."""

    ACTIVE = "active"
    ARCHIVED = "archived"


class Maker(StrEnum):
    """What wrote a memory's text. Extractive summaries are always labelled as such."""

    VERBATIM = "verbatim"
    EXTRACTIVE = "extractive"
    LLM = "llm"
    USER = "user"


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a transcript, kept verbatim.

    ``role`` is ``user``, ``assistant``, ``system`` or ``tool``. ``at`` is when it was said (aware; None until
    added means now). ``name`` is the speaker where several people talk. ``payload`` is an adapter's lossless
    serialisation (opaque text). ``owner``, ``session`` and ``position`` are filled by ``MemoryBank.add``.
    """

    role: str
    text: str
    at: datetime | None = None
    id: str | None = None
    name: str | None = None
    payload: str | None = None
    owner: str = ""
    session: str = ""
    position: int = -1


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory. ``sources`` are ids of the messages (turns) or memories (summaries) it was made from.

    ``began`` and ``ended`` (aware datetimes) bound what it is about. ``strength`` counts from 1; each credited
    recall adds 1 and sets ``last_recalled``. ``stale`` means that its sources changed since it was written.
    """

    id: str
    owner: str
    level: Level
    text: str
    began: datetime
    ended: datetime
    created: datetime
    strength: int = 1
    last_recalled: datetime | None = None
    status: Status = Status.ACTIVE
    pinned: bool = False
    sources: tuple[str, ...] = ()
    session: str | None = None
    speaker: str | None = None
    maker: Maker = Maker.VERBATIM
    stale: bool = False
    version: int = 1
    archived_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """An earlier text of a memory: it held until ``made`` the next one. ``sources`` are the ids it was made from."""

    memory: str
    version: int
    text: str
    maker: Maker
    made: datetime
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recalled:
    """A memory that answers a query, and why.

    ``score`` orders the results (higher is better; comparable within one query only). ``similarity`` is the
    cosine of query and memory (0 when there is no vector). ``retention`` is R in (0, 1] at the time of the
    recall. ``parts`` are the weighted contributions that add up to ``score``, by stage name.
    """

    memory: Memory
    score: float
    similarity: float
    retention: float
    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def dense(self) -> float:
        """Contribution of vector similarity."""
        return self.parts.get("dense", 0.0)

    @property
    def lexical(self) -> float:
        """Contribution of BM25."""
        return self.parts.get("lexical", 0.0)

    @property
    def date(self) -> float:
        """Contribution of days that the query names."""
        return self.parts.get("date", 0.0)

    @property
    def association(self) -> float:
        """Contribution of linked memories (personalised PageRank)."""
        return self.parts.get("association", 0.0)


@dataclass(frozen=True, slots=True)
class Link:
    """Two memories (ids) that belong together. ``kind``: ``co_recalled`` (``weight`` grows by 1 with each common
    use and halves in 30 days), ``derived`` (``b`` was made from ``a``), ``next`` (``b`` was said after ``a``)."""

    a: str
    b: str
    kind: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Window:
    """The recent messages of a session, oldest first, and the rolling digest of what slid out."""

    messages: tuple[Message, ...]
    digest: Memory | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """A block ready for a prompt. ``tokens`` is counted with the store's counter. ``recalled`` is what fitted."""

    text: str
    tokens: int
    recalled: tuple[Recalled, ...] = ()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that could not be done, and will be tried again: what (``subject``) and ``reason``."""

    subject: str
    reason: str


@dataclass(frozen=True, slots=True)
class Consolidated:
    """Outcome of one consolidation: memories made, memories updated, failures; LLM calls and tokens spent."""

    made: list[Memory] = field(default_factory=list)
    updated: list[Memory] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)
    calls: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Ids by outcome of ``forget``: newly archived, destroyed for good, and kept active."""

    archived: list[str] = field(default_factory=list)
    purged: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Erased:
    """How much was removed, per kind."""

    messages: int = 0
    memories: int = 0
    vectors: int = 0
    postings: int = 0
    links: int = 0
    versions: int = 0
    indexed: int = 0

    @property
    def total(self) -> int:
        """Rows removed from the records (``indexed`` vectors in Chroma are copies and not counted)."""
        return self.messages + self.memories + self.vectors + self.postings + self.links + self.versions


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a memory stands where it stands: R = curve(S, t), the rule that applies, and what ``forget`` would do."""

    memory: Memory
    elapsed: timedelta
    unit: timedelta
    strength: int
    retention: float
    form: str
    rule: str
    outcome: str
    parts: Mapping[str, float] = field(default_factory=dict)
    archives_at: datetime | None = None

    @property
    def t(self) -> timedelta:
        """``elapsed``, by its name in the formula."""
        return self.elapsed

    @property
    def S(self) -> int:  # noqa: N802 - the name in the paper's formula
        """``strength``, by its name in the formula."""
        return self.strength

    @property
    def R(self) -> float:  # noqa: N802 - the name in the paper's formula
        """``retention``, by its name in the formula."""
        return self.retention


@dataclass(frozen=True, slots=True)
class Stats:
    """What a bank holds. ``unembedded`` wait for a vector, ``unindexed`` for the vector index."""

    messages: int = 0
    sessions: int = 0
    memories: Mapping[str, int] = field(default_factory=dict)
    archived: int = 0
    pinned: int = 0
    stale: int = 0
    unembedded: int = 0
    unindexed: int = 0
    links: int = 0
    first: datetime | None = None
    last: datetime | None = None

    @property
    def total(self) -> int:
        """Memories of every level."""
        return sum(self.memories.values())


@dataclass(frozen=True, slots=True)
class StoreStats:
    """What a store is at. The counts are of this process, since it opened the store.

    ``pending_index`` memories wait to be written to the vector index, the oldest for ``flush_lag`` seconds;
    ``pending_embed`` wait for the embedder. ``cache_bytes`` hold ``cache_banks`` banks in memory. ``calls`` by verb.
    ``index_failures``: how often the index had to be done without and was tried again.
    """

    owners: int = 0
    pending_index: int = 0
    pending_embed: int = 0
    flush_lag: float = 0.0
    cache_banks: int = 0
    cache_bytes: int = 0
    degraded: bool = False
    calls: Mapping[str, int] = field(default_factory=dict)
    messages: int = 0
    llm_calls: int = 0
    llm_prompt_tokens: int = 0
    llm_reply_tokens: int = 0
    index_failures: int = 0

    @property
    def recalls(self) -> int:
        """Calls of ``recall`` and ``context``."""
        return self.calls.get("recall", 0) + self.calls.get("context", 0)


@dataclass(frozen=True, slots=True)
class Finding:
    """One check of ``doctor``: what was looked at, whether it is in order, and what was found or done."""

    check: str
    ok: bool
    detail: str
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """Outcome of ``doctor``."""

    findings: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether everything is in order, or was put in order."""
        return all(finding.ok or finding.repaired for finding in self.findings)
