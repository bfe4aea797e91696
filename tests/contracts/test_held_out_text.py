"""Validation scores the text that stands in the files, not what a tokeniser makes of it."""

import json
from pathlib import Path

import pytest

import regard
from regard import metrics
from regard.batches.preparation import Source, prepare
from regard.batches.splitting import hold_out
from regard.tokens import Tokenisers, TokeniserSettings
from regard.tokens import train as train_tokenisers
from regard.training.held_out import HeldOut
from runs import SMALL, corpus, events

RARE = (
    "Ko\u0308ln\tein  seltenes Wort",
    "w1 zebra\tw1 Zebra x",
    "w1 gnu\tw1 Gnu x",
    "w2 w3\tw3 w2 x",
    "w2 w3\tw3 w2 x",
)


def held_out(folder: Path, source: Source, made: Tokenisers, said: list[str], *, count: int = 100) -> HeldOut:
    stored = prepare(source, made, folder / "cache")
    _, held = hold_out(stored, count=8, seed=1)
    return HeldOut(held, made, source, count=count, folder=folder, say=said.append)


@pytest.fixture
def source(tmp_path: Path) -> Source:
    path = corpus(tmp_path / "pairs.tsv", pairs=30)
    path.write_text(path.read_text() + "".join(f"{line}\n" for line in RARE), encoding="utf-8")
    return Source(data=(str(path),), source="en", target="de")


def tokenisers(kind: str) -> Tokenisers:
    texts = ["w1 w2 w3 w4 w5 w6 w7 w8 w9 x"] * 20
    return train_tokenisers(texts, texts, TokeniserSettings(kind=kind, vocabulary=300))


@pytest.mark.parametrize("kind", ["words", "characters"])
def test_the_text_of_held_out_pairs_is_that_of_the_files(kind: str, source: Source, tmp_path: Path) -> None:
    made, said = tokenisers(kind), list[str]()
    found = held_out(tmp_path, source, made, said)
    assert len(found.pairs) == len(found.corpus) == 8
    lines = Path(source.data[0]).read_text(encoding="utf-8").splitlines()
    for number, pair in enumerate(found.pairs):
        assert f"{pair.source}\t{pair.target}" in lines
        assert made.source.encode(pair.source) == found.corpus.streams["source"].sentence(number)
        assert made.target.encode(pair.target) == found.corpus.streams["target"].sentence(number)
    assert not said


def test_the_text_is_kept_with_the_run_and_read_from_the_files_only_once(source: Source, tmp_path: Path) -> None:
    made, said = tokenisers("words"), list[str]()
    first, again = (held_out(tmp_path, source, made, said) for _ in range(2))
    fewer = held_out(tmp_path, source, made, said, count=3)
    texts = first.pairs
    Path(source.data[0]).unlink()
    assert again.pairs == texts
    assert not said
    assert len(fewer.pairs) == 3
    assert any("w1" not in text.source for text in texts)
    assert "there is no such file or folder" in said[0]
    assert "3 of 3 validation pairs are no longer in their files" in said[1]
    assert fewer.references[0] == made.target.decode(fewer.corpus.streams["target"].sentence(0))


def test_pairs_with_the_same_ids_keep_their_own_texts_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "valid.tsv"
    path.write_text("".join(f"{line}\n" for line in RARE), encoding="utf-8")
    source = Source(data=(str(path),), source="en", target="de")
    lenient = source.cleaning.model_copy(update={"drop_duplicates": False})
    source, made = source.model_copy(update={"cleaning": lenient}), tokenisers("words")
    found = HeldOut(prepare(source, made, tmp_path / "cache"), made, source, count=9, folder=tmp_path, say=print)
    assert [f"{pair.source}\t{pair.target}" for pair in found.pairs] == list(RARE)


def test_scores_on_the_card_are_of_real_references(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    data, valid, out = corpus(tmp_path / "pairs.tsv", pairs=80), tmp_path / "valid.tsv", tmp_path / "out"
    valid.write_text("w1 w2\tein neues Wort\nw3 w4\tw4 w3 x\n", encoding="utf-8")
    regard.train(
        data, valid=valid, source="en", target="de", out=out, preset="tiny", device="cpu", steps=4,
        settings=(*SMALL, "validation.every=2"),
    )  # fmt: skip
    references = ["ein neues Wort", "w4 w3 x"]
    (look,) = (event for event in events(out, "validated") if event["scores"])
    assert [reference for _, reference, _ in look["samples"]] == references
    assert "<unk>" not in (out / "report.html").read_text()
    translator = regard.load(out, device="cpu", engine="torch")
    texts = [result.text for result in translator.translate(["w1 w2", "w3 w4"], checks=False)]
    expected = {
        score.metric: score.value for score in metrics.score(["bleu", "chrf"], texts, [[r] for r in references])
    }
    scores = json.loads((out / "regard.json").read_text())["scores"]["averaged"]
    assert {name: scores[name] for name in expected} == pytest.approx(expected)
