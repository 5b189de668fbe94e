"""The errors of MemoryBank: one small tree.

    MemoryBankError
    ├── InvalidInputError      what the caller gave is not allowed (also a ValueError)
    │   └── OwnerError         a missing, blank or non-string owner
    ├── NotFoundError          an id that this owner does not have (also a LookupError)
    ├── StoreError             the store cannot be opened, read or written
    │   ├── SchemaError        written by a newer version
    │   ├── EmbedderMismatchError   the store was embedded with another model
    │   ├── DamagedStoreError  the records are unreadable
    │   └── ReadOnlyError      a write on a store opened read-only
    ├── EmbeddingError         the embedder failed, or gave NaN or a wrong shape
    ├── RerankError            the reranker failed, is missing, or gave anything but a number in 0..1
    ├── LLMError               the language model failed or gave nothing usable
    ├── IndexUnavailableError  the vector index is missing, locked, damaged or down
    └── ImportFormatError      a file is not of the format that was asked for

Every message says what was given, what is allowed and what to do. Messages never carry memory texts.
"""

_QUOTED = 80


def quoted(value: object) -> str:
    """What was given, for a message: cut short, as it may be anything, even a text in the wrong place."""
    said = repr(value)
    return said if len(said) <= _QUOTED else f"{said[:40]}… ({len(said):,} characters)"


class MemoryBankError(Exception):
    """Base of every error that MemoryBank raises on purpose."""


class InvalidInputError(MemoryBankError, ValueError):
    """A value given by the caller is not allowed."""


class OwnerError(InvalidInputError):
    """The owner is missing, blank or not a string. There is never a default owner."""


class NotFoundError(MemoryBankError, LookupError):
    """No such memory, session or message for this owner."""


class StoreError(MemoryBankError):
    """The store cannot be opened, read or written."""


class SchemaError(StoreError):
    """The records were written by a newer version of MemoryBank."""


class EmbedderMismatchError(StoreError):
    """The store's vectors come from another embedder than the one given."""


class DamagedStoreError(StoreError):
    """The records file is damaged or is not a MemoryBank store."""


class ReadOnlyError(StoreError):
    """A write was tried on a store that was opened read-only."""


class EmbeddingError(MemoryBankError):
    """The embedder raised, or returned NaN, infinities or a wrong shape."""


class RerankError(MemoryBankError):
    """The reranker is not installed, raised, or returned anything but a number in 0..1 per text."""


class LLMError(MemoryBankError):
    """The language model raised, timed out or returned nothing usable."""


class IndexUnavailableError(MemoryBankError):
    """The vector index is missing, locked by another process, damaged or down.

    ``reason`` is one word to decide by: ``locked``, ``damaged``, ``foreign``, ``newer``, ``unwritable``,
    ``full`` (the disk), ``limits``, ``down``, ``forked`` or ``closed``. Only a damaged one may be wiped and rebuilt
    without asking.
    """

    def __init__(self, message: str, reason: str = "down") -> None:
        super().__init__(message)
        self.reason = reason


class ImportFormatError(MemoryBankError, ValueError):
    """A file is not of the format that was asked for, or of no known format."""
