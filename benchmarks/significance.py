"""How often do tests of significance cry wolf, and what do they cost?

    python benchmarks/significance.py

Pairs of made-up systems of the very same quality are tested for a difference. An honest test finds one in about 5 of
100, and the more pairs, the more exactly so.
"""

import random
import resource
import time

from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from regard.evaluation.significance import LEVEL, paired
from regard.metrics import count

WORDS = [a + b for a in ("ba", "ku", "ti", "lo", "me", "sa") for b in ("n", "r", "lt", "sch", "de", "go", "ki", "pa")]
PAIRS = 100
LINES = 100


def sentence(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(4, 16)))


def damaged(references: list[list[str]], chance: random.Random) -> list[str]:
    return [
        " ".join(w if chance.random() > 0.3 else chance.choice(WORDS) for w in line.split()) for (line,) in references
    ]


def false_alarms(metric: str) -> None:
    chance = random.Random(1)  # noqa: S311
    found = []
    for _ in range(PAIRS):
        references = [[sentence(chance)] for _ in range(LINES)]
        counted = [count([metric], damaged(references, chance), references)[0] for _ in range(2)]
        found += paired(["one", "two"], counted, trials=1_000).differences
    alarms = [
        sum(p < LEVEL for p in column) for column in ([d.bootstrap for d in found], [d.randomisation for d in found])
    ]
    both = sum(difference.significant for difference in found)
    print(f"{metric:12} bootstrap {alarms[0]:3}   randomisation {alarms[1]:3}   both {both:3}   of {PAIRS} pairs")


def one_line() -> None:
    chance = random.Random(1)  # noqa: S311
    references = [[sentence(chance)] for _ in range(LINES)]
    one = damaged(references, chance)
    other = ["something else", *one[1:]]
    test = PairedTest([("one", one), ("other", other)], {"chrF": CHRF()}, [[line for (line,) in references]], "ar")
    theirs = test()[1]["chrF2"][1].p_value
    (ours,) = paired(["one", "two"], [count(["chrf"], made, references)[0] for made in (one, other)]).differences
    print(f"\nsystems that differ in one line of {LINES}: p = {theirs:.4f} by sacreBLEU, {ours.randomisation:.4f} here")


def cost(lines: int) -> None:
    chance = random.Random(1)  # noqa: S311
    references = [[sentence(chance)] for _ in range(lines)]
    start = time.perf_counter()
    counted = [count(["bleu"], damaged(references, chance), references)[0] for _ in range(2)]
    counting = time.perf_counter() - start
    start = time.perf_counter()
    paired(["one", "two"], counted)
    testing = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{lines:7,} lines: counting {counting:5.2f} s, testing {testing:5.2f} s, {memory:6,.0f} MiB")


if __name__ == "__main__":
    print("false positives: differences found between equal systems")
    for name in ("bleu", "chrf", "ter", "exact_match"):
        false_alarms(name)
    one_line()
    print("\ntwo systems by BLEU, with all 1,000 resamples and 10,000 swaps")
    for size in (1_000, 3_000, 10_000):
        cost(size)
