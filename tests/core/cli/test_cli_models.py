"""Models by name: LangChain's, a server's, one's own; as what answers and as what writes."""

from __future__ import annotations

from typing import Any

import pytest

from memorybank.cli.models import chat_model_named, model_named
from memorybank.errors import InvalidInputError

TALK = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]


@pytest.fixture
def langchain(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """LangChain with a scripted chat model of its own behind every name; gives the names that were asked for."""
    pytest.importorskip("langchain", reason="needs the extra langchain")
    import langchain.chat_models
    from langchain_core.language_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    asked: list[str] = []

    def init_chat_model(which: str) -> Any:
        asked.append(which)
        if which.startswith("keyless:"):
            raise RuntimeError("set the key")
        return GenericFakeChatModel(messages=iter([AIMessage("Hello to you")] * 3))

    monkeypatch.setattr(langchain.chat_models, "init_chat_model", init_chat_model)
    return asked


def test_a_langchain_model_streams_and_writes(langchain: list[str]) -> None:
    """The name goes to ``init_chat_model`` as it is; a chat comes in pieces, a prompt gives the whole text."""
    answering, writing = chat_model_named("openai:some", None, 5), model_named("openai:some", None, 5)
    assert answering is not None
    assert writing is not None
    pieces = list(answering(TALK))
    assert len([piece for piece in pieces if piece]) > 1
    assert "".join(pieces) == "Hello to you"
    assert writing("Summarise.") == "Hello to you"
    assert langchain == ["openai:some"] * 2


def test_whatever_a_provider_raises_is_a_usage_error(langchain: list[str]) -> None:
    """A missing key is told by the provider's own words, in one error of ours."""
    with pytest.raises(InvalidInputError, match="keyless:x' cannot be used: set the key"):
        chat_model_named("keyless:x", None, 5)


def test_without_langchain_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what needs it asks for it."""
    monkeypatch.setitem(__import__("sys").modules, "langchain.chat_models", None)
    with pytest.raises(ImportError, match=r"memorybank-core\[langchain\]"):
        model_named("openai:some", None, 5)
    assert chat_model_named("name", "http://127.0.0.1:1", 5) is not None


def test_no_name_is_no_model() -> None:
    """Without a name nothing answers and nothing writes."""
    assert chat_model_named(None, None, 5) is None
    assert model_named(None, None, 5) is None


def test_a_function_of_ones_own_writes_from_the_bare_prompt() -> None:
    """As ``llm`` it reads the prompt as it is; in a chat it reads a script."""
    writing, answering = (
        model_named("os.path:basename", None, 5),
        chat_model_named("os.path:basename", None, 5),
    )
    assert writing is not None
    assert answering is not None
    assert writing("a/b") == "b"
    assert list(answering([{"role": "user", "content": "a/b"}])) == ["b\n\nassistant:"]
