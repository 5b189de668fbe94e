"""A Chroma server on loopback, from the wheel of chromadb."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/api/v2/heartbeat", timeout=2) as reply:
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def free_port() -> int:
    """A port of loopback that nobody uses now."""
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


class ChromaServer:
    """``chroma run`` from the wheel; can be stopped and started again on the same port and folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers; skips the test if it cannot be started."""
        beside = Path(sys.executable).with_name("chroma")
        program = str(beside) if beside.exists() else shutil.which("chroma")
        if program is None:
            pytest.skip("the chroma command of the chromadb wheel is not installed")
        self._process = subprocess.Popen(
            [program, "run", "--path", str(self.folder), "--host", "127.0.0.1", "--port", str(self.port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            env={**os.environ, "ANONYMIZED_TELEMETRY": "False"},
        )
        for _ in range(600):
            if _answers(self.url):
                return
            if self._process.poll() is not None:
                pytest.skip(f"chroma run ended with {self._process.returncode}")
            time.sleep(0.1)
        self.stop()
        pytest.skip("chroma run did not answer within 60 s")

    def stop(self) -> None:
        """Stop it, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
