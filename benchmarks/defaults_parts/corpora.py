"""Real corpora of different size, language, domain and sentence length, as slices in a folder of their own.

folder/NAME/train.tsv, valid.tsv        the pairs
folder/NAME/corpus.json                 languages, and what auto chooses for it with and without a GPU
folder/NAME/tokenisers/KEY/             a trained tokeniser for each setting that a configuration uses
"""

from __future__ import annotations

import gzip
import json
import lzma
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from regard.files import write

VALID = 1_000  # pairs, at the most
_ONE_IN = 20  # pairs are held out where there is no validation file


class Corpus(NamedTuple):
    """Where the pairs of a corpus are: files in $REGARD_DATA, columns from 1, how many of them."""

    name: str
    source: str
    target: str
    train: tuple[str, ...]
    valid: str | None = None
    columns: tuple[int, int] = (1, 2)
    pairs: int | None = None
    swapped: bool = False  # the other direction


_EUROPARL = tuple(f"europarl/en-de.part{n}.tsv.xz" for n in range(6))
_HELD = "europarl/en-de.part6.tsv.xz"
_TATOEBA = ("tatoeba/en-de.train.tsv.gz",)
_G2P = "sigmorphon2021-g2p"


def _europarl(name: str, pairs: int | None, *, swapped: bool = False) -> Corpus:
    source, target = ("de", "en") if swapped else ("en", "de")
    return Corpus(f"europarl-{source}-{target}-{name}", source, target, _EUROPARL, _HELD, pairs=pairs, swapped=swapped)


def _tatoeba(name: str, pairs: int | None, *, swapped: bool = False) -> Corpus:
    source, target = ("de", "en") if swapped else ("en", "de")
    valid = "tatoeba/en-de.valid.tsv.gz"
    return Corpus(f"tatoeba-{source}-{target}-{name}", source, target, _TATOEBA, valid, pairs=pairs, swapped=swapped)


CORPORA = (
    *(
        Corpus(f"lafand-en-{code}", "en", code, (f"lafand/en-{code}.train.tsv.gz",), f"lafand/en-{code}.dev.tsv.gz")
        for code in ("ibo", "yor", "zul", "pcm")
    ),
    _europarl("10k", 10_000),
    _europarl("30k", 30_000),
    _europarl("30k", 30_000, swapped=True),
    _europarl("100k", 100_000),
    _europarl("300k", 300_000),
    _europarl("all", None),
    _tatoeba("1k", 1_000),
    _tatoeba("10k", 10_000),
    _tatoeba("10k", 10_000, swapped=True),
    _tatoeba("all", None),
    Corpus("multi30k-en-de", "en", "de", ("multi30k/train",), "multi30k/val"),
    Corpus("multi30k-en-fr", "en", "fr", ("multi30k/train",), "multi30k/val"),
    Corpus("software-catalogs-en-de", "en", "de", ("software-catalogs/en-de.tsv.gz",), columns=(3, 4)),
    Corpus("libreoffice-help-en-de", "en", "de", ("libreoffice-help/en-de.tsv.gz",)),
    Corpus("libreoffice-help-de-en", "de", "en", ("libreoffice-help/en-de.tsv.gz",), swapped=True),
    Corpus("python-docs-en-fr", "en", "fr", ("python-docs/en-fr.tsv.gz",), columns=(2, 3)),
    Corpus("g2p-fre", "fre", "ipa", (f"{_G2P}/medium/fre_train.tsv.gz",), f"{_G2P}/medium/fre_dev.tsv.gz"),
    Corpus("g2p-eng", "eng", "ipa", (f"{_G2P}/high/eng_us_train.tsv.gz",), f"{_G2P}/high/eng_us_dev.tsv.gz"),
)


def prepare(corpus: Corpus, folder: Path, *, limit: int | None) -> Path:
    """Writes the slices of a corpus, unless they are there."""
    place = folder / corpus.name
    if (place / "corpus.json").exists():
        return place
    data = Path(os.environ.get("REGARD_DATA", ""))
    most = min(number for number in (corpus.pairs, limit, 1 << 40) if number)
    pairs = (pair for name in corpus.train for pair in _pairs(data / name, corpus))
    if corpus.valid:
        train = list(islice(pairs, most))
        valid = list(islice(_pairs(data / corpus.valid, corpus), min(VALID, limit or VALID)))
    else:
        train, valid = _held_out(list(islice(pairs, most)))
    place.mkdir(parents=True, exist_ok=True)
    for name, lines in (("train", train), ("valid", valid)):
        write(place / f"{name}.tsv", "".join(f"{source}\t{target}\n" for source, target in lines))
    table = {"source": corpus.source, "target": corpus.target, "pairs": len(train), "valid": len(valid)}
    write(place / "corpus.json", json.dumps(table, indent=2) + "\n")
    return place


def described(place: Path) -> dict[str, Any]:
    """What corpus.json says."""
    table: dict[str, Any] = json.loads((place / "corpus.json").read_text("utf-8"))
    return table


def _held_out(pairs: list[tuple[str, str]]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Every so many-th distinct source is held out, with all of its pairs."""
    sources = list(dict.fromkeys(source for source, _ in pairs))
    step = max(_ONE_IN, len(sources) // VALID)
    held = set(sources[step - 1 :: step][:VALID])
    return [pair for pair in pairs if pair[0] not in held], list(
        {pair[0]: pair for pair in pairs if pair[0] in held}.values()
    )


def _pairs(path: Path, corpus: Corpus) -> Iterator[tuple[str, str]]:
    """Pairs of non-empty texts without tabs: of a file of columns, or of two files that are aligned by lines."""
    if path.name.endswith((".gz", ".xz")):
        rows: Iterable[list[str]] = (line.rstrip("\n").split("\t") for line in _open(path))
        chosen = [column - 1 for column in corpus.columns]
    else:
        both = [_open(path.with_name(f"{path.name}.{code}.gz")) for code in sorted((corpus.source, corpus.target))]
        rows = ([line.rstrip("\n") for line in lines] for lines in zip(*both, strict=True))
        codes = sorted((corpus.source, corpus.target))
        chosen = [codes.index(corpus.source), codes.index(corpus.target)]
    for row in rows:
        if len(row) > max(chosen):
            source, target = (row[column].strip() for column in chosen)
            if source and target:
                yield (target, source) if corpus.swapped else (source, target)


def _open(path: Path) -> Iterator[str]:
    opened = lzma.open if path.suffix == ".xz" else gzip.open
    with opened(path, "rt", encoding="utf-8", newline="\n") as file:
        yield from file
