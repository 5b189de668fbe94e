"""Options that several commands share, and the store they open."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from memorybank.bank import MemoryBank
from memorybank.clock import zone_of
from memorybank.embedding.protocol import Embedder
from memorybank.errors import InvalidInputError, NotFoundError, StoreError
from memorybank.forgetting import ForgettingPolicy
from memorybank.models import Memory
from memorybank.opening import RECORDS_NAME
from memorybank.runtime import LLM
from memorybank.store import MemoryStore

StoreOption = Annotated[Path, typer.Option("--store", envvar="MEMORYBANK_STORE", help="Folder of the store.")]
OwnerOption = Annotated[str, typer.Option("--owner", envvar="MEMORYBANK_OWNER", help="Whose memory.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on stdout instead of text.")]
NowOption = Annotated[
    str | None, typer.Option("--now", help="Act as if it were this time (ISO 8601; default: the clock).")
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
PolicyOption = Annotated[
    str, typer.Option("--policy", help="assistant, companion, paper or siliconfriend_2023.", metavar="NAME")
]
EmbedderOption = Annotated[
    str,
    typer.Option(
        "--embedder",
        envvar="MEMORYBANK_EMBEDDER",
        help="default (offline model), none (words only), or package.module:name of your own.",
        metavar="WHICH",
    ),
]
MaxTokensOption = Annotated[
    int, typer.Option("--max-tokens", min=100, help="Tokens of memories put before the model.")
]
TimeoutOption = Annotated[
    float, typer.Option("--timeout", min=1, help="Seconds that a model or its server may be silent.")
]
DEFAULT_STORE = Path("memory")
UNUSED = "unused"
"""For commands that neither embed nor search: they work whatever a store was embedded with."""

_POLICIES: dict[str, Callable[[], ForgettingPolicy]] = {
    "assistant": ForgettingPolicy.assistant,
    "companion": ForgettingPolicy.companion,
    "paper": ForgettingPolicy.paper,
    "siliconfriend_2023": ForgettingPolicy.siliconfriend_2023,
}


def policy_named(name: str) -> ForgettingPolicy:
    """The preset of that name. Raises ``InvalidInputError`` for an unknown one."""
    if name not in _POLICIES:
        raise InvalidInputError(f"policy {name!r} is unknown; choose one of {', '.join(_POLICIES)}")
    return _POLICIES[name]()


def embedder_named(which: str) -> Embedder | Literal["default"] | None:
    """``default``, ``none``, or an object, class or function of yours named ``package.module:name``.

    A class, or a function of that name that makes an embedder, is called without arguments.
    """
    if which in ("default", ""):
        return "default"
    if which == "none":
        return None
    module, colon, name = which.partition(":")
    if not colon:
        raise InvalidInputError(f"embedder {which!r} is unknown; give default, none or package.module:name")
    try:
        found: Any = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidInputError(f"embedder {which!r} cannot be imported: {error}") from None
    made = found() if callable(found) and not hasattr(found, "dimension") else found
    if isinstance(made, type):
        made = made()
    return made  # type: ignore[no-any-return]  # checked by the store, which refuses what is no embedder


def existing_store(
    path: Path, embedder: str = UNUSED, *, read_only: bool = False, llm: LLM | None = None
) -> MemoryStore:
    """Open a store that is there. Commands that read must not leave an empty store behind a mistyped path."""
    if path.is_dir() and not (path / RECORDS_NAME).exists():
        raise StoreError(
            f"{path} holds no store; 'memorybank import FILE --owner NAME --store {path}' makes one"
        )
    if not path.exists():
        raise StoreError(
            f"there is no store at {path}; give --store, or make one: memorybank import FILE --owner NAME"
        )
    return any_store(path, embedder, read_only=read_only, llm=llm)


def any_store(
    path: Path, embedder: str = UNUSED, *, read_only: bool = False, llm: LLM | None = None
) -> MemoryStore:
    """Open a store, making it if need be. A command lives too shortly to wait for Chroma at its end."""
    if embedder == UNUSED:
        # This command embeds nothing: that words alone would be searched is no news.
        logging.getLogger("memorybank.store").setLevel(logging.ERROR)
        return MemoryStore.open(path, embedder=None, read_only=read_only, llm=llm, flush_on_close=False)
    return MemoryStore.open(
        path, embedder=embedder_named(embedder), read_only=read_only, llm=llm, flush_on_close=False
    )


def known_bank(store: MemoryStore, owner: str, policy: ForgettingPolicy | None = None) -> MemoryBank:
    """The bank of an owner who has one. Raises ``NotFoundError``; other owners' names are nobody's business."""
    bank = store.bank(owner, policy=policy)
    stats = bank.stats()
    if not stats.total and not stats.messages:
        there = len(store.owners())
        others = "the one who has" if there == 1 else f"the {there} who have"
        raise NotFoundError(
            f"owner {owner!r} has no memories here; 'memorybank owners' lists {others}"
            if there
            else f"owner {owner!r} has no memories here, and nobody else has"
        )
    return bank


def by_prefix(bank: MemoryBank, given: str) -> Memory:
    """The memory whose id is, or alone begins with, ``given``. Raises ``NotFoundError``."""
    try:
        return bank.get([given])[0]
    except NotFoundError:
        found = [memory for memory in bank.memories() if memory.id.startswith(given)] if given else []
    if len(found) == 1:
        return found[0]
    many = f"{len(found)} memories begin with {given!r}; give more of the id"
    raise NotFoundError(many if found else f"owner {bank.owner!r} has no memory {given!r}")


def confirmed(question: str, *, yes: bool, json: bool) -> None:
    """Ask before what cannot be undone. Raises ``typer.Abort`` on a no; programs, which ask for JSON, are not asked.

    Raises ``InvalidInputError`` for those: they say it with ``--yes``.
    """
    if yes:
        return
    if json:
        raise InvalidInputError("not confirmed; give --yes")
    typer.confirm(question, abort=True, err=True)


def checked_zone(timezone: str | None) -> str | None:
    """The zone as typed. Raises ``InvalidInputError`` for an unknown one, before a store is opened or made."""
    if timezone is not None:
        zone_of(timezone)
    return timezone


def parsed_time(text: str | None, what: str) -> datetime | None:
    """An ISO 8601 time as typed; naive means the bank's zone. Raises ``InvalidInputError``."""
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidInputError(
            f"{what} {text!r} is not ISO 8601, such as 2024-05-31 or 2024-05-31T18:30"
        ) from None
