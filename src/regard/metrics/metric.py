"""What a metric is: it counts something in every line, and a score is made of what the lines add up to.

That a score needs only sums is what makes scores of some of the lines, and tests of significance, cheap: every line is
counted once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

References = Sequence[Sequence[str]]  # for every line its references, one or more
Counts = Sequence[float]  # what is counted in a line; those of several lines are added up

TOKENISED = (
    "Tokenised BLEU, as multi-bleu.perl computes it and many papers report it, takes text that was tokenised, and "
    "often lower-cased, beforehand. By default, sacreBLEU tokenises ordinary text in one standard way. The two "
    "differ by some points. Never compare one with the other."
)


class Options(NamedTuple):
    """How scores are taken.

    `tokenised`: the text is split into tokens already, see TOKENISED. `lowercase`: letter case makes no difference.
    `language`: the code of the target language, since some are written without spaces between words.
    """

    tokenised: bool = False
    lowercase: bool = False
    language: str = ""


class Score(NamedTuple):
    """A score and what it takes to get the same one again."""

    metric: str
    title: str
    value: float
    signature: str
    higher_is_better: bool
    details: Mapping[str, float]

    def __str__(self) -> str:
        return f"{self.title} = {self.value:.2f} ({self.signature})"


class Metric(Protocol):
    """What the METRIC of a metric's file makes of the options."""

    title: str  # as people write it
    about: str  # a sentence for people who do not know it
    higher_is_better: bool

    def __init__(self, options: Options) -> None: ...

    def counts(self, hypotheses: Sequence[str], references: References) -> list[Counts]:
        """What is counted in each line."""

    def value(self, total: Counts) -> float:
        """The score of the lines whose counts add up to `total`."""

    def sentence_value(self, counts: Counts) -> float:
        """The score of a single line, in a form that is of use there."""

    def details(self, total: Counts) -> dict[str, float]:
        """What else people want to see beside the value."""

    def signature(self, references: References) -> str:
        """Everything that influences the value, as `key:value|key:value`, with the version of what computes it."""


class Counted(NamedTuple):
    """What a metric counted in each line of a system's output: enough for the score of all lines or of some."""

    name: str
    metric: Metric
    counts: list[Counts]
    signature: str

    def score(self, lines: Sequence[int] | None = None) -> Score:
        """The score of all lines, or of those with these numbers, from 0."""
        chosen = self.counts if lines is None else [self.counts[line] for line in lines]
        total = [sum(column) for column in zip(*chosen, strict=True)]
        metric = self.metric
        return Score(
            self.name,
            metric.title,
            metric.value(total),
            self.signature,
            metric.higher_is_better,
            metric.details(total),
        )

    def sentence_values(self) -> list[float]:
        """The score of each line by itself."""
        return [self.metric.sentence_value(counts) for counts in self.counts]


def number_of_references(references: References) -> int | None:
    """How many references every line has; None where that differs from line to line."""
    numbers = {len(line) for line in references}
    return numbers.pop() if len(numbers) == 1 else None
