"""A bank's move to its own collection, interrupted at each step."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorybank.index import ChromaIndex, rows
from memorybank.index.catalogue import Catalogue
from memorybank.index.client import connect_folder, disconnect
from memorybank.index.layout import Kind, Layout
from memorybank.index.parts import Part
from tests.contracts.index_contract import DIMENSION, names, unit_rows

ROWS = unit_rows(30)


def interrupted(folder: Path, kind: Kind, copied: int) -> None:
    """A folder as it is when the move of "large" stopped at ``kind``, with so many rows copied."""
    index = ChromaIndex.open(folder, shards=1)
    index.upsert("large", names(30), ROWS)
    index.upsert("small", names(5), ROWS[:5])
    index.close()
    client = connect_folder(folder)
    layout = Layout(shards=1)
    catalogue = Catalogue(client, layout, shared=False)
    catalogue.survey()
    own = catalogue.create(layout.own_name("large"), layout.describe(kind, DIMENSION, "large"))
    rows.put(own, [Part("large", names(copied), ROWS[:copied])])
    disconnect(client)


def assert_whole(index: ChromaIndex) -> None:
    """Both banks answer from all their rows, each once."""
    assert sorted(index.search("large", ROWS[29], 40).ids) == sorted(names(30))
    assert index.count("large") == 30
    assert index.ids("small") == set(names(5))


@pytest.mark.parametrize("copied", [0, 11])
def test_stopped_while_copying(tmp_path: Path, copied: int) -> None:
    """The shard goes on answering, a row deleted meanwhile stays deleted, and the next promotion succeeds."""
    interrupted(tmp_path, Kind.FILLING, copied)
    index = ChromaIndex.open(tmp_path)
    assert index.promoted() == set()
    assert_whole(index)
    index.delete("large", ["m3"])
    index.promote("large")
    assert index.promoted() == {"large"}
    assert index.ids("large") == set(names(30)) - {"m3"}
    index.close()


def test_stopped_before_the_shard_was_swept(tmp_path: Path) -> None:
    """The copy is read, and opening removes what the shard still has: nothing returns after a deletion."""
    interrupted(tmp_path, Kind.SWEEPING, 30)
    index = ChromaIndex.open(tmp_path)
    assert index.promoted() == {"large"}
    assert_whole(index)
    index.close()
    client = connect_folder(tmp_path)
    shard = client.get_collection("memorybank.shard-0000", embedding_function=None)
    assert shard.get(where={"bank": "large"}, include=[])["ids"] == []
    disconnect(client)


def test_dropped_in_the_middle_of_a_move(tmp_path: Path) -> None:
    """Dropping a bank removes it from both places and counts each row once."""
    interrupted(tmp_path, Kind.FILLING, 11)
    index = ChromaIndex.open(tmp_path)
    assert index.drop("large") == 30
    index.promote("large")
    assert index.count("large") == 0
    assert index.count("small") == 5
    index.close()
