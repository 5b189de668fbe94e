"""Seeing from outside what a store does: spans and metrics of OpenTelemetry, structured log lines, counts.

Nothing here needs an SDK. Where the program has set up none, a call costs one comparison of the clock; counts are
kept all the same, for ``MemoryStore.stats``. Texts and owners are never among what is told. docs/observability.md
lists the names.
"""

from __future__ import annotations

import functools
import itertools
import logging
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

logger: logging.Logger = logging.getLogger("memorybank.watch")

Attributes = Mapping[str, str | int | float | bool]

P = ParamSpec("P")
R = TypeVar("R")

_clock = time.monotonic
_NUMBERS = itertools.count(1)
_LOOK = 1.0  # seconds after which it is looked anew whether somebody listens
_LOUD = frozenset({"consolidate", "erase", "flush", "forget"})  # rare: logged as INFO, the others as DEBUG


class Watch:
    """The counts of one open store, and its tracer and meters while an SDK is set up. Thread-safe."""

    def __init__(self) -> None:
        self.name: str = f"{next(_NUMBERS)}"
        """Tells the stores of a process apart, in gauges."""
        self.read: Callable[[], Levels] | None = None
        """Reads what stands at a moment (what is pending, what is cached): set by the store."""
        self._guard = threading.Lock()
        self._counts: dict[str, int] = {}
        self._look_again = 0.0
        self._listening = False
        self._tracer: Any = None
        self._meters: _Meters | None = None

    @property
    def counts(self) -> dict[str, int]:
        """What was counted since the store was opened."""
        with self._guard:
            return dict(self._counts)

    def count(self, name: str, n: int = 1) -> None:
        """Count something, here and in the metric ``memorybank.<name>``; calls of a verb are ``calls.<verb>``."""
        counts = self._counts
        with self._guard:
            counts[name] = counts.get(name, 0) + n
        if self._meters is not None and n:
            self._meters.count(name, n)

    @property
    def listening(self) -> bool:
        """Whether a tracer, a meter or a log of level DEBUG is there to hear; looked up once a second."""
        now = _clock()
        if now >= self._look_again:
            self._look()
            self._look_again = now + _LOOK
        return self._listening

    def look(self) -> None:
        """Look at once for a tracer or meter that was set up since."""
        self._look_again = 0.0

    def _look(self) -> None:
        self._tracer, meter = _providers()
        if meter is None:
            self._meters = None
        elif self._meters is None:
            self._meters = _Meters(meter, self)
        heard = logger.isEnabledFor(logging.DEBUG)
        self._listening = self._tracer is not None or self._meters is not None or heard

    @contextmanager
    def span(self, verb: str, given: Attributes) -> Iterator[dict[str, Any]]:
        """A span ``memorybank.<verb>``, its duration as a metric, and a log line. What is put into the dict it
        gives becomes attributes of it. Only while ``listening``."""
        told: dict[str, Any] = dict(given)
        begun = time.perf_counter()
        error: str | None = None
        with _span(self._tracer, verb) as span:
            try:
                yield told
            except BaseException as caught:  # noted, and raised again
                error = type(caught).__name__
                raise
            finally:
                seconds = time.perf_counter() - begun
                if span is not None:
                    _describe(span, told, error)
                if self._meters is not None:
                    self._meters.took(verb, seconds, error)
                _log(verb, seconds, told, error)


def _providers() -> tuple[Any, Any]:
    """A tracer and a meter, each None where no SDK is set up. Nothing is imported for it: whoever has set one up
    has imported OpenTelemetry."""
    trace = sys.modules.get("opentelemetry.trace")
    metrics = sys.modules.get("opentelemetry.metrics")
    tracer = meter = None
    if trace is not None and not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        tracer = trace.get_tracer("memorybank")
    if metrics is not None:
        provider = metrics.get_meter_provider()
        if type(provider).__name__ != "_ProxyMeterProvider":  # the API has no public name for it
            meter = metrics.get_meter("memorybank")
    return tracer, meter


@contextmanager
def _span(tracer: Any, verb: str) -> Iterator[Any]:
    if tracer is None:
        yield None
        return
    # Exceptions are not recorded as OpenTelemetry would: with the words of every error in the chain, and those of
    # databases and services may quote a text.
    with tracer.start_as_current_span(
        f"memorybank.{verb}", record_exception=False, set_status_on_exception=False
    ) as span:
        yield span


