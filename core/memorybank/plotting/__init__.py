"""Pictures of a memory: retention over time, the timeline, what links to what.

Each comes as values (pure), as a matplotlib figure and as a PNG; figures need the extra ``plot``.
"""

from memorybank.plotting.canvas import png
from memorybank.plotting.recall_map import RecallMap, plot_recall_map, recall_map, recall_map_figure
from memorybank.plotting.retention import plot_retention, retention_figure
from memorybank.plotting.timeline import DayCount, day_counts, plot_timeline, timeline_figure
from memorybank.plotting.traces import Trace, outlook, retention_lines, trace

__all__ = [
    "DayCount",
    "RecallMap",
    "Trace",
    "day_counts",
    "outlook",
    "plot_recall_map",
    "plot_retention",
    "plot_timeline",
    "png",
    "recall_map",
    "recall_map_figure",
    "retention_figure",
    "retention_lines",
    "timeline_figure",
    "trace",
]
