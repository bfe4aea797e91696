"""The English and German data of the larger translators: gathered, cleaned of everything that is held out, and mixed.

    REGARD_DATA=folder python recipes/corpus_en_de.py data

writes to `data`:

    train.N.en-de.tsv.xz            what the models are trained on, in files of equal size, shuffled
    valid.en-de.tsv.gz              Tatoeba's validation split, and some lines of each other source
    SOURCE.en-de.test.tsv.gz        held-out lines of each source, Tatoeba's test split, newstest2013
    spyder.en-de.{train,valid,test}.tsv.gz    the strings of one program, in no other file, for adapting
    corpus.json                     how many pairs of each source there are, and why others were left out

Lines are held out by the SHA-256 of their English side, the lowest first. Nothing is trained on whose English or German
side nearly equals one that is held out (regard.text.near_duplicates). Sources are repeated or sampled
(corpus_parts/sources.py), so that everyday sentences and messages are not drowned by parliament; old German spelling is
brought up to date; and some pairs are added as people type them (corpus_parts/variants.py).
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import os
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from corpus_parts.sources import SOURCES, Pair, Source, lines, pairs
from corpus_parts.spelling import Reform
from corpus_parts.variants import varied

from regard.files import write
from regard.text.near_duplicates import NearDuplicates

FILES = 4  # of training pairs
CHUNK = 20_000  # pairs that a process compares with what is held out at a time
ADAPT_TEST, ADAPT_VALID = 400, 100


class Split(NamedTuple):
    """Pairs that are held out, and the others."""

    test: list[Pair]
    valid: list[Pair]
    train: list[Pair]


def main() -> None:
    """Writes all files."""
    parser = argparse.ArgumentParser(description="The English and German data of the larger translators.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    folder = Path(os.environ.get("REGARD_DATA", ""))
    for name, count in make(folder, given.out, processes=given.processes).items():
        print(f"{count:>10,}  {name}")


def make(folder: Path, out: Path, *, processes: int) -> dict[str, int]:
    """Writes every file; what was counted on the way."""
    out.mkdir(parents=True, exist_ok=True)
    splits = {
        source.name: held_out(list(pairs(source, folder)), test=source.test, valid=source.valid) for source in SOURCES
    }
    tests = {name: split.test for name, split in splits.items() if split.test} | _given_tests(folder)
    spyder = adapting(folder)
    valid = [*_tatoeba(folder, "valid"), *(pair for split in splits.values() for pair in split.valid)]
    for name, test in tests.items():
        _write_pairs(out / f"{name}.en-de.test.tsv.gz", test)
    _write_pairs(out / "valid.en-de.tsv.gz", valid)
    for part, found in spyder._asdict().items():
        _write_pairs(out / f"spyder.en-de.{part}.tsv.gz", found)
    known = [*valid, *spyder.test, *spyder.valid, *(pair for test in tests.values() for pair in test)]
    training, counts = _training(splits, known, processes=processes)
    shares = [training[part::FILES] for part in range(FILES)]
    for part, share in enumerate(shares):
        text = "".join(f"{english}\t{german}\n" for english, german in share)
        write(out / f"train.{part}.en-de.tsv.xz", lzma.compress(text.encode(), preset=2))
    counts |= {f"held out of {name}": len(test) for name, test in tests.items()} | {"validation": len(valid)}
    write(out / "corpus.json", json.dumps(counts, indent=1).encode())
    return counts


def held_out(found: Sequence[Pair], *, test: int, valid: int) -> Split:
    """The pairs whose English has the lowest hashes, the first translation of each; then those of the next lowest."""
    if not test + valid:
        return Split([], [], list(found))
    first: dict[str, Pair] = {}
    for pair in found:
        first.setdefault(pair[0], pair)
    chosen = sorted(first.values(), key=lambda pair: sha256(pair[0].encode()).digest())[: test + valid]
    kept_out = {english for english, _ in chosen}
    return Split(chosen[:test], chosen[test:], [pair for pair in found if pair[0] not in kept_out])


def _training(splits: dict[str, Split], known: Sequence[Pair], *, processes: int) -> tuple[list[Pair], dict[str, int]]:
    """The pairs to train on, in the order of training files, and how many there are of each kind."""
    counts: Counter[str] = Counter()
    mixed: list[Pair] = []
    parliament = splits["europarl"].train
    reform = Reform(german for _, german in parliament)
    with ProcessPoolExecutor(processes, initializer=_know, initargs=(known,)) as pool:
        for source in SOURCES:
            new = list(
                dict.fromkeys((english, reform.applied(german)) for english, german in splits[source.name].train)
            )
            kept = [pair for chunk in pool.map(_without_near, _chunks(new)) for pair in chunk]
            counts[f"{source.name}: different pairs"] = len(new)
            counts[f"{source.name}: nearly the same as one that is held out"] = len(new) - len(kept)
            more = list(varied(kept))
            counts[f"{source.name}: variants"] = len(more)
            taken = [*_repeated(kept, source), *more]
            counts[f"{source.name}: in training"] = len(taken)
            mixed += taken
    random.Random(1).shuffle(mixed)  # noqa: S311  nothing is secret
    counts["training"] = len(mixed)
    return mixed, dict(counts)


def _repeated(kept: Sequence[Pair], source: Source) -> Iterator[Pair]:
    """Whole copies, and a sample for the fraction that is left."""
    whole, fraction = divmod(source.copies, 1)
    for pair in kept:
        yield from [pair] * int(whole)
        if fraction and int.from_bytes(sha256(pair[0].encode()).digest()[:4], "big") < fraction * 2**32:
            yield pair


_KNOWN: list[NearDuplicates] = []  # of this process: English, German


def _know(known: Sequence[Pair]) -> None:
    _KNOWN[:] = [NearDuplicates(side) for side in zip(*known, strict=True)]


def _without_near(chunk: Sequence[Pair]) -> list[Pair]:
    english, german = _KNOWN
    return [pair for pair in chunk if pair[0] not in english and pair[1] not in german]


def _chunks(found: Sequence[Pair]) -> Iterator[Sequence[Pair]]:
    yield from (found[start : start + CHUNK] for start in range(0, len(found), CHUNK))


def _given_tests(folder: Path) -> dict[str, list[Pair]]:
    """Test sets that are used as they are."""
    news = [lines(folder / f"newstest2013/de-en.{side}.gz") for side in ("en", "de")]
    return {"tatoeba": _tatoeba(folder, "test"), "newstest2013": list(zip(*news, strict=True))}


def _tatoeba(folder: Path, part: str) -> list[Pair]:
    cells = (line.split("\t") for line in lines(folder / f"tatoeba/en-de.{part}.tsv.gz"))
    return [(english, german) for english, german in cells]


def adapting(folder: Path) -> Split:
    """The strings of one program, Spyder, which are in no other file."""
    cells = (line.split("\t") for line in lines(folder / "software-catalogs/en-de.tsv.gz"))
    split = held_out(
        [(cell[2], cell[3]) for cell in cells if cell[0].startswith("spyder-")], test=ADAPT_TEST, valid=ADAPT_VALID
    )
    english, german = (set(map(str.casefold, side)) for side in zip(*split.test, *split.valid, strict=True))
    kept = [pair for pair in split.train if pair[0].casefold() not in english and pair[1].casefold() not in german]
    return split._replace(train=kept)


def _write_pairs(path: Path, found: Iterable[Pair]) -> None:
    text = "".join(f"{english}\t{german}\n" for english, german in found)
    write(path, gzip.compress(text.encode(), mtime=0))  # the same bytes whenever they are written


if __name__ == "__main__":
    main()
