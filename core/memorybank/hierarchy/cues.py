"""What makes a sentence worth keeping, as words: common words (the rest is rare), fillers, cues, kinds.

English and Chinese. The lists are short on purpose; the weights that use them stand in ``salience``.
"""

from __future__ import annotations

import re

COMMON_WORDS: frozenset[str] = frozenset(
    """
    able about above actually add advice after afternoon again ago ai all almost alone along already
    also always am amazing among an another answer any anyone anything around ask assistant away back
    bad be beautiful became because become been before begin being believe best better between big bit
    both bring but bye call came can care change chat check choose come companion completely could
    course day days deal definitely did different difficult do does doing done down each easily easy
    effort either else encourage end enjoy enough especially even ever every everyone everything exactly
    example excellent experience explain fact far feel feeling few find fine first follow forget found
    friend friends full fun future gave get getting give glad go going good goodbye got great group
    guess had happen happy hard have having hear hello help helpful her here hey hi high him his hope
    how however idea if important improve indeed interested interesting into is it its just keep kind
    knew know last lately later learn least left less let life like listen little ll long longer look
    lot love made make making many may maybe me mean method might mind mine moment month more morning
    most much must my name need never new next nice night no not nothing now of off often oh ok okay old
    on once one only open opinion or order other others our out over own part people perhaps person
    place plan please point possible pretty probably problem provide put question quite rather re really
    reason recently recommend recommendation remember right said same say see seem share she should show
    similar simple since small so some someone something sometimes soon sorry sound speak special start
    still stop story such suggest suggestion suitable support suppose sure take talk tell than thank
    thanks that the their them then there these they thing things think this those though thought
    through time tip to today together tomorrow too topic totally true try trying turn two type
    understand until up us use used useful user usually ve very view wait want was way ways we week
    welcome well went were what when where which while who whole why will wish with without wonderful
    word work world worry would wow year years yes yesterday yet you your yourself
    """.split()  # noqa: SIM905 - prose is easier to read and to change than a list of quotes
)
"""English words that say little in a chat. Any other word counts as rare."""

COMMON_CHARACTERS: frozenset[str] = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里"
    "用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实"
    "日者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应向头文体相见被"
    "利什二等产或新己制身果加西月话合回特代内信表化老给世位次度门任常先通教儿原声提立及比员解名真论处走各"
    "入几口认条平系气题活更别打女变四总何电数安少报才结反受目太量再感建务做接必场件计管期市直指许统区保至"
    "形便空决展科五基眼书非则听却界达光放强即像难且思象完设式色路记品住告类求程边该交规取望觉术领共确传师"
    "观清今切让识候带导运谢聊喜欢荐棒嗯哇啊呢吧哦您吗嗨帮助客快乐祝希愿试找忙享推议朋友够油错"
)
"""Frequent Chinese characters. A pair of two others is likely part of a name or a thing."""

TITLE = re.compile(
    r"\"([^\"\n]{2,60})\"|[\u201c]([^\u201d\n]{2,60})[\u201d]|《([^》\n]{1,40})》"
    r"|[「『]([^」』\n]{1,40})[」』]"
)
NUMBER = re.compile(
    r"\d+(?:[.,:]\d+)*|\b(?:two|three|four|five|six|seven|eight|nine|ten|dozen|hundred|half|twice)\b"
    r"|[一二两三四五六七八九十百千万几半]+(?:个|次|天|年|月|号|点|岁|小时|分钟|本|部|人|位|元|块|公里|座|只|家|倍)",
    re.IGNORECASE,
)
NAME = re.compile(r"\b[A-Z][a-z]+(?: (?:(?:of|the|and|da|de|a|in|to|with) )?[A-Z][a-z]+){0,8}|\b[A-Z]{2,}\b")

FILLER = re.compile(
    r"^(?:(?:hi|hello|hey|good (?:morning|evening|afternoon|night)|thank you|thanks|you're welcome"
    r"|okay|ok|bye|goodbye|no problem|of course|sure|certainly|great|wow|not at all|see you|yes|yeah|hmm|oh|well"
    r"|indeed|congratulations|awesome|that's (?:great|right|true))\b[^,.!?]{0,24}[,.!?\s]+"
    r"|(?:不客气|谢谢|多谢|感谢|你好|您好|嗨|好的|没问题|再见|当然|不用谢|嗯|哇|恩|真棒|太好了"
    r"|太棒了|是的|是啊|没关系|早上好|晚上好|对了|哈哈|恭喜)[^，,。.！!？?]{0,6}[，,。.！!？?~\s]+)+",
    re.IGNORECASE,
)
"""Greetings, thanks and assent at the head of a sentence: they are passed over before it is judged."""

EMPTY = re.compile(
    r"\bthank|\bwelcome\b|glad to|nice to meet|happy to (?:help|hear|chat)"
    r"|sounds (?:great|good|interesting|really)|good (?:idea|luck|suggestion)|look forward"
    r"|have a (?:good|great|nice)|come on|see you|talk to me"
    r"|chat(?:ting)? with you|i (?:don't|do not) have (?:a )?(?:physical|real)|as an ai|ai companion"
    r"|谢谢|感谢|不客气|祝你|祝您|听起来|好主意|再见|明天见|明天再|和你聊|加油|作为(?:一个|一款)?(?:ai"
    r"|人工智能)|ai伴侣"
    r"|随时(?:可以)?(?:找|和|为|告诉)|很高兴|陪伴你|没有(?:真实|实体)",
    re.IGNORECASE,
)
"""Courtesies, and an assistant speaking of itself."""

QUESTION = re.compile(
    r"[?？][\"\u201d]?$|[吗呢][。！]?$|^(?:do|what|how|can|could|have|are|is|which|where|when|why"
    r"|would|did|does)\b",
    re.IGNORECASE,
)

MOOD = re.compile(
    r"\b(?:nervous|afraid|anxious|anxiety|sad|happy|stress\w*|depress\w*|worried|upset|angry|lonely"
    r"|tired|excited|proud|lost|confus\w*|frustrat\w*|down|relaxed|scared|bored"
    r"|ashamed|jealous|homesick|calm)\b"
    r"|焦虑|压抑|紧张|害怕|难过|开心|压力|沮丧|担心|生气|孤独|疲惫|很累|兴奋|骄傲|失落|困惑|烦恼|放松"
    r"|郁闷|低落|迷茫|伤心|想家",
    re.IGNORECASE,
)

CUE = re.compile(
    r"\b(?:like|love|enjoy|prefer|favou?rite|hate|dislike|want|hope|plan\w*|going to|recommend\w*"
    r"|suggest\w*|names?|named|called|birthday|because|learn\w*|bought|went|watch\w*|read\w*|such as"
    r"|including|usually"
    r"|interested|married|live|moved|job|started|born|talks? about|tells|is about|made|makes|story of"
    r"|practi[cs]e\w*|you can|try)\b"
    r"|喜欢|爱好|最爱|推荐|叫|建议|因为|学习|学会|学了|去了|去过|看了|看过|买|打算|计划|比如|包括|例如"
    r"|讨厌|平时|通常|适合"
    r"|讲述|讲的|关于|做了|最近|昨天|你可以|试试|准备|参加|遇到",
    re.IGNORECASE,
)
"""Words that often stand beside something worth remembering."""
