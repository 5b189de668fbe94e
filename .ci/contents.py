"""What is in a wheel or an sdist, checked: the packages and their types, no data, no caches, nothing of a machine."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from collections import Counter
from pathlib import Path, PurePosixPath

PACKAGES = {"memorybank", "langchain_memorybank", "llamaindex_memorybank"}
SUFFIXES = {".py", ".typed", ".npy", ".json", ".txt", ".css"}
"""Code, the marker of types, the mean vector, the demo's talk, the vector's sentences, the page's style."""
SOURCES = SUFFIXES | {".md", ".png", ".svg", ".ipynb", ".toml", ".yml", ".yaml", ".conf"}
UNSUFFIXED = {"LICENSE", "Makefile", "PKG-INFO", ".gitignore", "METADATA", "WHEEL", "RECORD"}
TOP = {"core", "benchmarks", "tests", "cookbook", "docs", *PACKAGES}
LARGEST = 1_000_000  # bytes of one file


def files_of(made: Path) -> dict[str, int]:
    """Names and sizes."""
    if made.suffix == ".whl":
        with zipfile.ZipFile(made) as wheel:
            return {one.filename: one.file_size for one in wheel.infolist() if not one.is_dir()}
    with tarfile.open(made) as sdist:
        files = {one.name: one.size for one in sdist.getmembers() if one.isfile()}
    return {name.partition("/")[2]: size for name, size in files.items()}


def problems_of(made: Path) -> list[str]:
    """What should not be there, or is missing."""
    files, wheel = files_of(made), made.suffix == ".whl"
    root = "" if wheel else "core/"
    needed = [f"{root if package == 'memorybank' else ''}{package}/py.typed" for package in PACKAGES]
    if not wheel:
        needed += ["pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "Makefile", "mkdocs.yml"]
    found = [f"{name} is missing" for name in needed if name not in files]
    for name, size in files.items():
        path = PurePosixPath(name)
        info = wheel and path.parts[0].endswith(".dist-info")
        if wheel and not info and path.parts[0] not in PACKAGES:
            found.append(f"{name}: no part of the packages")
        if not wheel and len(path.parts) > 1 and path.parts[0] not in TOP:
            found.append(f"{name}: no part of the sources")
        if path.name not in UNSUFFIXED and not info and path.suffix not in (SUFFIXES if wheel else SOURCES):
            found.append(f"{name}: what is it?")
        if any(part.startswith((".", "__pycache__")) and part != ".gitignore" for part in path.parts):
            found.append(f"{name}: a cache, or hidden")
        if size > LARGEST:
            found.append(f"{name}: {size:,} bytes")
    return found


def main() -> None:
    """Check the files named; list what they consist of."""
    for made in map(Path, sys.argv[1:]):
        problems = problems_of(made)
        if problems:
            sys.exit("\n".join([f"{made.name}:", *problems]))
        files = files_of(made)
        kinds = Counter(PurePosixPath(name).parts[0] if "/" in name else "(top)" for name in files)
        listed = ", ".join(f"{name} {count}" for name, count in sorted(kinds.items()))
        sys.stdout.write(f"{made.name}: {len(files)} files, {sum(files.values()) // 1000:,} kB ({listed})\n")


if __name__ == "__main__":
    main()
