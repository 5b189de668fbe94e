"""What can happen to a Chroma folder: locked, killed, damaged, foreign, newer, unwritable, forked."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import memorybank.index
from memorybank.errors import IndexUnavailableError, InvalidInputError
from memorybank.index import ChromaIndex
from memorybank.index.probe import probe
from tests.contracts.index_contract import names, unit_rows

ROOT = str(Path(memorybank.index.__file__).resolve().parents[2])
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([ROOT, str(Path(__file__).resolve().parents[3])])}

PREAMBLE = """
import os, sys, time
from memorybank.errors import IndexUnavailableError
from memorybank.index import ChromaIndex
from tests.contracts.index_contract import names, unit_rows
folder = sys.argv[1]
def say(*words):
    print(*words, flush=True)
"""


def other_process(program: str, folder: Path) -> subprocess.Popen[str]:
    """Another Python that runs ``program`` after the preamble."""
    return subprocess.Popen(
        [sys.executable, "-c", PREAMBLE + program, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )


def filled(folder: Path, rows: int = 450) -> None:
    """A folder with one bank, closed cleanly."""
    index = ChromaIndex.open(folder, shards=2)
    index.upsert("bank", names(rows), unit_rows(rows))
    index.close()


def refused(folder: Path, reason: str, **options: object) -> str:
    """Opening is refused for this reason; returns the message, which names the folder or file."""
    with pytest.raises(IndexUnavailableError) as caught:
        ChromaIndex.open(folder, **options)  # type: ignore[arg-type]  # options differ in type
    assert caught.value.reason == reason
    return str(caught.value)


def works(folder: Path, *, reset: bool) -> None:
    """The folder can be opened, filled, closed and opened again."""
    index = ChromaIndex.open(folder, reset=reset)
    index.upsert("again", names(3), unit_rows(3))
    index.close()
    index = ChromaIndex.open(folder)
    assert index.search("again", unit_rows(3)[2], 1).ids == ["m2"]
    index.close()


class TestLock:
    """One process at a time, since two lose each other's vectors."""

    def test_locked_by_another_process_until_it_ends(self, tmp_path: Path) -> None:
        """Refused at once while another holds it; free when that one closes."""
        held = other_process(
            "index = ChromaIndex.open(folder); say('open'); sys.stdin.readline(); index.close()", tmp_path
        )
        assert held.stdout is not None
        assert held.stdout.readline() == "open\n"
        assert str(tmp_path) in refused(tmp_path, "locked")
        refused(tmp_path, "locked", reset=True)  # nobody's folder is wiped under him
        held.communicate("go\n")
        assert held.returncode == 0
        ChromaIndex.open(tmp_path).close()

    def test_locked_in_the_same_process(self, tmp_path: Path) -> None:
        """A second index on the folder is refused as well, and does not free the first one's lock."""
        first = ChromaIndex.open(tmp_path)
        for _ in range(2):
            refused(tmp_path, "locked")
        first.upsert("bank", ["a"], unit_rows(1))
        first.close()
        ChromaIndex.open(tmp_path).close()

    def test_a_refused_opening_frees_the_lock(self, tmp_path: Path) -> None:
        """After an opening that failed for another reason the folder is not locked."""
        filled(tmp_path, 3)
        refused(tmp_path, "foreign", shards=7)
        ChromaIndex.open(tmp_path).close()


