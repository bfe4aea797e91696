"""Rates of edits: how many units must be changed, added or dropped, for each 100 units of the reference."""

from __future__ import annotations

from collections.abc import Sequence

from regard.metrics.metric import Counts, Options, References, number_of_references
from regard.text.normalisation import normalise
from regard.version import __version__


def edit_distance(one: Sequence[str], other: Sequence[str]) -> int:
    """The least number of units to change, add or drop that makes `one` into `other` (Levenshtein, 1966)."""
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    one, other = one[start:], other[start:]
    row = list(range(len(other) + 1))
    for number, unit in enumerate(one, start=1):
        diagonal, row[0] = row[0], number
        for place, wanted in enumerate(other, start=1):
            best = diagonal if unit == wanted else 1 + min(diagonal, row[place], row[place - 1])
            diagonal, row[place] = row[place], best
    return row[-1]


def rate(edits: float, units: float) -> float:
    """Edits for each 100 units; where there is no unit, 0 without an edit and else 100."""
    if not units:
        return 100.0 if edits else 0.0
    return 100.0 * float(edits) / float(units)


class EditRate:
    """Edits in all lines divided by the units of all references; of several references, the nearest one counts.

    Texts are compared in their normal form: neither doubled spaces nor the spelling of accents make a difference.
    """

    unit: str  # in the signature
    higher_is_better = False

    def __init__(self, options: Options) -> None:
        self._lowercase = options.lowercase

    def units(self, text: str) -> Sequence[str]:
        """The units of a text in normal form."""
        raise NotImplementedError

    def counts(self, hypotheses: Sequence[str], references: References) -> list[Counts]:
        """The edits in each line, and the units of its reference."""
        return [self._line(hypothesis, line) for hypothesis, line in zip(hypotheses, references, strict=True)]

    def value(self, total: Counts) -> float:
        """Edits for each 100 units; more than 100 is possible."""
        return rate(*total)

    def sentence_value(self, counts: Counts) -> float:
        """The rate of the line."""
        return self.value(counts)

    def details(self, total: Counts) -> dict[str, float]:
        """The edits and the units that the rate is made of."""
        return {"edits": float(total[0]), "reference_length": float(total[1])}

    def signature(self, references: References) -> str:
        """In the form of sacreBLEU's."""
        case = "lc" if self._lowercase else "mixed"
        references_each = number_of_references(references) or "var"
        return f"nrefs:{references_each}|case:{case}|unit:{self.unit}|version:regard-{__version__}"

    def _line(self, hypothesis: str, references: Sequence[str]) -> tuple[int, int]:
        made = self._prepared(hypothesis)
        wanted = [self._prepared(reference) for reference in references]
        choices = [(edit_distance(made, units), len(units)) for units in wanted]
        return min(choices, key=lambda choice: (rate(*choice), choice))

    def _prepared(self, text: str) -> Sequence[str]:
        text = normalise(text)
        return self.units(text.lower() if self._lowercase else text)
