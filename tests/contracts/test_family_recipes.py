"""The recipes of the family by benchmarks/published.py, on made-up data."""

import gzip
import json
import lzma
from importlib import import_module
from pathlib import Path

import pytest

import family

ROOT = Path(__file__).parents[2]
SMALL = [*family.COMMON, "model.layers=1", "model.learned_positions=32", "validation.pairs=20",
         "tokeniser.options={}"]  # fmt: skip
EMPTY = ("classes/subj", "tatoeba/en-de.train", "classes/sst2.train", "classes/sst2.dev", "classes/sst2.test",
         "tags/conll2000.train", "tags/conll2000.test", "lafand/en-yor.test", "lafand/en-yor.dev")  # fmt: skip


def made_up(folder: Path) -> None:
    """The files that the text to pre-train on comes from; all but a few are empty."""
    for name in EMPTY:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.tsv.gz").write_bytes(gzip.compress(b""))
    (folder / "europarl").mkdir()
    for part in range(7):
        (folder / "europarl" / f"en-de.part{part}.tsv.xz").write_bytes(lzma.compress(b"The dog sees the rose .\tx\n"))
    for part, count in (("train", 200), ("test", 8)):
        made = family.labelled(folder / "made.tsv", tags=False, count=count, seed=count)
        (folder / "classes" / f"trec.{part}.tsv.gz").write_bytes(gzip.compress(made.read_bytes()))


def test_the_runner_trains_a_model_to_start_from_then_those_that_start_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_up(tmp_path)
    monkeypatch.setenv("REGARD_DATA", str(tmp_path))
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    published = import_module("published")
    small = [word for setting in SMALL for word in ("--set", setting)]
    common = ["--steps", "2", "--device", "cpu", "--out", str(tmp_path / "runs"), *small]
    (asked,) = published.runs(published.options().parse_args(["trec-from-masked", *common]))
    order = asked.with_needs()
    assert [run.name for run in order] == ["masked-english_seed", "masked-english_seed1", "trec-from-masked_seed1"]
    for run in order:
        published.child(published.options().parse_args(["--one", json.dumps(run), *common]))
    found = json.loads((tmp_path / "runs" / "trec-from-masked_seed1" / "result.json").read_text())
    assert 0 <= found["test"]["accuracy"] <= 100
    assert list(found["valid"])[:2] == ["accuracy", "macro_f1"]
    assert f"| {found['test']['accuracy']:.2f} |" in published.table({asked: found})
    recipe = json.loads((tmp_path / "runs" / "trec-from-masked_seed1" / "training" / "recipe.json").read_text())
    assert recipe["data"]["adapt"] == str(tmp_path / "runs" / "masked-english_seed1")
    text = gzip.decompress((tmp_path / "runs" / "masked-english_seed" / "text.txt.gz").read_bytes()).decode()
    assert text.count("The dog sees the rose .") == 2  # one for each part of Europarl that is read by default
    tested = {line.split("\t")[0] for line in (tmp_path / "made.tsv").read_text().splitlines()}
    assert tested.isdisjoint(text.splitlines())
