"""The model of the page under test: it says what it heard, at once or, asked to, without end."""

from __future__ import annotations

import time
from collections.abc import Iterator


def reply(prompt: str) -> Iterator[str]:
    """The last line, piece by piece; "slowly" makes it go on for half a minute."""
    heard = prompt.rpartition("user: ")[2].partition("\n")[0]
    yield "I heard: "
    yield heard
    if "slowly" in heard:
        for number in range(300):
            time.sleep(0.1)
            yield f" {number}"
