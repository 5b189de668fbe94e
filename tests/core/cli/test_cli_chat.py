"""``memorybank chat`` through a pipe: what is kept, recalled, streamed; commands; failures; both languages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memorybank.cli.chat_commands import COMMANDS
from memorybank.companion.wording import WORDINGS
from memorybank.store import MemoryStore
from tests.core.companion.llm_http import Script, serving, stream

Run = Callable[..., Any]
ANN = ("chat", "--owner", "Ann", "--session", "now")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package with models of one's own."""
    folder = tmp_path / "talkers"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "models.py").write_text(
        "def good(prompt):\n    yield 'Your cat is '\n    yield 'Biscuit.'\n\n"
        "def bad(prompt):\n    raise OSError(prompt)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    return "talkers.models"


def told(run: Run, *arguments: str, said: str, code: int = 0) -> list[dict[str, Any]]:
    result = run(*ANN, "--json", *arguments, input=said, code=code)
    return [json.loads(line) for line in result.stdout.splitlines()]


def history(store: Path, owner: str = "Ann", session: str = "now") -> list[tuple[str, str]]:
    with MemoryStore.open(store, embedder=None, chroma=False, read_only=True) as opened:
        return [(m.role, m.text) for m in opened.bank(owner).history(session)]


def test_without_a_model_it_says_how_to_set_one_and_keeps(run: Run, store: Path) -> None:
    """It makes the store, records and recalls; nobody answers, and that is no failure."""
    first = run(*ANN, input="My cat is called Biscuit.\n\n  \nI live in Leeds.\n")
    assert all(way in first.stderr for way in ("openai:", "ollama:", "--url", "package.module:function"))
    second = run("chat", "--owner", "Ann", "--session", "later", input="What is my cat called?\n")
    assert "Biscuit" in second.stderr
    assert history(store) == [("user", "My cat is called Biscuit."), ("user", "I live in Leeds.")]


def test_a_model_answers(filled: Run, own: str, store: Path) -> None:
    """The reply is on stdout alone; what was recalled, with its score, is a short line beside it."""
    result = filled(*ANN, "--model", f"{own}:good", input="What is my cat called?\n")
    assert result.stdout == "Your cat is Biscuit.\n"
    line = next(line for line in result.stderr.splitlines() if line.startswith("[recalled: 1 "))
    assert "My cat is called" in line
    assert history(store) == [("user", "What is my cat called?"), ("assistant", "Your cat is Biscuit.")]


def test_a_turn_is_answered_anew_and_taken_back(run: Run, own: str, store: Path) -> None:
    """/again leaves one answer, /undo neither words nor memory; without a turn both do nothing."""
    said = "/again\nWhat is my cat called?\n/again\n"
    lines = told(run, "--model", f"{own}:good", said=said)
    assert [line["kind"] for line in lines].count("reply") == 2
    assert history(store) == [("user", "What is my cat called?"), ("assistant", "Your cat is Biscuit.")]
    lines = told(run, said="/undo\n/undo\n")
    assert [line["text"] for line in lines] == [
        "taken back and forgotten: 2 messages, 1 memory",
        "there is no turn to take back",
    ]
    assert history(store) == []


def test_a_server_answers(filled: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """``--url`` with the key from the environment; the key is shown nowhere."""
    monkeypatch.setenv("MEMORYBANK_API_KEY", "sk-test-42")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
    script = Script(stream("Bis", "cuit."))
    with serving(script) as url:
        lines = told(filled, "--url", url, "--model", "small", said="What is my cat called?\n")
    assert [line["text"] for line in lines if line["kind"] == "piece"] == ["Bis", "cuit."]
    asked = [one for one in script.requests if one["messages"][0]["role"] == "system"]
    assert [(one["model"], one["key"]) for one in asked] == [("small", "Bearer sk-test-42")]
    assert "My cat is called Biscuit" in asked[0]["messages"][0]["content"]
    assert "sk-" not in json.dumps(lines)


def test_the_well_known_key_goes_to_its_own_server_alone(
    filled: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OPENAI_API_KEY is not sent to whatever address was typed."""
    monkeypatch.delenv("MEMORYBANK_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
    script = Script(stream("Hi."))
    with serving(script) as url:
        told(filled, "--url", url, said="Hello\n")
    assert {one["key"] for one in script.requests} == {None}


def test_a_failing_model_says_so_in_one_line(filled: Run, own: str, store: Path) -> None:
    """The words are kept, the next ones are taken, and a script learns of it by exit code 1."""
    result = filled(*ANN, "--model", f"{own}:bad", input="One secret.\nTwo.\n", code=1)
    assert [line for line in result.stderr.splitlines() if "no answer" in line] == [
        "no answer: the model raised OSError. Your words are kept."
    ] * 2
    assert "WARNING" not in result.stderr
    assert [text for _, text in history(store)] == ["One secret.", "Two."]


def test_json_is_one_value_a_line(filled: Run, own: str) -> None:
    """Each event and outcome by its kind; the reply names the memories that it used."""
    lines = told(
        filled, "--model", f"{own}:good", said="What is my cat called?\n/why\n/window\n/quit\nnot said\n"
    )
    kinds = [line["kind"] for line in lines]
    assert kinds == ["heard", "recalled", "piece", "piece", "reply", "why", "window"]
    assert lines[4]["used"] == [lines[1]["recalled"][0]["memory"]["id"]]
    assert lines[1]["recalled"][0]["parts"]["lexical"] > 0
    assert [message["role"] for message in lines[6]["messages"]] == ["user", "assistant"]


def test_commands_change_the_memory(filled: Run, store: Path, tmp_path: Path) -> None:
    """Numbers mean the last recall; each command does what it says."""
    said = [
        "What is my cat called?",
        "/pin 1",
        "/correct 1 user: My cat is called Crumpet.",
        "/remember My sister is called Eve.",
        f"/export {tmp_path / 'out.jsonl'}",
        "/mark",
        "/unpin 1",
        "/forget",
    ]
    lines = told(filled, said="\n".join(said))[2:]
    assert [line["kind"] for line in lines] == ["done"] * 7
    (id_,) = lines[0]["result"]
    assert lines[1]["result"]["version"] == 2
    assert lines[4]["result"]["text"] == "What is my cat called?"
    assert (tmp_path / "out.jsonl").exists()
    with MemoryStore.open(store, embedder=None, chroma=False, read_only=True) as opened:
        bank = opened.bank("Ann")
        memory = bank.get([id_])[0]
        assert (memory.text, memory.pinned) == ("user: My cat is called Crumpet.", False)
        assert bank.recall("sister Eve", k=1, reinforce=False)[0].memory.text == "My sister is called Eve."


@pytest.mark.parametrize(("answer", "left"), [("y", 0), ("n", 1), ("", 1)])
def test_destroying_asks(filled: Run, answer: str, left: int) -> None:
    """The next line answers; anything but yes, and the end of the input, is no."""
    said = f"What is my cat called?\n/forget 1\n{answer}" + ("\n" if answer else "")
    told(filled, said=said)
    shown = filled("recall", "Biscuit", "--owner", "Ann", "--no-reinforce", "--json")
    found = [one for one in json.loads(shown.stdout)["recalled"] if one["memory"]["level"] == "turn"]
    found = [one for one in found if "Biscuit" in one["memory"]["text"]]
    assert len(found) == left


def test_an_export_does_not_replace_a_file_unasked(filled: Run, tmp_path: Path) -> None:
    """A file that is there stays, unless yes is said."""
    path = tmp_path / "mine.txt"
    path.write_text("mine")
    told(filled, said=f"/export {path}\nn\n")
    assert path.read_text() == "mine"
    told(filled, said=f"/export {path}\nyes\n")
    assert path.read_text() != "mine"


def test_archived_memories_come_back(filled: Run) -> None:
    """/forget archives under the policy, /restore brings back."""
    later = ("--policy", "companion", "--now", "2034-01-01")
    lines = told(filled, *later, said="/forget\n")
    archived = lines[0]["result"]["archived"]
    assert archived
    lines = told(filled, *later, said=f"/restore {archived[0]}\n")
    assert lines[0]["result"] == [archived[0]]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("/nonsense", "no command /nonsense"),
        ("/pin", "/pin needs N"),
        ("/pin zzz", "no memory 'zzz'"),
        ("/correct zzz", "no memory 'zzz'"),
        ("/remember", "/remember needs TEXT"),
        ("/export", "/export needs FILE"),
        ("/mark", "no session"),
        ("/events tomorrow", "day"),
    ],
)
def test_wrong_commands_are_told_and_the_talk_goes_on(filled: Run, said: str, reason: str) -> None:
    """One line; nothing is sent to a model; the next line is heard."""
    lines = told(filled, said=f"{said}\nHello\n", code=1)
    assert reason in lines[0]["reason"]
    assert lines[1]["kind"] == "heard"


def test_a_double_slash_says_a_slash(run: Run, store: Path) -> None:
    """``//`` at the beginning is no command."""
    run(*ANN, input="//etc is a folder\n")
    assert history(store) == [("user", "/etc is a folder")]


def test_portrait_and_events_are_shown(filled: Run) -> None:
    """After consolidation the globals, and a day by its date; before it, that there are none yet."""
    assert "no portrait yet" in filled(*ANN, input="/portrait\n").stdout
    filled("consolidate", "--owner", "Ann")
    shown = filled(*ANN, input="/portrait\n/events\n/events 2024-05-01\n").stdout
    assert "Glasgow" in shown
    assert "Leeds" in shown


@pytest.mark.parametrize("chosen", [("--language", "zh"), ()])
def test_it_speaks_chinese(filled: Run, chosen: tuple[str, ...]) -> None:
    """As asked, or because the owner does; the model is instructed in Chinese too."""
    script = Script(stream("豆包。"))
    with serving(script) as url:
        result = filled(
            "chat", "--owner", "小满", "--url", url, *chosen, input="我的猫叫什么？\n／帮助\n", code=1
        )
    assert "[回忆: 1 " in result.stderr
    assert "没有命令 /帮助" in result.stderr
    assert script.requests[0]["messages"][0]["content"].startswith("你是一位有记忆的伙伴")


def test_the_instruction_is_ones_own(filled: Run, tmp_path: Path) -> None:
    """``--system FILE`` replaces ours; a file that cannot be read, or is blank, is a usage error."""
    path, script = tmp_path / "system.txt", Script(stream("Arr."))
    path.write_text("Talk like a pirate, {today}.", "utf-8")
    with serving(script) as url:
        filled(*ANN, "--url", url, "--system", str(path), "--now", "2024-06-01T12:00", input="Hello\n")
    assert script.requests[0]["messages"][0]["content"].startswith("Talk like a pirate, 2024-06-01.")
    path.write_text(" ")
    assert "--system" in filled(*ANN, "--system", str(path), input="", code=2).stderr
    assert "--system" in filled(*ANN, "--system", str(tmp_path), input="", code=2).stderr


@pytest.mark.parametrize("wrong", [("--language", "fr"), ("--url", "nowhere"), ("--model", "nonsense")])
def test_wrong_options_are_usage_errors(filled: Run, wrong: tuple[str, str]) -> None:
    """One line, exit code 2, nothing said."""
    assert wrong[0].strip("-") in filled(*ANN, *wrong, input="Hello\n", code=2).stderr


def test_the_session_is_named_by_the_day(run: Run, store: Path) -> None:
    """By default one session a day, in the owner's zone."""
    run("chat", "--owner", "Ann", "--timezone", "Asia/Tokyo", "--now", "2026-01-01T23:30+00:00", input="Hi\n")
    assert history(store, session="2026-01-02") == [("user", "Hi")]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_help_names_every_command(language: str) -> None:
    """In both languages; /exit is another name of /quit, /help is where one is."""
    words = WORDINGS["zh" if language == "zh" else "en"].help
    assert all(name in words for name in COMMANDS if name not in ("/exit", "/help"))
