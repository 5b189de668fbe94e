"""Fuzzing the importers with atheris, which is not among the dependencies: ``make fuzz``, or
``pip install atheris && python -m tests.security.fuzz -max_total_time=600``. Exit code 77 on a fault."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris  # type: ignore[import-not-found,import-untyped,unused-ignore]  # opt-in, and untyped

with atheris.instrument_imports(include=["memorybank"]):
    from tests.security.importing import SAMPLES, attempt, sample


def main() -> None:
    """Fuzz from the samples on, until told to stop."""
    with tempfile.TemporaryDirectory(prefix="memorybank-fuzz-") as place:
        corpus = Path(place) / "corpus"
        corpus.mkdir()
        for name in SAMPLES:
            (corpus / name).write_bytes(sample(name))
        file = Path(place) / "fuzzed.json"

        def once(data: bytes) -> None:
            file.write_bytes(data)
            attempt(file)

        atheris.Setup([*sys.argv, str(corpus)], once)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
