"""Which language the page speaks."""

from __future__ import annotations

from collections.abc import Mapping

from memorybank.app.chinese import CHINESE
from memorybank.app.english import ENGLISH
from memorybank.app.texts import Texts
from memorybank.text.language import Language

TEXTS: Mapping[Language, Texts] = {"en": ENGLISH, "zh": CHINESE}


def preferred(accept: str) -> Language:
    """The language that a browser asks for (its Accept-Language header): Chinese if it ranks before English."""
    ranked: list[tuple[float, int, str]] = []
    for place, item in enumerate(accept.split(",")):
        tag, _, quality = item.strip().partition(";")
        try:
            weight = float(quality.partition("=")[2]) if quality else 1.0
        except ValueError:
            weight = 0.0
        ranked.append((-weight, place, tag.strip().lower()))
    for _, _, tag in sorted(ranked):
        if tag.split("-")[0] in ("zh", "en"):
            return "zh" if tag.startswith("zh") else "en"
    return "en"
