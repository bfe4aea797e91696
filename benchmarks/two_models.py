"""Two models translate the same text in turn, as `regard translate` does: sentences a second, medians, and the ratio.

    python benchmarks/two_models.py FIRST SECOND TEXT [--rounds 5] [--sentences 600]

TEXT has a sentence a line, or pairs with a tab between; `--column 2` takes the second side. The models before can be
had from the project's history: `git archive COMMIT src/regard/shipped/en-de | tar x -C folder`.
"""

import argparse
import statistics
import time
from itertools import islice
from pathlib import Path

import regard
from regard.text.bad_input import BadInput
from regard.text.files import lines


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("first")
    parser.add_argument("second")
    parser.add_argument("text", type=Path)
    parser.add_argument("--column", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sentences", type=int, help="only the first")
    options = parser.parse_args()
    found = (line.split("\t") for line in lines(options.text, BadInput()) if line)
    sentences = [cells[options.column - 1] for cells in islice(found, options.sentences)]
    models = {name: regard.load(name) for name in (options.first, options.second)}
    for model in models.values():
        model.translate(sentences[:32])  # what happens once
    speeds: dict[str, list[float]] = {name: [] for name in models}
    for turn in range(options.rounds):
        for name in [*models] if turn % 2 else [*models][::-1]:
            began = time.perf_counter()
            models[name].translate(sentences)
            speeds[name].append(len(sentences) / (time.perf_counter() - began))
    medians = {name: statistics.median(found) for name, found in speeds.items()}
    for name, median in medians.items():
        each = ", ".join(f"{speed:.0f}" for speed in speeds[name])
        print(f"{name}: {median:.1f} sentences/s ({each})")
    print(f"the second over the first: {medians[options.second] / medians[options.first]:.2f}")


if __name__ == "__main__":
    main()
