"""Each format's meaning: owners, sessions, ids, times, speakers; and what its real files get wrong."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from memorybank.errors import ImportFormatError
from memorybank.interchange import ImportOptions, ImportRecord, Item, Problem, Severity, read

DATA = Path(__file__).parents[4] / "shared" / "data"


def items(tmp_path: Path, value: Any, format: str = "auto", **options: str) -> list[Item]:
    path = tmp_path / "file"
    path.write_text(json.dumps(value), encoding="utf-8")
    return list(read(path, format, ImportOptions(**options)))


def records(found: list[Item]) -> list[ImportRecord]:
    return [item for item in found if isinstance(item, ImportRecord)]


def problems(found: list[Item]) -> list[Problem]:
    return [item for item in found if isinstance(item, Problem)]


def turn(text: str) -> dict[str, str]:
    return {"query": f"Q{text}", "response": f"R{text}"}


def test_memorybank_exchange_ids_and_times(tmp_path: Path) -> None:
    """Ids are DATE#INDEX/query and /response, one session a date, times ascend from 09:00 within the day."""
    found = records(items(tmp_path, {"Ann": {"history": {"2023-04-27": [turn("0"), turn("1")]}}}))
    assert [(r.session, r.message.id, r.message.role, r.message.text) for r in found] == [
        ("2023-04-27", "2023-04-27#0/query", "user", "Q0"),
        ("2023-04-27", "2023-04-27#0/response", "assistant", "R0"),
        ("2023-04-27", "2023-04-27#1/query", "user", "Q1"),
        ("2023-04-27", "2023-04-27#1/response", "assistant", "R1"),
    ]
    times = [r.message.at for r in found]
    assert times[0] == datetime(2023, 4, 27, 9)
    assert times == sorted(set(times))


def test_memorybank_a_day_of_thousands_of_turns_stays_a_day(tmp_path: Path) -> None:
    """Steps shrink so that the last turn is said on the same date, still in strict order."""
    found = records(
        items(tmp_path, {"Ann": {"history": {"2023-04-27": [turn(str(n)) for n in range(3000)]}}})
    )
    times = [r.message.at for r in found]
    assert len(times) == 6000
    assert all(a < b for a, b in pairwise(times))
    assert times[-1].date() == times[0].date()


def test_memorybank_defects_are_reported_by_record(tmp_path: Path) -> None:
    """Nothing is dropped silently and nothing raises; indices of the other turns do not move."""
    history = {
        "2023-05-01": [],
        "2023-05-02": [turn("a"), turn("a"), ["list q", "list r"], ["only q"], [1, 2], "text", {"q": 1}],
        " 2023-5-3 ": [
            {"query": "q", "response": None},
            {"query": " ", "response": ""},
            {"Query ": "spaced"},
        ],
        "2023-13-45": [turn("x")],
        "yesterday": [turn("x")],
        "2023-05-04": turn("single"),
        "2023-05-05": "no list",
    }
    value = {
        " Jason ": {"history": history, "summary": {"2023-05-01": "told"}},
        "": {"history": {}},
        "Bo": None,
        "Cy": {"history": []},
    }
    found = items(tmp_path, value)
    ids = [r.message.id for r in records(found)]
    assert ids == [
        "2023-05-02#0/query",
        "2023-05-02#0/response",
        "2023-05-02#1/query",
        "2023-05-02#1/response",
        "2023-05-02#2/query",
        "2023-05-02#2/response",
        "2023-05-02#3/query",
        "2023-5-3#0/query",
        "2023-5-3#2/query",
        "2023-05-04#0/query",
        "2023-05-04#0/response",
    ]
    assert {r.owner for r in records(found)} == {"Jason"}
    told = [(p.where.removeprefix("user 'Jason', "), p.severity.value) for p in problems(found)]
    assert told == [
        ("user 'Jason' (line 1)", "note"),
        ("user 'Jason' (line 1)", "note"),
        ("2023-05-01", "note"),
        ("2023-05-02, turn 4", "skipped"),
        ("2023-05-02, turn 5", "skipped"),
        ("2023-05-02, turn 6", "skipped"),
        ("2023-5-3, turn 1", "skipped"),
        ("2023-13-45", "skipped"),
        ("yesterday", "skipped"),
        ("2023-05-05", "skipped"),
        ("user '' (line 1)", "skipped"),
        ("user 'Bo' (line 1)", "skipped"),
        ("user 'Cy' (line 1)", "skipped"),
    ]


def test_memorybank_users_that_strip_to_one_name_lose_nothing(tmp_path: Path) -> None:
    """Two entries of one stripped name keep all turns, under different ids."""
    day = {"history": {"2023-05-02": [turn("a")]}}
    found = records(items(tmp_path, {"Jason": day, " Jason": day}))
    assert len({(r.owner, r.session, r.message.id) for r in found}) == 4


