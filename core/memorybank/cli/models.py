"""The model that a command was told to use: by its name in LangChain, by a server's address, or one's own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from memorybank.companion.remote import RemoteModel
from memorybank.companion.speaking import ChatModel, Said, as_llm, of_function
from memorybank.errors import InvalidInputError
from memorybank.runtime import LLM

KEY_VARIABLE = "MEMORYBANK_API_KEY"
_OPENAI = ("api.openai.com", "OPENAI_API_KEY")  # the one server that its well-known variable is sent to

ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        envvar="MEMORYBANK_MODEL",
        help="provider:model of a LangChain chat model (openai:…, ollama:…), package.module:name of a function "
        "from text to text, or with --url the name that the server knows.",
        metavar="WHICH",
    ),
]
UrlOption = Annotated[
    str | None,
    typer.Option(
        "--url",
        envvar="MEMORYBANK_URL",
        help=f"An OpenAI-compatible server, such as http://127.0.0.1:8080/v1; its key is read from {KEY_VARIABLE}.",
        metavar="ADDRESS",
    ),
]


def chat_model_named(which: str | None, url: str | None, timeout: float) -> ChatModel | None:
    """What answers in a chat; None if nothing was named. Raises as ``model_named``."""
    if url is not None:
        return RemoteModel(url, which or "default", key=_key(url), timeout=timeout)
    if which is None:
        return None
    module, name = _parted(which)
    if "." in module:
        return of_function(_imported(which, module, name))
    model = _langchain(which)

    def reply(messages: Sequence[Said]) -> Iterator[str]:
        for chunk in model.stream([dict(one) for one in messages]):
            yield str(chunk.text)

    return reply


def model_named(which: str | None, url: str | None, timeout: float) -> LLM | None:
    """What writes, from prompt to reply: a server's, your own (``package.module:name``), a LangChain chat model's;
    None if nothing was named.

    Raises InvalidInputError for a name that is none of them, ImportError naming the extra without LangChain.
    """
    if url is not None:
        return RemoteModel(url, which or "default", key=_key(url), timeout=timeout).ask
    if which is None:
        return None
    module, name = _parted(which)
    if "." in module:
        return as_llm(of_function(_imported(which, module, name), bare=True))
    model = _langchain(which)

    def ask(prompt: str) -> str:
        return str(model.invoke(prompt).text)

    return ask


def _parted(which: str) -> tuple[str, str]:
    module, colon, name = which.partition(":")
    if not colon or not module or not name:
        raise InvalidInputError(
            f"model {which!r}: give provider:model (openai:…, ollama:…) or package.module:name"
        )
    return module, name


def _imported(which: str, module: str, name: str) -> Callable[[str], Any]:
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InvalidInputError(f"model {which!r} cannot be imported: {error}") from None
    if not callable(found):
        raise InvalidInputError(f"model {which!r} is no function from text to text")
    return found  # type: ignore[no-any-return]  # what it returns is checked when it replies


def _langchain(which: str) -> Any:
    # Named by the user and imported by name: the core itself knows no framework.
    try:
        init_chat_model = import_module("langchain.chat_models").init_chat_model
    except ImportError as error:
        raise ImportError(
            "--model provider:model needs the extra: pip install 'memorybank-core[langchain]'"
        ) from error
    try:
        return init_chat_model(which)
    except Exception as error:  # noqa: BLE001 - each provider's package raises its own: a missing key, a bad name
        raise InvalidInputError(f"model {which!r} cannot be used: {error}") from None


def _key(url: str) -> str | None:
    host, variable = _OPENAI
    known = os.environ.get(variable) if urlsplit(url).hostname == host else None
    return os.environ.get(KEY_VARIABLE) or known or None