def _describe(span: Any, told: Attributes, error: str | None) -> None:
    if not span.is_recording():
        return
    span.set_attributes({f"memorybank.{name}": value for name, value in told.items()})
    if error is not None:
        span.set_attribute("error.type", error)
        trace = sys.modules["opentelemetry.trace"]
        span.set_status(trace.Status(trace.StatusCode.ERROR, error))


def _log(verb: str, seconds: float, told: Attributes, error: str | None) -> None:
    level = logging.INFO if verb in _LOUD else logging.DEBUG
    if logger.isEnabledFor(level):
        extra = {"event": f"memorybank.{verb}", "seconds": round(seconds, 6), "error": error, **told}
        logger.log(
            level, "%s: %s", verb, error or "done", extra={f"memorybank_{k}": v for k, v in extra.items()}
        )


class _Meters:
    """The instruments of one store, made when a meter is first seen."""

    def __init__(self, meter: Any, watch: Watch) -> None:
        self._meter = meter
        self._counters: dict[str, Any] = {}
        self._duration = meter.create_histogram(
            "memorybank.duration", unit="s", description="how long a verb of a bank or store took"
        )
        # Not kept alive by the meter, which forgets no callback.
        behind = weakref.ref(watch)
        for name, unit in LEVELS.items():
            meter.create_observable_gauge(f"memorybank.{name}", callbacks=[_reader(behind, name)], unit=unit)

    def count(self, name: str, n: int) -> None:
        kind, _, verb = name.partition(".") if name.startswith("calls.") else (name, "", "")
        made = self._counters.get(kind)
        if made is None:
            made = self._counters[kind] = self._meter.create_counter(f"memorybank.{kind}")
        made.add(n, {"memorybank.verb": verb} if verb else None)

    def took(self, verb: str, seconds: float, error: str | None) -> None:
        about = {"memorybank.verb": verb} if error is None else {"memorybank.verb": verb, "error.type": error}
        self._duration.record(seconds, about)


LEVELS = {"pending.index": "{memory}", "pending.embed": "{memory}", "flush.lag": "s", "cache.size": "By"}
"""Gauges, and their units."""

Levels = Mapping[str, float]


def _reader(behind: weakref.ref[Watch], name: str) -> Callable[[Any], list[Any]]:
    def read(_: Any) -> list[Any]:
        watch = behind()
        if watch is None or watch.read is None:
            return []
        observation = sys.modules["opentelemetry.metrics"].Observation
        return [
            observation(value, {"memorybank.store": watch.name})
            for key, value in watch.read().items()
            if key == name
        ]

    return read


class Watched(Protocol):
    """What has a watch: a bank, a store."""

    @property
    def watch(self) -> Watch: ...

    @property
    def degraded(self) -> bool:
        """Whether it works with less than it was set up with: no embedder, no index."""
        ...


W = TypeVar("W", bound=Watched)


def watched(
    verb: str, tell: Callable[[Any], Attributes], tally: Callable[[Any], Mapping[str, int]] | None = None
) -> Callable[[Callable[Concatenate[W, P], R]], Callable[Concatenate[W, P], R]]:
    """Have every call of a method counted, and seen as a span ``memorybank.<verb>``.

    ``tell`` says of the result what is to be told; it is asked only while somebody listens. ``tally`` says what
    more is to be counted.
    """
    call, rare = f"calls.{verb}", verb in _LOUD

    def decorate(method: Callable[Concatenate[W, P], R]) -> Callable[Concatenate[W, P], R]:
        @functools.wraps(method)
        def door(self: W, /, *args: P.args, **kwargs: P.kwargs) -> R:
            watch = self.watch
            if not rare and not watch.listening:
                result = method(self, *args, **kwargs)
            else:
                with watch.span(verb, {"degraded": self.degraded}) as told:
                    result = method(self, *args, **kwargs)
                    told.update(tell(result))
            watch.count(call, 1)
            if tally is not None:
                for name, n in tally(result).items():
                    watch.count(name, n)
            return result

        return door

    return decorate
