"""Whose memory: the user id, the session and the bank of a call. There is never a default user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables.config import ensure_config

from langchain_memorybank._convert import usable_name
from memorybank import Erased, InvalidInputError, MemoryBank, MemoryStore, OwnerError

_CONFIG_KEYS = ("user_id", "langgraph_user_id")
_RUNTIME_KEY = "__pregel_runtime"  # where LangGraph keeps the runtime of a run
_HOW = (
    "give user_id= to the constructor, context={'user_id': …} to the run, or "
    "config={'configurable': {'user_id': …}}"
)


@dataclass(frozen=True)
class Source:
    """Where an adapter's memories are: one owner's bank, or a store and (perhaps) a fixed user."""

    bank: MemoryBank | None = None
    store: MemoryStore | None = None
    user_id: str | None = None

    def __post_init__(self) -> None:
        if (self.bank is None) == (self.store is None):
            raise InvalidInputError("give either store= (a MemoryStore) or bank= (one user's MemoryBank)")
        for value, kind, name in ((self.bank, MemoryBank, "bank"), (self.store, MemoryStore, "store")):
            if value is not None and not isinstance(value, kind):
                raise InvalidInputError(f"{name} must be a {kind.__name__}, not {type(value).__name__}")
        if self.user_id is not None:
            _usable(self.user_id)
        if self.bank is not None and self.user_id not in (None, self.bank.owner):
            raise InvalidInputError("user_id is not the owner of the bank; give one of the two")

    @property
    def fixed(self) -> str | None:
        """The user if it was settled by the constructor."""
        return self.bank.owner if self.bank is not None else self.user_id

    def of(self, user: object) -> MemoryBank:
        """The bank of a user. Raises OwnerError for none, a blank one, or another than the fixed one."""
        name = _usable(user)
        if self.fixed is not None and name != self.fixed:
            raise OwnerError("this adapter was made for another user")
        if self.bank is not None:
            return self.bank
        if self.store is None:
            raise InvalidInputError("give either store= or bank=")
        return self.store.bank(name)

    def owner(self, runtime: Any = None, config: Mapping[str, Any] | None = None) -> str:
        """The user of this call. Raises OwnerError if none is named."""
        return self.fixed if self.fixed is not None else user_of(runtime, config)

    def resolve(self, runtime: Any = None, config: Mapping[str, Any] | None = None) -> MemoryBank:
        """The bank of the user of this call. Raises OwnerError if no user is named."""
        return self.of(self.owner(runtime, config))

    def bank_for(self, user_id: str | None = None) -> MemoryBank:
        """The bank of a user, by default the one the constructor settled: for export, forget, consolidate."""
        return self.of(self.fixed if user_id is None else user_id)

    def erase(self, user_id: str | None = None) -> Erased:
        """Remove a user from the store altogether; returns counts."""
        return self.bank_for(user_id).erase()


def _usable(user: object) -> str:
    if isinstance(user, int) and not isinstance(user, bool):
        user = str(user)
    if not isinstance(user, str) or not user.strip():
        raise OwnerError(f"no user id: {_HOW}")
    return user


def user_of(runtime: Any = None, config: Mapping[str, Any] | None = None) -> str:
    """The user id of a run: its context, the server's authenticated user, its config. Raises OwnerError."""
    if runtime is None:
        runtime = runtime_of(config)
    context = getattr(runtime, "context", None)
    named = context.get("user_id") if isinstance(context, Mapping) else getattr(context, "user_id", None)
    if named is not None:
        return _usable(named)
    user = getattr(getattr(runtime, "server_info", None), "user", None)
    identity = getattr(user, "identity", None)
    if identity is not None:
        return _usable(identity)
    configurable = _configurable(config)
    for key in _CONFIG_KEYS:
        if configurable.get(key) is not None:
            return _usable(configurable[key])
    raise OwnerError(f"no user id: {_HOW}")


def thread_of(runtime: Any = None, config: Mapping[str, Any] | None = None) -> str | None:
    """The session of a run: LangGraph's thread id; None where there is none."""
    found = _configurable(config).get("thread_id")
    if found is None:
        found = getattr(getattr(runtime, "execution_info", None), "thread_id", None)
    return None if found is None or not str(found).strip() else usable_name(found)


def runtime_of(config: Mapping[str, Any] | None = None) -> Any:
    """LangGraph's runtime of the run we are in; None outside one (and without LangGraph)."""
    return _configurable(config).get(_RUNTIME_KEY)


def _configurable(config: Mapping[str, Any] | None) -> Mapping[str, Any]:
    found = (ensure_config() if config is None else config).get("configurable")
    return found if isinstance(found, Mapping) else {}
