"""Questions about nothing but a day: "What did we talk about last Tuesday?", 「上周三我们聊了什么？」."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memorybank.text.words import ENGLISH, HAN

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_DIGIT = re.compile(r"\d")
_SAYING = frozenset(
    """
    talk talks talked talking chat chats chatted chatting speak spoke spoken speaking say said saying tell told
    telling discuss discussed discussing discussion discussions mention mentioned mentioning conversation
    conversations
    """.split()  # noqa: SIM905 - prose is easier to read and to change than a list of quotes
)
_ABOUT = frozenset(
    """
    topic topics subject subjects thing things something anything everything happen happened happening happens
    went go going came come remember recall recap summarize summarise summary remind know please again back
    during day time all other each any some
    """.split()  # noqa: SIM905 - prose is easier to read and to change than a list of quotes
)
"""Words that name no subject: with the function words and ``_SAYING`` they leave a question without content."""
_HAN_RUN = re.compile(r"[\u3400-\u9fff]+")
_HAN_SAYING = re.compile("[聊谈说讲]|讨论|交流|沟通|对话|提到|提起|提过|告诉")
_HAN_ABOUT = re.compile(
    "聊天|聊到|聊过|聊起|聊|谈话|谈论|谈到|谈起|谈过|谈|讨论|交谈|交流|沟通|对话|说话|说到|说起|说过|说|讲到|讲过|讲"
    "|话题|主题|内容|东西|事情|事儿|事|提到|提起|提过|告诉|记得|回忆|总结|概括|发生|知道|请问|请|做|干|时候|当时|当天|那天"
    "|一起|有没有|有过|有|没|过|些|还|起|来|里|中|天|能|可以|一下|所有|主要|大概|各|关于|互相|之间|曾"
)


def only_the_day(text: str, spans: Iterable[tuple[int, int]], names: Sequence[str] = ()) -> bool:
    """Whether nothing is left of ``text`` without ``spans`` (begin, end), but function words and words for talk.

    Then nothing but the days can tell which memories are meant: its other words match by chance. ``names``
    (casefolded) of speakers are no subject either, where the question is about what they said.
    """
    rest = list(text)
    for begin, end in spans:
        rest[begin:end] = " " * (end - begin)
    left = "".join(rest).casefold().replace("\u2019", "'")
    if _DIGIT.search(left):
        return False
    words = _WORD.findall(_HAN_RUN.sub(" ", left))
    if _HAN_SAYING.search(left) or not _SAYING.isdisjoint(words):
        parts = {part for name in names for part in _WORD.findall(name)}
        words = [word for word in words if word.removesuffix("'s") not in parts]
        for name in names:
            left = left.replace(name, " ") if _HAN_RUN.search(name) else left
    plain = ENGLISH | _SAYING | _ABOUT
    return plain.issuperset(words) and all(
        HAN.issuperset(_HAN_ABOUT.sub("", run)) for run in _HAN_RUN.findall(left)
    )
