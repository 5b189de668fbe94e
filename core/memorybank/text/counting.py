"""Numbers with their nouns, in English: one memory, two memories."""

from __future__ import annotations


def counted(count: int, one: str, many: str | None = None) -> str:
    """A number with its noun: ``1 memory``, ``2 memories``; ``many`` is with an s unless given."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


class Count(int):
    """A number for templates: ``{n:memory|memories}`` becomes ``1 memory`` or ``2 memories``, ``{n}`` the number."""

    def __format__(self, spec: str) -> str:
        """The number with the noun that ``spec`` holds, as ``one|many``; any other ``spec`` as with ``int``."""
        one, bar, many = spec.partition("|")
        return counted(self, one, many) if bar else super().__format__(spec)
