"""Chroma's vector files hold what was freed in the process that wrote them; nothing of it stays."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from memorybank.index import ChromaIndex
from memorybank.index.slack import blank
from tests.contracts.index_contract import names, unit_rows

REMAINS = b"what was said and freed before "


def soiled(folder: Path) -> int:
    """Write into every vector file what Chroma may write there: after the last row, whole. Returns how many files."""
    done = 0
    for header in folder.rglob("header.bin"):
        rows, size = struct.unpack_from("<i6Q", header.read_bytes())[3:5]
        for name, used in (("data_level0.bin", rows * size), ("length.bin", rows * 4)):
            path = header.with_name(name)
            room = path.stat().st_size - used
            if room:
                with path.open("r+b") as stream:
                    stream.seek(used)
                    stream.write((REMAINS * (room // len(REMAINS) + 1))[:room])
                done += 1
    return done


def remaining(folder: Path) -> list[str]:
    """The files with something of it."""
    return [path.name for path in folder.rglob("*") if path.is_file() and REMAINS[:8] in path.read_bytes()]


def filled(folder: Path, rows: int) -> ChromaIndex:
    """Some rows of them in the vector file, the others in Chroma's log."""
    index = ChromaIndex.open(folder, shards=1)
    index.upsert("bank", names(rows), unit_rows(rows))
    return index


def test_closing_and_opening_leave_none(tmp_path: Path) -> None:
    """Closed in good order, killed, or told to: nothing but vectors is in the files, and these are all there."""
    index = filled(tmp_path, 150)
    assert soiled(tmp_path)
    index.close()
    assert remaining(tmp_path) == []
    index = ChromaIndex.open(tmp_path)
    assert soiled(tmp_path)
    index.blank()
    assert remaining(tmp_path) == []
    assert index.search("bank", unit_rows(150)[7], 1).ids == ["m7"]
    index.close()
    (tmp_path / "memorybank.open").touch()  # as a killed process leaves it
    assert soiled(tmp_path)
    index = ChromaIndex.open(tmp_path)
    assert remaining(tmp_path) == []
    assert index.count("bank") == 150
    index.close()


def test_rows_in_the_file_stay(tmp_path: Path) -> None:
    """What Chroma has written is not touched: every row is found afterwards, and more can be added."""
    rows = unit_rows(1_300)
    index = filled(tmp_path, 1_300)
    index.close()
    (header,) = tmp_path.rglob("header.bin")
    written = struct.unpack_from("<i6Q", header.read_bytes())[3]
    assert written
    data = header.with_name("data_level0.bin")
    before = data.read_bytes()
    with data.open("ab") as stream:
        stream.write(REMAINS * 20)
    assert blank(tmp_path) >= len(REMAINS) * 20
    assert data.read_bytes()[: len(before)] == before
    index = ChromaIndex.open(tmp_path)
    index.upsert("bank", names(1_200, start=1_300), unit_rows(1_200, seed=1))
    found = [index.search("bank", rows[i], 1).ids[0] for i in range(0, 1_300, 50)]
    assert found == names(1_300)[::50]
    assert index.count("bank") == 2_500
    index.close()


def test_what_is_not_known_stays_as_it_is(tmp_path: Path) -> None:
    """A header of another version, a cut one or none: no byte is changed."""
    for number, header in enumerate([struct.pack("<i6Q", 2, 0, 100, 0, 396, 388, 132), b"\x01\x00", b""]):
        place = tmp_path / f"segment{number}"
        place.mkdir()
        (place / "header.bin").write_bytes(header)
        (place / "data_level0.bin").write_bytes(REMAINS)
    assert blank(tmp_path) == 0
    assert len(remaining(tmp_path)) == 3
    assert np.all([(tmp_path / f"segment{n}" / "data_level0.bin").read_bytes() == REMAINS for n in range(3)])
