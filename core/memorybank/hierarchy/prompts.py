"""What a language model is asked: one editable object per language. The wording is this project's own.

Every prompt names the dates, carries the speakers, and holds the text inside a fence as data. Fields are filled
with ``str.format``: change a template with ``dataclasses.replace``; it must keep ``{text}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date
from types import MappingProxyType
from typing import Literal

from memorybank.errors import InvalidInputError
from memorybank.hierarchy.fencing import defuse

Language = Literal["en", "zh"]

ALLOWED = frozenset({"text", "day", "first", "last", "length", "old"})
"""Fields that a template may use: the data, its day or first and last day, the length asked for (words in
English, characters in Chinese), and the old digest."""

_WEEKDAYS = {
    "en": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "zh": ("星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日"),
}
# Units of the asked-for length per token: English words, Chinese characters (o200k: FACTS of this project).
_PER_TOKEN = {"en": 0.75, "zh": 1.3}


@dataclass(frozen=True, slots=True)
class Prompts:
    """The templates of one language.

    ``day_events``/``day_portrait`` read a day's dialogue; ``events``/``portrait`` read day summaries or
    portraits and write the global ones; ``merge_events``/``merge_portrait`` sum up a block of days on the way
    there; ``digest`` reads ``{old}`` and the messages that slide out of a session's window.
    Raises InvalidInputError for a template without ``{text}`` or with unknown fields.
    """

    day_events: str
    day_portrait: str
    events: str
    portrait: str
    merge_events: str
    merge_portrait: str
    digest: str

    def __post_init__(self) -> None:
        for field in fields(self):
            template = getattr(self, field.name)
            try:
                filled = template.format(**dict.fromkeys(ALLOWED, "\0"))
            except (KeyError, IndexError, ValueError, AttributeError) as error:
                raise InvalidInputError(
                    f"prompt {field.name!r} cannot be filled ({error}); allowed fields are "
                    + ", ".join("{" + name + "}" for name in sorted(ALLOWED))
                    + "; other braces are doubled"
                ) from error
            if filled.count("\0") == 0 or "{text}" not in template:
                raise InvalidInputError(f"prompt {field.name!r} has no {{text}}: the model would see no data")


def fill(
    template: str,
    text: str,
    *,
    first: date,
    last: date,
    tokens: int,
    language: Language,
    old: str = "",
) -> str:
    """The prompt: dates spelled out, ``tokens`` as a length in words or characters, data defused."""
    length = max(20, int(tokens * _PER_TOKEN[language]) // 10 * 10)
    return template.format(
        text=defuse(text),
        old=defuse(old),
        day=spell(first, language),
        first=spell(first, language),
        last=spell(last, language),
        length=length,
    )


def instructions(template: str) -> str:
    """The template's own words, to recognise a reply that merely repeats them."""
    return template.format(**dict.fromkeys(ALLOWED, " "))


def spell(day: date, language: Language) -> str:
    """ "2026-05-03 (Sunday)", 「2026-05-03（星期日）」."""
    weekday = _WEEKDAYS[language][day.weekday()]
    return f"{day.isoformat()} ({weekday})" if language == "en" else f"{day.isoformat()}（{weekday}）"


ENGLISH = Prompts(
    day_events="""\
You keep a diary of conversations. Below is what was said on {day}, one speaker per line.
Write down what happened and what was talked about, so that somebody can look it up later:
- one short line per event or topic, in the order in which it came up;
- keep names, titles, places, numbers and what was recommended or decided, exactly as said;
- say who: the user, the assistant, or the speaker's name;
- turn words like "yesterday" or "next Friday" into dates, counted from {day};
- add nothing that was not said. Leave out greetings. At most {length} words. No introduction.

<dialogue>
{text}
</dialogue>

The events and topics of {day}, one per line:""",
    day_portrait="""\
Below is a conversation of {day}. Describe the user by it, for a companion who wants to understand them.
Use only these lines, and leave out those about which the user said nothing:
facts: (name, age, work, home, people around them)
traits: (how they seem, and by what one sees it)
mood: (how they felt that day, and why)
preferences: (what they like, dislike, want or plan)
what helps: (what kind of reply or advice does them good)
Say nothing that the conversation does not show. At most {length} words, no introduction.
If it shows nothing about the user, write only: NONE

<dialogue>
{text}
</dialogue>

The user as seen on {day}:""",
    events="""\
Below are notes about the days from {first} to {last}, oldest first.
Write the story so far: what matters later and what is still open.
- one line per event, oldest first, each beginning with its date, like "{first}: …" without the weekday;
- keep names, titles, places and numbers; join what belongs together; leave out small talk;
- where the notes disagree, the later one holds.
Add nothing. At most {length} words. No introduction.

<notes>
{text}
</notes>

What happened from {first} to {last}, one event per line:""",
    portrait="""\
Below are notes about one person, from the days between {first} and {last}, oldest first.
Write who they are, for a companion who meets them today. Use these lines, leaving out empty ones:
facts: (name, age, work, home, people around them)
traits: (lasting ones, seen on several days)
mood: (how it has been lately, with dates)
preferences: (what they like, dislike, want or plan)
what helps: (what kind of reply or advice does them good)
Where notes disagree, the later one holds: give that, with its date. Add nothing.
At most {length} words. No introduction.

<notes>
{text}
</notes>

The person, as of {last}:""",
    merge_events="""\
Below are notes about the days from {first} to {last}, oldest first. Shorten them.
- one line per event, oldest first, each beginning with its date as in the notes;
- keep names, titles, places, numbers and decisions; drop what nobody will ask about.
Add nothing. At most {length} words. No introduction.

<notes>
{text}
</notes>

The shortened notes:""",
    merge_portrait="""\
Below are notes about one person, from the days between {first} and {last}, oldest first. Shorten them.
Keep the lines facts, traits, mood, preferences, what helps; give a date with what may change.
Where notes disagree, keep the later. Add nothing. At most {length} words. No introduction.

<notes>
{text}
</notes>

The shortened notes:""",
    digest="""\
Below are the summary of a conversation so far, and the messages that came next ({first} to {last}).
Write the summary anew so that it covers both: what the speakers want, what was decided, facts with names and
numbers, what is still open. What is no longer true goes. Add nothing. At most {length} words. No introduction.

<summary>
{old}
</summary>

<messages>
{text}
</messages>

The new summary:""",
)

