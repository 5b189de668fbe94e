"""Small labelled conversations of our own, in the shapes of the public data sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

LOCOMO: list[dict[str, Any]] = [
    {
        "sample_id": "talk-1",
        "conversation": {
            "speaker_a": "Ines",
            "speaker_b": "Tom",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ines", "dia_id": "D1:1", "text": "My sailing boat is called Kestrel."},
                {"speaker": "Tom", "dia_id": "D1:2", "text": "I bake rye bread on Sundays."},
                {"speaker": "Ines", "dia_id": "D1:3", "text": "The harbour fee went up again."},
            ],
            "session_2_date_time": "9:10 am on 3 June, 2023",
            "session_2": [
                {"speaker": "Tom", "dia_id": "D2:1", "text": "Yesterday I planted seven apple trees."},
                {"speaker": "Ines", "dia_id": "D2:2", "text": "Kestrel has a new red sail."},
            ],
        },
        "qa": [
            {
                "question": "What is Ines's boat called?",
                "category": 4,
                "evidence": ["D1:1"],
                "answer": "Kestrel",
            },
            {
                "question": "What is known about the boat Kestrel and its sail?",
                "category": 1,
                "evidence": ["D1:1", "D2:2"],
                "answer": "It has a red sail",
            },
            {
                "question": "When did Tom plant apple trees?",
                "category": 2,
                "evidence": ["D2:1"],
                "answer": 2023,
            },
            {"question": "What does Ines bake on Sundays?", "category": 5, "evidence": ["D1:2"]},
            {"question": "What is the weather on Mars?", "category": 4, "evidence": []},
        ],
    },
    {
        "sample_id": "talk-2",
        "conversation": {
            "session_1_date_time": "7:00 pm on 2 January, 2024",
            "session_1": [
                {"speaker": "Mia", "dia_id": "D1:1", "text": "I keep bees behind the old mill."},
                {"speaker": "Leo", "dia_id": "D1:2", "text": "My train to Porto leaves at noon."},
            ],
        },
        "qa": [
            {
                "question": "Where does Mia keep bees?",
                "category": 4,
                "evidence": ["D1:1; D9:9"],
                "answer": "the mill",
            },
            {
                "question": "When does the train to Porto leave?",
                "category": 2,
                "evidence": ["D1:2"],
                "answer": "noon",
            },
        ],
    },
]

MEMORYBANK: dict[str, Any] = {
    " Ann ": {
        "history": {
            "2024-05-01": [
                {"query": "My cat is called Biscuit.", "response": "A fine name for a cat."},
                {"query": "I live in Leeds.", "response": "How is the weather?"},
            ],
            "2024-05-02": [{"query": "I moved to Glasgow.", "response": "Try the Kelvingrove museum."}],
        }
    },
    "小满": {"history": {"2024-05-01": [{"query": "我的猫叫豆包。", "response": "好名字。"}]}},
}

QUESTIONS: list[dict[str, Any]] = [
    {
        "qid": "a1",
        "user": "Ann",
        "question": "What is my cat called?",
        "evidence": ["2024-05-01#0"],
        "kind": "fact",
    },
    {
        "qid": "a2",
        "user": "Ann",
        "question": "Where do I live, Leeds or Glasgow?",
        "evidence_any_of": [["2024-05-01#1"], ["2024-05-02#0"]],
        "kind": "fact",
    },
    {
        "qid": "a3",
        "user": "Ann",
        "question": "Which museum did you name?",
        "evidence": ["2024-05-02#0"],
        "kind": "said",
    },
    {"qid": "a4", "user": "Ann", "question": "What is my job?", "evidence": [], "kind": "unanswerable"},
    {"qid": "b1", "user": "小满", "question": "我的猫叫什么？", "evidence": ["2024-05-01#0"], "kind": "fact"},
]

LONGMEMEVAL: list[dict[str, Any]] = [
    {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "Which instrument do I play?",
        "question_date": "2023/06/01 (Thu) 10:00",
        "answer_session_ids": ["s2"],
        "haystack_session_ids": ["s1", "s2"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/22 (Mon) 12:00"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "How long do eggs boil?"},
                {"role": "assistant", "content": "Ten minutes."},
            ],
            [
                {"role": "user", "content": "I play the cello in an orchestra.", "has_answer": True},
                {"role": "assistant", "content": "A noble instrument."},
                {"role": "user", "content": "Where can I buy rosin?"},
                {"role": "assistant", "content": "In a music shop."},
            ],
        ],
    },
    {
        "question_id": "q2_abs",
        "question_type": "single-session-user",
        "question": "Which sport do I play?",
        "question_date": "2023/06/01 (Thu) 10:00",
        "answer_session_ids": ["s1"],
        "haystack_session_ids": ["s1"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21"],
        "haystack_sessions": [[{"role": "user", "content": "I like tea."}]],
    },
]


def write_json(path: Path, value: object) -> Path:
    """A JSON file."""
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8")
    return path


def write_lines(path: Path, values: list[dict[str, Any]]) -> Path:
    """A JSONL file."""
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in values), encoding="utf-8")
    return path
