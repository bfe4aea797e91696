"""Text to pre-train on, a sentence a line, without the lines of any test set.

    REGARD_DATA=folder python recipes/family.py english --out english.txt.gz
    REGARD_DATA=folder python recipes/family.py en-yor --out en-yor.txt.gz

`english` is for recipes/masked-english.toml: the training texts of the small tasks, everyday sentences and speeches.
`en-yor` is for recipes/denoising-en-yor.toml: both sides of the training pairs, and speeches. The few sentences of the
small tasks are in it several times. benchmarks/published.py calls this file where a run needs it.
"""

import argparse
import gzip
import lzma
import os
import re
from collections.abc import Iterator
from pathlib import Path

COPIES = 4  # of the sentences of small corpora beside Europarl
COPIES_OF_PAIRS = 16  # so that the tokeniser has enough of Yoruba: with 4 and two parts, words have a fifth more tokens
HELD_OUT = (
    "classes/sst2.test.tsv.gz",
    "classes/sst2.dev.tsv.gz",
    "classes/trec.test.tsv.gz",
    "tags/conll2000.test.tsv.gz",
    "lafand/en-yor.test.tsv.gz",
    "lafand/en-yor.dev.tsv.gz",
)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", choices=("english", "en-yor"))
    parser.add_argument("--out", type=Path, required=True, help="the file, which is compressed")
    parser.add_argument("--europarl", type=int, help="how many of its seven parts (english: 2, en-yor: 1)")
    return parser.parse_args()


def lines(name: str) -> Iterator[list[str]]:
    """The columns of each line of a file of $REGARD_DATA."""
    opened = lzma.open if name.endswith(".xz") else gzip.open
    with opened(Path(os.environ.get("REGARD_DATA", "../shared/data")) / name, "rt", encoding="utf-8") as file:
        for line in file:
            yield line.rstrip("\n").split("\t")


def english(parts: int) -> Iterator[str]:
    """Sentences of the small tasks, everyday sentences and speeches."""
    small = ("classes/sst2.train.tsv.gz", "classes/trec.train.tsv.gz", "classes/subj.tsv.gz",
             "tags/conll2000.train.tsv.gz")  # fmt: skip
    for _ in range(COPIES):
        for name in small:
            yield from (cells[0] for cells in lines(name))
    yield from dict.fromkeys(cells[0] for cells in lines("tatoeba/en-de.train.tsv.gz"))
    yield from speeches(parts)


def yoruba(parts: int) -> Iterator[str]:
    """Both sides of the training pairs, and English speeches."""
    pairs = list(lines("lafand/en-yor.train.tsv.gz"))
    for _ in range(COPIES_OF_PAIRS):
        yield from (side for cells in pairs for side in cells[:2])
    yield from speeches(parts)


def speeches(parts: int) -> Iterator[str]:
    for part in range(parts):
        yield from (cells[0] for cells in lines(f"europarl/en-de.part{part}.tsv.xz"))


def plain(text: str) -> str:
    """A text without case, spaces and punctuation, to find copies."""
    return re.sub(r"[\W_]+", "", text.lower())


def write_text(name: str, out: Path, parts: int | None) -> None:
    held_out = {plain(cell) for file in HELD_OUT for cells in lines(file) for cell in cells[:2]}
    found = english(2 if parts is None else parts) if name == "english" else yoruba(1 if parts is None else parts)
    out.parent.mkdir(parents=True, exist_ok=True)
    beside = out.with_name(f".{out.name}")
    with gzip.open(beside, "wt", encoding="utf-8", compresslevel=1) as file:
        file.writelines(f"{text}\n" for text in found if text and plain(text) not in held_out)
    beside.replace(out)


if __name__ == "__main__":
    given = options()
    write_text(given.text, given.out, given.europarl)
