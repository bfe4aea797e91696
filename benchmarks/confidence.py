"""How well a model's confidence tells good translations from bad ones, and the calibration of a model folder.

    REGARD_DATA=... python benchmarks/confidence.py MODEL PAIRS.tsv.gz [--pairs 1000] [--swapped] [--write]

Half of the pairs fit the calibration, the other half tests it: the table shows, for ranges of confidence, the share of
translations that are good (chrF of at least 60 with the reference). `--write` stores the calibration of all pairs in
the model folder. `--swapped` takes the second column as the source.
"""

import argparse
import json
from pathlib import Path
from random import Random

from regard import metrics, modelfolder, shipped
from regard.text.bad_input import BadInput
from regard.text.files import lines
from regard.translation.confidence import GOOD, KEY, fit
from regard.translation.translator import load


def write(folder: Path, table: dict[str, object]) -> None:
    description = modelfolder.read_description(folder)
    described = description.model_copy(update={"training": description.training | {KEY: table}})
    exclude = {"task"} if described.task == modelfolder.DEFAULT_TASK else None
    sealed = modelfolder._sealed(described.model_dump(mode="json", exclude=exclude))  # noqa: SLF001
    (folder / modelfolder.DESCRIPTION).write_bytes(sealed)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("file", type=Path)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--swapped", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    pairs = [line.split("\t")[:2] for line in lines(options.file, BadInput()) if line]
    pairs = Random(0).sample(pairs, min(options.pairs, len(pairs)))  # noqa: S311
    if options.swapped:
        pairs = [[target, source] for source, target in pairs]
    translator = load(options.model, device="cpu")
    found = translator.translate([source for source, _ in pairs], length_penalty=0.0, checks=False)
    scores = metrics.sentence_scores("chrf", [one.text for one in found], [[target] for _, target in pairs])
    likelihoods = [one.score / (len(one.tokens) + 1) for one in found]  # without a length penalty, a score is a sum
    good = [score >= GOOD for score in scores]
    half = len(pairs) // 2
    calibration = fit(likelihoods[:half], good[:half])
    tested = [
        (calibration.confidence(value), is_good) for value, is_good in zip(likelihoods[half:], good[half:], strict=True)
    ]
    print(f"{len(tested):,} pairs, {sum(good) / len(good):.2f} good")
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        inside = [(sure, is_good) for sure, is_good in tested if low <= sure < low + 0.2 or (low == 0.8 and sure == 1)]
        if inside:
            mean, share = (sum(part) / len(inside) for part in zip(*inside, strict=True))
            print(f"confidence {low:.1f} to {low + 0.2:.1f}: {len(inside):4} pairs, mean {mean:.2f}, good {share:.2f}")
    table = fit(likelihoods, good).table()
    print(json.dumps(table))
    if options.write:
        write(shipped.find(options.model), table)


if __name__ == "__main__":
    main()
