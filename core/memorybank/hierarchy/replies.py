"""What a language model replied, made usable or refused: a summary is stored only if it is one."""

from __future__ import annotations

import json
import re
import unicodedata
import zlib
from collections.abc import Iterator

from memorybank.errors import LLMError

LONGEST = 20_000
"""Characters of a reply that are read. No summary is that long."""

_THOUGHT = r"think|thinking|thought|thoughts|reasoning|reflection|scratchpad"
_THOUGHTS = re.compile(rf"<({_THOUGHT})>.*?</\1>", re.IGNORECASE | re.DOTALL)
_THOUGHT_OPEN = re.compile(rf"<(?:{_THOUGHT})>", re.IGNORECASE)
_THOUGHT_CLOSE = re.compile(rf"</(?:{_THOUGHT})>", re.IGNORECASE)
_SPECIAL = re.compile(r"<\|[^|<>\n]{1,40}\|>|</?s>|\[/?INST\]")
_FENCED = re.compile(r"^\s*```[\w+-]*[ \t]*\n(.*?)(?:\n```[ \t]*)?\s*$", re.DOTALL)
_FENCE_INSIDE = re.compile(r"```[\w+-]*[ \t]*\n(.*?)\n```", re.DOTALL)
_PREFACE = re.compile(
    r"^(?:sure|certainly|of course|okay|ok|here(?:'s| is| are)|below (?:is|are)|based on|the following|summary|answer"
    r"|好的|当然|没问题|以下|下面|根据|总结|摘要|这是)[^\n]{0,160}[:：]\s*(?=\n|$)",
    re.IGNORECASE,
)
_POSTSCRIPT = re.compile(
    r"\n+(?:let me know|i hope (?:this|that)|please let me know|feel free|if you (?:need|want|would)|would you like"
    r"|希望(?:这|以上|对)|如果您?(?:需要|还|有)|请告诉我|如有)[^\n]{0,300}$",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"^\W{0,4}(?:i(?:'m| am) (?:very |so |really )?(?:sorry|afraid|unable|not able)|sorry\b[^.\n]{0,40}\bi\b"
    r"|i (?:can(?:no|')t|cannot|can not|won't|apologi[sz]e|don't have|do not have)|as an? (?:ai|language|large)"
    r"|unfortunately|my apologies|(?:非常|很|十分)?(?:抱歉|对不起)|我(?:无法|不能|没办法)|很遗憾"
    r"|作为(?:一个|一名|一款)?(?:ai|人工智能|语言模型|大型))",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"^\W{0,4}(?:none|nothing|n/?a|null|no (?:information|content|data)|无|没有|暂无|空)\W{0,4}$",
    re.IGNORECASE,
)
_ENDS = '。！？.!?…"”’」』）)]】:：'
_SENTENCE_END = re.compile(r"[。！？…][”’」』）]?|[.!?][\"”’)]?(?=\s|$)")


def clean(reply: object, *, instructions: str = "", may_be_nothing: bool = False) -> str:
    """The usable text of a reply: without thoughts, fences, prefaces, offers and a cut-off last sentence.

    ``instructions`` is the prompt's own wording: a reply that repeats it is refused. With ``may_be_nothing`` a
    reply that says there is nothing ("NONE", 「无」) gives "".
    Raises LLMError with the reason: no text, empty, refusal, garbled, looping, repeats the prompt, cut off. The
    message never holds what was replied.
    """
    if not isinstance(reply, str):
        raise LLMError(f"the model returned {type(reply).__name__}, not text")
    text = _without_thoughts(reply[:LONGEST])
    text = _printable(_SPECIAL.sub("", text)).strip()
    text = _out_of_json(_unfenced(text))
    text = _POSTSCRIPT.sub("", _PREFACE.sub("", text.strip()).strip()).strip()
    if may_be_nothing and _NOTHING.match(text):
        return ""
    _refuse_unusable(text, instructions)
    return _whole(text)


def _without_thoughts(text: str) -> str:
    text = _THOUGHTS.sub("", text)
    if closing := list(_THOUGHT_CLOSE.finditer(text)):
        text = text[closing[-1].end() :]  # some models leave the opening to the template
    if opening := _THOUGHT_OPEN.search(text):
        text = text[: opening.start()]
    return text


def _printable(text: str) -> str:
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs", "Co", "Cn"))


def _unfenced(text: str) -> str:
    if whole := _FENCED.match(text):
        return whole[1].strip()
    inside = _FENCE_INSIDE.findall(text)
    if len(inside) == 1 and len(inside[0]) > len(text) // 2:
        return str(inside[0]).strip()
    return text.replace("```", "").strip()


def _out_of_json(text: str) -> str:
    """The strings of a JSON reply, one a line; other text as it is. Broken JSON is refused: it was cut off."""
    if not text.startswith(("{", "[")) or _looks_dated(text):
        return text
    try:
        value = json.loads(text)
    except ValueError as error:
        raise LLMError("the reply is broken JSON: cut off, or not what was asked for") from error
    return "\n".join(_strings(value))


def _looks_dated(text: str) -> bool:
    return re.match(r"\[\d{4}-\d\d-\d\d", text) is not None


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        if value.strip():
            yield value.strip()
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _refuse_unusable(text: str, instructions: str) -> None:
    if not text or _NOTHING.match(text):
        raise LLMError("the reply is empty")
    if _REFUSAL.match(text) and len(text) < 600:
        raise LLMError("the model refused")
    letters = sum(c.isalpha() for c in text)
    if letters < 2 or letters < len(text) * 0.3 or text.count("\ufffd") > len(text) * 0.02:
        raise LLMError("the reply is garbled: hardly any letters")
    if _loops(text):
        raise LLMError("the reply repeats itself in a loop")
    if instructions and _echoes(text, instructions):
        raise LLMError("the reply repeats the instructions")


def _loops(text: str) -> bool:
    """Whether the text says the same again and again, by its compressibility or by equal lines."""
    lines = [line.strip() for line in text.split("\n") if len(line.strip()) > 3]
    if len(lines) >= 6 and len(set(lines)) <= len(lines) // 3:
        return True
    data = text.encode("utf-8", "replace")
    return len(data) >= 300 and len(zlib.compress(data, 6)) < len(data) * 0.15


def _echoes(text: str, instructions: str) -> bool:
    """Whether most of the reply is the instructions' own wording."""
    shingles = _shingles(text)
    return len(shingles) > 12 and len(shingles & _shingles(instructions)) > len(shingles) * 0.5


def _shingles(text: str, n: int = 12) -> set[str]:
    plain = "".join(text.casefold().split())
    return {plain[at : at + n] for at in range(len(plain) - n + 1)}


def _whole(text: str) -> str:
    """Without a last sentence that was cut off, if the sentences before it have ends."""
    lines = text.split("\n")
    last = lines[-1].rstrip()
    others = [line.rstrip() for line in lines[:-1] if line.strip()]
    ended = sum(line.endswith(tuple(_ENDS)) for line in others)
    if last.endswith(tuple(_ENDS)) or (others and ended < len(others) / 2):
        return text
    ends = list(_SENTENCE_END.finditer(last))
    kept = last[: ends[-1].end()] if ends else ""
    if not kept and not others:
        return text  # one line without any end: a heading-like summary, kept
    return "\n".join([*lines[:-1], kept]).strip()
