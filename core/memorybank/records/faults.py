"""What a database's refusal means to the caller: one StoreError that says what to do, never with memory texts."""

from __future__ import annotations

import re

from sqlalchemy.exc import SQLAlchemyError

from memorybank.errors import DamagedStoreError, ReadOnlyError, StoreError

BUSY_SECONDS = 60.0
"""How long a writer waits for SQLite's lock."""

_LONGEST = 300
_MISSING = ("42P01", "42703", "3F000")  # table, column, schema


def bare(error: BaseException) -> str:
    """The driver's own words only: SQLAlchemy's would repeat the parameters, PostgreSQL's detail the values."""
    original = _original(error)
    said = getattr(getattr(original, "diag", None), "message_primary", None)
    return re.sub(r"\s+", " ", said or str(original) or type(error).__name__)[:_LONGEST]


def _original(error: BaseException) -> BaseException:
    """The driver's error; the name of SQLAlchemy's class where there is none, never its text."""
    if not isinstance(error, SQLAlchemyError):
        return error
    held = getattr(error, "orig", None) or error.__cause__
    return held if held is not None else RuntimeError(type(error).__name__)


def translate(error: Exception, where: str, *, committing: bool = False) -> StoreError:
    """Our error for SQLAlchemy's or the driver's. ``committing``: it came while a transaction was made durable."""
    words, original = bare(error), _original(error)
    if not hasattr(original, "sqlstate"):
        return _of_sqlite(where, words)
    kind = type(original).__mro__
    lost = not original.sqlstate and any(c.__name__ in ("OperationalError", "InterfaceError") for c in kind)
    return _of_postgres(original.sqlstate or "", where, words, lost=lost, committing=committing)


def _of_postgres(state: str, where: str, words: str, *, lost: bool, committing: bool) -> StoreError:
    if state == "25006" or "during recovery" in words:
        return ReadOnlyError(f"{where} cannot be written ({words}); give the address of the primary server")
    if state == "42501":
        return StoreError(
            f"{where}: the role lacks a right ({words}); grant it, or connect as the tables' owner"
        )
    if state in ("40001", "40P01", "55P03"):
        return StoreError(
            f"{where}: two writers crossed ({words}); nothing of this call was stored. Try again"
        )
    if state == "53300" or "too many clients" in words:
        return StoreError(
            f"{where} takes no more connections ({words}); raise max_connections, or run fewer processes or threads"
        )
    if state == "53100":
        return StoreError(
            f"{where}: the server's disk is full ({words}); nothing of this call was stored. "
            "Free space there and try again"
        )
    if state == "53200":
        return StoreError(f"{where}: the server is out of room ({words}); nothing of this call was stored")
    if state.startswith("28") or "authentication failed" in words:
        return StoreError(f"{where} refused the login ({words}); check user and password")
    if state == "3D000" or re.search(r'database ".*" does not exist', words):
        return StoreError(f"{where}: {words}; make it first, with createdb")
    if state in _MISSING:
        return DamagedStoreError(
            f"{where}: a table or column is missing ({words}); it was dropped, or the tables are another program's"
        )
    if lost or state[:2] == "08" or state[:3] == "57P":
        unknown = (
            "whether this call was stored is not known: messages that have ids can be added again, "
            "each is stored once"
        )
        return StoreError(
            f"{where} cannot be reached, or went away ({words}); what was acknowledged before is stored, "
            f"{unknown if committing else 'nothing of this call is'}. Try again when it is back"
        )
    return StoreError(f"{where}: {words}")


def _of_sqlite(where: str, words: str) -> StoreError:
    lower = words.lower()
    if "malformed" in lower or "not a database" in lower or "file is encrypted" in lower:
        return DamagedStoreError(
            f"{where} is damaged or is not a MemoryBank store ({words}); "
            "run 'memorybank doctor' to see what can be saved, or restore a backup"
        )
    if "readonly" in lower or "read-only" in lower:
        return ReadOnlyError(f"{where} cannot be written ({words}); check the permissions of the folder")
    if "disk is full" in lower or "full" in lower.split():
        return StoreError(
            f"{where}: the disk is full; nothing of this call was stored. Free space and try again"
        )
    if "locked" in lower or "busy" in lower:
        return StoreError(
            f"{where} stayed locked by another process for {BUSY_SECONDS:.0f} s; nothing of this call was stored. "
            "Try again, or find out what holds it"
        )
    if "unable to open" in lower:
        return StoreError(f"{where} cannot be opened ({words}); check that the folder exists and may be used")
    return StoreError(f"{where}: {words}")
