"""Reading other people's memories and writing our own: importers, and the versioned export format."""

from memorybank.interchange.loading import Bank, Loaded, load
from memorybank.interchange.reading import EXPORT, FORMATS, NAMES, detect, read
from memorybank.interchange.values import ImportOptions, ImportRecord, Item, Limits, Problem, Severity

__all__ = [
    "EXPORT",
    "FORMATS",
    "NAMES",
    "Bank",
    "ImportOptions",
    "ImportRecord",
    "Item",
    "Limits",
    "Loaded",
    "Problem",
    "Severity",
    "detect",
    "load",
    "read",
]
