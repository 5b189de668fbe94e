"""Run notebooks in fresh kernels: ``python cookbook/run.py [NAME…]`` refreshes the outputs that are committed."""

from __future__ import annotations

import base64
import io
import sys
from pathlib import Path
from typing import Any

COOKBOOK = Path(__file__).parent
SECONDS = 120  # of one cell
COLOURS = 48  # of a picture that is committed: plots look the same, at a third of the bytes


def notebooks() -> list[Path]:
    """Every notebook of the cookbook, in order."""
    return sorted(COOKBOOK.glob("*.ipynb"))


def execute(path: Path, folder: Path | None = None) -> Any:
    """Run a notebook in a kernel of its own, working in ``folder``, and return it with its outputs.

    Raises ``nbclient.exceptions.CellExecutionError`` for the first cell that fails.
    """
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(folder or COOKBOOK)}}
    NotebookClient(
        notebook, timeout=SECONDS, kernel_name="python3", resources=resources, record_timing=False
    ).execute()
    return notebook


def shrink(notebook: Any) -> None:
    """Reduce the pictures in a notebook's outputs to few colours, in place."""
    from PIL import Image

    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                whole = Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).convert("RGB")
                small = io.BytesIO()
                whole.quantize(COLOURS).save(small, "png", optimize=True)
                data["image/png"] = base64.b64encode(small.getvalue()).decode("ascii")


def main() -> None:
    """Refresh the notebooks named (by any part of their names), or all."""
    import nbformat

    wanted = sys.argv[1:] or [""]
    for path in notebooks():
        if any(name in path.name for name in wanted):
            notebook = execute(path)
            shrink(notebook)
            notebook.metadata = {
                "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
                "language_info": {"name": "python"},
            }
            nbformat.write(notebook, path)
            sys.stdout.write(f"{path.name}: {path.stat().st_size // 1000} kB\n")


if __name__ == "__main__":
    main()
