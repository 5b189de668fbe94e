"""How summaries and portraits are made: lengths, budgets, patience, wording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from memorybank.errors import InvalidInputError
from memorybank.hierarchy.prompts import DEFAULT, Language, Prompts
from memorybank.hierarchy.window import WindowSettings


@dataclass(frozen=True, slots=True)
class HierarchySettings:
    """Lengths are tokens. The values are our choice unless a source is given.

    ``share``: a day's summary as part of its text (0.3: measured, see ``extractive``), at least ``day_least``
    and at most ``day_most``; a day's portrait has at most ``portrait``. ``events``/``overall_portrait``: the
    global ones. ``block``: the text of a block of days. ``read``: data in one prompt; more is map-reduced.
    ``timeout``: seconds that a model may take for a reply. ``give_up_after``: after so many failures in a row
    the model is taken to be down and the rest waits for the next time. ``digest_within``: only sessions in
    which something was said that lately get a digest. ``linked``: a new day summary is linked with so many of
    the memories recalled most since its day began (SoulMem).
    """

    share: float = 0.3
    day_least: int = 60
    day_most: int = 500
    portrait: int = 150
    events: int = 700
    overall_portrait: int = 400
    block: int = 350
    read: int = 3000
    digest: int = 250
    timeout: float = 120.0
    give_up_after: int = 3
    digest_within: timedelta = timedelta(days=7)
    linked: int = 3
    window: WindowSettings = field(default_factory=lambda: WindowSettings(20, 20))
    prompts: Mapping[Language, Prompts] = field(default_factory=lambda: DEFAULT)

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise InvalidInputError(
                f"share={self.share}; a summary is a part of its text: above 0, at most 1"
            )
        if 2 * self.block > self.read:
            raise InvalidInputError(f"read={self.read} does not hold two blocks of {self.block} tokens")
        if self.timeout <= 0 or self.give_up_after < 1:
            raise InvalidInputError("timeout must be above 0 seconds and give_up_after at least 1")
        missing = [language for language in ("en", "zh") if language not in self.prompts]
        if missing:
            raise InvalidInputError(f"prompts lack {missing[0]!r}; give both 'en' and 'zh'")

    def day_length(self, tokens: int) -> int:
        """Tokens of the summary of a day of so many."""
        return max(self.day_least, min(self.day_most, int(tokens * self.share)))
