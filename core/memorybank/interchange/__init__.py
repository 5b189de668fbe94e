"""Reading other people's memories and writing our own: importers, and the versioned export format."""

from memorybank.interchange.reading import EXPORT, FORMATS, NAMES, detect, read
from memorybank.interchange.values import ImportOptions, ImportRecord, Item, Limits, Problem, Severity

__all__ = [
    "EXPORT",
    "FORMATS",
    "NAMES",
    "ImportOptions",
    "ImportRecord",
    "Item",
    "Limits",
    "Problem",
    "Severity",
    "detect",
    "read",
]
