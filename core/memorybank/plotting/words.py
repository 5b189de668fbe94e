"""The words on the pictures. Chinese where it is asked for and a font has it, else English."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memorybank.plotting.canvas import fonts
from memorybank.text.language import Language


@dataclass(frozen=True, slots=True)
class Words:
    """One language."""

    retention_title: str
    days: str
    days_ahead: str
    retention: str
    recalled: str
    not_recalled: str
    archived_below: str
    memory: str
    timeline_title: str
    memories: str
    fresh: str
    fading: str
    archived: str
    pinned: str
    map_title: str
    links: Mapping[str, str]


_WORDS: Mapping[Language, Words] = {
    "en": Words(
        retention_title="Retention over time",
        days="days",
        days_ahead="days from now",
        retention="retention R",
        recalled="recalled",
        not_recalled="not recalled",
        archived_below="archived below {level:g}",
        memory="memory {n}",
        timeline_title="Memories by day",
        memories="memories",
        fresh="fresh (R at least 1/2)",
        fading="fading",
        archived="archived",
        pinned="pinned",
        map_title="What links to what",
        links={"next": "said next", "co_recalled": "recalled together", "derived": "made from it"},
    ),
    "zh": Words(
        retention_title="留存随时间的变化",
        days="天",
        days_ahead="从现在起的天数",
        retention="留存 R",
        recalled="被想起过",
        not_recalled="没有被想起",
        archived_below="低于 {level:g} 归档",
        memory="记忆 {n}",
        timeline_title="每天的记忆",
        memories="记忆",
        fresh="清晰（R 不低于 1/2）",
        fading="正在淡去",
        archived="已归档",
        pinned="已固定",
        map_title="什么和什么相连",
        links={"next": "接着说的", "co_recalled": "一同想起", "derived": "由它写成"},
    ),
}


def words(language: Language) -> Words:
    """The words that can be drawn on this machine."""
    return _WORDS["zh" if language == "zh" and fonts().chinese else "en"]
