"""Which sources CTranslate2 may search side by side in int8 without one of them changing the bits of another.

CTranslate2 pads the sources of a batch to the longest of them. In int8, states are rounded to 255 steps, so a last bit
that padding changes can become a whole step, and another word may win. Padding changes bits only where it makes a
library compute the same sum in another order, which depends on how long the padded sources are. With oneDNN on an AMD
EPYC, sources of fewer than 16 tokens are computed in one way, and longer ones, up to some hundreds of tokens, in
another: padding within one of these two groups changes nothing. Where the border is on a machine is found by trying.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

BORDERS = (16, 8, 32)  # tokens, the end included; the usual one first
LONGEST = 256  # sources that are padded to more may be computed in yet another way
LENGTHS = (*range(2, 49), 65, 97, 151, LONGEST)  # of the probes

Scores = Callable[[Sequence[Sequence[int]]], Sequence[float]]


def company(length: int, border: int) -> int:
    """Sources of the same company keep their bits in one batch. All lengths include the end; border 0 is unknown."""
    if not border or length > LONGEST:
        return length
    return int(length >= border)


def border(scores: Scores, tokens: Sequence[int], *, longest: int = LONGEST) -> int:
    """The length from which on sources are searched apart from shorter ones; 0 where that does not keep their bits.

    `scores` searches all sentences that it is given side by side. Probes have random tokens, with the end no more of
    them than `longest`.
    """
    draw = Random(0)  # noqa: S311
    probes = [[draw.choice(tokens) for _ in range(length - 1)] for length in LENGTHS if length <= longest]
    alone = [scores([probe])[0] for probe in probes]
    for tried in BORDERS:
        short = [n for n, probe in enumerate(probes) if len(probe) + 1 < tried]
        groups = short, [n for n in range(len(probes)) if n not in short]
        if all(list(scores([probes[n] for n in group])) == [alone[n] for n in group] for group in groups if group):
            return tried
    return 0
