"""recipes/corpus_en_de.py: what is held out is not trained on, spelling is brought up to date, variants are alike."""

import gzip
import importlib
import json
import lzma
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

RECIPES = Path(__file__).parents[2] / "recipes"


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(RECIPES))
    yield importlib.import_module("corpus_en_de")
    for name in [name for name in sys.modules if name.startswith(("corpus_en_de", "corpus_parts"))]:
        del sys.modules[name]


def written(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pack = lzma.compress if path.suffix == ".xz" else gzip.compress
    path.write_bytes(pack("".join(f"{line}\n" for line in lines).encode()))


def data(folder: Path, sources: ModuleType) -> None:
    """Twenty pairs of each source; Tatoeba's test split has a sentence that differs in one word from its training."""
    draw = random.Random(1)  # noqa: S311
    for source in sources.SOURCES:
        for file in source.files:
            cells = [" ".join("".join(draw.sample("abcdefgh", 5)) for _ in range(8)) for _ in range(20)]
            first = ["program", "MIT"] if source.columns == (2, 3) else []
            written(folder / file, ["\t".join([*first, cell, f"Ich weiß, daß {cell}"]) for cell in cells])
    for part in ("valid", "test"):
        written(
            folder / f"tatoeba/en-de.{part}.tsv.gz", [f"A {part} set of its own, my friend.\tDas ist {part}, Freund."]
        )
    written(
        folder / "tatoeba/en-de.train.tsv.gz",
        [
            "A test set of its own, old friend.\tEtwas anderes.",
            "Hello there!\tHallo!",
            "Mr\ufffd Lipietz\tHerr Lipietz",
        ],
    )
    for side in ("en", "de"):
        written(folder / f"newstest2013/de-en.{side}.gz", [f"News in {side}."])
    spyder = [f"spyder-kernels\tMIT\tRun cell {n}\tZelle {n} ausführen" for n in range(600)]
    written(folder / "software-catalogs/en-de.tsv.gz", [*spyder, "other\tMIT\tClose\tSchließen"])


def read(path: Path) -> list[tuple[str, ...]]:
    unpack = lzma.decompress if path.suffix == ".xz" else gzip.decompress
    return [tuple(line.split("\t")) for line in unpack(path.read_bytes()).decode().splitlines()]


def test_nothing_is_trained_on_that_nearly_equals_what_is_held_out(
    recipe: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = importlib.import_module("corpus_parts.sources")
    few = tuple(source._replace(test=min(source.test, 3), valid=min(source.valid, 2)) for source in sources.SOURCES)
    monkeypatch.setattr(recipe, "SOURCES", few)
    data(tmp_path / "data", sources)
    counts = recipe.make(tmp_path / "data", tmp_path / "out", processes=1)
    trained = [pair for part in range(recipe.FILES) for pair in read(tmp_path / "out" / f"train.{part}.en-de.tsv.xz")]
    assert len(trained) == counts["training"] > 100
    known = [pair for path in (tmp_path / "out").glob("*.tsv.gz") if "train" not in path.name for pair in read(path)]
    assert not {english for english, _ in trained} & {english for english, _ in known}
    assert ("Hello there!", "Hallo!") in trained
    assert not any("old friend" in english for english, _ in trained)
    assert not any("Lipietz" in english for english, _ in trained), "a damaged character is nothing to learn"
    assert counts["tatoeba: nearly the same as one that is held out"] == 1
    assert not any("Run cell" in english for english, _ in trained), "the strings of Spyder are for adapting"
    assert json.loads((tmp_path / "out" / "corpus.json").read_text()) == counts


def test_old_spelling_is_found_by_what_is_more_frequent(recipe: ModuleType) -> None:
    spelling = importlib.import_module("corpus_parts.spelling")
    reform = spelling.Reform(
        ["Ich weiß, dass es muss.", "Man sagt, dass man muss.", "Er weiß, daß er muß.", "große Maße"]
    )
    assert reform.applied("Wir wissen, daß er muß, und er weiß es: große Maße.") == (
        "Wir wissen, dass er muss, und er weiß es: große Maße."
    )


def test_variants_change_both_sides_alike_and_are_always_the_same(recipe: ModuleType) -> None:
    variants = importlib.import_module("corpus_parts.variants")
    pairs = [(f"This is sentence number {n}.", f"Das ist Satz Nummer {n}.") for n in range(2_000)]
    made = list(variants.varied(pairs))
    assert made == list(variants.varied(pairs))
    assert 0.05 * len(pairs) < len(made) < 0.2 * len(pairs)
    for english, german in made:
        digits = [[mark for mark in side if mark.isdigit()] for side in (english, german)]
        assert digits[0] == digits[1], (english, german)
        assert english[0].isalpha() == german[0].isalpha(), (english, german)
    assert any(english.isupper() and german.isupper() for english, german in made)
    assert any("https://" in english and "https://" in german for english, german in made)
