"""The tables. Times are integer microseconds since the epoch (UTC).

Keys of messages and memories are ``bank * 2**32 + n`` with n counted per bank: a bank's rows lie together, so
what one bank costs does not depend on how many others there are.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    literal_column,
    text,
)

from memorybank.records.types import IdList, VerbatimText

SCHEMA_VERSION = 2
KEY_BITS = 32

# SQLite only makes an alias of the row id (and so a clustered key) of a column declared INTEGER.
Key: BigInteger = BigInteger().with_variant(Integer, "sqlite")

metadata: MetaData = MetaData()

meta: Table = Table(
    "meta", metadata, Column("name", String(64), primary_key=True), Column("value", Text, nullable=False)
)

banks: Table = Table(
    "banks",
    metadata,
    Column("key", Key, primary_key=True, autoincrement=True),
    Column("uid", String(32), nullable=False, unique=True),  # random: names the bank in the vector index
    Column("owner", VerbatimText, nullable=False, unique=True),
    Column("timezone", String(64), nullable=False),
    Column("language", String(8)),
    Column(
        "rev", Key, nullable=False
    ),  # the change counter: bumped first by every write, which so takes turns
    Column("floor", Key, nullable=False),  # caches that have seen less than this revision start anew
    Column("counter", Key, nullable=False),  # last n given to a message or memory
    Column("era", Integer, nullable=False),  # which embedder its vectors come from: see Embedding
    Column("created", Key, nullable=False),
    sqlite_autoincrement=True,  # keys of erased banks are never given again
)

sessions: Table = Table(
    "sessions",
    metadata,
    Column("key", Key, primary_key=True, autoincrement=True),
    Column("bank", Key, nullable=False),
    Column("name", VerbatimText, nullable=False),
    Column("length", Key, nullable=False),  # next position
    Column("began", Key, nullable=False),
    UniqueConstraint("bank", "name"),
    sqlite_autoincrement=True,
)

messages: Table = Table(
    "messages",
    metadata,
    Column("key", Key, primary_key=True, autoincrement=False),
    Column("session", Key, nullable=False),
    Column("position", Key, nullable=False),
    Column("id", VerbatimText, nullable=False),
    Column("role", VerbatimText, nullable=False),
    Column("name", VerbatimText),
    Column("text", VerbatimText, nullable=False),
    Column("at", Key, nullable=False),
    Column("payload", VerbatimText),
    UniqueConstraint("session", "position"),
    UniqueConstraint("session", "id"),
)

# Nearly all of a chat is the user's and the assistant's: what others said is found without reading through that.
RARE = "role NOT IN ('user', 'assistant')"
"""As a statement has to say it for the index to be used."""
Index(
    "messages_rare",
    messages.c.session,
    messages.c.role,
    messages.c.position,
    sqlite_where=text(RARE),
    postgresql_where=text(RARE),
)

memories: Table = Table(
    "memories",
    metadata,
    Column("key", Key, primary_key=True, autoincrement=False),
    Column("bank", Key, nullable=False),
    Column("id", VerbatimText, nullable=False),
    Column("level", String(16), nullable=False),
    Column("text", VerbatimText, nullable=False),
    Column("began", Key, nullable=False),
    Column("ended", Key, nullable=False),
    Column("created", Key, nullable=False),
    Column("strength", Integer, nullable=False),
    Column("last_recalled", Key),
    Column("status", String(8), nullable=False),
    Column("archived_at", Key),
    Column("pinned", Boolean, nullable=False),
    Column("session", Key),
    Column("position", Key),  # of its first message
    Column("speaker", VerbatimText),
    Column("maker", String(16), nullable=False),
    Column("stale", Boolean, nullable=False),
    Column("version", Integer, nullable=False),
    Column("sources", IdList, nullable=False),
    Column("rev", Key, nullable=False),  # bank revision of the last change of this row
    Column(
        "revised", Key, nullable=False
    ),  # bank revision of the last change of its text, vector or postings
    Column("pending", SmallInteger, nullable=False),  # see Pending
    UniqueConstraint("bank", "id"),
    Index("memories_by_rev", "bank", "rev"),
    Index("memories_by_session", "session", "position"),
)
Index(
    "memories_pending",
    memories.c.pending,
    memories.c.key,
    sqlite_where=memories.c.pending > 0,
    postgresql_where=memories.c.pending > 0,
)

# Spelled out, so that the database sees that its index of what waits applies: without it, or with the number as a
# parameter, every look at what waits reads the whole table.
WAITING: ColumnElement[bool] = memories.c.pending > literal_column("0")

# What is derived is few among many turns, and read at every turn of a chat (portrait, global events).
Index(
    "memories_derived",
    memories.c.bank,
    memories.c.level,
    memories.c.began,
    sqlite_where=memories.c.level != "turn",
    postgresql_where=memories.c.level != "turn",
)


class Pending:
    """What is still to be done for a memory: nothing, write its vector to the index, or embed it first."""

    NONE = 0
    INDEX = 1
    EMBED = 2


vectors: Table = Table(
    "vectors",
    metadata,
    Column("key", Key, primary_key=True, autoincrement=False),
    Column("vector", LargeBinary, nullable=False),
)

# Vectors of a new embedder, gathered beside the old ones until all are there (``reindex``).
staging: Table = Table(
    "staging",
    metadata,
    Column("key", Key, primary_key=True, autoincrement=False),
    Column("revised", Key, nullable=False),
    Column("vector", LargeBinary, nullable=False),
)

# A forward index: the hashed terms of a memory's own words, their counts, and the days the words point at.
postings: Table = Table(
    "postings",
    metadata,
    Column("key", Key, primary_key=True, autoincrement=False),
    Column("terms", LargeBinary, nullable=False),
    Column("counts", LargeBinary, nullable=False),
    Column("mentions", LargeBinary, nullable=False),
)

# Reverse provenance: which summaries were made from a memory (the forward list is memories.sources).
derivations: Table = Table(
    "derivations",
    metadata,
    Column("source", Key, primary_key=True, autoincrement=False),
    Column("derived", Key, primary_key=True, autoincrement=False),
    Index("derivations_by_derived", "derived"),
)

links: Table = Table(
    "links",
    metadata,
    Column("a", Key, primary_key=True, autoincrement=False),
    Column("b", Key, primary_key=True, autoincrement=False),
    Column("kind", String(16), primary_key=True),
    Column("bank", Key, nullable=False),
    Column("weight", Float, nullable=False),
    Column("at", Key, nullable=False),
    Column("rev", Key, nullable=False),
    Index("links_by_b", "b"),
    Index("links_by_rev", "bank", "rev"),
)

versions: Table = Table(
    "versions",
    metadata,
    Column("memory", Key, primary_key=True, autoincrement=False),
    Column("version", Integer, primary_key=True),
    Column("text", VerbatimText, nullable=False),
    Column("maker", String(16), nullable=False),
    Column("made", Key, nullable=False),
    Column("sources", IdList, nullable=False),
)

# Vectors that the index must still drop, and rows that caches must still drop.
tombstones: Table = Table(
    "tombstones",
    metadata,
    Column("key", Key, primary_key=True, autoincrement=False),
    Column("bank", Key, nullable=False),
    Column("id", VerbatimText, nullable=False),
    Column("rev", Key, nullable=False),
    Index("tombstones_by_rev", "bank", "rev"),
)

# Erased banks whose vectors the index must still drop. The uid is random and says nothing of the owner.
drops: Table = Table("drops", metadata, Column("uid", String(32), primary_key=True))

# Reinforcement is credited once per user turn: the position in the session at which a memory was credited
# last, and the session's working memory: how active the memory was then.
credits: Table = Table(
    "credits",
    metadata,
    Column("session", Key, primary_key=True, autoincrement=False),
    Column("memory", Key, primary_key=True, autoincrement=False),
    Column("position", Key, nullable=False),
    Column("activation", Float, nullable=False),
    Index("credits_by_memory", "memory"),
)

# Messages marked by hand: when one slides out of its session's window, the digest is written anew.
marks: Table = Table(
    "marks",
    metadata,
    Column("session", Key, primary_key=True, autoincrement=False),
    Column("position", Key, primary_key=True, autoincrement=False),
)


def first_key(bank: int) -> int:
    """The smallest key of a bank's rows."""
    return bank << KEY_BITS


def last_key(bank: int) -> int:
    """The largest key of a bank's rows."""
    return ((bank + 1) << KEY_BITS) - 1