def test_owner_selects_in_files_that_name_their_owners(tmp_path: Path) -> None:
    """``owner`` reads one user of many."""
    value = {name: {"history": {"2023-05-02": [turn(name)]}} for name in ("Ann", "Bo")}
    assert {r.owner for r in records(items(tmp_path, value, owner="Bo"))} == {"Bo"}


def conversation(**sessions: Any) -> dict[str, Any]:
    return {"sample_id": "conv-1", "conversation": {"speaker_a": "A", "speaker_b": "B", **sessions}}


def test_locomo_turns_are_messages_of_named_speakers(tmp_path: Path) -> None:
    """Owner, session, id, name and time as published; sessions in the order of their numbers."""
    spoken = {"speaker": "A", "dia_id": "D10:1", "text": "later"}
    sample = conversation(
        session_10=[spoken],
        session_10_date_time="12:09 am on 13 September, 2023",
        session_2=[{"speaker": "B", "dia_id": "D2:1", "text": "Look!", "blip_caption": "a photo of a dog"}],
        session_2_date_time="1:14 pm on 25 May, 2023",
        session_3_date_time="7:55 pm on 9 June, 2023",
    )
    found = records(items(tmp_path, [sample]))
    assert [(r.owner, r.session, r.message.id, r.message.name, r.message.role) for r in found] == [
        ("conv-1", "session_2", "D2:1", "B", "user"),
        ("conv-1", "session_10", "D10:1", "A", "user"),
    ]
    assert found[0].message.text == "Look! [shares a photo: a photo of a dog]"
    assert [r.message.at for r in found] == [datetime(2023, 5, 25, 13, 14), datetime(2023, 9, 13, 0, 9)]


def test_locomo_session_before_midnight_stays_on_its_day(tmp_path: Path) -> None:
    """Small steps from one session time never carry a turn over midnight."""
    turns = [{"speaker": "A", "dia_id": f"D1:{n}", "text": "x"} for n in range(200)]
    sample = conversation(session_1=turns, session_1_date_time="11:59 pm on 8 May, 2023")
    times = [r.message.at for r in records(items(tmp_path, [sample]))]
    assert all(a < b for a, b in pairwise(times))
    assert times[-1].date() == times[0].date()


def test_locomo_defects(tmp_path: Path) -> None:
    """A malformed date, a speakerless turn, a session that is no list: reported, the rest is read."""
    good = {"speaker": "A", "dia_id": "D3:1", "text": "x"}
    sample = conversation(
        session_1=[good],
        session_1_date_time="25:00 pm on 8 May, 2023",
        session_2={},
        session_2_date_time="1:14 pm on 25 May, 2023",
        session_3=[good, {"text": "who?"}, {"speaker": "A"}, "x", {"speaker": "B", "blip_caption": "a cat"}],
        session_3_date_time="1:14 pm on 31 May, 2023",
        session_4=[],
    )
    found = items(tmp_path, [sample, {"conversation": {}}, 7])
    assert [r.message.text for r in records(found)] == ["x", "[shares a photo: a cat]"]
    assert [r.message.id for r in records(found)] == ["D3:1", "session_3#4"]
    assert len(problems(found)) == 8


