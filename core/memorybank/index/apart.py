"""Work on a Chroma folder in a process of its own, which may hang or crash without taking this one along."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def run_apart(module: str, folder: Path, timeout: float) -> subprocess.CompletedProcess[str]:
    """Call ``main(folder)`` of a module of this package there. ``timeout`` in seconds.

    Raises OSError and subprocess.TimeoutExpired.
    """
    # The child has to find the same package, also where it is imported from a checkout.
    root = str(Path(__file__).resolve().parents[2])
    program = f"import sys; sys.path.insert(0, {root!r}); import {module} as m; m.main(sys.argv[1])"
    return subprocess.run(  # noqa: S603 - our own interpreter and program; the folder is one argument
        [sys.executable, "-c", program, str(folder)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
        check=False,
    )
