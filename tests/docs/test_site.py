"""The site's plan fits the pages: built for real by ``make docs``, where warnings are errors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
_LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)")


def _shown(page: Path) -> str:
    return str(page.relative_to(ROOT))


def test_every_page_is_in_the_navigation() -> None:
    """No page is left out, none is named that is not there."""
    named = re.findall(r":\s*(\S+\.md)\s*$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    assert sorted(named) == sorted(str(page.relative_to(DOCS)) for page in PAGES)


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES], ids=_shown)
def test_links_lead_somewhere(page: Path) -> None:
    """A page or a picture that is linked exists; pages of the site link only to what is in it."""
    for target in _LINK.findall(page.read_text("utf-8")):
        found = (page.parent / target).resolve()
        assert found.exists(), f"{_shown(page)} links to {target}"
        if DOCS in page.parents:
            assert DOCS in found.parents, f"{_shown(page)}: {target} is not part of the site"


def test_the_site_needs_nothing_from_elsewhere() -> None:
    """No fonts, scripts or styles are fetched by a reader's browser."""
    plan = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert "font: false" in plan
    assert "extra_javascript" not in plan
    assert "extra_css" not in plan
