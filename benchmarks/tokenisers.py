"""What a tokeniser costs and gives: seconds of training and pieces a line, by the size of the sample and by candidates.

    python benchmarks/tokenisers.py TRAIN.tsv.xz... --held-out FILE.tsv... --source en --target de [--vocabulary 37000]

The joint subwords of both columns. Every second, fourth ... line of the training files is one more sample; unigram
training begins with so many candidates and drops those that help least (SentencePiece's own default is a million).
Fewer pieces a line are shorter sequences for the same text. Files are read as `regard train` reads them.
"""

import argparse
import statistics
import time
from pathlib import Path
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

from regard.text.corpus import read
from regard.text.pairs import Languages
from regard.tokens import TokeniserSettings, train
from regard.tokens.kinds import subwords


def sides(paths: list[str], languages: Languages) -> tuple[list[str], list[str]]:
    pairs = list(read(paths, languages))
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--held-out", nargs="+", required=True)
    parser.add_argument("--source", default="en")
    parser.add_argument("--target", default="de")
    parser.add_argument("--vocabulary", type=int, default=37_000)
    parser.add_argument("--samples", default="400000,200000", help="lines")
    parser.add_argument("--candidates", default="1000000,300000,150000")
    options = parser.parse_args()
    languages = Languages(options.source, options.target)
    source, target = sides(options.data, languages)
    held_out = {path: [text for side in sides([path], languages) for text in side] for path in options.held_out}
    table = Table(
        "algorithm", "sample", "candidates", "seconds", *(f"pieces a line, {Path(path).name}" for path in held_out)
    )
    tried = [("unigram", int(sample), int(count)) for sample in options.samples.split(",")
             for count in options.candidates.split(",")]  # fmt: skip
    for algorithm, sample, candidates in [*tried, ("bpe", tried[0][1], 0)]:
        settings = TokeniserSettings(vocabulary=options.vocabulary, sample=sample, options={"algorithm": algorithm})
        began = time.perf_counter()
        with patch.multiple(subwords, _SEEDS=candidates, _SEEDS_A_PIECE=0):
            tokeniser = train(source, target, settings).source
        seconds = time.perf_counter() - began
        pieces = [statistics.fmean(len(tokeniser.encode(text)) for text in texts) for texts in held_out.values()]
        table.add_row(
            algorithm, f"{sample:,}", f"{candidates:,}" if candidates else "", f"{seconds:.1f}",
            *(f"{count:.2f}" for count in pieces),
        )  # fmt: skip
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
