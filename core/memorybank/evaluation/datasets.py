"""The data sets: files into conversations with questions. Their messages are read by the importers."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from memorybank.errors import ImportFormatError
from memorybank.evaluation.cases import Case, Question, aware
from memorybank.evaluation.metrics import Turn
from memorybank.interchange import (
    FORMATS,
    ImportOptions,
    ImportRecord,
    Item,
    Limits,
    Problem,
    Severity,
    detect,
    read,
)
from memorybank.interchange.source import JsonElements, Located, check_encoding
from memorybank.interchange.times import parse_slashed

LOCOMO_CATEGORIES = {
    "1": "multi-hop",
    "2": "temporal",
    "3": "open-domain",
    "4": "single-hop",
    "5": "adversarial",
}
"""Category 5 puts to one speaker what the other said: its evidence is where that was said."""

APART = {"locomo": frozenset({"5"})}
"""Categories that are not part of a data set's overall figures."""

_DIALOGUE_ID = re.compile(r"D\d+:\d+")

Report = Callable[[Problem], None]
"""Told of every defect of a file that did not stop the reading."""


def read_locomo(path: Path, report: Report) -> list[Case]:
    """LoCoMo in the published JSON. Evidence that names no turn of the conversation is left out.

    Raises ImportFormatError for other files and those without any question.
    """
    cases = []
    for located in _samples(path):
        records = _records(FORMATS["locomo"].parse([located], ImportOptions()), report)
        if records:
            owner = records[0].owner
            questions = _locomo_questions(owner, located.value, report)
            cases.append(Case(owner, tuple(records), questions))
    return _checked(cases, path, "LoCoMo")


def _locomo_questions(owner: str, sample: dict[str, Any], report: Report) -> tuple[Question, ...]:
    said = {
        turn.get("dia_id")
        for turns in sample["conversation"].values()
        if isinstance(turns, list)
        for turn in turns
        if isinstance(turn, dict)
    }
    asked = sample.get("qa")
    questions = []
    for number, item in enumerate(asked if isinstance(asked, list) else []):
        where = f"{owner}, question {number}"
        if not isinstance(item, dict) or not _is_text(item.get("question")):
            report(Problem(where, "no text 'question'"))
            continue
        named = [id_ for entry in _list(item.get("evidence")) for id_ in _DIALOGUE_ID.findall(str(entry))]
        known = dict.fromkeys(id_ for id_ in named if id_ in said)
        if len(known) < len(set(named)):
            report(Problem(where, "its evidence names turns that are not there", Severity.NOTE))
        evidence = tuple(frozenset((id_,)) for id_ in known)
        questions.append(
            Question(
                f"{owner}-{number}",
                item["question"],
                str(item.get("category", "none")),
                (evidence,) if evidence else (),
                str(item.get("answer") or ""),
            )
        )
    return tuple(questions)


def read_memorybank(path: Path, questions: Path, report: Report) -> list[Case]:
    """MemoryBank's release, and questions about it as JSON lines (docs/evaluation.md describes them).

    Raises ImportFormatError for other files and those without any question that fits a user.
    """
    asked = _memorybank_questions(questions, report)
    records = _records(read(path, "memorybank"), report)
    cases = []
    for owner, group in groupby(sorted(records, key=lambda one: one.owner), key=lambda one: one.owner):
        cases.append(Case(owner, tuple(group), tuple(asked.pop(owner, ()))))
    for owner in asked:
        report(Problem(f"questions of {owner!r}", "no user of that name in the conversations"))
    return _checked(cases, path, "MemoryBank")


def _memorybank_questions(path: Path, report: Report) -> dict[str, list[Question]]:
    found: dict[str, list[Question]] = {}
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        where = f"{path.name}, line {number}"
        try:
            item = json.loads(line)
        except ValueError:
            raise ImportFormatError(f"{where}: not JSON; give one question a line.") from None
        if not isinstance(item, dict) or not _is_text(item.get("question")) or not _is_text(item.get("user")):
            report(Problem(where, "a question needs texts 'question' and 'user'"))
            continue
        listed = item.get("evidence_any_of")
        ways = listed if isinstance(listed, list) else [item.get("evidence")]
        question = Question(
            str(item.get("qid", number)),
            item["question"],
            str(item.get("kind", "none")),
            tuple(way for way in (_exchanges(one) for one in ways) if way),
            str(item.get("answer") or ""),
        )
        found.setdefault(item["user"].strip(), []).append(question)
    return found


def _exchanges(evidence: Any) -> tuple[Turn, ...]:
    """``DATE#INDEX`` is an exchange: the query and the response of that position."""
    places = dict.fromkeys(str(one).strip() for one in _list(evidence))
    return tuple(frozenset((f"{place}/query", f"{place}/response")) for place in places)


