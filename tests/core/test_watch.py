"""Spans, metrics, log lines and counts: what they are named, that no text or owner is in them, that they cost nothing
where nobody listens."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from memorybank import watch as watching
from memorybank.errors import StoreError
from memorybank.store import MemoryStore
from memorybank.testing import BrokenEmbedder, FrozenClock, ScriptedLLM
from tests.conftest import OpenStore
from tests.core.talking import assistant, user

TOKEN = "xyzzyplugh"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """What an SDK is given, set up for one test only: OpenTelemetry's own setter works once a process."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    monkeypatch.setattr(trace, "get_tracer", lambda name: provider.get_tracer(name))
    yield exporter
    provider.shutdown()


@pytest.fixture
def meters(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemoryMetricReader]:
    """The same for metrics."""
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    monkeypatch.setattr(metrics, "get_meter_provider", lambda: provider)
    monkeypatch.setattr(metrics, "get_meter", lambda name: provider.get_meter(name))
    yield reader
    provider.shutdown()


def busy(store: MemoryStore, clock: FrozenClock) -> None:
    """Every verb once."""
    bank = store.bank(f"gary-{TOKEN}", timezone="UTC")
    bank.add([user(f"My cat is {TOKEN}"), assistant("Nice")], session=f"s-{TOKEN}")
    found = bank.recall(f"cat {TOKEN}", reinforce=False)
    bank.reinforce(found, answer=f"{TOKEN} is your cat")
    bank.context(f"cat {TOKEN}")
    bank.consolidate(now=clock().replace(day=9))
    bank.forget()
    store.flush()
    bank.erase()


def attributes(spans: InMemorySpanExporter) -> dict[str, dict[str, Any]]:
    return {span.name: dict(span.attributes or {}) for span in spans.get_finished_spans()}


def values(reader: InMemoryMetricReader) -> dict[tuple[str, str], Any]:
    """By name and first attribute: a counter's or gauge's value, a histogram's count."""
    data = reader.get_metrics_data()
    found: dict[tuple[str, str], Any] = {}
    assert data is not None
    for resource in data.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                for point in metric.data.data_points:
                    about = dict(point.attributes or {})
                    key = str(about.get("memorybank.verb", ""))
                    found[(metric.name, key)] = getattr(point, "value", None) or getattr(point, "count", 0)
    return found


def test_one_span_a_verb(open_store: OpenStore, clock: FrozenClock, spans: InMemorySpanExporter) -> None:
    """Named memorybank.<verb>, with counts and levels; neither words nor owner nor session in any of them."""
    busy(open_store(llm=ScriptedLLM(["A day with a cat."] * 9)), clock)
    found = attributes(spans)
    verbs = ("add", "recall", "reinforce", "context", "consolidate", "forget", "flush", "erase")
    assert set(found) == {f"memorybank.{verb}" for verb in verbs}
    assert found["memorybank.add"]["memorybank.messages"] == 2
    assert found["memorybank.recall"]["memorybank.recalled"] == 1
    assert found["memorybank.recall"]["memorybank.levels"] == "turn"
    assert found["memorybank.recall"]["memorybank.degraded"] is False
    assert found["memorybank.context"]["memorybank.tokens"] > 10
    assert found["memorybank.consolidate"]["memorybank.llm_calls"] > 0
    assert found["memorybank.erase"]["memorybank.messages"] == 2
    assert TOKEN not in "".join(span.to_json() for span in spans.get_finished_spans())


def test_spans_nest_in_the_callers(open_store: OpenStore, spans: InMemorySpanExporter) -> None:
    """A turn's own span is the parent of what the turn asks of memory."""
    bank = open_store().bank("gary")
    with trace.get_tracer("app").start_as_current_span("turn") as turn:
        bank.add([user("My cat is Mochi")], session="s")
    added: ReadableSpan = next(s for s in spans.get_finished_spans() if s.name == "memorybank.add")
    assert added.parent is not None
    assert added.parent.span_id == turn.get_span_context().span_id


