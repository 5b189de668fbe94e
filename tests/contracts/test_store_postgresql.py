"""A store on PostgreSQL does what a store in a folder does: the rules of tests/core, run again on a real server.

The tests are those of tests/core themselves. Here ``open_store`` and ``open_bank`` open a database of PostgreSQL.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from memorybank.bank import MemoryBank
from memorybank.errors import MemoryBankError
from memorybank.records.database import open_url
from memorybank.records.schema import meta, metadata
from memorybank.store import MemoryStore
from memorybank.testing import FrozenClock, HashEmbedder
from tests.conftest import OpenStore
from tests.contracts.postgres_server import PostgresServer
from tests.core.hierarchy.saying import NOW, OpenBank

# ruff: noqa: F401 - pytest collects what is imported here
from tests.core.hierarchy.test_consolidation import (
    test_a_deleted_turn_is_quoted_nowhere,
    test_a_late_turn_makes_exactly_its_day_and_the_globals_stale,
    test_a_reply_that_completes_an_old_turn_is_seen,
    test_a_source_that_goes_while_the_model_thinks_is_not_quoted,
    test_adding_goes_on_while_the_model_thinks,
    test_an_edited_turn_is_read_anew,
    test_days_and_globals_are_made_once,
    test_two_runs_at_once_make_no_twins,
)
from tests.core.hierarchy.test_digest import (
    test_a_deleted_turn_leaves_the_digest_at_once,
    test_a_digest_is_written_when_a_marked_message_slid_out,
)
from tests.core.hierarchy.test_marks import test_an_export_takes_the_marks_along
from tests.core.test_bank_adding import (
    test_a_half_known_batch_adds_the_rest,
    test_an_id_belongs_to_its_session,
    test_everything_about_a_message_is_kept,
    test_order_is_the_order_of_adding_whatever_the_times,
    test_text_is_read_back_verbatim,
    test_the_same_id_is_stored_once,
    test_the_same_id_twice_in_one_call_is_stored_once,
    test_without_an_id_equal_messages_are_two,
)
from tests.core.test_bank_exchanges import (
    test_a_reply_completes_an_edited_question,
    test_a_reply_completes_the_memory_in_place,
    test_a_reply_in_a_cleared_session_stands_alone,
    test_an_exchange_is_one_memory,
    test_another_process_may_bring_the_reply,
    test_the_turn_in_progress_is_not_recalled_to_itself,
)
from tests.core.test_bank_keeping import (
    fading,
    test_archived_memories_are_recalled_only_when_asked_for,
    test_edit_keeps_the_transcript_and_the_version,
    test_forget_archives_what_has_faded_and_twice_is_once,
    test_one_missing_id_changes_nothing,
    test_purge_destroys_after_its_time,
)
from tests.core.test_bank_recalling import (
    test_a_later_use_is_not_turned_back,
    test_a_read_only_store_recalls_and_credits_nothing,
    test_credit_is_once_per_user_turn,
    test_filters_by_level_and_session,
    test_filters_by_time_are_inclusive,
    test_links_between_what_is_recalled_together_fade,
    test_what_is_returned_is_credited,
)
from tests.core.test_rewinding import (
    test_a_reset_session_set_to_what_it_was_stores_nothing_twice,
    test_a_reset_shows_nothing_and_destroys_nothing,
)
from tests.core.test_store_concurrency import (
    test_eight_threads_add_and_recall,
    test_erase_while_others_write,
    test_the_same_ids_from_many_threads_are_stored_once,
    test_two_replies_at_once_complete_one_exchange,
)
from tests.core.test_store_erasing import (
    test_an_edit_marks_what_derives_from_it,
    test_an_erased_owner_may_start_anew,
    test_counts_of_delete_and_clear,
    test_deleted_is_gone_from_every_way_of_looking,
    test_deleting_a_memory_leaves_the_neighbours,
)
from tests.core.test_store_opening import test_a_forked_child_may_go_on
from tests.core.test_store_transfer import (
    test_a_round_trip_is_identical,
    test_an_import_joins_what_is_there,
    test_an_import_may_take_another_name,
)


@pytest.fixture(scope="module")
def spare() -> list[str]:
    """Databases with empty tables, to be used again: emptying one takes a third of making one."""
    return []


@pytest.fixture
def addresses(postgres: PostgresServer, spare: list[str]) -> Iterator[Callable[[Path | None], str]]:
    """The database that stands for a folder, made when it is first asked for."""
    taken: dict[Path | None, str] = {}

    def address(path: Path | None) -> str:
        if path not in taken:
            taken[path] = spare.pop() if spare else postgres.make()
        return taken[path]

    yield address
    for used in taken.values():
        database = open_url(used, read_only=False)
        with database.write() as connection:
            names = ", ".join(f'"{name}"' for name in metadata.tables if name != "meta")
            connection.execute(sa.text(f"TRUNCATE {names} RESTART IDENTITY"))
            connection.execute(sa.delete(meta).where(meta.c.name != "schema_version"))
        database.close()
        spare.append(used)


@pytest.fixture
def open_store(addresses: Callable[[Path | None], str], clock: FrozenClock) -> Iterator[OpenStore]:
    """As the fixture of that name that opens folders."""
    opened: list[MemoryStore] = []

    def open_one(path: Path | None = None, **options: Any) -> MemoryStore:
        defaults: dict[str, Any] = {"embedder": HashEmbedder(64), "clock": clock, "chroma": False}
        store = MemoryStore.open(database=addresses(path), **{**defaults, **options})
        opened.append(store)
        return store

    yield open_one
    for store in opened:
        with contextlib.suppress(MemoryBankError):  # the test may have stopped the server
            store.close()


@pytest.fixture
def open_bank(open_store: OpenStore) -> OpenBank:
    """As the fixture of that name that opens folders."""
    opened: list[MemoryStore] = []

    def open_(
        llm: Callable[[str], str] | None = None,
        owner: str = "gary",
        timezone: str | None = "UTC",
        language: str | None = None,
        now: datetime = NOW,
        **options: Any,
    ) -> MemoryBank:
        opened.append(open_store(llm=llm, clock=FrozenClock(now), **options))
        return opened[-1].bank(owner, timezone=timezone, language=language)

    open_.store = lambda: opened[-1]  # type: ignore[attr-defined]  # for what a bank cannot do itself
    return open_
