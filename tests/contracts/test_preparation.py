"""Preparation: from text files to a stored corpus, the same by any number of processes, whole or not at all."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest

from regard import CorpusError
from regard.batches import corpus as stored_corpus
from regard.batches import gathering, preparation
from regard.batches.corpus import StoredCorpus
from regard.batches.preparation import Source, prepare
from regard.text.cleaning import CleaningSettings, clean_stream
from regard.text.normalisation import normalise
from regard.tokens import Tokenisers, TokeniserSettings, train

SENTENCES = [(f"The house number {n} is old.", f"Das Haus Nummer {n} ist alt.") for n in range(300)]


@pytest.fixture(scope="module")
def tokenisers() -> Tokenisers:
    return train(*zip(*SENTENCES, strict=True), TokeniserSettings(kind="characters", vocabulary=400))


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of 16 pairs, of which the third is worth other processes."""
    monkeypatch.setattr(gathering, "CHUNK", 16)
    monkeypatch.setattr(gathering, "_SMALL", 0)
    monkeypatch.setattr(preparation, "INLINE", 2)


def tsv(path: Path, pairs: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return path


def source_of(*paths: Path, **changes: Any) -> Source:
    return Source.read({"data": tuple(map(str, paths)), "source": "en", "target": "de"} | changes, where="test")


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def texts(corpus: StoredCorpus, tokenisers: Tokenisers) -> list[tuple[str, str]]:
    return [
        (
            tokenisers.source.decode(corpus.streams["source"].sentence(number)),
            tokenisers.target.decode(corpus.streams["target"].sentence(number)),
        )
        for number in range(len(corpus))
    ]


@pytest.mark.usefixtures("small_chunks")
def test_one_process_and_two_store_the_same_bytes(tmp_path: Path, tokenisers: Tokenisers) -> None:
    awkward = [("", "leer"), ("a\u2028b", "c"), SENTENCES[3], ("x" * 1200, "y" * 1200)]
    first, second = tsv(tmp_path / "a.tsv", SENTENCES + awkward), tsv(tmp_path / "b.tsv", SENTENCES[:9])
    source = source_of(first, second, max_tokens=1000)
    alone = prepare(source, tokenisers, tmp_path / "alone", workers=1)
    shared = prepare(source, tokenisers, tmp_path / "shared", workers=2)
    assert content(alone.folder) == content(shared.folder)
    assert len(alone) == len(SENTENCES) + 1


@pytest.mark.usefixtures("small_chunks")
def test_texts_with_nul_characters_reach_other_processes_as_they_are(tmp_path: Path, tokenisers: Tokenisers) -> None:
    path = tmp_path / "a.jsonl"
    pairs = [("a\0b", "c"), ("\0", "\0d"), *SENTENCES]
    path.write_text("".join(json.dumps({"en": source, "de": target}) + "\n" for source, target in pairs))
    corpora = [prepare(source_of(path), tokenisers, tmp_path / str(n), workers=n) for n in (1, 2)]
    assert content(corpora[0].folder) == content(corpora[1].folder)
    assert texts(corpora[1], tokenisers)[:2] == [("ab", "c"), SENTENCES[0]]


def test_what_is_stored_is_what_the_tokenisers_say_and_an_end(tmp_path: Path, tokenisers: Tokenisers) -> None:
    pairs = [(" Two  spaces", "zwei"), ("cafe\u0301", "Kaffee"), *SENTENCES[:20]]
    corpus = prepare(source_of(tsv(tmp_path / "a.tsv", pairs)), tokenisers, tmp_path / "out")
    for side, tokeniser, column in (
        (corpus.streams["source"], tokenisers.source, [normalise(pair[0]) for pair in pairs]),
        (corpus.streams["target"], tokenisers.target, [normalise(pair[1]) for pair in pairs]),
    ):
        for number, text in enumerate(column):
            start, length = int(side.starts[number]), int(side.lengths[number])
            assert side.tokens[start : start + length].tolist() == [*tokeniser.encode(text), tokeniser.end]


def test_the_same_question_finds_the_same_corpus_without_new_work(
    tmp_path: Path, tokenisers: Tokenisers, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = source_of(tsv(tmp_path / "a.tsv", SENTENCES))
    first = prepare(source, tokenisers, tmp_path / "out")
    monkeypatch.setattr(preparation, "CorpusWriter", None)
    again = prepare(source, Tokenisers.from_files(tokenisers.files()), tmp_path / "out")
    assert again.folder == first.folder
    (tmp_path / "elsewhere").mkdir()
    moved = tsv(tmp_path / "elsewhere" / "a.tsv", SENTENCES)
    assert prepare(source_of(moved), tokenisers, tmp_path / "out").folder == first.folder


def test_a_corpus_that_another_process_stored_meanwhile_stays_whole_for_its_readers(
    tmp_path: Path, tokenisers: Tokenisers, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = source_of(tsv(tmp_path / "a.tsv", SENTENCES)), tmp_path / "out"
    finish, stored = preparation.CorpusWriter.finish, []

    def somebody_is_quicker(writer: preparation.CorpusWriter, *given: Any, **more: Any) -> None:
        monkeypatch.setattr(preparation.CorpusWriter, "finish", finish)
        other = prepare(source, tokenisers, out)
        stored.append((other, {path: path.stat().st_ino for path in other.folder.iterdir()}))
        finish(writer, *given, **more)

    monkeypatch.setattr(preparation.CorpusWriter, "finish", somebody_is_quicker)
    corpus = prepare(source, tokenisers, out)
    other, files = stored[0]
    assert corpus.folder == other.folder
    assert {path: path.stat().st_ino for path in corpus.folder.iterdir()} == files  # the first one's, untouched
    assert [path.name for path in out.iterdir()] == [corpus.folder.name]  # and nothing is left behind


def test_another_question_never_finds_that_corpus(tmp_path: Path, tokenisers: Tokenisers) -> None:
    path, out = tsv(tmp_path / "a.tsv", SENTENCES), tmp_path / "out"
    corpora = [prepare(source_of(path), tokenisers, out)]
    corpora.append(prepare(source_of(path, cleaning=CleaningSettings(max_characters=99)), tokenisers, out))
    corpora.append(prepare(source_of(path, max_tokens=500), tokenisers, out))
    corpora.append(prepare(source_of(path, columns=(2, 1)), tokenisers, out))
    others = train(["other"], ["text"], TokeniserSettings(kind="characters", vocabulary=400))
    corpora.append(prepare(source_of(path), others, out))
    tsv(path, SENTENCES[:-1])
    corpora.append(prepare(source_of(path), tokenisers, out))
    assert len({corpus.folder for corpus in corpora}) == len(corpora) == len(list(out.iterdir()))


def test_the_name_of_a_file_is_part_of_the_question_where_it_says_the_languages(
    tmp_path: Path, tokenisers: Tokenisers
) -> None:
    straight = prepare(source_of(tsv(tmp_path / "x.en-de.tsv", SENTENCES)), tokenisers, tmp_path / "out")
    crossed = prepare(source_of(tsv(tmp_path / "x.de-en.tsv", SENTENCES)), tokenisers, tmp_path / "out")
    assert texts(straight, tokenisers) == SENTENCES
    assert texts(crossed, tokenisers) == [(target, source) for source, target in SENTENCES]


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("workers", [1, 2])
def test_duplicates_are_dropped_across_chunks_and_files_with_their_places(
    tmp_path: Path, tokenisers: Tokenisers, workers: int
) -> None:
    first = tsv(tmp_path / "a.tsv", [*SENTENCES[:50], SENTENCES[2]])
    second = tsv(tmp_path / "b.tsv", [("new", "neu"), SENTENCES[49], (SENTENCES[0][0], "anders")])
    corpus = prepare(source_of(first, second), tokenisers, tmp_path / "out", workers=workers)
    assert texts(corpus, tokenisers) == [*SENTENCES[:50], ("new", "neu"), (SENTENCES[0][0], "anders")]
    assert corpus.description["dropped"] == {"duplicate": 2}
    assert f"dropped, the same pair came before: 2 ({first}:51, {second}:2)" in corpus.description["summary"]
    keep_all = source_of(first, second, cleaning=CleaningSettings(drop_duplicates=False))
    assert len(prepare(keep_all, tokenisers, tmp_path / "out", workers=workers)) == 54


def test_pairs_of_too_many_tokens_are_dropped_and_counted(tmp_path: Path, tokenisers: Tokenisers) -> None:
    path = tsv(tmp_path / "a.tsv", [("a" * 9, "b" * 9), ("a" * 10, "b"), ("a", "b" * 10), ("c", "d")])
    corpus = prepare(source_of(path, max_tokens=10), tokenisers, tmp_path / "out")
    assert texts(corpus, tokenisers) == [("a" * 9, "b" * 9), ("c", "d")]
    assert corpus.longest == 10
    assert corpus.description["dropped"] == {"too_many_tokens": 2}
    assert f"({path}:2, {path}:3)" in corpus.description["summary"][1]


def test_the_counts_add_up_to_what_came_in(tmp_path: Path, tokenisers: Tokenisers) -> None:
    pairs = [("", "x"), ("x", ""), ("Berlin", "Berlin"), ("a  b", "c"), ("a" * 60, "b"), *SENTENCES[:5], SENTENCES[0]]
    path = tsv(tmp_path / "a.tsv", pairs)
    with path.open("ab") as file:
        file.write(b"one column\n\xff\tx\n\n")
    description = prepare(source_of(path, skip_bad=True), tokenisers, tmp_path / "out").description
    assert description["kept"] == 6
    assert description["dropped"] == {"empty_source": 1, "empty_target": 1, "copy": 1, "ratio": 1, "duplicate": 1}
    assert description["changed"] == {"spaces": 1}
    assert description["bad"] == {"columns": 1, "not_utf8": 1}
    assert description["passed_over"] == {"blank": 1}
    assert description["kept"] + sum(description["dropped"].values()) == len(pairs)


def test_where_nothing_is_left_every_reason_is_told(tmp_path: Path, tokenisers: Tokenisers) -> None:
    path = tsv(tmp_path / "a.tsv", [("", "x"), ("Berlin", "Berlin")])
    with pytest.raises(CorpusError, match=r"a\.tsv: no sentence pair is left") as told:
        prepare(source_of(path), tokenisers, tmp_path / "out")
    assert "dropped, the source is empty: 1" in str(told.value)
    assert "dropped, the target is a copy of the source: 1" in str(told.value)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_bad_line_stops_preparation_and_nothing_is_left_behind(
    tmp_path: Path, tokenisers: Tokenisers, workers: int
) -> None:
    path = tsv(tmp_path / "a.tsv", [*SENTENCES, ("one", "two\tthree")])
    with pytest.raises(CorpusError, match=r"a\.tsv:301: this line has 3 columns") as told:
        prepare(source_of(path), tokenisers, tmp_path / "out", workers=workers)
    assert "--skip-bad" in str(told.value)
    assert list((tmp_path / "out").iterdir()) == []
    assert len(prepare(source_of(path, skip_bad=True), tokenisers, tmp_path / "out", workers=workers)) == 300


def failing(error: BaseException, *, after: int) -> Callable[[int], None]:
    def progress(pairs: int, total: int) -> None:
        assert total >= pairs
        if pairs >= after:
            raise error

    return progress


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), ZeroDivisionError()])
def test_an_interruption_in_the_middle_leaves_nothing_and_the_next_run_succeeds(
    tmp_path: Path, tokenisers: Tokenisers, workers: int, error: BaseException
) -> None:
    source = source_of(tsv(tmp_path / "a.tsv", SENTENCES))
    with pytest.raises(type(error)):
        prepare(source, tokenisers, tmp_path / "out", workers=workers, progress=failing(error, after=100))
    assert list((tmp_path / "out").iterdir()) == []
    seen: list[tuple[int, int]] = []
    again = prepare(source, tokenisers, tmp_path / "out", workers=workers, progress=lambda *pairs: seen.append(pairs))
    assert len(again) == 300
    assert seen == [(pairs, 300) for pairs in (*range(16, 300, 16), 300)]


