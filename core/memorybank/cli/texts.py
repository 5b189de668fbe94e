"""The words of the command line where it speaks a bank's language: the demo, and what a chat shows of memories.

The other commands speak English; so do JSON, options and errors everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from memorybank.text.language import Language


@dataclass(frozen=True, slots=True)
class DemoTexts:
    """The words of ``memorybank demo``. ``{…}`` fields are filled in."""

    imported: str
    pinned: str
    meaning: str
    words: str
    parts: str
    time: str
    day: str
    strength: str
    reinforced: str
    months: str
    dry_run: str
    same: str
    different: str
    fades: str
    why: str
    explained: str
    missing: str
    found: str
    restored: str
    plot: str
    axis: str
    below: str
    picture: str
    no_picture: str
    kept: str


@dataclass(frozen=True, slots=True)
class Texts:
    """One language. A name that a mapping leaves out is shown as it is: English shows the names that JSON has."""

    demo: DemoTexts
    date: str
    day: str
    cut: str
    separator: str
    units: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, str] = field(default_factory=dict)
    marks: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, str] = field(default_factory=dict)
    speakers: Mapping[str, str] = field(default_factory=dict)
    outcomes: Mapping[str, str] = field(default_factory=dict)
    rules: Mapping[str, str] = field(default_factory=dict)

    def said(self, text: str) -> str:
        """A memory's text with the speakers at the heads of its lines in this language."""
        if not self.speakers:
            return text
        return _SPEAKER.sub(lambda found: self.speakers.get(found[1], found[0]), text)


_SPEAKER = re.compile(r"^(user|assistant): ", re.MULTILINE)

ENGLISH = Texts(
    date="%d %B %Y",
    day="%d %b",
    cut="… ({n:,} characters)",
    separator=", ",
    demo=DemoTexts(
        imported="Imported {messages} messages of {sessions} days: {memories} memories.",
        pinned="Pinned, so that it never fades: {note}",
        meaning="Recall is by meaning ({embedder}) and words.",
        words="Recall is by words only (no embedder installed).",
        parts=(
            "Under each memory: what its score adds up from, among others meaning (dense), words (lexical), words of "
            "the talk around it (context), its neighbours (association), a question answered (reply), a date that "
            "was named (date). R: retention, S: strength."
        ),
        time="Time is the demo's own.",
        day="Day {day}, {date}: “{ask}”",
        strength="S {before} → {after}",
        reinforced="reinforced: {grown}; t = 0",
        months="{date}: months later, the companion preset forgets",
        dry_run="Dry run: {archived} would be archived, {kept} kept; {then}.",
        same="then done, the same",
        different="done differently",
        fades="fades",
        why="Why “{text}”",
        explained="t = {elapsed}, S = {strength}, unit = {unit}: R = {retention:.3f} → {outcome}. {rule}",
        missing="Out of recall. Asked among the archived as well:",
        found="Still in recall. Asked among the archived as well:",
        restored="restored: it is recalled again, and fades anew from today.",
        plot="Retention: ● recalled (each recall starts it anew, and slower), · never recalled",
        axis="day {n:.0f}",
        below="Below {level:g} a memory is archived.",
        picture="PNG: {path}",
        no_picture="{reason}",
        kept="The store is kept: memorybank show --store {store} --owner NAME (owners: {owners})",
    ),
)

CHINESE = Texts(
    date="%Y年%m月%d日",
    day="%m月%d日",
    cut="……（共 {n:,} 字）",
    separator="，",
    units={"y": "年", "d": "天", "h": "小时", "min": "分钟", "s": "秒"},
    levels={
        "turn": "对话",
        "note": "备忘",
        "day_events": "当天",
        "events": "所有日子",
        "day_portrait": "当天的你",
        "portrait": "画像",
        "digest": "前情",
    },
    marks={"pinned": "已固定", "stale": "已过时", "archived": "已归档"},
    parts={
        "dense": "语义",
        "lexical": "用词",
        "context": "前后文",
        "speaker": "说话人",
        "date": "日期",
        "session": "同次对话",
        "association": "邻近",
        "reply": "答话",
        "form": "陈述",
        "links": "关联",
        "retention": "留存",
        "activation": "刚谈过",
        "rerank": "精排",
    },
    speakers={"user": "用户：", "assistant": "助手："},
    outcomes={"keep": "保留", "archive": "归档", "archived": "已归档", "purge": "清除"},
    rules={
        "archived; the policy never purges": "此策略只归档，从不清除",
        "pinned: never fades": "已固定：永不淡去",
    },
    demo=DemoTexts(
        imported="已导入 {sessions} 天的 {messages} 条消息，成为 {memories} 条记忆。",
        pinned="固定一条备忘，永不淡去：{note}",
        meaning="按语义（{embedder}）和用词回忆。",
        words="只按用词回忆（没有安装嵌入模型）。",
        parts=(
            "每条记忆下面是得分的来历：与问题意思相近（语义）、用词相同（用词）、前后的对话用词相同（前后文）、"
            "紧邻相关的话（邻近）、接着回答了类似的话（答话）、正是提到的日子（日期）等。R：留存，S：强度。"
        ),
        time="时间由演示自己推进。",
        day="第 {day} 天（{date}）：“{ask}”",
        strength="S {before} → {after}",
        reinforced="想起后变强：{grown}；t 归零",
        months="{date}：几个月后，按 companion 策略淡忘",
        dry_run="先试算：归档 {archived} 条，保留 {kept} 条；{then}。",
        same="随后执行，结果相同",
        different="执行的结果不同",
        fades="淡去",
        why="为什么：“{text}”",
        explained="t = {elapsed}，S = {strength}，单位 = {unit}：R = {retention:.3f} → {outcome}。{rule}",
        missing="已经想不起来了。连同已归档的一起找：",
        found="还想得起来。连同已归档的一起找：",
        restored="已恢复：又能想起，从今天起重新计时。",
        plot="留存随时间的变化：● 被想起过（每次想起重新开始，淡得更慢），· 没有被想起",
        axis="第 {n:.0f} 天",
        below="低于 {level:g} 的记忆会归档。",
        picture="图片：{path}",
        no_picture="没有画图：需要安装 matplotlib（pip install 'memorybank-core[plot]'）",
        kept="数据已保留：memorybank show --store {store} --owner 名字（{owners}）",
    ),
)

TEXTS: Mapping[Language, Texts] = {"en": ENGLISH, "zh": CHINESE}