def test_longmemeval_haystack(tmp_path: Path) -> None:
    """Owner = question; repeated session ids stay apart; labels are not messages."""
    said = [{"role": "user", "content": "a", "has_answer": True}, {"role": "assistant", "content": "b"}]
    question = {
        "question_id": "q7",
        "question": "?",
        "answer_session_ids": ["s1"],
        "haystack_sessions": [said, said, [{"role": "user", "content": ""}, {"role": "x"}], said],
        "haystack_session_ids": ["s1", "s1", "s2", "s3"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 10:00", "2023/05/22", "soon"],
    }
    found = items(tmp_path, [question])
    assert [(r.owner, r.session, r.message.id) for r in records(found)] == [
        ("q7", "s1", "s1#0"),
        ("q7", "s1", "s1#1"),
        ("q7", "s1~2", "s1~2#0"),
        ("q7", "s1~2", "s1~2#1"),
    ]
    assert records(found)[0].message.at == datetime(2023, 5, 20, 2, 21)
    assert [p.severity for p in problems(found)] == [Severity.NOTE, Severity.SKIPPED, Severity.SKIPPED]


def test_messages_fields(tmp_path: Path) -> None:
    """Aliases of roles and times; parts; own owner and session come first; ids and names are kept."""
    value = [
        {"role": "human", "content": "a", "id": 7, "timestamp": 1_700_000_000, "session": "s"},
        {"role": "ai", "content": [{"type": "text", "text": "b"}, {"type": "image_url"}], "owner": "x"},
        {"role": "user", "content": "c", "at": "2024-01-02T03:04:05+08:00", "name": "Ann"},
        {"role": "user", "content": "d", "created_at": 1_700_000_000_000},
        {"role": "developer", "content": "e"},
        {"role": "user", "content": "f", "at": "2024-01-02 03:04"},
        {"role": "assistant", "content": None, "tool_calls": [{}]},
        {"role": "alien", "content": "g"},
        {"role": "user", "content": {"deep": 1}},
        {"role": "user", "content": "h", "at": "noonish"},
        5,
    ]
    found = items(tmp_path, value, owner="me", session="log")
    plain = [(r.owner, r.session, r.message.role, r.message.text) for r in records(found)]
    assert plain == [
        ("me", "s", "user", "a"),
        ("x", "log", "assistant", "b\n[image]"),
        ("me", "log", "user", "c"),
        ("me", "log", "user", "d"),
        ("me", "log", "system", "e"),
        ("me", "log", "user", "f"),
    ]
    messages = [r.message for r in records(found)]
    assert messages[0].id == "7"
    assert messages[0].at == messages[3].at == datetime.fromtimestamp(1_700_000_000, UTC)
    assert messages[2].at.utcoffset() == timedelta(hours=8)
    assert messages[2].name == "Ann"
    assert messages[5].at == datetime(2024, 1, 2, 3, 4)
    assert [p.severity.value for p in problems(found)] == ["note"] + ["skipped"] * 4


def test_messages_without_ids_get_stable_ones_and_equal_words_stay_two(tmp_path: Path) -> None:
    """Reading again gives the same ids; two equal messages are two; a grown file keeps the old ids."""
    value = [{"role": "user", "content": text} for text in ("hi", "hi", "there")]
    first = [r.message.id for r in records(items(tmp_path, value, owner="me"))]
    again = [r.message.id for r in records(items(tmp_path, value, owner="me"))]
    grown = [r.message.id for r in records(items(tmp_path, [*value, value[0]], owner="me"))]
    other = [r.message.id for r in records(items(tmp_path, value, owner="me", session="other"))]
    assert first == again == grown[:3]
    assert len(set(grown)) == 4
    assert not set(first) & set(other)


def test_conversation_containers(tmp_path: Path) -> None:
    """{"messages": […]} and ShareGPT's {"conversations": […]}: one session each."""
    lines = [
        {"messages": [{"role": "user", "content": "a"}], "user_id": "u", "thread_id": "t"},
        {"messages": [{"role": "user", "content": "b"}]},
        {"conversations": [{"from": "human", "value": "c"}, {"from": "gpt", "value": "d"}], "id": "g"},
    ]
    path = tmp_path / "l"
    path.write_text("\n".join(json.dumps(line) for line in lines))
    found = [item for item in read(path, "auto", ImportOptions(owner="me")) if isinstance(item, ImportRecord)]
    assert [(r.owner, r.session, r.message.text) for r in found] == [
        ("u", "t", "a"),
        ("me", "imported/2", "b"),
        ("me", "g", "c"),
        ("me", "g", "d"),
    ]


def test_ownerless_formats_need_an_owner(tmp_path: Path) -> None:
    """There is never a default owner."""
    found = items(tmp_path, [{"role": "user", "content": "a"}])
    assert [p.severity for p in problems(found)] == [Severity.FATAL]
    assert "--owner" in problems(found)[0].reason
    assert not records(found)


def node(
    key: str,
    parent: str | None,
    role: str,
    parts: list[Any],
    at: float | None,
    kind: str = "text",
    **extra: Any,
) -> dict[str, Any]:
    content = {"content_type": kind, "parts": parts}
    message = {"id": f"m-{key}", "author": {"role": role}, "content": content, "create_time": at, **extra}
    return {"id": key, "parent": parent, "children": [], "message": message}


def test_chatgpt_reads_the_branch_that_is_shown(tmp_path: Path) -> None:
    """Root, hidden, tool and abandoned nodes are no words of the conversation; times never go back."""
    hidden = {"is_visually_hidden_from_conversation": True}
    mapping = {
        "root": {"id": "root", "parent": None, "children": ["s"], "message": None},
        "s": node("s", "root", "system", [""], None, metadata=hidden),
        "old": node("old", "s", "user", ["abandoned"], 1.7e9),
        "u": node(
            "u", "s", "user", ["hello", {"content_type": "image_asset_pointer"}], 1.7e9, "multimodal_text"
        ),
        "t": node("t", "u", "tool", ["result"], 1.7e9),
        "c": node("c", "t", "assistant", ["thinking"], 1.7e9, "thoughts"),
        "a": node("a", "c", "assistant", ["hi"], None),
    }
    value = [{"conversation_id": "c-1", "create_time": 1.6e9, "current_node": "a", "mapping": mapping}]
    found = records(items(tmp_path, value, owner="me"))
    assert [(r.session, r.message.id, r.message.role, r.message.text) for r in found] == [
        ("c-1", "m-u", "user", "hello\n[image]"),
        ("c-1", "m-a", "assistant", "hi"),
    ]
    assert found[0].message.at < found[1].message.at


def test_chatgpt_broken_trees_end(tmp_path: Path) -> None:
    """Cycles, missing parents, a current node that is nowhere: what is connected is read, with a note."""
    cycle = {"a": node("a", "b", "user", ["x"], 1.7e9), "b": node("b", "a", "user", ["y"], 1.7e9)}
    orphan = {"a": node("a", "gone", "user", ["z"], 1.7e9)}
    value = [
        {"id": "1", "current_node": "a", "mapping": cycle},
        {"id": "2", "current_node": ["?"], "mapping": orphan},
        {"id": "3", "mapping": {}},
        {"mapping": {}},
        {"id": "5"},
    ]
    found = items(tmp_path, value, owner="me")
    assert [r.message.text for r in records(found)] == ["y", "x", "z"]
    assert [p.severity.value for p in problems(found)] == ["note", "note", "skipped", "skipped"]


@pytest.mark.parametrize("options", [{}, {"owner": "me"}])
def test_chatgpt_needs_an_owner(options: dict[str, str], tmp_path: Path) -> None:
    """The export does not say whose it is."""
    found = items(tmp_path, [{"id": "3", "mapping": {}}], **options)
    assert [p.severity for p in problems(found)] == ([] if options else [Severity.FATAL])


def need(name: str) -> Path:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"development data {name} is not here")
    return path


