"""Nothing unpickles, evaluates, loads YAML or unpacks archives; nothing is run through a shell."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = sorted(
    path
    for folder in ("core/memorybank", "langchain_memorybank", "llamaindex_memorybank")
    for path in (ROOT / folder).rglob("*.py")
)
MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "yaml", "zipfile", "tarfile",
           "gzip", "bz2", "lzma", "xml", "telnetlib", "ftplib"}  # fmt: skip
CALLS = {"eval", "exec", "compile", "__import__"}
SHELLS = {"system", "popen", "getoutput", "getstatusoutput"}


def unsafe(tree: ast.AST) -> Iterator[str]:
    """What a module does that it must not."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in MODULES:
            yield node.module
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in CALLS:
                yield node.func.id
            if isinstance(node.func, ast.Attribute) and node.func.attr in SHELLS:
                yield node.func.attr
            for keyword in node.keywords:
                value = keyword.value
                if keyword.arg in ("shell", "allow_pickle") and getattr(value, "value", True) is not False:
                    yield f"{keyword.arg}="


def test_no_module_does_what_is_unsafe() -> None:
    """See above; ``numpy.load`` reads no pickles unless told to."""
    found = {
        str(path.relative_to(ROOT)): [*unsafe(ast.parse(path.read_text(encoding="utf-8")))] for path in CODE
    }
    # The tokeniser's rank files are compressed in the wheel that ships them.
    assert {name: what for name, what in found.items() if what} == {"core/memorybank/tokens.py": ["gzip"]}


def test_what_is_looked_for_would_be_found() -> None:
    """Each kind once."""
    code = "import pickle\nfrom yaml import load\neval('1')\nos.system('x')\nrun(shell=True)\nload(allow_pickle=1)"
    assert list(unsafe(ast.parse(code))) == ["pickle", "yaml", "eval", "system", "shell=", "allow_pickle="]
