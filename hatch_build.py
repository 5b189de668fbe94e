"""README as the package index shows it: there no file lies beside it, so nothing may point to one.

The project has no public address yet; once it has, this file can go, and README's links become absolute.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PICTURE = re.compile(
    r"^!\[[^\]]*\]\((?!https?:)[^)]*\)\n\n(?:\*[^*\n]+\*\n\n)?", re.MULTILINE
)  # and its caption
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)([^)#]*)[^)]*\)")
_WHERE = "\nThe files named here are in the source distribution.\n"


def long_description(readme: str) -> str:
    """The text without pictures of its own; a link to a file of the project becomes the file's name."""
    return _LINK.sub(_named, _PICTURE.sub("", readme)) + _WHERE


def _named(link: re.Match[str]) -> str:
    text, path = link[1], link[2]
    return f"`{path}`" if text == path else f"{text} (`{path}`)"


class LongDescription(MetadataHookInterface):
    """Run by hatchling when it makes wheel or sdist."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in ``readme``, which pyproject.toml calls dynamic."""
        readme = Path(self.root, "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": long_description(readme)}