CHINESE = Prompts(
    day_events="""\
你在为对话写日记。下面是{day}说过的话，每行一位说话人。
请记下发生了什么、谈了什么，以便日后查找：
- 每件事或每个话题写一行，简短，按出现的先后；
- 人名、书名片名、地点、数字，以及推荐或决定的内容，都照原话保留；
- 写明是谁：用户、助手，或说话人的名字；
- 把“昨天”“下周五”之类换算成日期，以{day}为准；
- 没有说过的不要写。不写寒暄。不超过{length}个字。不要开场白。

<对话>
{text}
</对话>

{day}的事件和话题，每行一条：""",
    day_portrait="""\
下面是{day}的一段对话。请据此描述用户，供想要理解他的陪伴者使用。
只用下面这些行，用户没有谈到的就略去：
事实：（姓名、年龄、工作、住处、身边的人）
性格：（给人的印象，以及从哪里看出来）
心情：（当天的感受和原因）
喜好：（喜欢、不喜欢、想要或打算做的）
有帮助的：（怎样的回应或建议对他有好处）
对话里看不出来的不要写。不超过{length}个字，不要开场白。
如果完全看不出用户的情况，只写：无

<对话>
{text}
</对话>

{day}的用户：""",
    events="""\
下面是{first}到{last}各天的记录，旧的在前。
请写出至今的经过：以后用得着的，以及还没有了结的。
- 每件事一行，旧的在前，每行以日期开头，如“{first}：……”，不写星期；
- 保留人名、书名片名、地点和数字；相关的事合在一起；略去闲谈；
- 记录互相矛盾时，以较晚的为准。
不要添加内容。不超过{length}个字。不要开场白。

<记录>
{text}
</记录>

{first}到{last}发生的事，每行一件：""",
    portrait="""\
下面是关于同一个人的记录，写于{first}到{last}之间，旧的在前。
请写出这个人是怎样的，供今天见到他的陪伴者使用。只用下面这些行，空的略去：
事实：（姓名、年龄、工作、住处、身边的人）
性格：（多天都能看出的、稳定的）
心情：（近来如何，注明日期）
喜好：（喜欢、不喜欢、想要或打算做的）
有帮助的：（怎样的回应或建议对他有好处）
记录互相矛盾时，以较晚的为准，并注明日期。不要添加内容。
不超过{length}个字。不要开场白。

<记录>
{text}
</记录>

这个人，截至{last}：""",
    merge_events="""\
下面是{first}到{last}各天的记录，旧的在前。请缩短。
- 每件事一行，旧的在前，每行以记录中的日期开头；
- 保留人名、书名片名、地点、数字和决定；没有人会再问起的略去。
不要添加内容。不超过{length}个字。不要开场白。

<记录>
{text}
</记录>

缩短后的记录：""",
    merge_portrait="""\
下面是关于同一个人的记录，写于{first}到{last}之间，旧的在前。请缩短。
保留“事实、性格、心情、喜好、有帮助的”这几行；会变化的内容注明日期。
记录互相矛盾时保留较晚的。不要添加内容。不超过{length}个字。不要开场白。

<记录>
{text}
</记录>

缩短后的记录：""",
    digest="""\
下面是一段对话到目前为止的摘要，以及接下来的消息（{first}到{last}）。
请重写摘要，使它包含两者：说话人想要什么、决定了什么、带有名字和数字的事实、还没有了结的事。
不再成立的删去。不要添加内容。不超过{length}个字。不要开场白。

<摘要>
{old}
</摘要>

<消息>
{text}
</消息>

新的摘要：""",
)

DEFAULT: Mapping[Language, Prompts] = MappingProxyType({"en": ENGLISH, "zh": CHINESE})
"""The prompts used unless others are given."""
