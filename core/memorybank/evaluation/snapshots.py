"""One filled store, and copies of it: every rule starts from the same bank, embedded once."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory

from memorybank.evaluation.cases import Case
from memorybank.evaluation.datasets import Report
from memorybank.evaluation.memo import MemoEmbedder
from memorybank.evaluation.running import Progress, fill, temporary_store
from memorybank.store import MemoryStore

_ID = re.compile(r"\b[0-9a-f]{32}\b")


@dataclass(frozen=True)
class Snapshots:
    """A folder with a filled store; ``copy`` opens a copy that may be changed."""

    folder: Path
    embedder: MemoEmbedder | None

    @contextmanager
    def copy(self) -> Iterator[MemoryStore]:
        """A copy, gone afterwards."""
        with TemporaryDirectory(prefix="memorybank-eval-") as made:
            place = Path(made) / "store"
            shutil.copytree(self.folder, place)
            with temporary_store(self.embedder, folder=place) as store:
                yield store


@contextmanager
def filled(
    cases: Sequence[Case], embedder: MemoEmbedder | None, report: Report, progress: Progress
) -> Iterator[Snapshots]:
    """The conversations in a store whose memories have the same ids in every run.

    Ids are drawn at random as a bank is filled, and the survival of a memory under ``paper`` is drawn from its
    id: so each bank goes out through its export and in again, its ids made from what each memory was made of.
    """
    with TemporaryDirectory(prefix="memorybank-eval-") as made:
        folder, exported = Path(made) / "store", Path(made) / "bank.jsonl"
        with temporary_store(embedder) as first, temporary_store(embedder, folder=folder) as second:
            for case in cases:
                bank = fill(first, case, report, progress)
                bank.export(exported)
                _rename(exported, {one.id: _name(case.owner, one.sources) for one in bank.memories()})
                second.import_bank(exported)
        yield Snapshots(folder, embedder)


def _rename(exported: Path, names: Mapping[str, str]) -> None:
    text = exported.read_text(encoding="utf-8")
    exported.write_text(_ID.sub(lambda found: names.get(found[0], found[0]), text), encoding="utf-8")


def _name(owner: str, sources: Sequence[str]) -> str:
    return blake2b("\0".join([owner, *sources]).encode(), digest_size=16).hexdigest()
