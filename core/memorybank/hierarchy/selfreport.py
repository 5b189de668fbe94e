"""What people say about themselves, by kind: recognised by its wording, quoted, never interpreted."""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["fact", "relation", "like", "dislike", "mood", "helps", "plan"]

KINDS: dict[Kind, dict[str, str]] = {
    "fact": {"en": "says of themselves", "zh": "自述"},
    "relation": {"en": "people around them", "zh": "身边的人"},
    "like": {"en": "likes", "zh": "喜欢"},
    "dislike": {"en": "dislikes", "zh": "不喜欢"},
    "mood": {"en": "mood", "zh": "心情"},
    "helps": {"en": "what helps", "zh": "有帮助的"},
    "plan": {"en": "plans", "zh": "打算"},
}
"""Names of the kinds, in the order of a portrait."""

_ADVERBS = r"(?: really| also| just| always| still| usually| especially| quite| so| do| truly)*"
_I = r"\bi(?:'m| am|'ve| have|'d| would)?"
_KIN = (
    r"wife|husband|partner|girlfriend|boyfriend|fianc\w+|mother|mom|mum|father|dad|parents?|brothers?"
    r"|sisters?"
    r"|sons?|daughters?|kids?|children|child|baby|grand\w+|uncle|aunt|cousins?|family|best friend|friends?"
    r"|boss|manager|colleagues?|coworkers?|teacher|roommates?|neighbou?rs?|dogs?|cats?|pets?"
)
_FEELING = (
    r"nervous|afraid|anxious|sad|happy|stressed|depressed|worried|upset|angry|lonely|tired|exhausted|excited"
    r"|proud|lost|confused|frustrated|down|relaxed|scared|bored|ashamed|jealous|homesick|calm|better|good|bad"
    r"|great|overwhelmed|disappointed|hopeful|nostalgic"
)
_FEELING_ZH = (
    "焦虑|压抑|紧张|害怕|难过|开心|沮丧|担心|生气|孤独|很累|疲惫|疲倦|兴奋|骄傲|失落|困惑"
    "|烦恼|郁闷|低落|迷茫|伤心|压力|高兴|感动"
)
_KIN_ZH = (
    "老婆|妻子|老公|丈夫|男友|女友|男朋友|女朋友|妈妈|爸爸|父母|母亲|父亲|哥哥|弟弟|姐姐|妹妹|儿子"
    "|女儿|孩子|爷爷|奶奶|外婆|外公|家人|朋友|同事|老板|领导|老师|同学|室友|邻居|狗|猫|宠物"
)

_WORDINGS: dict[Kind, tuple[str, ...]] = {
    # The order matters: "I don't like" before "I like", "I am afraid" before "I am a".
    "dislike": (
        rf"\bi{_ADVERBS} (?:don't|do not|didn't|never)(?: really)? (?:like|enjoy|love|care for)",
        rf"{_I}{_ADVERBS} (?:hate|dislike|detest|can't stand|cannot stand|not (?:a fan|fond|into|keen))",
        r"我[^，。！？他她]{0,6}(?:不喜欢|不爱|讨厌|受不了|不太喜欢|反感)",
    ),
    "helps": (
        r"(?:helps?|helped|calms?|relaxes|comforts?|cheers?) me|makes me (?:feel|happy|calm|more)",
        r"\bi (?:feel|felt) (?:much |a lot |so much )?(?:better|calmer|relieved)",
        r"(?:让|使|令)我[^，。！？]{0,8}(?:放松|开心|平静|安心|自信|舒服|快乐|愉快)",
        r"对我[^，。！？]{0,4}有帮助|我感觉好多了",
    ),
    "like": (
        rf"{_I}{_ADVERBS} (?:like|love|enjoy|prefer|adore)|my (?:\w+ )?favou?rite|my hobb(?:y|ies)",
        rf"{_I}{_ADVERBS} (?:a (?:big |huge )?fan|into|fond of|keen on|interested in|passionate about"
        rf"|obsessed)",
        r"我[^，。！？他她你]{0,8}(?:喜欢|爱好|最爱|热爱|偏爱|感兴趣|着迷)|我的(?:兴趣|爱好)",
    ),
    "mood": (
        rf"\bi(?:'m| am| was| feel| felt|'ve been| have been)(?: \w+){{0,3}} (?:{_FEELING})\b",
        rf"makes me (?:{_FEELING})|my mood",
        rf"我[^，。！？]{{0,10}}(?:{_FEELING_ZH})|心情(?:很|不|有些|有点|非常)",
    ),
    "plan": (
        r"\bi(?:'m| am) (?:going to|planning|preparing|about to|thinking of|saving)",
        r"\bi(?:'ll| will| plan| intend| want to| hope to| wish to|'d like to| would like to| decided to)",
        r"my (?:plan|goal|dream)|我[^，。！？]{0,6}(?:打算|计划|准备|想去|想要|希望|决定|将要|梦想)",
    ),
    "fact": (
        r"my name is|call me|\bi(?:'m| am) (?:an? |\d{1,2}\b(?! ?%)|from |married|single|divorced|allergic"
        r"|vegetarian|vegan)",
        r"\bi(?:'ve| have)? (?:work|live|study|studied|graduated|was born|grew up|(?:just )?moved"
        r"|have an? |own )",
        r"\bi (?:speak|major|quit|started|got (?:a|married|promoted)|lost)",
        r"my (?:job|work|birthday|hometown|company|school|major|age|house|home|phone|address|allerg\w+)",
        r"我叫|我的名字|我是(?:一|个|名|学|老|工|医|设|程|来自)|我(?:住在|来自|今年|出生|毕业|搬到|搬去)",
        r"我在\S{1,8}(?:工作|上学|读书|上班)|我对\S{1,6}过敏|我的(?:生日|家乡|工作|公司|学校|专业|职业)",
    ),
    "relation": (rf"\bmy (?:\w+ )?(?:{_KIN})\b", rf"我(?:和|的|跟)?(?:{_KIN_ZH})"),
}
_PATTERNS = {kind: re.compile("|".join(parts), re.IGNORECASE) for kind, parts in _WORDINGS.items()}


def kind_of(sentence: str) -> Kind | None:
    """The first kind whose wording the sentence has; None if it says nothing about its speaker, or asks."""
    if sentence.rstrip("\"'”’」』 ").endswith(("?", "？")):
        return None
    plain = sentence.replace("\u2019", "'")
    return next((kind for kind, pattern in _PATTERNS.items() if pattern.search(plain)), None)
