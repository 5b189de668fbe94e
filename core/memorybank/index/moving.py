"""Moving a bank from its shard to a collection of its own, so that an interruption never loses or doubles a
row.
"""

from __future__ import annotations

import logging

from memorybank.index import rows
from memorybank.index.catalogue import Catalogue
from memorybank.index.layout import Kind
from memorybank.index.parts import Part

logger: logging.Logger = logging.getLogger("memorybank.index")


def move_out(catalogue: Catalogue, bank: str) -> None:
    """Give the bank its own collection, with what it has; finish the move if it was interrupted.

    Until the copy is complete the shard is read, afterwards the copy; only then the shard's rows go.
    """
    if catalogue.own(bank) is not None or catalogue.moved(bank):
        sweep(catalogue, bank)
        return
    if not catalogue.has_room():
        logger.warning("a large bank stays in its shard: the limit on open files (ulimit -n) is too low")
        return
    layout = catalogue.layout
    catalogue.remove(layout.own_name(bank))  # a copy that was interrupted: rows may have changed since
    shard = catalogue.shard(bank)
    held = [] if shard is None else rows.names_in(shard, bank)
    own = catalogue.create(layout.own_name(bank), layout.describe(Kind.FILLING, catalogue.dimension, bank))
    if shard is not None:
        for names, matrix in rows.vectors_of(shard, bank, held):
            rows.put(own, [Part(bank, names, matrix)])
    catalogue.mark(own, layout.describe(Kind.SWEEPING, catalogue.dimension, bank))
    sweep(catalogue, bank)


def sweep(catalogue: Catalogue, bank: str) -> None:
    """Remove the bank's rows from its shard, once it has its own collection.

    Rows that another process wrote to the shard meanwhile are moved first.
    """
    own, shard = catalogue.own(bank), catalogue.shard(bank)
    if own is None:
        return
    left = [] if shard is None else rows.names_in(shard, bank)
    if shard is not None and left:
        missing = sorted(set(left) - set(rows.names_in(own, bank)))
        for names, matrix in rows.vectors_of(shard, bank, missing):
            rows.put(own, [Part(bank, names, matrix)])
        rows.take(shard, bank, left)
    if bank in catalogue.banks(Kind.SWEEPING):
        catalogue.mark(own, catalogue.layout.describe(Kind.OWN, catalogue.dimension, bank))