class TestKilled:
    """kill -9 at any moment: the next opening answers rightly or says that the folder is damaged."""

    @pytest.mark.parametrize("delay", [0.0, 0.35, 0.9])
    def test_killed_writer(self, tmp_path: Path, delay: float, caplog: pytest.LogCaptureFixture) -> None:
        """What upsert acknowledged is there, or the folder is damaged, is wiped, and works again."""
        writer = other_process(
            "index = ChromaIndex.open(folder, shards=1)\n"
            "rows = unit_rows(20000)\n"
            "for at in range(0, 20000, 50):\n"
            "    index.upsert('bank', names(50, at), rows[at:at + 50]); say(at + 50)\n",
            tmp_path,
        )
        assert writer.stdout is not None
        acknowledged = int(writer.stdout.readline())
        time.sleep(delay)
        writer.kill()
        acknowledged = max([acknowledged, *(int(line) for line in writer.stdout.read().split()[:-1])])
        writer.wait()
        with caplog.at_level(logging.WARNING, logger="memorybank.index"):
            try:
                index = ChromaIndex.open(tmp_path)
            except IndexUnavailableError as error:
                assert error.reason == "damaged"  # noqa: PT017 - either outcome is right
                works(tmp_path, reset=True)
                return
        assert "probing" in caplog.text
        assert not index.clean
        assert index.ids("bank") >= set(names(acknowledged))
        rows = unit_rows(20000)
        for row in (0, acknowledged // 2, acknowledged - 1):
            assert index.search("bank", rows[row], 1).ids == [f"m{row}"]
        index.close()

    def test_clean_folder_is_not_probed(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """A folder that was closed in good order opens without another process."""
        filled(tmp_path)
        with caplog.at_level(logging.WARNING, logger="memorybank.index"):
            index = ChromaIndex.open(tmp_path)
            assert index.clean
            index.close()
        assert "probing" not in caplog.text


class TestDamaged:
    """Files cut, filled with garbage or removed, also after a clean close."""

    @pytest.mark.parametrize(
        "pattern",
        ["*/header.bin", "*/data_level0.bin", "*/length.bin", "*/index_metadata.pickle", "chroma.sqlite3"],
    )
    @pytest.mark.parametrize("how", ["cut", "garbage", "removed"])
    def test_damaged_file(self, tmp_path: Path, pattern: str, how: str) -> None:
        """Never a crash and never a wrong answer: damaged, or still right. Wiped, it works again."""
        filled(tmp_path)
        for path in tmp_path.glob(pattern):
            whole = path.read_bytes()
            if how == "removed":
                path.unlink()
            else:
                path.write_bytes(
                    whole[: len(whole) // 2] if how == "cut" else bytes(byte ^ 90 for byte in whole)
                )
        try:
            index = ChromaIndex.open(tmp_path)
        except IndexUnavailableError as error:
            assert (error.reason, "rebuild" in str(error)) == ("damaged", True)  # noqa: PT017 - either is right
        else:
            assert index.ids("bank") == set(names(450))
            assert index.search("bank", unit_rows(450)[449], 1).ids == ["m449"]
            index.close()
        works(tmp_path, reset=True)

    def test_cut_header_is_found_in_the_other_process(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A truncated header ends the process that reads it, or has it turn for ever; this one goes on."""
        monkeypatch.setattr("memorybank.index.folder.probe", lambda path, _: probe(path, 10.0))
        filled(tmp_path)
        (header,) = tmp_path.glob("*/header.bin")
        header.write_bytes(header.read_bytes()[:10])
        assert "rebuild" in refused(tmp_path, "damaged")

    @pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1}', '{"format": "x", "shards": 1}'])
    def test_unreadable_layout_file(self, tmp_path: Path, text: str) -> None:
        """A layout file that says nothing: damaged; reset works."""
        filled(tmp_path, 3)
        (tmp_path / "memorybank.json").write_text(text)
        refused(tmp_path, "damaged")
        works(tmp_path, reset=True)

    def test_a_probe_that_hangs_is_given_up(self, tmp_path: Path) -> None:
        """The time limit of the probe counts as damage."""
        filled(tmp_path, 3)
        with pytest.raises(IndexUnavailableError, match="did not answer") as caught:
            probe(tmp_path, timeout=0.01)
        assert caught.value.reason == "damaged"

    def test_a_probe_of_a_good_folder(self, tmp_path: Path) -> None:
        """Good folders pass, an empty index too."""
        filled(tmp_path)
        probe(tmp_path, timeout=60)
        ChromaIndex.open(tmp_path / "empty").close()
        probe(tmp_path / "empty", timeout=60)


class TestForeign:
    """Folders that someone else made, or another version of ours."""

    def test_foreign_files_are_refused_and_never_removed(self, tmp_path: Path) -> None:
        """A folder of other files: refused; reset moves them aside, whole."""
        folder = tmp_path / "chroma"
        folder.mkdir()
        (folder / "thesis.txt").write_text("dear to someone")
        assert "thesis.txt" in refused(folder, "foreign")
        works(folder, reset=True)
        assert (tmp_path / "chroma.foreign-1" / "thesis.txt").read_text() == "dear to someone"

    def test_foreign_chroma_folder(self, tmp_path: Path) -> None:
        """A Chroma folder of another program (l2, other names) is refused and left as it is."""
        import chromadb

        folder = tmp_path / "chroma"
        client = chromadb.PersistentClient(str(folder))
        client.create_collection("langchain", embedding_function=None).add(ids=["a"], embeddings=[[1.0, 2.0]])
        client.close()
        refused(folder, "foreign")
        client = chromadb.PersistentClient(str(folder))
        assert client.get_collection("langchain", embedding_function=None).count() == 1
        client.close()
        works(folder, reset=True)
        assert (tmp_path / "chroma.foreign-1" / "chroma.sqlite3").exists()

    @pytest.mark.parametrize("name", ["somebody-else", "memorybank.shard-0001"])
    def test_foreign_collection_in_our_folder(self, tmp_path: Path, name: str) -> None:
        """A collection that another program put into our folder, even under our name in l2, is found out."""
        import chromadb

        filled(tmp_path, 3)
        client = chromadb.PersistentClient(str(tmp_path))
        for known in client.list_collections():
            if known.name == name:
                client.delete_collection(name)
        client.create_collection(name, embedding_function=None)
        client.close()
        assert name in refused(tmp_path, "foreign")

    def test_newer_layout(self, tmp_path: Path) -> None:
        """Written by a newer version: refused as such, and reset keeps the files."""
        folder = tmp_path / "chroma"
        filled(folder, 3)
        written = json.loads((folder / "memorybank.json").read_text())
        (folder / "memorybank.json").write_text(json.dumps({**written, "format": 99}))
        assert "upgrade" in refused(folder, "newer")
        works(folder, reset=True)
        assert (tmp_path / "chroma.foreign-1" / "chroma.sqlite3").exists()

    def test_other_shards_or_namespace(self, tmp_path: Path) -> None:
        """Fixed at creation; without a wish the folder's own are taken."""
        filled(tmp_path, 3)
        assert "2 shards" in refused(tmp_path, "foreign", shards=64)
        refused(tmp_path, "foreign", namespace="other")
        ChromaIndex.open(tmp_path, shards=2).close()
        ChromaIndex.open(tmp_path).close()

    @pytest.mark.parametrize("shards", [0, -1, 5000])
    def test_absurd_shards(self, tmp_path: Path, shards: int) -> None:
        """Numbers of shards that make no sense are the caller's error."""
        with pytest.raises(InvalidInputError, match="shards"):
            ChromaIndex.open(tmp_path / "chroma", shards=shards)


class TestUnwritable:
    """Places where nothing can be written."""

    def test_folder_is_a_file(self, tmp_path: Path) -> None:
        """A file where the folder should be, or above it, is left alone."""
        (tmp_path / "file").write_text("mine")
        refused(tmp_path / "file", "foreign")
        refused(tmp_path / "file", "foreign", reset=True)
        refused(tmp_path / "file" / "below", "unwritable")
        assert (tmp_path / "file").read_text() == "mine"

    @pytest.mark.parametrize("made", [False, True], ids=["new", "with an index in it"])
    def test_read_only_folder(self, made: bool) -> None:
        """Without the right to write: unavailable, no traceback. As another user where we are root."""
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "chroma"
            if made:
                filled(folder, 3)
            else:
                folder.mkdir()
            for path in [Path(place), folder, *folder.rglob("*")]:
                path.chmod(0o555 if path.is_dir() else 0o444)
            # root may write anywhere: become nobody, once everything is imported
            program = (
                "import chromadb\n"
                "if os.geteuid() == 0: os.setuid(65534)\n"
                "try: ChromaIndex.open(folder)\n"
                "except IndexUnavailableError as error: say(error.reason)\n"
                "else: say('opened')\n"
            )
            done = subprocess.run(
                [sys.executable, "-c", PREAMBLE + program, str(folder)],
                capture_output=True,
                text=True,
                env={**ENVIRONMENT, "HOME": place},
                check=False,
            )
            for path in [Path(place), folder]:
                path.chmod(0o700)
            assert done.stdout.strip() == "unwritable", done.stderr

    def test_folder_removed_while_open(self, tmp_path: Path) -> None:
        """Someone deletes the folder: closing still ends, and the next opening starts anew."""
        folder = tmp_path / "chroma"
        index = ChromaIndex.open(folder)
        index.upsert("bank", ["a"], unit_rows(1))
        shutil.rmtree(folder)
        index.close()
        works(folder, reset=False)


class TestOpenFiles:
    """Embedded Chroma evicts indices when it has too many for the limit on open files, and may lose rows then."""

    PROGRAM = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    index = ChromaIndex.open(folder)
    for number in range(int(sys.argv[3])):
        index.upsert(f"bank-{number}", names(3), unit_rows(3))
        index.promote(f"bank-{number}")
        assert index.count(f"bank-{number}") == 3
    say(len(index.promoted()))
    index.close()
except IndexUnavailableError as error:
    say(error.reason, error)
"""

    def run(self, folder: Path, files: int, banks: int) -> str:
        """What a process says that may open so many files and promotes so many banks."""
        if sys.platform == "win32":
            pytest.skip("Windows has no such limit")
        done = subprocess.run(
            [sys.executable, "-c", PREAMBLE + self.PROGRAM, str(folder), str(files), str(banks)],
            capture_output=True,
            text=True,
            env=ENVIRONMENT,
            check=True,
        )
        return done.stdout

    def test_a_new_folder_takes_fewer_shards_and_few_own_collections(self, tmp_path: Path) -> None:
        """With 100 files: 20 collections, 10 of them shards; promoting an 11th bank changes nothing."""
        assert self.run(tmp_path, 100, 13) == "10\n"
        assert json.loads((tmp_path / "memorybank.json").read_text())["shards"] == 10

    def test_a_folder_with_more_collections_than_fit_is_refused(self, tmp_path: Path) -> None:
        """Made under a higher limit: unavailable, with the limit that it needs; nothing is lost."""
        index = ChromaIndex.open(tmp_path, shards=64)
        for number in range(40):
            index.upsert(f"bank-{number}", names(1), unit_rows(1))
        index.close()
        assert self.run(tmp_path, 60, 0).startswith("limits ")
        ChromaIndex.open(tmp_path).close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
class TestFork:
    """A forked child must not use the parent's client: Chroma hangs there."""

    @pytest.mark.parametrize("ending", ["os._exit(0)", "sys.exit(0)"])
    def test_child_is_refused_and_parent_goes_on(self, tmp_path: Path, ending: str) -> None:
        """Every method says "forked", the child ends, the parent keeps the lock and its rows."""
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                PREAMBLE
                + f"""
index = ChromaIndex.open(folder)
rows = unit_rows(3)
index.upsert("bank", names(3), rows)
child = os.fork()
if child == 0:
    for call in (
        lambda: index.search("bank", rows[0], 1), lambda: index.upsert("bank", ["x"], rows[:1]),
        lambda: index.delete("bank", ["m0"]), lambda: index.drop("bank"), lambda: index.ids("bank"),
        lambda: index.count("bank"), lambda: index.promote("bank"), lambda: index.wipe(),
        lambda: ChromaIndex.open(folder),
    ):
        try:
            call()
        except IndexUnavailableError as error:
            say(error.reason)
    index.close()
    {ending}
say(os.waitpid(child, 0)[1])
try:
    ChromaIndex.open(folder)
except IndexUnavailableError as error:
    say(error.reason)
say(sorted(index.ids("bank")))
index.close()
""",
                str(tmp_path),
            ],
            capture_output=True,
            text=True,
            env=ENVIRONMENT,
            timeout=120,
            check=False,
        )
        assert done.stdout.split("\n")[:-1] == [
            *["forked"] * 8,
            "locked",
            "0",
            "locked",
            "['m0', 'm1', 'm2']",
        ], done.stderr