def test_a_failure_is_told_by_its_kind_only(
    open_store: OpenStore, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Status ERROR and the error's type: its words, and those of what caused it, may quote a text."""
    store = open_store()
    bank = store.bank("gary")

    def fail(*_: object, **__: object) -> None:
        raise StoreError("no") from ValueError(TOKEN)

    monkeypatch.setattr("memorybank.writing.add", fail)
    with pytest.raises(StoreError):
        bank.add([user("x")], session="s")
    span = spans.get_finished_spans()[-1]
    assert span.attributes is not None
    assert span.attributes["error.type"] == "StoreError"
    assert span.status.status_code is trace.StatusCode.ERROR
    assert not span.events
    assert TOKEN not in span.to_json()


def test_a_lexical_store_says_that_it_is_degraded(open_store: OpenStore, spans: InMemorySpanExporter) -> None:
    """Opened without the embedder that its memories were embedded with."""
    open_store().bank("gary").add([user("My cat is Mochi")], session="s")
    open_store(embedder=None).bank("gary").recall("cat")
    assert attributes(spans)["memorybank.recall"]["memorybank.degraded"] is True


def test_metrics(open_store: OpenStore, clock: FrozenClock, meters: InMemoryMetricReader) -> None:
    """Calls and durations by verb, messages, the model's calls and tokens; what is pending, and for how long."""
    store = open_store(llm=ScriptedLLM(["A day with a cat."] * 9), chroma=None, flush_on_close=False)
    busy(store, clock)
    store.bank("mia").add([user("a"), user("b")], session="s")
    store.bank("mia").recall("a", reinforce=False)
    clock.advance(timedelta(seconds=90))
    found = values(meters)
    assert found["memorybank.calls", "add"] == 2
    assert found["memorybank.calls", "recall"] == 2
    assert found["memorybank.duration", "context"] == 1
    assert found["memorybank.messages", ""] == 4
    assert found["memorybank.llm.calls", ""] > 0
    assert found["memorybank.llm.tokens.prompt", ""] > 20
    assert found["memorybank.pending.index", ""] == 2
    assert found["memorybank.flush.lag", ""] == 90
    assert found["memorybank.cache.size", ""] > 0
    store.close()
    assert not any(name.startswith("memorybank.pending") for name, _ in values(meters))


def test_stats(open_store: OpenStore, clock: FrozenClock) -> None:
    """Without any SDK: what waits, for how long, what is cached, what was called, what the model cost."""
    store = open_store(llm=ScriptedLLM(["A day with a cat."] * 9), embedder=BrokenEmbedder("raises", 2, 64))
    assert store.stats().owners == 0
    busy(store, clock)
    mia = store.bank("mia")
    mia.add([user("a late cat")], session="s")
    mia.recall("cat")
    clock.advance(timedelta(seconds=30))
    stats = store.stats()
    assert (stats.owners, stats.pending_embed + stats.pending_index) == (1, 1)
    assert stats.recalls == 3
    assert stats.calls["add"] == 2
    assert stats.messages == 3
    assert stats.llm_calls > 0
    assert stats.llm_prompt_tokens > stats.llm_reply_tokens > 0
    assert stats.cache_bytes > 0
    assert stats.cache_banks == 1


def test_log_lines_have_fields(
    open_store: OpenStore, clock: FrozenClock, caplog: pytest.LogCaptureFixture
) -> None:
    """memorybank_event, memorybank_seconds, memorybank_error and the verb's own: at DEBUG, the rare verbs at INFO."""
    caplog.set_level(logging.INFO, "memorybank.watch")
    store = open_store()
    busy(store, clock)
    lines = {getattr(r, "memorybank_event", None): r for r in caplog.records if r.name == "memorybank.watch"}
    assert set(lines) == {f"memorybank.{verb}" for verb in ("consolidate", "forget", "flush", "erase")}
    erased = lines["memorybank.erase"].__dict__
    assert erased["memorybank_messages"] == 2
    assert erased["memorybank_seconds"] > 0
    assert erased["memorybank_error"] is None
    caplog.clear()
    caplog.set_level(logging.DEBUG, "memorybank.watch")
    store.watch.look()
    store.bank("mia").add([user("x")], session="s")
    assert [r.__dict__["memorybank_event"] for r in caplog.records if r.name == "memorybank.watch"] == [
        "memorybank.add"
    ]


def test_nobody_listening_costs_next_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A watched call of a store that nobody watches costs less than four ``json.dumps`` of a number (a turn
    costs some hundred), and no tracer is asked."""
    monkeypatch.setattr(watching, "_providers", lambda: (None, None))
    logging.getLogger("memorybank.watch").setLevel(logging.WARNING)
    try:

        class Door:
            watch = watching.Watch()
            degraded = False

            @watching.watched("add", lambda n: pytest.fail("nobody is to be told"))
            def seen(self, n: int) -> int:
                return n

            def unseen(self, n: int) -> int:
                return n

        door = Door()

        def lasts(method: Any) -> float:
            begun = time.perf_counter()
            for n in range(2000):
                method(n)
            return (time.perf_counter() - begun) / 2000

        unit = min(lasts(json.dumps) for _ in range(5))
        more = min(lasts(door.seen) for _ in range(5)) - min(lasts(door.unseen) for _ in range(5))
        assert more < 4 * unit
        assert door.watch.counts["calls.add"] == 10_000
    finally:
        logging.getLogger("memorybank.watch").setLevel(logging.NOTSET)