def test_a_full_disk_is_told_without_a_traceback(
    tmp_path: Path, tokenisers: Tokenisers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(stored_corpus.GrowingArray, "append", full)
    with pytest.raises(CorpusError, match="cannot store the corpus in this folder: No space left on device") as told:
        prepare(source_of(tsv(tmp_path / "a.tsv", SENTENCES)), tokenisers, tmp_path / "out")
    assert "the free space on its disk" in str(told.value)
    assert list((tmp_path / "out").iterdir()) == []


def die(_: object) -> None:
    os._exit(9)


@pytest.mark.usefixtures("small_chunks")
def test_a_process_that_is_ended_from_outside_is_told(
    tmp_path: Path, tokenisers: Tokenisers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparation, "_work", die)
    with pytest.raises(CorpusError, match="a process that prepared the corpus was killed"):
        prepare(source_of(tsv(tmp_path / "a.tsv", SENTENCES)), tokenisers, tmp_path / "out", workers=2)
    assert list((tmp_path / "out").iterdir()) == []


PROGRAM = """
import sys, time
from pathlib import Path
from regard.batches import preparation
from regard.tokens import TokeniserSettings, train

folder = Path(sys.argv[1])

def wait(pairs, total):
    (folder / "started").touch()
    time.sleep(60)

source = preparation.Source(data=(str(folder / "a.tsv"),), source="en", target="de")
tokenisers = train(["x"], ["y"], TokeniserSettings(kind="utf8"))
preparation.prepare(source, tokenisers, folder / "out", workers=1, progress=wait)
"""


def test_a_killed_preparation_leaves_no_corpus_and_the_next_one_sweeps_up(tmp_path: Path) -> None:
    path, out = tsv(tmp_path / "a.tsv", SENTENCES), tmp_path / "out"
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(tmp_path)])
    try:
        for _ in range(600):
            if (tmp_path / "started").exists():
                break
            time.sleep(0.1)
        debris = list(out.iterdir())
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert len(debris) == 2  # the text that was gathered, and the corpus
    assert all(folder.name.startswith(f".{stored_corpus._machine()}+{process.pid}.") for folder in debris)
    assert all(folder.name.endswith(".partial") for folder in debris)
    (out / ".notes.partial").touch()  # not ours
    corpus = prepare(source_of(path), train(["x"], ["y"], TokeniserSettings(kind="utf8")), out)
    assert len(corpus) == len(SENTENCES)
    assert {entry.name for entry in out.iterdir()} == {corpus.folder.name, ".notes.partial"}


