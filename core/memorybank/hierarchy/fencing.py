"""Keeping memories data: what could pass for markup or a speaker is defused; our own block is cut out."""

from __future__ import annotations

import re

FENCE = "memorybank"
OPEN = f"<{FENCE}>"
CLOSE = f"</{FENCE}>"

# Invisible characters that can hide a marker or reorder a line on screen: controls (not tab and newline),
# zero-width space, direction marks and overrides, word joiner, byte order mark, tags. The joiners U+200C,
# U+200D stay: emoji and Persian need them; a marker is defused by its first character anyway.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f\u0085\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
# A "<" (or its wide or small form) that could begin a tag: before a letter, slash, bar, "!", "?", another.
_TAG = re.compile(r"[<\uff1c\ufe64](?=[\s\u200c\u200d]{0,4}(?:[<\uff1c\ufe64/|!?\uff0f\uff5c\w]|\Z))")
_TAG_END = re.compile(r"\|[ \t]{0,2}[>\uff1e]")
_INSTRUCTION = re.compile(
    r"\[([ \t]{0,2}/?[ \t]{0,2}(?:INST|SYS|SYSTEM|ASSISTANT|USER)[ \t]{0,2})\]", re.IGNORECASE
)
_HEADING = re.compile(r"^([ \t]{0,8})(#+)", re.MULTILINE)
_ROLE = re.compile(
    r"^([ \t>*_`\"'-]{0,8})(system|developer|tool|function|instructions?|human|ai|系统|开发者|工具|指令)"
    r"([ \t*_`\"']{0,4})[:\uff1a][ \t]?",
    re.IGNORECASE | re.MULTILINE,
)


def defuse(text: str) -> str:
    """The text as data: same words, but nothing in it opens a tag, names a role or looks like a section.

    Angle brackets that could begin a tag become ‹, ChatML and instruction brackets are unmade, headings lose
    their number signs, a line that begins like a role ("system:") has the role put in parentheses, invisible
    and direction characters go. Linear in the text. What is stored stays verbatim; this is for display.
    """
    text = _INVISIBLE.sub("", _LINE_ENDS.sub("\n", text))
    text = _TAG_END.sub("|›", _TAG.sub("‹", text))
    text = _INSTRUCTION.sub(r"(\1)", text)
    text = _HEADING.sub(lambda found: found[1] + "＃" * min(len(found[2]), 3), text)
    return _ROLE.sub(r"\1(\2)\3 ", text).replace("```", "'''")


def indent(text: str, margin: str = "  ") -> str:
    """Every line after the first stands under the first; blank lines go."""
    lines = [line.rstrip() for line in text.strip().split("\n")]
    return f"\n{margin}".join(line for line in lines if line.strip())


def cut_fenced(text: str, tail: re.Pattern[str]) -> str:
    """The text without our fenced blocks. Linear, whatever is nested or repeated.

    From the last opening before each closing; a closing without an opening (a block cut in front) goes alone.
    A block that is never closed is cut, to the next block or the end of the text, only where ``tail`` matches
    (the opening with our first words), so that a user who merely names the fence loses nothing.
    """
    kept: list[str] = []
    start = 0
    while (closed := text.find(CLOSE, start)) >= 0:
        opened = text.rfind(OPEN, start, closed)
        kept.append(_before(tail, text[start : closed if opened < 0 else opened]))
        start = closed + len(CLOSE)
    return "".join([*kept, _before(tail, text[start:])])


def _before(tail: re.Pattern[str], text: str) -> str:
    unclosed = tail.search(text)
    return text if unclosed is None else text[: unclosed.start()]