@pytest.mark.parametrize(
    ("name", "owners", "messages", "notes"),
    [
        ("memorybank_en_dev.json", 8, 618, 4),
        ("memorybank_cn_dev.json", 8, 626, 0),
        ("locomo_dev.json", 5, 2760, 0),
    ],
)
def test_real_files_are_read_whole(name: str, owners: int, messages: int, notes: int) -> None:
    """Published files: nothing skipped, ids unique, order strict within sessions."""
    found = list(read(need(name)))
    kept = records(found)
    assert (len({r.owner for r in kept}), len(kept), len(problems(found))) == (owners, messages, notes)
    assert {p.severity for p in problems(found)} <= {Severity.NOTE}
    assert max(Counter((r.owner, r.session, r.message.id) for r in kept).values()) == 1
    for before, after in pairwise(kept):
        if (before.owner, before.session) == (after.owner, after.session):
            assert before.message.at < after.message.at


@pytest.mark.parametrize("language", ["en", "cn"])
def test_evidence_of_the_questions_are_ids_of_imported_messages(language: str) -> None:
    """DATE#INDEX of the labelled evidence finds its exchange."""
    ids = {(r.owner, r.message.id) for r in records(list(read(need(f"memorybank_{language}_dev.json"))))}
    for line in need(f"memorybank_{language}_dev_questions.jsonl").read_text("utf-8").splitlines():
        question = json.loads(line)
        for evidence in question.get("evidence") or []:
            assert (question["user"], f"{evidence}/query") in ids


def test_unknown_time_shapes_raise_nothing(tmp_path: Path) -> None:
    """Absurd numbers and texts as times are problems of their records."""
    stamps: list[Any] = [1e300, -1e300, "9" * 400, "", True, {}, [1], "2024-02-30", "nan"]
    value = [{"role": "user", "content": "a", "at": stamp} for stamp in stamps]
    found = items(tmp_path, value, owner="me")
    assert len(problems(found)) == len(stamps)
    with pytest.raises(ImportFormatError):
        list(read(tmp_path / "file", "csv"))


def test_a_message_without_a_time_was_said_with_the_one_before_it(tmp_path: Path) -> None:
    """A reply that has no time of its own stays beside its question; before the first time there is none."""
    talk = [
        {"role": "user", "content": "Early.", "user_id": "gary"},
        {"role": "user", "content": "My cat is Mochi.", "at": "2026-03-02T09:30:00", "user_id": "gary"},
        {"role": "assistant", "content": "A lovely name.", "user_id": "gary"},
    ]
    early, question, reply = records(items(tmp_path, {"messages": talk}))
    assert early.message.at is None
    assert reply.message.at == question.message.at == datetime(2026, 3, 2, 9, 30)


def test_an_absurd_time_is_not_handed_on(tmp_path: Path) -> None:
    """What a bank refuses of one message it does not refuse of those that follow."""
    talk = [
        {"role": "user", "content": "Odd.", "at": "0001-01-01T00:00:00", "user_id": "gary"},
        {"role": "user", "content": "Fine.", "user_id": "gary"},
    ]
    odd, fine = records(items(tmp_path, {"messages": talk}))
    assert odd.message.at == datetime(1, 1, 1)
    assert fine.message.at is None