def read_longmemeval(path: Path, report: Report, *, sessions: bool = False) -> Iterator[Case]:
    """LongMemEval in the published JSON: each question with a bank of its own, one at a time.

    Evidence are the turns marked ``has_answer``; with ``sessions``, or where none is marked, the sessions that
    hold the answer, each found with any of its turns. Questions ending in ``_abs`` are unanswerable.
    """
    found = False
    for located in _samples(path):
        records = _records(FORMATS["longmemeval"].parse([located], ImportOptions()), report)
        if records:
            found = True
            yield Case(
                records[0].owner, tuple(records), (_haystack_question(located.value, records, sessions),)
            )
    if not found:
        raise ImportFormatError(f"{path}: no question of LongMemEval in it.")


def _haystack_question(sample: dict[str, Any], records: list[ImportRecord], sessions: bool) -> Question:
    qid = str(sample["question_id"])
    said: dict[str, set[str]] = {}
    for record in records:
        said.setdefault(record.session, set()).add(str(record.message.id))
    turns, whole = [], []
    answers = {str(name) for name in _list(sample.get("answer_session_ids"))}
    names = [str(name) for name in _list(sample.get("haystack_session_ids"))]
    seen: Counter[str] = Counter()
    for index, haystack in enumerate(sample["haystack_sessions"]):
        name = names[index] if index < len(names) else f"session_{index}"
        seen[name] += 1
        session = name if seen[name] == 1 else f"{name}~{seen[name]}"  # as the importer calls it
        if name in answers and session in said:
            whole.append(frozenset(said[session]))
        for position, turn in enumerate(_list(haystack)):
            if isinstance(turn, dict) and turn.get("has_answer"):
                turns.append(frozenset((f"{session}#{position}",)))
    evidence = tuple(whole if sessions or not turns else turns)
    at = parse_slashed(str(sample.get("question_date", "")))
    return Question(
        qid,
        str(sample.get("question", "")),
        str(sample.get("question_type", "none")),
        (evidence,) if evidence and not qid.endswith("_abs") else (),
        str(sample.get("answer") or ""),
        None if at is None else aware(at),
    )


def read_any(
    path: Path, questions: Path | None, report: Report, *, apart: bool = False
) -> tuple[str, list[Case]]:
    """The data set's name and its conversations: LoCoMo, or MemoryBank with its questions.

    Without ``apart``, questions that stand apart from the overall figures (LoCoMo's category 5) are left out.
    Raises ImportFormatError for files of other formats.
    """
    beside = questions_beside(path)
    if detect(path) == "memorybank":
        if questions is None and not beside.exists():
            raise ImportFormatError(f"There is no {beside.name} beside {path.name}; give --questions.")
        return "memorybank", read_memorybank(path, questions or beside, report)
    cases = read_locomo(path, report)
    if not apart:
        cases = [
            replace(
                case, questions=tuple(one for one in case.questions if one.category not in APART["locomo"])
            )
            for case in cases
        ]
    return "locomo", [case for case in cases if case.questions]


def questions_beside(path: Path) -> Path:
    """Where the questions about MemoryBank's users are looked for: ``FILE_questions.jsonl``."""
    return path.with_name(f"{path.stem}_questions.jsonl")


def _unreadable(path: Path, error: OSError) -> ImportFormatError:
    reason = error.strerror or str(error)
    return ImportFormatError(f"Cannot read {path}: {reason}; docs/evaluation.md says which files are read")


def _samples(path: Path) -> Iterator[Located]:
    """The elements of the outermost array, or the one object that the file consists of."""
    try:
        stream = path.open("rb")
    except OSError as error:
        raise _unreadable(path, error) from None
    with stream:
        check_encoding(stream.read(64))
        stream.seek(0)
        elements = JsonElements(stream, Limits())
        if elements.kind == "[":
            yield from elements
        else:
            yield Located(None, {str(one.key): one.value for one in elements}, 1)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise _unreadable(path, error) from None
    except UnicodeDecodeError:
        raise ImportFormatError(f"{path} is not UTF-8 text; give the questions as JSON lines.") from None


def _records(items: Iterable[Item], report: Report) -> list[ImportRecord]:
    records = []
    for item in items:
        if isinstance(item, ImportRecord):
            records.append(item)
        elif item.severity is Severity.FATAL:
            raise ImportFormatError(str(item))
        else:
            report(item)
    return records


def _checked(cases: list[Case], path: Path, name: str) -> list[Case]:
    if not cases:
        raise ImportFormatError(f"{path}: no conversation of {name} in it.")
    if not any(question.evidence for case in cases for question in case.questions):
        raise ImportFormatError(
            f"{path}: no question with evidence for any of its {len(cases)} conversations."
        )
    return cases


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())