def test_an_unfinished_corpus_of_another_machine_stays_until_it_is_abandoned(
    tmp_path: Path, tokenisers: Tokenisers
) -> None:
    """Machines share a cache; process numbers of another one say nothing here."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    out = tmp_path / "out"
    written = {
        name: out / f".{name}+{gone.pid}.x.partial" for name in ("other-host", "another", stored_corpus._machine())
    }
    for folder in written.values():
        (folder / "scratch").mkdir(parents=True)
        (folder / "source.tokens.npy").touch()
    long_ago = time.time() - 30 * 24 * 3600
    for path in (written["another"], *written["another"].iterdir()):
        os.utime(path, (long_ago, long_ago))
    corpus = prepare(source_of(tsv(tmp_path / "a.tsv", SENTENCES)), tokenisers, out)
    assert {entry.name for entry in out.iterdir()} == {corpus.folder.name, written["other-host"].name}


def test_two_preparations_of_the_same_corpus_at_once_both_succeed(tmp_path: Path, tokenisers: Tokenisers) -> None:
    source, out, both = source_of(tsv(tmp_path / "a.tsv", SENTENCES)), tmp_path / "out", Barrier(2)

    def one() -> StoredCorpus:
        return prepare(source, tokenisers, out, workers=1, progress=lambda *_: both.wait(timeout=30))

    with ThreadPoolExecutor(2) as pool:
        first, second = (future.result() for future in [pool.submit(one), pool.submit(one)])
    assert first.folder == second.folder
    assert texts(first, tokenisers) == texts(second, tokenisers) == SENTENCES
    assert [entry.name for entry in out.iterdir()] == [first.folder.name]


@pytest.fixture
def made(tmp_path: Path, tokenisers: Tokenisers) -> Callable[[], StoredCorpus]:
    path = tsv(tmp_path / "a.tsv", SENTENCES)
    return lambda: prepare(source_of(path), tokenisers, tmp_path / "out")


@pytest.mark.parametrize("name", ["source.tokens.npy", "target.starts.npy", "source.lengths.npy"])
def test_a_damaged_corpus_is_told_when_it_is_found_again(made: Callable[[], StoredCorpus], name: str) -> None:
    folder = made().folder
    with (folder / name).open("ab") as file:
        file.write(b"more")
    with pytest.raises(
        CorpusError,
        match=rf"{name}: this file is missing or its size has changed.*\n  Delete .* prepares the corpus again",
    ):
        made()
    (folder / name).unlink()
    with pytest.raises(CorpusError, match=f"{name}: this file is missing"):
        made()


def test_a_corpus_of_another_format_is_told(made: Callable[[], StoredCorpus]) -> None:
    path = made().folder / "corpus.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 99}))
    with pytest.raises(CorpusError, match="its format is 99, but this version of Regard reads 1"):
        made()


def test_many_fingerprints_are_compared_class_by_class_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    fingerprints = np.random.default_rng(1).integers(0, 500, size=1000, dtype=np.uint64)
    expected = np.zeros(1000, dtype=bool)
    expected[np.unique(fingerprints, return_index=True)[1]] = True
    assert (preparation.first_of_each(fingerprints) == expected).all()
    monkeypatch.setattr("regard.batches.fingerprints._CLASS", 64)
    assert (preparation.first_of_each(fingerprints) == expected).all()


def test_real_sentences_are_stored_as_they_are_by_several_processes(data: Path, tmp_path: Path) -> None:
    source = source_of(data / "libreoffice-help" / "en-de.tsv.gz")
    pairs = list(clean_stream(source.pairs(), source.cleaning, report := preparation.CleaningReport()))
    utf8 = train(["x"], ["y"], TokeniserSettings(kind="utf8"))
    corpus = prepare(source.model_copy(update={"max_tokens": 2049}), utf8, tmp_path / "out", workers=2)
    assert len(corpus) == len(pairs) == report.kept
    for number in range(0, len(pairs), 997):
        assert utf8.source.decode(corpus.streams["source"].sentence(number)) == pairs[number].source
        assert utf8.target.decode(corpus.streams["target"].sentence(number)) == pairs[number].target
