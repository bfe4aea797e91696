"""Reading once changes nothing: the hashes here were recorded when every use read the files anew.

If one of them changes, stored corpora of earlier versions are not found again, and tokenisers differ.
"""

import gc
import lzma
from collections import Counter
from hashlib import sha256
from pathlib import Path

import pytest

from regard.batches import gathering
from regard.batches.gathering import gathered
from regard.batches.preparation import Source, prepare
from regard.text.inspection.statistics import MOST_STRINGS, SideStatistics
from regard.tokens import Tokenisers, TokeniserSettings, train
from regard.tokens.listing import character_counts
from regard.tokens.training import sampled, spread

PAIRS = [
    (f"The house number {n} is {'very ' * (n % 4)}old.", f"Das Haus {n} ist {'sehr ' * (n % 5)}alt.")
    for n in range(400)
]
AWKWARD = [
    ("", "leer"),
    ("  Two   spaces ", "zwei\u00a0Leerzeichen"),
    ("cafe\u0301", "Kaffee"),
    ("Berlin", "Berlin"),
    ("a\u2028b", "c"),
    ("short", "x" * 300),
    PAIRS[3],
    ("\U0001f600 at {place}", "\U0001f600 bei {place}"),
]
TOKENISERS = {
    "subwords": "2bff65b56910f9ef57278bf7a511b75fe628d28606b68759be392bf050c5a3c5",
    "utf8": "09ee4f87a76080655b5a718f01c434f0921fd3c2641f2739bdf2ad2e5379406d",
    "words": "3d235b5235b9e121009f18d1bb354a0a57e2de6d13bb91098c09acf501ccaf59",
}
CORPORA = {
    "subwords": "8346130ea0e6e24e07391f5963c8ddb29d04e82d6db723c22c8a14dca9d4999a",
    "utf8": "4df3c550ff1ad2a0aebedbe59af8e78efc40c0cf5b2cd0eb8f0c0c65c8ed6cb1",
    "words": "2a37a3839fa19d3fe47533b18cad661689f300cfb57fe1414e73130c1f71a250",
}


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Source:
    """Two files, one compressed, named relative to the folder, since a stored corpus has their names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gathering, "CHUNK", 16)
    lines = [f"{source}\t{target}\n" for source, target in PAIRS + AWKWARD]
    Path("a.tsv").write_bytes("".join(lines).encode())
    Path("b.tsv.xz").write_bytes(lzma.compress(("".join(lines[100:160]) + "one column\n\nnew\tneu\r\n").encode()))
    return Source(data=("a.tsv", "b.tsv.xz"), source="en", target="de", skip_bad=True)


def trained(kind: str, source: Source, folder: Path) -> Tokenisers:
    text = gathered(source, folder)
    return train(text.sources(), text.targets(), TokeniserSettings(kind=kind, vocabulary=420, sample=500))


def hash_of(folder: Path) -> str:
    digest = sha256(folder.name.encode())
    for path in sorted(folder.iterdir()):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


@pytest.mark.parametrize("limit", [1, 2, 7, 100, 234, 235, 469, 1000])
def test_a_sample_of_the_gathered_text_is_a_sample_of_the_files(source: Source, tmp_path: Path, limit: int) -> None:
    text, pairs = gathered(source, tmp_path / "out"), list(source.pairs())
    every = spread(text.pairs, limit)
    assert sampled(text.sources(every=every), limit=limit) == sampled((pair.source for pair in pairs), limit=limit)
    assert sampled(text.targets(every=every), limit=limit) == sampled((pair.target for pair in pairs), limit=limit)


@pytest.mark.parametrize("text", ["", "abba", "\U0001f600 e\u0301 \ud800 \n"])
def test_characters_are_counted_as_counter_does(text: str) -> None:
    assert character_counts(text) == Counter(text)


@pytest.mark.parametrize("kind", TOKENISERS)
def test_the_same_text_gives_the_tokeniser_and_the_corpus_of_earlier_versions(
    kind: str, source: Source, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    tokenisers = trained(kind, source, out)
    assert tokenisers.hash == TOKENISERS[kind]
    assert hash_of(prepare(source, tokenisers, out, workers=1).folder) == CORPORA[kind]
    assert len(list(out.iterdir())) == 1  # the text is not kept


def test_files_read_by_several_processes_give_the_same_bytes(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, "_SMALL", 0)
    out = tmp_path / "out"
    tokenisers = trained("utf8", source, out)
    assert hash_of(prepare(source, tokenisers, out, workers=2).folder) == CORPORA["utf8"]


def test_advice_tokeniser_and_preparation_read_the_files_once(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings, read = [], gathering._read
    monkeypatch.setattr(gathering, "_read", lambda order: readings.append(order.paths) or read(order))
    out = tmp_path / "out"
    gathered(source, out).statistics(workers=1)
    assert gc.isenabled()
    prepare(source, trained("words", source, out), out, workers=1)
    assert readings == [(Path("a.tsv"),), (Path("b.tsv.xz"),)]


def test_a_file_that_changes_is_read_again(source: Source, tmp_path: Path) -> None:
    before = gathered(source, tmp_path / "out").pairs
    with Path("a.tsv").open("a") as file:
        file.write("more\tmehr\n")
    assert gathered(source, tmp_path / "out").pairs == before + 1


def test_statistics_of_chunks_put_together_are_those_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.text.inspection.statistics.MOST_STRINGS", 6)
    texts = [f"word{n} and un@@ even {n % 3}" for n in range(20)]
    whole, parts = SideStatistics(), SideStatistics()
    for first in range(0, 20, 4):
        chunk = texts[first : first + 4]
        alphabet = {character: "".join(chunk).count(character) for character in set("".join(chunk))}
        whole.add(chunk, alphabet)
        part = SideStatistics()
        part.add(chunk, alphabet)
        parts.merge(part)
    assert whole == parts
    assert MOST_STRINGS > len(whole.strings) > 6
