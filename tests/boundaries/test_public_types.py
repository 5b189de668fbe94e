"""Types that outsiders see are spelled out: what `make verifytypes` (pyright, a minute) asks for, in seconds."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for folder in ("core/memorybank", "langchain_memorybank", "llamaindex_memorybank")
    for path in (ROOT / folder).rglob("*.py")
    if not any(part.startswith("_") and part != "__init__.py" for part in path.relative_to(ROOT).parts)
)

_INFERRED = (ast.Call, ast.JoinedStr, ast.BinOp, ast.BoolOp)


def _made(node: ast.stmt) -> Iterator[tuple[str, int]]:
    """Public names to which something worked out is given, or added, without an annotation."""
    if isinstance(node, ast.AugAssign) or (
        isinstance(node, ast.Assign) and isinstance(node.value, _INFERRED)
    ):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "_")
            of_self = not isinstance(target, ast.Attribute) or getattr(target.value, "id", "") == "self"
            if name.islower() and not name.startswith("_") and of_self:  # constants are taken as they are
                yield name, node.lineno


def _unspelled(tree: ast.Module) -> list[tuple[str, int]]:
    found = [one for node in tree.body for one in _made(node)]
    for owner in (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name[0] != "_"):
        annotated = {
            node.target.attr if isinstance(node.target, ast.Attribute) else getattr(node.target, "id", "")
            for node in ast.walk(owner)
            if isinstance(node, ast.AnnAssign)
        }
        if any(getattr(base, "id", "") in ("Enum", "StrEnum") for base in owner.bases):
            continue
        lines = [*owner.body]
        for method in (node for node in owner.body if isinstance(node, ast.FunctionDef)):
            lines += [
                node
                for node in ast.walk(method)
                if (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute))
                or (isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Attribute))
            ]
        found += [one for node in lines for one in _made(node) if one[0] not in annotated]
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_public_names_that_are_worked_out_say_their_type(path: Path) -> None:
    """``logger: logging.Logger = …``, ``self.name: str = f(…)``: type checkers infer these differently."""
    found = _unspelled(ast.parse(path.read_text("utf-8")))
    assert not found, f"give a type: {', '.join(f'{name} (line {line})' for name, line in found)}"
