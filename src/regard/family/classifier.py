"""The Classifier: texts in, labels with probabilities out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, NamedTuple, overload

from regard.errors import TextError
from regard.family.reading import Reading


class Classified(NamedTuple):
    """The likeliest label of a text, and the probability of each label, the likeliest first."""

    label: str
    probabilities: dict[str, float]

    @property
    def probability(self) -> float:
        """That of the likeliest label."""
        return self.probabilities[self.label]


class Classifier(Reading):
    """A classifier: `classify`, `embed`, `labels`."""

    task: ClassVar[str] = "classes"

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of all labels."""
        names: tuple[str, ...] = tuple(self.model.settings.labels)
        return names

    def answer(self, text: str) -> str:
        """The label of a text."""
        return self.classify(text).label

    @overload
    def classify(self, texts: str) -> Classified: ...  # type: ignore[overload-overlap]
    @overload
    def classify(self, texts: Iterable[str]) -> list[Classified]: ...
    def classify(self, texts: str | Iterable[str]) -> Classified | list[Classified]:
        """The label of a text, or of each of several."""
        listed = [texts] if isinstance(texts, str) else list(texts)
        for number, text in enumerate(listed, start=1):
            if not text.strip():
                raise TextError(f"text {number} is empty.\n  A label needs a text: leave empty lines out.")
        ids = [self.tokeniser.encode(text) for text in listed]
        found: dict[int, Classified] = {}
        for number, logits in self.outputs(ids):
            shares = zip(self.labels, logits[0].softmax(-1).tolist(), strict=True)
            ranked = dict(sorted(shares, key=lambda pair: -pair[1]))
            found[number] = Classified(next(iter(ranked)), ranked)
        answers = [found[number] for number in range(len(listed))]
        return answers[0] if isinstance(texts, str) else answers
