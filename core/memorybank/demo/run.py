"""The demo's course, by the public API alone: import, ask, let time pass, forget, look back, plot.

Time stands still but for what the script says: the store's clock is a ``FrozenClock``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from memorybank.bank import MemoryBank
from memorybank.demo.script import Question, Script, dialogue, load_script
from memorybank.embedding.protocol import Embedder
from memorybank.forgetting import ForgettingPolicy
from memorybank.interchange import ImportOptions, load, read
from memorybank.models import Explanation, Forgotten, Memory, Recalled, Stats
from memorybank.plotting import Trace, plot_retention, trace
from memorybank.store import MemoryStore
from memorybank.testing import FrozenClock

IMPORTED_ON = 9  # the evening of the tenth day
FORGOTTEN_ON = 260  # days: companion memories that were never recalled have faded by then
_RECALLED = 2  # memories per question: each one that is handed over grows stronger
_DRAWN = 4  # recalled memories in the plot,
_FADING = 2  # and memories that were never recalled: these all run close together
_TITLES = {
    "en": "Retention over time: each recall adds 1 to S and sets t to 0",
    "zh": "留存随时间的变化：每次想起，S 加 1，t 归零",
}


@dataclass(frozen=True, slots=True)
class Imported:
    """What came in, and how recall works here (by meaning and words, or by words only)."""

    script: Script
    stats: Stats
    embedder: str | None
    note: Memory


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, when it was asked, and what was found; strengths are those after the reinforcement."""

    question: Question
    now: datetime
    recalled: tuple[Recalled, ...]
    strengths: dict[str, int]

    @property
    def found(self) -> bool:
        """Whether what the question expects is among what was recalled."""
        return any(self.question.expects in one.memory.text for one in self.recalled)


@dataclass(frozen=True, slots=True)
class Faded:
    """What a dry run said, what ``forget`` then did, and why, for one memory that was recalled, one that is pinned
    and one that goes."""

    now: datetime
    planned: Forgotten
    done: Forgotten
    going: tuple[Memory, ...]
    why: tuple[Explanation, ...]


@dataclass(frozen=True, slots=True)
class LookedBack:
    """A question about what has faded: out of recall, still there, and restored."""

    asked: Asked
    without: tuple[Recalled, ...]
    restored: str | None


@dataclass(frozen=True, slots=True)
class Plotted:
    """Retention over time of recalled and unrecalled memories. ``png`` is None where it could not be drawn."""

    traces: tuple[Trace, ...]
    threshold: float
    png: Path | None
    reason: str = ""


Step = Imported | Asked | Faded | LookedBack | Plotted


@dataclass(slots=True)
class _Diary:
    """Who was recalled when, and what came first on which evening."""

    uses: dict[str, list[datetime]] = field(default_factory=dict)
    first: dict[datetime, str] = field(default_factory=dict)

    def note(self, recalled: tuple[Recalled, ...], now: datetime) -> None:
        for one in recalled:
            self.uses.setdefault(one.memory.id, []).append(now)
        if recalled:
            self.first[now] = recalled[0].memory.id


def run(
    language: str, folder: Path, png: Path | None, embedder: Embedder | str | None = "default"
) -> Iterator[Step]:
    """Play the demo of one language in a store at ``folder``, step by step; ``png``: where to draw the plot.

    Needs no network and no key. Raises as the public API does.
    """
    script = load_script(language)
    clock = FrozenClock(script.evening(IMPORTED_ON))
    policy = ForgettingPolicy.companion()
    with MemoryStore.open(
        folder,
        embedder=embedder,  # type: ignore[arg-type]  # "default"
        clock=clock,
        flush_on_close=False,
    ) as store:
        bank = store.bank(script.owner, timezone=script.timezone, language=language, policy=policy)
        imported = _import(store, bank, script)
        yield imported
        diary = _Diary()
        for question in script.questions:
            clock.set(script.evening(question.day))
            yield _ask(bank, question, script.evening(question.day), diary)
        clock.set(script.evening(FORGOTTEN_ON))
        yield _forget(bank, script.evening(FORGOTTEN_ON), diary, imported.note)
        clock.set(script.evening(script.look_back.day))
        yield _look_back(bank, script, script.evening(script.look_back.day), diary)
        yield _plot(bank, script, png, diary)


