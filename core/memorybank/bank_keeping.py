"""The verbs of a bank that keep and let go: pin, restore, forget, delete, clear, erase, export."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from memorybank import keeping, telling, transfer, upkeep
from memorybank.bank_base import BankBase, Time
from memorybank.intake import check_ids, check_name, check_path
from memorybank.models import Erased, Forgotten
from memorybank.watch import watched


class BankKeeping(BankBase):
    """What decides whether a memory stays. See ``MemoryBank``."""

    @watched("forget", telling.forgotten)
    def forget(self, now: Time | None = None, *, dry_run: bool = False) -> Forgotten:
        """Archive and purge what the policy says has faded; ``dry_run`` only tells. Twice at one ``now`` is once."""
        return keeping.forget(
            self._runtime,
            self._owner,
            curve=self._curve,
            policy=self._policy,
            now=self._now(now),
            dry_run=dry_run,
        )

    def restore(self, ids: str | Iterable[str], now: Time | None = None) -> None:
        """Bring archived memories back. Raises NotFoundError."""
        keeping.restore(self._runtime, self._owner, check_ids(ids), now=self._now(now))

    def pin(self, ids: str | Iterable[str]) -> None:
        """Keep memories from being archived or purged. Raises NotFoundError."""
        keeping.pin(self._runtime, self._owner, check_ids(ids), pinned=True)

    def unpin(self, ids: str | Iterable[str]) -> None:
        """Let pinned memories fade again. Raises NotFoundError."""
        keeping.pin(self._runtime, self._owner, check_ids(ids), pinned=False)

    @watched("delete", telling.erased)
    def delete(self, ids: str | Iterable[str]) -> Erased:
        """Destroy memories, turns together with their messages; unknown ids are passed over.

        What was made from them may quote them: it is emptied, and written anew by the next ``consolidate``.
        """
        return keeping.delete(self._runtime, self._owner, check_ids(ids))

    @watched("clear", telling.erased)
    def clear(self, session: str) -> Erased:
        """Destroy a session: its messages, the turns made of them and its digest."""
        return keeping.clear(self._runtime, self._owner, check_name(session, "session"))

    @watched("erase", telling.erased)
    def erase(self) -> Erased:
        """Remove this owner from the store altogether: the same as ``MemoryStore.erase(owner)``."""
        return upkeep.erase(self._runtime, self._owner)

    def export(self, path: str | Path) -> int:
        """Write everything of this owner to a JSONL file (see ``MemoryStore.import_bank``); returns its lines.

        Vectors are included. The file (mode 0600) appears whole or not at all. Raises StoreError.
        """
        return transfer.export(self._runtime, self._owner, check_path(path), now=self._now(None))