def _import(store: MemoryStore, bank: MemoryBank, script: Script) -> Imported:
    with dialogue(script.language) as path:
        load(read(path, "messages", ImportOptions()), lambda _owner: bank)
    stats = bank.stats()  # of the talk, before the note
    note = next((one for one in bank.memories(levels=["note"])), None) or bank.remember(script.note)
    bank.pin([note.id])
    name = None if store.embedder is None else store.embedder.name
    return Imported(script, stats, name, note)


def _ask(
    bank: MemoryBank, question: Question, now: datetime, diary: _Diary, *, archived: bool = False
) -> Asked:
    recalled = tuple(bank.recall(question.ask, _RECALLED, levels=["turn"], include_archived=archived))
    diary.note(recalled, now)
    strengths = {memory.id: memory.strength for memory in bank.get([one.memory.id for one in recalled])}
    return Asked(question, now, recalled, strengths)


def _forget(bank: MemoryBank, now: datetime, diary: _Diary, note: Memory) -> Faded:
    planned = bank.forget(dry_run=True)
    done = bank.forget()
    going = bank.get(planned.archived)
    used = sorted(diary.uses, key=lambda id_: -len(diary.uses[id_]))[:1]
    why = tuple(bank.explain(id_) for id_ in [*used, note.id, *planned.archived[:1]])
    return Faded(now, planned, done, tuple(going), why)


def _look_back(bank: MemoryBank, script: Script, now: datetime, diary: _Diary) -> LookedBack:
    question = script.look_back
    without = tuple(bank.recall(question.ask, _RECALLED, levels=["turn"], reinforce=False))
    asked = _ask(bank, question, now, diary, archived=True)
    hit = next((one.memory for one in asked.recalled if question.expects in one.memory.text), None)
    archived = hit is not None and hit.status.value == "archived"
    if hit is not None and archived:
        bank.restore([hit.id])
    return LookedBack(asked, without, hit.id if hit is not None and archived else None)


def _plot(bank: MemoryBank, script: Script, png: Path | None, diary: _Diary) -> Plotted:
    turns = bank.memories(levels=["turn"])
    # What came first on the last evenings: each has a course of its own, and none hides another.
    best = set(list(diary.first.values())[-_DRAWN:])
    often = [one for one in turns if one.id in best]
    never = [one for one in turns if one.id not in diary.uses]
    spaced = never[:: max(len(never) - 1, 1) // max(_FADING - 1, 1)]
    start, until = script.evening(0).replace(hour=0), script.evening(FORGOTTEN_ON + 75)
    traces = tuple(
        trace(
            _label(one, script), bank.curve, one.ended, diary.uses.get(one.id, ()), start=start, until=until
        )
        for one in [*often, *spaced[:_FADING]]
    )
    threshold = bank.policy.archive_below
    if png is None:
        return Plotted(traces, threshold, None)
    try:
        title = _TITLES[script.language]
        drawn = plot_retention(
            traces, png, title=title, threshold=threshold, language="zh" if script.language == "zh" else "en"
        )
        return Plotted(traces, threshold, drawn)
    except ImportError as error:  # without the extra the terminal's plot stands alone
        return Plotted(traces, threshold, None, str(error))


def _label(memory: Memory, script: Script, longest: int = 40) -> str:
    """When it was, and the user's words, shortened."""
    words = memory.text.splitlines()[0].partition(": ")[2]
    when = memory.began.astimezone(script.evening(0).tzinfo).strftime("%m-%d %H:%M")
    return f"{when} {words if len(words) <= longest else f'{words[: longest - 1]}…'}"
